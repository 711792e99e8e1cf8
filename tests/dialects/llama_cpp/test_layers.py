"""Which layers of a GGUF file's model do what: windows, bases of their own, layers without position or attention."""

import numpy as np
import pytest

from ordinate.errors import InputError
from ordinate.scaling.linear import Linear
from ordinate.scaling.yarn import Yarn
from ordinate.spec import Window
from ordinate.temperature import QueryTemperature

WINDOW = {"attention.sliding_window": 512}


def layers(spec):
    return {name: group.layers for name, group in spec.groups.items()}


@pytest.mark.parametrize(
    "name, count, full",
    [
        ("gemma2", 6, (1, 3, 5)),
        ("gemma3", 13, (5, 11)),
        ("gemma3n", 10, (4, 9)),
        ("gpt-oss", 4, (1, 3)),
        ("olmo2", 8, (3, 7)),
        ("cohere2", 8, (3, 7)),
        ("modern-bert", 7, (0, 3, 6)),
        ("laguna", 8, (0, 4)),
    ],
)
def test_layers_alternate_as_the_architecture_has_it(gguf_spec, name, count, full):
    spec = gguf_spec(name, **WINDOW, block_count=count)
    local = tuple(i for i in range(count) if i not in full)
    assert layers(spec) == {"full_attention": full, "sliding_attention": local}
    assert spec.groups["sliding_attention"].sliding_window == 512
    assert spec.groups["full_attention"].sliding_window is None
    assert "assumed: one layer in" in spec.sources["sliding_attention.sliding_window"]


def test_a_list_in_the_file_comes_before_the_architecture(gguf_spec):
    pattern = [True, False, False, True]
    spec = gguf_spec("gemma3", **WINDOW, **{"attention.sliding_window_pattern": pattern})
    assert layers(spec) == {"sliding_attention": (0, 3), "full_attention": (1, 2)}


def test_a_period_in_the_file_comes_before_the_architecture(gguf_spec):
    spec = gguf_spec("gemma3", **WINDOW, **{"attention.sliding_window_pattern": 2})
    assert layers(spec) == {"sliding_attention": (0, 2), "full_attention": (1, 3)}


def test_a_list_that_an_architecture_needs_must_be_there(gguf_spec):
    with pytest.raises(InputError, match="sliding_window_pattern is missing"):
        gguf_spec("gemma4", **WINDOW)


def test_a_list_too_short_for_the_layers_is_refused(gguf_spec):
    with pytest.raises(InputError, match="an entry for each of 4 layers, got 2"):
        gguf_spec("gemma3", **WINDOW, **{"attention.sliding_window_pattern": [True, False]})


def test_without_a_window_all_layers_are_full(gguf_spec):
    assert layers(gguf_spec("gemma3")) == {"full_attention": (0, 1, 2, 3)}
    assert layers(gguf_spec("gemma3", **{"attention.sliding_window": 0})) == {"full_attention": (0, 1, 2, 3)}


def test_layers_that_all_slide_keep_what_sliding_layers_have(gguf_spec):
    spec = gguf_spec("gemma3", **WINDOW, **{"attention.sliding_window_pattern": 0, "rope.freq_base": 1000000.0})
    assert layers(spec) == {"sliding_attention": (0, 1, 2, 3)}
    assert spec.group.rope.base == 10000.0


def test_a_list_tells_layers_apart_of_which_the_architecture_says_nothing(gguf_spec):
    keys = {"attention.sliding_window_pattern": [True, False, True, False], "rope.freq_base": 500000.0}
    spec = gguf_spec("llama", **WINDOW, **keys)
    assert layers(spec) == {"sliding_attention": (0, 2), "full_attention": (1, 3)}
    assert spec.groups["sliding_attention"].rope.base == 500000.0


def test_gemma2_has_its_window_where_the_file_has_none(gguf_spec):
    spec = gguf_spec("gemma2")
    assert spec.groups["sliding_attention"].sliding_window == 4096
    assert "assumed 4096" in spec.sources["sliding_attention.sliding_window"]


def test_a_window_without_a_pattern_counts_for_all_layers(gguf_spec):
    spec = gguf_spec("llama", **WINDOW)
    assert list(spec.groups) == ["full_attention"]
    assert spec.group.sliding_window == 512
    assert spec.group.layers == (0, 1, 2, 3)
    assert any("no word on which layers" in warning for warning in spec.warnings)


