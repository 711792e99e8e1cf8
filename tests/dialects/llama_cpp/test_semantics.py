"""What llama.cpp computes of a model, against numbers from its source and from transformers' golden values."""

import math
from dataclasses import replace

import numpy as np
import pytest

from ordinate import read
from ordinate.dialects.llama_cpp import LlamaCpp
from ordinate.dialects.llama_cpp.semantics import growth_by_shifts
from ordinate.errors import InputError
from ordinate.scaling.linear import Linear
from ordinate.scaling.longrope import LongRope
from ordinate.scaling.yarn import Yarn
from ordinate.spec import Spec

GPT_OSS = {
    "model_type": "gpt_oss",
    "num_hidden_layers": 4,
    "max_position_embeddings": 131072,
    "rope_parameters": {
        "rope_type": "yarn",
        "rope_theta": 150000,
        "factor": 32.0,
        "beta_fast": 32.0,
        "beta_slow": 1.0,
        "truncate": False,
        "original_max_position_embeddings": 4096,
    },
}


def model(model_type: str = "llama", **rope: object) -> Spec:
    return read(
        {
            "model_type": model_type,
            "num_hidden_layers": 2,
            "hidden_size": 512,
            "num_attention_heads": 8,
            "num_key_value_heads": 8,
            "head_dim": 64,
            "max_position_embeddings": 8192,
            "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default", **rope},
        }
    )


def yarn(model_type: str = "llama", **more: object) -> Spec:
    return model(model_type, rope_type="yarn", factor=4.0, original_max_position_embeddings=2048, **more)


def lost(spec: Spec) -> list[str]:
    return [loss.setting for loss in LlamaCpp().interpret(spec).losses]


def test_the_rounding_of_gpt_oss_is_76_percent_off_at_pair_17():
    spec = read(GPT_OSS)
    found = LlamaCpp().interpret(spec)
    for name, group in spec.groups.items():
        model_says, engine_runs = group.frequencies(), found.spec.groups[name].frequencies()
        relative = np.abs(engine_runs - model_says) / model_says
        assert relative.argmax() == 17
        assert relative.max() == pytest.approx(0.763, abs=5e-4)
    assert {(loss.setting, loss.group) for loss in found.losses} == {
        ("truncate", "full_attention"),
        ("truncate", "sliding_attention"),
    }
    assert "pair 17 is 76.3% off" in found.losses[0].what


def test_yarn_at_its_defaults_is_run_as_it_is():
    for model_type in ("llama", "qwen3", "ministral3"):
        spec = yarn(model_type)
        assert LlamaCpp().interpret(spec).losses == ()
        assert LlamaCpp().interpret(spec).spec.group.stretch == spec.group.stretch


def test_an_attention_factor_is_replaced_by_the_computed_magnitude():
    spec = yarn(attention_factor=1.25)
    assert lost(spec) == ["attention_factor"]
    assert LlamaCpp().interpret(spec).spec.group.attention_factor() == pytest.approx(0.1 * math.log(4) + 1)
    # The magnitude that would be computed is no loss.
    assert lost(yarn(attention_factor=0.1 * math.log(4) + 1)) == []


@pytest.mark.parametrize(
    "model_type, mscale, mscale_all_dim, expected",
    [
        # peers.md: mscale_all_dim 0 counts as absent, in transformers and in llama.cpp.
        ("deepseek_v3", 0.707, 0.0, 1.0 + 0.1 * math.log(40)),
        # DeepSeek's converter writes mscale_all_dim, and mscale is taken for the same.
        ("deepseek_v3", 1.0, 0.5, 1.0),
        # Elsewhere mscale is assumed to be 1.
        ("ministral3", 0.5, 0.5, (1 + 0.1 * math.log(40)) / (1 + 0.05 * math.log(40))),
        # The converter of other architectures writes neither.
        ("llama", 1.0, 1.0, 1.0 + 0.1 * math.log(40)),
    ],
)
def test_the_magnitude_follows_the_log_multiplier_where_there_is_one(model_type, mscale, mscale_all_dim, expected):
    spec = yarn("llama", mscale=mscale, mscale_all_dim=mscale_all_dim)
    stretch = Yarn(40.0, 2048, mscale=mscale, mscale_all_dim=mscale_all_dim)
    spec = replace(spec, architecture=model_type, groups={"full_attention": replace(spec.group, stretch=stretch)})
    found = LlamaCpp().interpret(spec)
    assert found.spec.group.attention_factor() == pytest.approx(expected, rel=1e-12)
    said = stretch.attention_factor()
    assert [loss.setting for loss in found.losses] == ([] if said == pytest.approx(expected) else ["mscale"])


def test_betas_are_read_for_grok_and_mistral3_only():
    assert lost(yarn("ministral3", beta_fast=16.0, beta_slow=2.0)) == []
    for model_type in ("llama", "qwen2"):
        spec = yarn(model_type, beta_fast=16.0, beta_slow=2.0)
        assert lost(spec) == ["beta_fast, beta_slow"]
        run = LlamaCpp().interpret(spec).spec
        np.testing.assert_array_equal(run.group.frequencies(), yarn(model_type).group.frequencies())


def test_dynamic_scaling_is_dropped_by_the_converter():
    spec = model(rope_type="dynamic", factor=4.0)
    found = LlamaCpp().interpret(spec)
    assert found.spec.group.stretch is None
    assert [loss.setting for loss in found.losses] == ["rope_type dynamic"]
    assert lost(model(rope_type="linear", factor=4.0)) == []


LISTS = {"short_factor": [1.0] * 32, "long_factor": np.linspace(1, 8, 32).tolist()}


