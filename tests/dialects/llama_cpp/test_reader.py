"""What a GGUF file says: the real SmolLM2, and small files by the public `gguf` package."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from gguf.constants import MODEL_ARCH, MODEL_ARCH_NAMES

from ordinate import models
from ordinate.dialects import llama_cpp
from ordinate.dialects.llama_cpp.architectures import HALF, INTERLEAVED, WITHOUT_ROTATION, architecture
from ordinate.dialects.llama_cpp.keys import shortest
from ordinate.errors import InputError
from ordinate.files.gguf import read_gguf
from ordinate.spec import Heads, Window

GOLDEN = Path(__file__).parents[2] / "golden" / "huggingface_architectures.json"


@pytest.fixture(scope="module")
def smollm2():
    return llama_cpp.read(read_gguf(models.find("smollm2").path), name="smollm2")


def test_smollm2_is_an_interleaved_llama_of_thirty_layers(smollm2):
    assert (smollm2.name, smollm2.architecture, smollm2.container) == ("smollm2", "llama", "gguf")
    assert smollm2.window == Window(8192, 8192)
    assert smollm2.layers == 30
    group = smollm2.group
    assert (group.scheme, group.pairing, group.rotary_dim, group.scaling) == ("rope", "interleaved", 64, None)
    assert group.rope.pairing == "interleaved"
    assert group.heads == Heads(query=9, key_value=3, head_dim=64, value_dim=64)
    assert group.heads.kind == "GQA"
    assert group.layers == tuple(range(30))
    assert smollm2.warnings == ()


def test_smollm2_frequencies_are_powers_of_its_base(smollm2):
    by_hand = [math.pow(100000.0, -i / 32) for i in range(32)]
    np.testing.assert_allclose(smollm2.group.frequencies(), by_hand, rtol=1e-14)
    assert smollm2.sources["full_attention.base"] == "llama.rope.freq_base"
    assert smollm2.sources["window.declared"] == "llama.context_length"


@pytest.mark.parametrize(
    "name, pairing",
    [
        ("llama", "interleaved"),
        ("mistral3", "interleaved"),
        ("command-r", "interleaved"),
        ("deepseek2", "interleaved"),
        ("granite", "interleaved"),
        ("internlm2", "interleaved"),
        ("olmo", "interleaved"),
        ("qwen2", "half"),
        ("qwen3", "half"),
        ("gemma2", "half"),
        ("phi3", "half"),
        ("gptneox", "half"),
        ("olmo2", "half"),
        ("gpt-oss", "half"),
        ("stablelm", "half"),
    ],
)
def test_pairing_follows_from_the_architecture(gguf_spec, name, pairing):
    spec = gguf_spec(name)
    group = next(group for group in spec.groups.values() if group.scheme == "rope")
    assert group.pairing == pairing
    assert group.rope.pairing == pairing
    assert name in spec.sources[f"{group.layer_type}.pairing"]


def test_every_architecture_that_the_gguf_package_names_is_known():
    # clip is an image encoder; gptj has a name there and no converter or engine.
    named = {MODEL_ARCH_NAMES[arch] for arch in MODEL_ARCH} - {"clip", "gptj"}
    assert sorted(name for name in named if architecture(name) is None) == []


def test_no_architecture_stands_in_two_lists():
    lists = [set(INTERLEAVED), set(HALF), set(WITHOUT_ROTATION)]
    assert len(set.union(*lists)) == len(INTERLEAVED) + len(HALF) + len(WITHOUT_ROTATION)


def test_what_is_half_in_gguf_is_half_in_hugging_face_too():
    # Converters permute rows from half to interleaved and never back, so half can only have been half before.
    cases = {case["model"]: case for case in json.loads(GOLDEN.read_text())["cases"]}
    compared = 0
    for name, case in cases.items():
        words = set(case["pairing"].values())
        if words and (name in HALF or name.replace("_", "-") in HALF):
            assert "half" in words, name
            compared += 1
    assert compared >= 15


def test_an_absent_base_is_assumed_and_marked(gguf_spec):
    spec = gguf_spec("llama")
    assert spec.group.rope.base == 10000.0
    assert spec.sources["full_attention.base"].startswith("assumed 10000")


@pytest.mark.parametrize("base", [math.nan, math.inf, -1.0, 0.0])
def test_a_base_that_is_no_base_is_refused(gguf_spec, base):
    with pytest.raises(InputError, match=r"llama\.rope\.freq_base must be"):
        gguf_spec("llama", **{"rope.freq_base": base})


def test_a_part_of_the_head_turns_where_the_file_says_so(gguf_spec):
    group = gguf_spec("gptneox", **{"rope.dimension_count": 16}).group
    assert (group.rope.head_dim, group.rotary_dim, group.rope.part) == (64, 16, "first")
    np.testing.assert_allclose(group.frequencies(), [10000.0 ** (-i / 8) for i in range(8)], rtol=1e-14)


def test_key_length_overrides_the_width_by_heads(gguf_spec):
    group = gguf_spec("qwen3", **{"attention.key_length": 128, "attention.value_length": 96}).group
    assert group.heads == Heads(8, 2, 128, 96)
    assert group.rotary_dim == 128


@pytest.mark.parametrize(
    "keys, message",
    [
        ({"rope.dimension_count": 63}, "dimension_count must be even"),
        ({"rope.dimension_count": 66}, "dimension_count must be at most 64"),
        ({"rope.dimension_count": 0}, "dimension_count must be an integer >= 1"),
        ({"rope.dimension_count": "64"}, "dimension_count must be an integer >= 1"),
        ({"attention.key_length": 2**20}, "key_length must be at most 65536"),
        ({"block_count": None}, "block_count is missing"),
        ({"block_count": 2**31}, "block_count must be at most 4096"),
        ({"attention.head_count": None, "attention.head_count_kv": None}, "key_length is missing"),
        ({"attention.head_count": [8, 8]}, "head_count must have an entry for each of 4 layers"),
        ({"context_length": 0}, "context_length must be an integer >= 1"),
        ({"attention.head_count_kv": 0}, "no layer of llama has attention"),
    ],
)
def test_impossible_numbers_are_refused_by_their_key(gguf_spec, keys, message):
    with pytest.raises(InputError, match=message):
        gguf_spec("llama", **keys)


def test_a_key_that_is_not_understood_is_reported(gguf_spec):
    spec = gguf_spec("llama", **{"rope.twist": 3.0})
    assert any("llama.rope.twist was not used" in warning for warning in spec.warnings)


def test_a_partial_llama_is_reported_because_llama_cpp_refuses_it(gguf_spec):
    assert any("refuses" in warning for warning in gguf_spec("llama", **{"rope.dimension_count": 32}).warnings)


def test_an_unknown_architecture_that_rotates_has_frequencies_and_no_pairing(gguf_spec):
    spec = gguf_spec("newcomer", **{"rope.freq_base": 500000.0})
    assert spec.group.pairing == "unknown"
    assert any("paired is unknown" in warning for warning in spec.warnings)
    np.testing.assert_allclose(spec.group.frequencies(), [500000.0 ** (-i / 32) for i in range(32)], rtol=1e-14)


@pytest.mark.parametrize(
    "keys, tensors, scheme",
    [
        ({"attention.max_alibi_bias": 8.0}, None, "alibi"),
        ({"attention.relative_buckets_count": 32}, None, "t5"),
        ({}, {"position_embd.weight": np.zeros((16, 8))}, "learned"),
    ],
)
def test_an_unknown_architecture_is_told_by_what_only_one_scheme_has(gguf_spec, keys, tensors, scheme):
    spec = gguf_spec("newcomer", tensors, **keys)
    assert {group.scheme for group in spec.groups.values()} == {scheme}


def test_an_unknown_architecture_that_says_nothing_is_refused(gguf_spec):
    with pytest.raises(InputError, match="'newcomer' is not known"):
        gguf_spec("newcomer")


@pytest.mark.parametrize(
    "architecture, keys, message",
    [
        ("clip", {}, "must hold a language model"),
        ("llama", {"general:general.type": "adapter"}, "must hold a language model"),
    ],
)
def test_files_without_a_language_model_are_refused(gguf_spec, architecture, keys, message):
    with pytest.raises(InputError, match=message):
        gguf_spec(architecture, **keys)


def test_layers_for_further_tokens_are_not_counted(gguf_spec):
    spec = gguf_spec("glm4moe", block_count=5, nextn_predict_layers=1)
    assert spec.layers == 4
    assert spec.group.layers == (0, 1, 2, 3)
    assert any("1 of 5 layers" in warning for warning in spec.warnings)


def test_a_file_without_a_context_length_has_no_window(gguf_spec):
    spec = gguf_spec("llama", context_length=None)
    assert spec.window == Window(None, None)
    assert any("context_length is absent" in warning for warning in spec.warnings)


@pytest.mark.parametrize("written", [0.0707, 0.1, 1e6, 1.190238, 500000.0, 8.0])
def test_float32_becomes_the_decimal_that_was_written(written):
    assert shortest(float(np.float32(written))) == written


def test_a_float64_keeps_all_its_digits():
    assert shortest(math.pi) == math.pi
    assert shortest(1e300) == 1e300
