"""Ollama: a Modelfile's lines, a GGUF file that holds the scaling, and llama.cpp's semantics."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ordinate import read
from ordinate.dialects.llama_cpp import LlamaCpp
from ordinate.dialects.ollama import Ollama
from ordinate.errors import InputError
from ordinate.registry import lookup
from ordinate.scaling.linear import Linear
from ordinate.scaling.llama3 import Llama3
from ordinate.scaling.longrope import LongRope
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.base import Rotary
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup, Spec, Window

GOLDEN = Path(__file__).parents[1] / "golden"
ARCHITECTURES = json.loads((GOLDEN / "huggingface_architectures.json").read_text(encoding="utf-8"))["cases"]
DRAWS = json.loads((GOLDEN / "huggingface_rope_draws.json").read_text(encoding="utf-8"))["cases"]
ENGINE = Ollama()
LONG = LongRope((1.0,) * 32, tuple(np.linspace(1, 6, 32).tolist()), 4.0, 4096)


def spec_of(stretch, architecture="llama", window=None) -> Spec:
    group = LayerGroup("full_attention", Rope(64, base=10000.0), stretch, "half", (0, 1))
    window = window or Window(4096, 16384)
    return Spec("a model", architecture, "huggingface", {"full_attention": group}, window, 2)


def tables_agree(a: Spec, b: Spec) -> bool:
    for name, group in a.groups.items():
        if isinstance(group.encoding, Rotary):
            for length in {None, a.window.trained, (a.window.trained or 1) + 1, a.window.declared}:
                other = b.groups[name]
                if not np.allclose(group.frequencies(length), other.frequencies(length), rtol=1e-6, atol=0):
                    return False
                if abs(group.attention_factor(length) / other.attention_factor(length) - 1) > 1e-6:
                    return False
    return True


def test_it_is_found_by_its_name():
    assert lookup("ordinate.dialects", "ollama", "engine") is Ollama


def test_what_is_pasted_is_a_modelfile():
    written = ENGINE.write(spec_of(Yarn(4.0, 4096)))
    assert written.text == "FROM ./copy.gguf\nPARAMETER num_ctx 16384"
    assert written.losses == ()
    (step,) = written.steps
    assert "rope.scaling.type" in step
    assert "--to gguf --from MODEL --out COPY.gguf" in step


def test_a_gguf_file_that_holds_it_already_needs_no_copy():
    spec = replace(spec_of(Yarn(4.0, 4096)), container="gguf")
    read_from = replace(spec, sources={"full_attention.scaling": "llama.rope.scaling.*"})
    written = ENGINE.write(read_from)
    assert written.text.startswith("FROM ./FILE.gguf")
    assert not any("--to gguf" in step for step in written.steps)
    assert any("--to gguf" in step for step in ENGINE.write(spec).steps)


@pytest.mark.parametrize("architecture", ["llama", "qwen2", "phi3"])
def test_a_drawn_scaling_is_run_as_drawn_or_a_loss_is_stated(architecture):
    for case in DRAWS:
        spec = replace(read(case["config"]), architecture=architecture)
        written = ENGINE.write(spec)
        found = ENGINE.interpret(ENGINE.read(written.settings, spec)).spec
        assert tables_agree(spec, found) == (written.losses == ()), written


@pytest.mark.parametrize("case", ARCHITECTURES, ids=lambda case: f"{case['model']}-{case['config_cls']}")
def test_an_architecture_is_run_as_it_is_or_a_loss_is_stated(case):
    spec = read(case["config"])
    written = ENGINE.write(spec)
    found = ENGINE.interpret(ENGINE.read(written.settings, spec)).spec
    assert tables_agree(spec, found) == (written.losses == ()), written


@pytest.mark.parametrize("stretch", [None, Linear(4.0), Yarn(4.0, 4096, 1.25), Llama3(8.0, 4096)])
def test_what_the_file_holds_is_computed(stretch):
    spec = spec_of(stretch)
    written = ENGINE.write(spec)
    assert written.losses == ()
    assert tables_agree(spec, ENGINE.interpret(ENGINE.read(written.settings, spec)).spec)


def test_without_num_ctx_longrope_stays_short_because_the_context_does():
    spec = spec_of(LONG)
    assert spec.group.frequencies(4097)[-1] == spec.group.rope.plain()[-1] / 6
    short = ENGINE.interpret(replace(spec, architecture="phi3")).spec
    assert short.group.frequencies(4097)[-1] == spec.group.rope.plain()[-1]
    given = ENGINE.read({"num_ctx": 8192}, replace(spec, architecture="phi3"))
    assert ENGINE.interpret(given).spec.group.frequencies(1)[-1] == spec.group.rope.plain()[-1] / 6
    # More than the file promises is cut, so the long list never comes to count.
    cut = replace(spec, architecture="phi3", window=Window(4096, 4096))
    assert ENGINE.interpret(cut, 8192).spec.group.frequencies(1)[-1] == spec.group.rope.plain()[-1]
    assert LlamaCpp().interpret(cut, 8192).spec.group.frequencies(1)[-1] == spec.group.rope.plain()[-1] / 6


def test_num_ctx_beyond_the_files_length_is_cut():
    assert ENGINE.read({"num_ctx": 65536}, spec_of(None)).window == Window(4096, 16384)
    assert ENGINE.read({"num_ctx": 8192}, spec_of(None)).window == Window(4096, 8192)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"rope_frequency_base": 1e6}, "rope_frequency_base no more"),
        ({"rope_frequency_scale": 0.5}, "rope_frequency_scale no more"),
        ({"num_ctxt": 4096}, "did you mean 'num_ctx'"),
        ({"num_ctx": 0}, "num_ctx must be an integer >= 1"),
        ({"num_ctx": "4096"}, "num_ctx must be an integer >= 1"),
    ],
)
def test_parameters_that_cannot_be_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        ENGINE.read(settings, spec_of(None))


def test_dynamic_scaling_is_lost_in_the_file():
    spec = read(
        {
            "model_type": "llama",
            "max_position_embeddings": 4096,
            "rope_parameters": {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 1e4},
        }
    )
    written = ENGINE.write(spec)
    assert [loss.setting for loss in written.losses] == ["rope_type dynamic"]
    assert "no GGUF file can hold this" in written.steps[0]
    assert "ollama/ollama" in written.losses[0].source