@pytest.mark.parametrize("capacity, name", [(4096, "short"), (4097, "long"), (None, "long")])
def test_the_list_of_longrope_is_chosen_by_the_allocated_context(capacity, name):
    spec = model("phi3", rope_type="longrope", original_max_position_embeddings=4096, **LISTS)
    found = LlamaCpp().interpret(spec, capacity)
    plain = spec.group.rope.plain()
    for length in (None, 1, 4096, 4097, 8192):
        np.testing.assert_allclose(found.spec.group.frequencies(length), plain / LISTS[f"{name}_factor"], rtol=1e-12)
    assert [loss.setting for loss in found.losses] == ["short_factor, long_factor"]


def test_the_magnitude_of_longrope_is_from_the_lengths_and_not_from_the_configuration():
    spec = model("phi3", rope_type="longrope", original_max_position_embeddings=4096, attention_factor=1.5, **LISTS)
    found = LlamaCpp().interpret(spec)
    assert found.spec.group.attention_factor() == pytest.approx(math.sqrt(1 + math.log(2) / math.log(4096)))
    assert "attention_factor" in {loss.setting for loss in found.losses}
    minicpm = LlamaCpp().interpret(replace(spec, architecture="minicpm3"))
    assert minicpm.spec.group.attention_factor() == 1


def test_longrope_of_an_architecture_whose_converter_writes_no_lists_is_lost():
    spec = model("llama", rope_type="longrope", original_max_position_embeddings=4096, **LISTS)
    assert LlamaCpp().interpret(spec).spec.group.stretch is None
    assert lost(spec) == ["rope_type longrope"]


@pytest.mark.parametrize("model_type, losses", [("llama", []), ("mistral", []), ("qwen2", ["rope_type llama3"])])
def test_llama3_becomes_a_factor_tensor_where_the_converter_writes_one(model_type, losses):
    spec = model(
        model_type,
        rope_type="llama3",
        factor=8.0,
        low_freq_factor=1.0,
        high_freq_factor=4.0,
        original_max_position_embeddings=2048,
    )
    assert lost(spec) == losses


def test_a_scaling_of_sliding_layers_alone_is_not_written():
    both = read(
        {
            "model_type": "gemma3_text",
            "num_hidden_layers": 6,
            "max_position_embeddings": 8192,
            "rope_parameters": {
                "full_attention": {"rope_type": "linear", "rope_theta": 1e6, "factor": 8.0},
                "sliding_attention": {"rope_type": "linear", "rope_theta": 1e4, "factor": 2.0},
            },
        }
    )
    found = LlamaCpp().interpret(both)
    assert found.spec.groups["full_attention"].stretch == Linear(8.0)
    assert found.spec.groups["sliding_attention"].stretch is None
    assert [(loss.setting, loss.group) for loss in found.losses] == [
        ("rope_parameters of a layer type", "sliding_attention")
    ]


def test_a_file_says_by_its_key_whether_a_magnitude_counts(gguf_spec):
    keys = {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 1024}
    heeded = gguf_spec("qwen2", **keys, **{"rope.scaling.attn_factor": 1.25})
    found = LlamaCpp().interpret(heeded)
    assert found.losses == ()
    assert found.spec.group.attention_factor() == pytest.approx(1.25 * (1 + 0.1 * math.log(4)))
    inert = LlamaCpp().interpret(gguf_spec("qwen2", **keys, **{"rope.scaling.yarn_attn_factor": 1.25}))
    assert [loss.setting for loss in inert.losses] == ["attention_factor"]
    assert inert.spec.group.attention_factor() == pytest.approx(1 + 0.1 * math.log(4))
    both = gguf_spec("qwen2", **keys, **{"rope.scaling.yarn_attn_factor": 1.25, "rope.scaling.attn_factor": 1.5})
    with pytest.raises(InputError, match="in two keys"):
        LlamaCpp().interpret(both)


def test_a_longrope_file_without_its_magnitude_is_run_with_one(gguf_spec):
    lists = {
        "rope_factors_short.weight": np.ones(32, np.float32),
        "rope_factors_long.weight": np.linspace(1, 8, 32, dtype=np.float32),
    }
    keys = {"rope.scaling.type": "longrope", "rope.scaling.original_context_length": 1024}
    without = LlamaCpp().interpret(gguf_spec("phi3", lists, **keys))
    assert without.spec.group.attention_factor() == 1
    assert "attention_factor" in {loss.setting for loss in without.losses}
    given = LlamaCpp().interpret(gguf_spec("phi3", lists, **keys, **{"rope.scaling.attn_factor": 1.2}))
    assert given.spec.group.attention_factor() == pytest.approx(1.2)
    assert isinstance(given.spec.group.stretch, LongRope)


def test_each_shift_of_a_full_cache_applies_the_magnitude_once_more():
    magnitude = yarn().group.attention_factor()
    assert growth_by_shifts(magnitude, 1) == pytest.approx(1.139, abs=5e-4)
    assert growth_by_shifts(magnitude, 5) == pytest.approx(1.91, abs=5e-3)
    assert growth_by_shifts(1.0, 1000) == 1
    with pytest.raises(InputError):
        growth_by_shifts(magnitude, -1)


def test_a_model_that_does_not_rotate_is_left_as_it_is():
    spec = read({"model_type": "bloom", "n_layer": 2, "n_head": 4, "hidden_size": 64})
    assert LlamaCpp().interpret(spec).spec == spec


def test_a_capacity_that_is_no_length_is_refused():
    with pytest.raises(InputError, match="capacity"):
        LlamaCpp().interpret(model(), 0)
