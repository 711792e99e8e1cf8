"""llama.cpp's words: flags where they say it all, keys for a GGUF copy where not, and the law of both directions."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ordinate import read
from ordinate.dialects.llama_cpp import LlamaCpp
from ordinate.errors import InputError
from ordinate.scaling.abf import Abf
from ordinate.scaling.linear import Linear
from ordinate.scaling.llama3 import Llama3
from ordinate.scaling.longrope import LongRope
from ordinate.scaling.ntk import Ntk
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.alibi import Alibi
from ordinate.schemes.base import Rotary
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup, Spec, Window

GOLDEN = Path(__file__).parents[2] / "golden"
ARCHITECTURES = json.loads((GOLDEN / "huggingface_architectures.json").read_text(encoding="utf-8"))["cases"]
DRAWS = json.loads((GOLDEN / "huggingface_rope_draws.json").read_text(encoding="utf-8"))["cases"]
ENGINE = LlamaCpp()
TOLERANCE = 1e-6


def spec_of(stretch: Any, architecture: str = "llama") -> Spec:
    group = LayerGroup("full_attention", Rope(64, base=10000.0), stretch, "half", (0, 1))
    return Spec("a model", architecture, "huggingface", {"full_attention": group}, Window(2048, 8192), 2)


def tables_agree(a: Spec, b: Spec) -> bool:
    """Whether all frequencies and magnitudes are equal at construction, the trained and the declared length."""
    trained = a.window.trained or 1
    for name, group in a.groups.items():
        if not isinstance(group.encoding, Rotary):
            continue
        other = b.groups[name]
        for length in {None, trained, trained + 1, a.window.declared}:
            ours, theirs = group.frequencies(length), other.frequencies(length)
            if not np.allclose(ours, theirs, rtol=TOLERANCE, atol=0):
                return False
            if abs(group.attention_factor(length) / other.attention_factor(length) - 1) > TOLERANCE:
                return False
    return True


def assert_law(spec: Spec) -> tuple[bool, str]:
    written = ENGINE.write(spec)
    json.dumps(dict(written.settings), allow_nan=False)
    found = ENGINE.interpret(ENGINE.read(written.settings, spec)).spec
    assert tables_agree(spec, found) == (written.losses == ()), written
    assert all(loss.source and loss.what for loss in written.losses)
    return written.losses == (), written.text


@pytest.mark.parametrize("case", ARCHITECTURES, ids=lambda case: f"{case['model']}-{case['config_cls']}")
def test_what_was_written_is_run_as_the_model_or_a_loss_is_stated(case):
    spec = read(case["config"])
    assert_law(spec)


@pytest.mark.parametrize("architecture", ["llama", "qwen2", "phi3", "deepseek_v3", "ministral3"])
def test_a_drawn_scaling_is_run_as_drawn_or_a_loss_is_stated(architecture):
    held: dict[str, list[bool]] = {}
    for case in DRAWS:
        kind = case["config"]["rope_parameters"]["rope_type"]
        held.setdefault(kind, []).append(assert_law(replace(read(case["config"]), architecture=architecture))[0])
    assert all(held["linear"])
    assert all(held["proportional"])
    assert any(held["yarn"])
    assert not any(held["dynamic"])
    # One of the two lists counts for every length.
    assert not any(held["longrope"])
    assert all(held["llama3"]) == (architecture in ("llama", "ministral3"))


@pytest.mark.parametrize(
    "stretch, text",
    [
        (None, "--rope-scaling none --rope-freq-base 10000 -c 8192"),
        (Linear(4.0), "--rope-scaling linear --rope-scale 4 --rope-freq-base 10000 -c 8192"),
        (Abf(1e6), "--rope-scaling none --rope-freq-base 1000000 -c 8192"),
        (
            Yarn(4.0, 2048, beta_fast=16),
            "--rope-scaling yarn --rope-scale 4 --rope-freq-base 10000 --yarn-orig-ctx 2048 --yarn-ext-factor 1 "
            "--yarn-beta-fast 16 --yarn-beta-slow 1 -c 8192",
        ),
    ],
)
def test_what_is_pasted(stretch, text):
    written = ENGINE.write(spec_of(stretch))
    assert (written.text, written.losses) == (text, ())


def test_ntk_is_said_by_its_base():
    written = ENGINE.write(spec_of(Ntk(8.0)))
    assert written.settings["rope-freq-base"] == pytest.approx(10000 * 8 ** (64 / 62))
    assert written.settings["rope-scaling"] == "none"


@pytest.mark.parametrize(
    "stretch, key",
    [
        (Llama3(8.0, 2048), "rope_freqs.weight"),
        (Yarn(4.0, 2048, truncate=False, beta_fast=20), "rope_freqs.weight"),
        (Yarn(4.0, 2048, magnitude_factor=1.25), "rope.scaling.attn_factor"),
        (LongRope((1.0,) * 32, (2.0,) * 32, 4.0, 2048), "rope_factors_long.weight"),
    ],
)
def test_what_flags_cannot_say_needs_a_gguf_copy(stretch, key):
    written = ENGINE.write(spec_of(stretch))
    assert key in written.settings
    assert written.text == "-c 8192"
    (step,) = written.steps
    assert "--to gguf" in step
    assert key in step


def test_a_gguf_file_that_holds_it_already_needs_no_copy(gguf_spec):
    divisors = {"rope_freqs.weight": np.linspace(1, 8, 32, dtype=np.float32)}
    written = ENGINE.write(gguf_spec("llama", divisors))
    (step,) = written.steps
    assert "holds it already" in step
    assert "--to gguf" not in step
    (step,) = ENGINE.write(spec_of(Llama3(8.0, 2048))).steps
    assert "--to gguf --from MODEL --out COPY.gguf" in step


def test_what_no_file_can_say_is_lost_and_the_base_is_not():
    written = ENGINE.write(spec_of(Yarn(4.0, 2048, truncate=False, beta_fast=20), "qwen2"))
    assert [loss.setting for loss in written.losses] == ["truncate"]
    assert written.settings["rope-freq-base"] == 10000
    written = ENGINE.write(spec_of(Llama3(8.0, 2048), "qwen2"))
    assert [loss.setting for loss in written.losses] == ["rope_type llama3"]
    assert "no rope_freqs.weight for qwen2" in written.steps[0]


def test_alibi_is_said_by_its_key():
    group = LayerGroup("full_attention", Alibi(8, 8.0), layers=(0,))
    spec = Spec("a model", "bloom", "huggingface", {"full_attention": group}, Window(2048, 2048), 1)
    steeper = replace(spec, groups={"full_attention": replace(group, encoding=Alibi(8, 4.0))})
    assert ENGINE.read({"attention.max_alibi_bias": 4.0}, spec) == steeper
    assert ENGINE.write(spec).losses == ()


def test_an_inverse_scale_is_the_same_as_a_scale():
    model = spec_of(None)
    by_scale = ENGINE.read({"rope-scaling": "linear", "rope-scale": 4.0}, model)
    assert ENGINE.read({"rope-freq-scale": 0.25}, model).group.stretch == by_scale.group.stretch == Linear(4.0)


def test_an_absent_flag_leaves_what_the_file_says():
    model = spec_of(Yarn(4.0, 2048))
    assert ENGINE.read({"ctx-size": 4096}, model).group == model.group
    assert ENGINE.read({"ctx-size": 4096}, model).window == Window(2048, 4096)
    assert ENGINE.read({"rope-scale": 8.0}, model).group.stretch == Yarn(8.0, 2048)
    assert ENGINE.read({"yarn-ext-factor": 0, "rope-scaling": "yarn"}, model).group.stretch == Linear(4.0)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"rope-scal": 2.0}, "did you mean 'rope-scale'"),
        ({"rope-scaling": "longrope"}, "rope-scaling must be one of none, linear, yarn"),
        ({"rope-scale": 0}, "rope-scale must be > 0"),
        ({"rope-scale": 2.0, "rope-freq-scale": 0.5}, "got both"),
        ({"rope-freq-base": "x"}, "rope-freq-base must be a finite number"),
        ({"rope-scaling": "yarn", "rope-scale": 2.0, "yarn-ext-factor": 0.5}, "yarn-ext-factor must be 0, 1 or -1"),
        ({"ctx-size": 0}, "ctx-size must be an integer >= 1"),
        ({"rope.scaling.type": "su"}, "must be none, linear or yarn"),
        ({"rope_freqs.weight": [1.0, "x"]}, "must be a list of 32 numbers > 0"),
        ({"rope_freqs.weight": [1.0] * 31}, "must be a list of 32 numbers > 0"),
        ({"rope_factors_long.weight": [1.0] * 32}, "both"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        ENGINE.read(settings, spec_of(None))


def test_a_scaling_on_top_of_factor_tensors_is_refused():
    with pytest.raises(InputError, match="would scale it again"):
        ENGINE.read({"rope-scaling": "linear", "rope-scale": 2.0}, spec_of(Llama3(8.0, 2048)))