def test_gemma3_stretches_full_layers_only_and_sliding_ones_have_their_own_base(gguf_spec):
    keys = {"rope.freq_base": 1000000.0, "rope.scaling.type": "linear", "rope.scaling.factor": 8.0, "block_count": 6}
    spec = gguf_spec("gemma3", **WINDOW, **keys)
    full, local = spec.groups["full_attention"], spec.groups["sliding_attention"]
    assert (full.stretch, local.stretch) == (Linear(8.0), None)
    assert spec.window == Window(trained=None, declared=4096)
    np.testing.assert_allclose(full.frequencies(), [1e6 ** (-i / 32) / 8 for i in range(32)], rtol=1e-13)
    np.testing.assert_allclose(local.frequencies(), [1e4 ** (-i / 32) for i in range(32)], rtol=1e-13)
    assert spec.sources["sliding_attention.base"].startswith("assumed 10000")


def test_a_base_for_sliding_layers_in_the_file_counts(gguf_spec):
    keys = {"rope.freq_base": 1000000.0, "rope.freq_base_swa": 20000.0, "block_count": 6}
    spec = gguf_spec("gemma3", **WINDOW, **keys)
    assert spec.groups["sliding_attention"].rope.base == 20000.0


def test_sliding_layers_can_turn_another_number_of_channels(gguf_spec):
    keys = {"rope.dimension_count": 32, "rope.dimension_count_swa": 64, "rope.freq_base": 500000.0}
    spec = gguf_spec("laguna", **WINDOW, **keys)
    assert spec.groups["full_attention"].rotary_dim == 32
    assert spec.groups["sliding_attention"].rotary_dim == 64


def test_no_query_temperature_where_the_file_has_none(gguf_spec):
    assert {group.temperature for group in gguf_spec("gemma3", **WINDOW, block_count=6).groups.values()} == {None}


@pytest.mark.parametrize("name, fixed", [("llama4", 8192), ("smallthinker", 4096)])
def test_a_window_that_llama_cpp_does_not_take_is_reported(gguf_spec, name, fixed):
    said = f"llama.cpp takes {fixed} for every {name}"
    assert any(said in warning for warning in gguf_spec(name, **WINDOW).warnings)
    same = gguf_spec(name, **{"attention.sliding_window": fixed})
    assert not any(said in warning for warning in same.warnings)


def test_smallthinker_does_not_rotate_in_the_first_of_four_layers(gguf_spec):
    spec = gguf_spec("smallthinker", **WINDOW, block_count=8)
    assert layers(spec) == {"full_attention": (0, 4), "sliding_attention": (1, 2, 3, 5, 6, 7)}
    assert (spec.groups["full_attention"].scheme, spec.groups["sliding_attention"].scheme) == ("none", "rope")


def test_cohere2moe_rotates_in_its_leading_dense_layers_too(gguf_spec):
    spec = gguf_spec("cohere2moe", **WINDOW, block_count=8, leading_dense_block_count=1)
    assert layers(spec) == {
        "full_attention": (0,),
        "sliding_attention": (1, 2, 3, 5, 6, 7),
        "full_attention_without_position": (4,),
    }


def test_phi3_has_a_window_that_llama_cpp_does_not_apply(gguf_spec):
    spec = gguf_spec("phi3", **WINDOW)
    assert spec.group.sliding_window == 512
    assert any("does not apply it to phi3" in warning for warning in spec.warnings)


def test_a_window_as_large_as_a_number_can_be_is_none(gguf_spec):
    assert gguf_spec("llama", **{"attention.sliding_window": 2**31 - 1}).group.sliding_window is None


def test_layers_listed_as_recurrent_have_no_attention(gguf_spec):
    spec = gguf_spec("qwen3next", block_count=8, **{"attention.recurrent_layers": [True, False] * 4})
    assert layers(spec) == {"full_attention": (1, 3, 5, 7)}


def test_gpt_oss_stretches_its_sliding_layers_too(gguf_spec):
    keys = {
        "rope.freq_base": 150000.0,
        "rope.scaling.type": "yarn",
        "rope.scaling.factor": 32.0,
        "rope.scaling.original_context_length": 4096,
    }
    spec = gguf_spec("gpt-oss", **WINDOW, **keys)
    assert spec.groups["sliding_attention"].stretch == Yarn(32.0, 4096, truncate=False)
    assert spec.groups["sliding_attention"].rope.base == 150000.0


