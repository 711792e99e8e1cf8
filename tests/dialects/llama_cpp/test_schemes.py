"""GGUF files of models that do not rotate, or rotate on several axes."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordinate import read as read_any
from ordinate.dialects import llama_cpp
from ordinate.dialects.llama_cpp.architectures import HALF, INTERLEAVED, WITHOUT_ROTATION
from ordinate.errors import InputError
from ordinate.files.gguf import GgufFile
from ordinate.files.regular import FileIdentity
from ordinate.spec import Spec


def test_gpt2_has_as_many_positions_as_its_table_has_rows(gguf_spec):
    spec = gguf_spec("gpt2", {"position_embd.weight": np.zeros((1024, 512))}, context_length=1024)
    group = spec.group
    assert (group.scheme, group.encoding.length, group.encoding.dim) == ("learned", 1024, 512)
    assert group.pairing is None
    assert spec.warnings == ()


def test_a_promise_beyond_the_table_is_reported(gguf_spec):
    spec = gguf_spec("gpt2", {"position_embd.weight": np.zeros((1024, 512))}, context_length=2048)
    assert spec.group.encoding.length == 1024
    assert any("1024 positions" in warning for warning in spec.warnings)


@pytest.mark.parametrize("name", ["gpt2", "bert", "starcoder"])
def test_without_its_table_the_keys_give_its_size(gguf_spec, name):
    encoding = gguf_spec(name).group.encoding
    assert (encoding.length, encoding.dim) == (4096, 512)


def test_without_table_and_length_a_learned_scheme_is_refused(gguf_spec):
    with pytest.raises(InputError, match="does not give its size"):
        gguf_spec("gpt2", context_length=None)


def test_a_table_that_is_none_is_refused(gguf_spec):
    with pytest.raises(InputError, match="must have shape"):
        gguf_spec("gpt2", {"position_embd.weight": np.zeros(16)})


@pytest.mark.parametrize("name", ["bloom", "refact", "jina-bert-v2"])
def test_alibi_slopes_fall_by_powers_of_two(gguf_spec, name):
    spec = gguf_spec(name)
    assert spec.group.scheme == "alibi"
    np.testing.assert_array_equal(spec.group.slopes, [2.0**-i for i in range(1, 9)])
    assert "assumed 8" in spec.sources["bias_max"]


def test_a_bias_in_the_file_counts_before_the_architectures(gguf_spec):
    spec = gguf_spec("bloom", **{"attention.max_alibi_bias": 4.0})
    np.testing.assert_array_equal(spec.group.slopes, [2.0 ** (-i / 2) for i in range(1, 9)])
    assert spec.sources["bias_max"] == "bloom.attention.max_alibi_bias"


def test_mpt_says_how_gentle_its_gentlest_slope_is(gguf_spec):
    spec = gguf_spec("mpt", **{"attention.max_alibi_bias": 16.0})
    np.testing.assert_array_equal(spec.group.slopes, [2.0 ** (-2 * i) for i in range(1, 9)])


@pytest.mark.parametrize(
    "tensors, scheme", [(None, "none"), ({"position_embd.weight": np.zeros((2048, 512))}, "learned")]
)
def test_mpt_without_alibi_has_a_table_or_nothing(gguf_spec, tensors, scheme):
    assert gguf_spec("mpt", tensors, **{"attention.max_alibi_bias": 0.0}).group.scheme == scheme


@pytest.mark.parametrize("count, scheme", [(32, "rope"), (40, "alibi")])
def test_baichuan_has_alibi_in_its_larger_model(gguf_spec, count, scheme):
    group = gguf_spec("baichuan", block_count=count).group
    assert group.scheme == scheme
    assert (group.slopes is None) == (scheme == "rope")
    if scheme == "alibi":
        np.testing.assert_array_equal(group.slopes, [2.0**-i for i in range(1, 9)])


def test_t5_has_a_bias_for_each_stack(gguf_spec):
    spec = gguf_spec("t5", **{"attention.relative_buckets_count": 32, "decoder_block_count": 2})
    encoder, decoder = spec.groups["encoder"], spec.groups["decoder"]
    assert (encoder.encoding.buckets, encoder.encoding.max_distance, encoder.encoding.heads) == (32, 128, 8)
    assert (encoder.encoding.bidirectional, decoder.encoding.bidirectional) == (True, False)
    assert (encoder.layers, decoder.layers) == ((0, 1, 2, 3), (0, 1))
    assert encoder.softmax_scale == 1.0


def test_t5encoder_has_one_stack(gguf_spec):
    assert list(gguf_spec("t5encoder", **{"attention.relative_buckets_count": 32}).groups) == ["encoder"]


def test_t5_without_its_buckets_is_refused(gguf_spec):
    with pytest.raises(InputError, match="relative_buckets_count is missing"):
        gguf_spec("t5")


def test_jamba_attends_without_position_in_some_layers(gguf_spec):
    spec = gguf_spec("jamba", **{"attention.head_count_kv": [0, 0, 2, 0]})
    assert (spec.group.scheme, spec.group.layers) == ("none", (2,))


def test_mamba_has_no_attention(gguf_spec):
    spec = gguf_spec("mamba", **{"attention.head_count": 0, "attention.head_count_kv": None})
    assert (spec.group.scheme, spec.group.layers) == ("none", ())
    assert any("recurrence" in warning for warning in spec.warnings)


def test_qwen2_vl_deals_its_pairs_out_in_chunks(gguf_spec):
    group = gguf_spec("qwen2vl", **{"rope.dimension_sections": [8, 12, 12, 0]}).group
    assert (group.scheme, group.encoding.sections, group.encoding.layout) == ("multimodal", (8, 12, 12), "chunked")
    assert group.pairing == "half"
    plain = np.array([10000.0 ** (-i / 32) for i in range(32)])
    axes = np.repeat([5, 7, 11], [8, 12, 12])
    np.testing.assert_allclose(group.rope.angles([[5], [7], [11]])[0], axes * plain, rtol=1e-14)


def test_qwen3_vl_deals_its_pairs_out_in_turns(gguf_spec):
    group = gguf_spec("qwen3vl", **{"rope.dimension_sections": [12, 10, 10, 0]}).group
    assert (group.encoding.sections, group.encoding.layout) == ((12, 10, 10), "interleaved")


@pytest.mark.parametrize(
    "sections, scheme, pairing", [(None, "rope", "interleaved"), ([16, 8, 8], "multimodal", "half")]
)
def test_glm4_is_half_where_it_has_sections_and_interleaved_where_not(gguf_spec, sections, scheme, pairing):
    group = gguf_spec("glm4", **{"rope.dimension_sections": sections}).group
    assert (group.scheme, group.pairing) == (scheme, pairing)


@pytest.mark.parametrize("sections", [[8, 12, 13, 0], [8, 0, 24, 0], [8, 12, 12, 0, 0]])
def test_sections_that_do_not_fit_are_refused(gguf_spec, sections):
    with pytest.raises(InputError, match="dimension_sections must"):
        gguf_spec("qwen2vl", **{"rope.dimension_sections": sections})


def test_a_head_too_wide_is_refused(gguf_spec):
    with pytest.raises(InputError, match="embedding_length gives heads of 16777216 channels, at most 65536"):
        gguf_spec("llama", embedding_length=2**24, **{"attention.head_count": 1, "attention.head_count_kv": 1})


@pytest.mark.parametrize("sections", [[32, 0, 0, 0], [0, 0, 0, 0]])
def test_one_section_is_plain_rope(gguf_spec, sections):
    assert gguf_spec("dflash", **{"rope.dimension_sections": sections}).group.scheme == "rope"


def test_sections_of_an_architecture_without_use_for_them_are_reported(gguf_spec):
    spec = gguf_spec("llama", **{"rope.dimension_sections": [8, 12, 12, 0]})
    assert spec.group.scheme == "rope"
    assert any("no use for it" in warning for warning in spec.warnings)


def test_read_finds_a_gguf_file_by_its_path_and_names_it_as_it_names_itself(gguf_path):
    path = gguf_path("llama", **{"general:general.name": "A Small Llama"})
    assert read_any(path).name == "A Small Llama"
    assert read_any(str(path)).container == "gguf"


NAMES = sorted([*INTERLEAVED, *HALF, *WITHOUT_ROTATION, "newcomer"])
VALUES = st.one_of(
    st.integers(-2, 2**63 - 1),
    st.sampled_from([0, 1, 2, 8, 64, 128, 4096]),
    st.floats(),
    st.booleans(),
    st.text(max_size=3),
)
KEYS = [
    "block_count",
    "context_length",
    "embedding_length",
    "attention.head_count",
    "attention.head_count_kv",
    "attention.key_length",
    "attention.value_length",
    "attention.kv_lora_rank",
    "attention.key_length_mla",
    "attention.sliding_window",
    "attention.sliding_window_pattern",
    "attention.max_alibi_bias",
    "attention.relative_buckets_count",
    "attention.scale",
    "attention.temperature_scale",
    "attention.temperature_length",
    "rope.freq_base",
    "rope.freq_base_swa",
    "rope.dimension_count",
    "rope.dimension_count_swa",
    "rope.dimension_sections",
    "rope.scaling.type",
    "rope.scaling.factor",
    "rope.scaling.attn_factor",
    "rope.scaling.alpha",
    "rope.scaling.original_context_length",
    "rope.scaling.yarn_log_multiplier",
    "rope.scaling.yarn_beta_fast",
    "rope.scaling.yarn_beta_slow",
    "nextn_predict_layers",
    "full_attention_interval",
]


@given(st.sampled_from(NAMES), st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=12))
def test_any_metadata_is_described_or_refused(name, keys):
    sound = {"block_count": 4, "context_length": 4096, "embedding_length": 512, "attention.head_count": 8}
    metadata = {f"{name}.{key}": value for key, value in {**sound, **keys}.items()}
    identity = FileIdentity(Path("a.gguf"), 0, 0, 0, 0)
    file = GgufFile(3, 32, {"general.architecture": name, **metadata}, {}, identity)
    try:
        spec = llama_cpp.read(file, name="a model")
    except InputError:
        return
    assert isinstance(spec, Spec)
    for group in spec.groups.values():
        if group.pairing is not None:
            assert np.isfinite(group.frequencies()).all()
