"""What differs from layer to layer: windows, position left out, wider heads, sharper queries."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ordinate.dialects import huggingface
from ordinate.schemes.rope import Rope
from ordinate.spec import Spec, Window


def read(config: Mapping[str, Any]) -> Spec:
    return huggingface.read(config, name="released")


def test_every_fourth_layer_of_smollm3_has_no_position() -> None:
    config = {
        "model_type": "smollm3",
        "hidden_size": 2048,
        "num_attention_heads": 16,
        "num_key_value_heads": 4,
        "num_hidden_layers": 36,
        "max_position_embeddings": 65536,
        "rope_theta": 5000000.0,
        "no_rope_layers": [1, 1, 1, 0] * 9,
        "no_rope_layer_interval": 4,
        "layer_types": ["full_attention"] * 36,
    }
    spec = read(config)
    assert spec.warnings == ()
    nope = tuple(range(3, 36, 4))
    assert spec.groups["full_attention"].layers == tuple(i for i in range(36) if i not in nope)
    assert spec.groups["full_attention_without_position"].layers == nope
    assert spec.groups["full_attention_without_position"].scheme == "none"
    del config["no_rope_layers"], config["layer_types"]
    assert (read(config).groups, read(config).window) == (spec.groups, spec.window)


def test_llama_4_sharpens_the_layers_without_position() -> None:
    spec = read({"model_type": "llama4", "text_config": {"model_type": "llama4_text", "num_hidden_layers": 8}})
    chunked, full = spec.groups["chunked_attention"], spec.groups["full_attention"]
    assert (chunked.scheme, full.scheme) == ("rope", "none")
    assert full.layers == (3, 7)
    assert chunked.sliding_window == 8192
    assert chunked.temperature is None
    assert full.temperature is not None
    assert (full.temperature.scale, full.temperature.interval) == (0.1, 8192)


def test_ministral_3_sharpens_every_layer() -> None:
    group = read({"model_type": "ministral3"}).group
    assert group.temperature is not None
    assert (group.temperature.form, group.temperature.scale, group.temperature.interval) == ("ministral3", 0.1, 16384)


def test_bamba_may_have_infinity_where_nothing_is_read() -> None:
    config = {
        "model_type": "bamba",
        "time_step_limit": [0.0, float("inf")],
        "attn_layer_indices": [9, 18, 27],
        "num_hidden_layers": 32,
        "max_position_embeddings": 4096,
        "rope_theta": 10000.0,
    }
    spec = read(config)
    assert spec.group.layers == (9, 18, 27)
    assert spec.group.rotary_dim == 64


def test_smollm2_has_one_plain_group() -> None:
    config = {
        "model_type": "llama",
        "hidden_size": 576,
        "num_attention_heads": 9,
        "num_key_value_heads": 3,
        "num_hidden_layers": 30,
        "max_position_embeddings": 8192,
        "rope_theta": 100000,
        "rope_scaling": None,
        "rope_interleaved": False,
    }
    spec = read(config)
    assert spec.window == Window(8192, 8192)
    assert spec.group.encoding == Rope(64, base=100000.0)
    assert (spec.group.scaling, spec.group.layers) == (None, tuple(range(30)))


def test_gpt_j_turns_its_first_64_channels_as_neighbours() -> None:
    group = read(
        {"model_type": "gptj", "n_embd": 4096, "n_head": 16, "n_layer": 28, "n_positions": 2048, "rotary_dim": 64}
    ).group
    assert group.encoding == Rope(256, 64, 10000.0, "interleaved")


def test_nanochat_turns_the_other_way() -> None:
    assert read({"model_type": "nanochat"}).group.rope == Rope(128, direction=-1)


def test_deepseek_v4_has_two_sets_of_frequencies_on_its_last_channels() -> None:
    spec = read(
        {
            "model_type": "deepseek_v4",
            "num_hidden_layers": 3,
            "layer_types": ["sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention"],
        }
    )
    assert {name: group.layers for name, group in spec.groups.items()} == {"main": (0,), "compress": (1, 2)}
    assert {group.rope.base for group in spec.groups.values()} == {10000.0, 160000.0}
    assert all(group.rope == Rope(512, 64, group.rope.base, "interleaved", "last") for group in spec.groups.values())


def test_gemma_4_has_wider_heads_in_full_layers() -> None:
    spec = read({"model_type": "gemma4_text", "num_hidden_layers": 12, "global_head_dim": 512})
    full = spec.groups["full_attention"]
    assert full.encoding == Rope(512, 128, 1000000.0, part="proportional")
    assert spec.groups["sliding_attention"].encoding == Rope(256)
    assert full.softmax_scale == 1.0
    assert np.count_nonzero(full.frequencies()) == 64


def test_granite_has_its_own_softmax_scale() -> None:
    group = read({"model_type": "granite", "attention_multiplier": 0.015625}).group
    assert group.softmax_scale == 0.015625


def test_mistral_slides_in_every_layer_and_qwen2_only_where_it_says() -> None:
    assert read({"model_type": "mistral", "sliding_window": 4096, "rope_theta": 1e4}).group.sliding_window == 4096
    assert read({"model_type": "mistral", "sliding_window": None}).group.sliding_window is None
    off = read({"model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": False, "rope_theta": 1e4})
    assert off.group.sliding_window is None
    on = read(
        {
            "model_type": "qwen2",
            "sliding_window": 4096,
            "use_sliding_window": True,
            "max_window_layers": 28,
            "num_hidden_layers": 32,
            "rope_theta": 1e4,
        }
    )
    assert on.groups["sliding_attention"].layers == (28, 29, 30, 31)


def test_cohere2_rotates_where_it_slides() -> None:
    spec = read({"model_type": "cohere2", "num_hidden_layers": 8, "sliding_window_pattern": 4})
    assert {name: (group.scheme, group.layers) for name, group in spec.groups.items()} == {
        "sliding_attention": ("rope", (0, 1, 2, 4, 5, 6)),
        "full_attention": ("none", (3, 7)),
    }


def test_hunyuan_calls_a_fixed_base_dynamic() -> None:
    config = {
        "model_type": "hunyuan_v1_dense",
        "head_dim": 128,
        "rope_theta": 10000.0,
        "max_position_embeddings": 32768,
        "rope_scaling": {
            "alpha": 1000.0,
            "beta_fast": 32,
            "beta_slow": 1,
            "factor": 1.0,
            "mscale": 1.0,
            "mscale_all_dim": 1.0,
            "type": "dynamic",
        },
    }
    group = read(config).group
    assert group.scaling == "ntk"
    base = 10000.0 * 1000.0 ** (128 / 126)
    np.testing.assert_allclose(group.frequencies(40000), base ** (-np.arange(64) / 64), rtol=1e-12)


def test_settings_that_are_null_are_layers_without_position() -> None:
    config = {
        "model_type": "llama",
        "num_hidden_layers": 2,
        "layer_types": ["sliding_attention", "full_attention"],
        "sliding_window": 64,
        "rope_parameters": {"sliding_attention": {"rope_theta": 1e4}, "full_attention": None},
    }
    spec = read(config)
    assert {name: (group.scheme, group.layers) for name, group in spec.groups.items()} == {
        "sliding_attention": ("rope", (0,)),
        "full_attention": ("none", (1,)),
    }


def test_layers_may_have_bases_of_their_own() -> None:
    spec = read(
        {
            "model_type": "granite_swa",
            "num_hidden_layers": 4,
            "rope_theta": 1e4,
            "layer_types": ["full_attention"] + ["sliding_attention"] * 3,
            "layer_rope_theta": [0, 1e4, 5e5, 1e4],
        }
    )
    assert {name: group.layers for name, group in spec.groups.items()} == {
        "full_attention": (0,),
        "sliding_attention": (1, 3),
        "sliding_attention_base_500000": (2,),
    }
    assert spec.groups["full_attention"].scheme == "none"
    assert spec.groups["sliding_attention_base_500000"].rope == Rope(128, base=5e5)


def test_muse_counts_its_layers_without_position_from_the_end() -> None:
    spec = read({"model_type": "muse_glimmer_text", "num_hidden_layers": 9})
    assert spec.groups["full_attention"].layers == (0, 4, 8)
    assert spec.groups["full_attention"].scheme == "none"


def test_layers_may_have_heads_of_their_own() -> None:
    config = {
        "model_type": "dots3_note_text",
        "num_hidden_layers": 3,
        "layer_types": ["indexed_attention", "sliding_attention", "sliding_attention"],
        "per_layer_config": {i: {"num_attention_heads": 64, "qk_nope_head_dim": 192} for i in ("01", "02")},
    }
    spec = read(config)
    sliding, indexed = spec.groups["sliding_attention"].heads, spec.groups["indexed_attention"].heads
    assert sliding is not None
    assert indexed is not None
    assert (sliding.query, sliding.head_dim) == (64, 256)
    assert (indexed.query, indexed.head_dim) == (128, 192)


def test_layers_that_see_everything_say_how_far_the_model_reaches() -> None:
    yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8192}
    spec = read(
        {
            "model_type": "olmo3",
            "max_position_embeddings": 32768,
            "rope_parameters": {
                "sliding_attention": {"rope_theta": 5e5},
                "full_attention": {**yarn, "rope_theta": 5e5},
            },
        }
    )
    assert spec.window == Window(8192, 32768)