def test_olmo3_stretches_full_layers_only_with_one_base_for_all(gguf_spec):
    keys = {
        "rope.freq_base": 500000.0,
        "rope.scaling.type": "yarn",
        "rope.scaling.factor": 8.0,
        "rope.scaling.original_context_length": 8192,
    }
    spec = gguf_spec("olmo2", **WINDOW, **keys)
    assert spec.groups["full_attention"].stretch == Yarn(8.0, 8192)
    assert spec.groups["sliding_attention"].stretch is None
    assert spec.groups["sliding_attention"].rope.base == 500000.0


def test_command_r7b_rotates_in_sliding_layers_only(gguf_spec):
    spec = gguf_spec("cohere2", **WINDOW, **{"rope.freq_base": 50000.0})
    assert spec.groups["sliding_attention"].rope.base == 50000.0
    assert spec.groups["full_attention"].scheme == "none"
    assert spec.groups["full_attention"].pairing is None


def test_smollm3_does_not_rotate_in_every_fourth_layer(gguf_spec):
    spec = gguf_spec("smollm3", block_count=9)
    assert layers(spec) == {"full_attention": (0, 1, 2, 4, 5, 6, 8), "full_attention_without_position": (3, 7)}
    assert spec.groups["full_attention_without_position"].scheme == "none"


def test_llama4_has_chunks_nope_layers_and_a_query_temperature(gguf_spec):
    spec = gguf_spec("llama4", block_count=8, **{"rope.freq_base": 500000.0})
    assert layers(spec) == {"chunked_attention": (0, 1, 2, 4, 5, 6), "full_attention": (3, 7)}
    chunked, full = spec.groups["chunked_attention"], spec.groups["full_attention"]
    assert (chunked.scheme, chunked.sliding_window, chunked.temperature) == ("rope", 8192, None)
    assert (full.scheme, full.sliding_window) == ("none", None)
    assert full.temperature == QueryTemperature("llama4", 0.1, 8192.0)


def test_llama4_without_chunks_rotates_everywhere(gguf_spec):
    spec = gguf_spec("llama4", **{"attention.sliding_window": 0})
    assert layers(spec) == {"full_attention": (0, 1, 2, 3)}
    assert spec.group.scheme == "rope"
    assert spec.group.temperature is None


@pytest.mark.parametrize("switch, scheme", [(True, "rope"), (False, "none"), (None, "rope")])
def test_granite_switches_its_rotation_by_a_key_of_another_name(gguf_spec, switch, scheme):
    assert gguf_spec("granitehybrid", **{"rope.scaling.finetuned": switch}).group.scheme == scheme


def test_granite_swa_lists_the_layers_that_rotate(gguf_spec):
    keys = {"attention.sliding_window_pattern": [True, True, True, False], "attention.rope_pattern": [1, 1, 1, 0]}
    spec = gguf_spec("granite_swa", **WINDOW, **keys)
    assert spec.groups["sliding_attention"].scheme == "rope"
    assert spec.groups["full_attention"].scheme == "none"


def test_layers_without_attention_are_in_no_group(gguf_spec):
    spec = gguf_spec("granitehybrid", **{"attention.head_count_kv": [0, 2, 0, 2]})
    assert layers(spec) == {"full_attention": (1, 3)}
    assert any("2 of 4 layers have no attention" in warning for warning in spec.warnings)


@pytest.mark.parametrize("keys, attending", [({}, (3, 7)), ({"full_attention_interval": 2}, (1, 3, 5, 7))])
def test_qwen3_next_attends_in_one_layer_of_an_interval(gguf_spec, keys, attending):
    assert layers(gguf_spec("qwen3next", block_count=8, **keys)) == {"full_attention": attending}


def test_heads_that_differ_by_layer_are_reported_and_left_out(gguf_spec):
    keys = {"attention.key_length": 64, "attention.value_length": 64}
    spec = gguf_spec(
        "openelm", **{"attention.head_count": [8, 8, 12, 16], "attention.head_count_kv": [2, 2, 3, 4]}, **keys
    )
    assert spec.group.heads is None
    assert spec.group.rope.head_dim == 64
    assert any("(8, 2), (12, 3), (16, 4) (query, key-value)" in warning for warning in spec.warnings)
    assert any("differs from layer to layer" in warning for warning in spec.warnings)


def test_heads_that_differ_between_groups_only_are_those_of_each_group(gguf_spec):
    pattern = {"attention.sliding_window_pattern": [True, True, False, True]}
    heads = {"attention.head_count_kv": [4, 4, 1, 4], "attention.key_length": 64, "attention.value_length": 64}
    spec = gguf_spec("gemma3", **WINDOW, **pattern, **heads)
    assert spec.groups["sliding_attention"].heads.key_value == 4
    assert spec.groups["full_attention"].heads.kind == "MQA"


def test_deepseek_v4_has_a_base_and_a_scaling_for_layers_that_compress(gguf_spec):
    keys = {
        "attention.compress_ratios": [0, 4, 128, 4],
        "attention.compress_rope_freq_base": 160000.0,
        "rope.freq_base": 10000.0,
        "attention.sliding_window": 128,
        "attention.key_length": 512,
        "attention.value_length": 512,
        "rope.dimension_count": 64,
        "rope.scaling.type": "yarn",
        "rope.scaling.factor": 16.0,
        "rope.scaling.original_context_length": 65536,
    }
    spec = gguf_spec("deepseek4", **keys)
    assert layers(spec) == {"main": (0,), "compress": (1, 2, 3)}
    main, compress = spec.groups["main"], spec.groups["compress"]
    assert (main.rope.base, main.stretch) == (10000.0, None)
    assert (compress.rope.base, compress.stretch) == (160000.0, Yarn(16.0, 65536))
    assert (main.rope.part, main.rotary_dim, main.rope.head_dim) == ("last", 64, 512)


def test_step35_turns_half_as_many_channels_in_full_layers(gguf_spec):
    keys = {"attention.sliding_window_pattern": [False, True, True, True], "rope.dimension_count": 64}
    divisors = np.r_[np.full(16, 2.0), np.ones(16)]
    spec = gguf_spec("step35", {"rope_freqs.weight": divisors}, **WINDOW, **keys, **{"rope.freq_base": 5000000.0})
    full, local = spec.groups["full_attention"], spec.groups["sliding_attention"]
    assert (full.rotary_dim, local.rotary_dim) == (32, 64)
    np.testing.assert_allclose(full.frequencies(), [5e6 ** (-i / 16) / 2 for i in range(16)], rtol=1e-13)
    np.testing.assert_allclose(local.frequencies(), [1e4 ** (-i / 32) for i in range(32)], rtol=1e-13)


@pytest.mark.parametrize(
    "name, count, scale",
    [("gemma3", 62, (512 // 8) ** -0.5), ("gemma3", 26, None), ("gemma3n", 4, 1.0), ("llama", 4, None)],
)
def test_the_softmax_scale_is_what_the_architecture_implies(gguf_spec, name, count, scale):
    spec = gguf_spec(name, block_count=count, **{"attention.key_length": 128, "attention.value_length": 128})
    assert spec.group.softmax_scale == (None if scale is None else pytest.approx(scale, rel=1e-15))


def test_a_softmax_scale_in_the_file_counts(gguf_spec):
    assert gguf_spec("granite", **{"attention.scale": 0.0078125}).group.softmax_scale == 0.0078125


def test_a_temperature_has_its_own_interval_where_the_file_has_one(gguf_spec):
    keys = {"attention.temperature_scale": 0.1, "attention.temperature_length": 8192}
    assert gguf_spec("mistral4", **keys).group.temperature == QueryTemperature("ministral3", 0.1, 8192.0)


def test_groks_temperature_is_reported_and_left_out(gguf_spec):
    spec = gguf_spec("grok", **{"attention.temperature_length": 1024})
    assert spec.group.temperature is None
    assert any("grok's own form" in warning for warning in spec.warnings)
    assert gguf_spec("grok", **{"attention.temperature_length": 0}).warnings == ()


def test_a_temperature_without_an_interval_is_refused(gguf_spec):
    with pytest.raises(InputError, match="temperature_length is missing"):
        gguf_spec("mistral3", **{"attention.temperature_scale": 0.1})
