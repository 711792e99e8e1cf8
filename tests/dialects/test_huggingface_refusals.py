"""What is refused, in one line that names the thing; and what is read with a warning instead of silence."""

import math
import re
from typing import Any

import pytest

from ordinate.dialects import huggingface
from ordinate.errors import InputError
from ordinate.spec import Spec

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 512,
    "num_attention_heads": 8,
    "num_hidden_layers": 4,
    "max_position_embeddings": 4096,
}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024, "rope_theta": 10000.0}
LONGROPE = {
    "rope_type": "longrope",
    "original_max_position_embeddings": 1024,
    "rope_theta": 10000.0,
    "short_factor": [1.0] * 32,
    "long_factor": [2.0] * 32,
}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "original_max_position_embeddings": 1024,
    "rope_theta": 10000.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
}


def without(values: dict[str, Any], key: str) -> dict[str, Any]:
    return {k: v for k, v in values.items() if k != key}


def read(config: Any) -> Spec:
    return huggingface.read(config, name="config.json")


def parameters(**values: Any) -> dict[str, Any]:
    return {**LLAMA, "rope_parameters": values}


REFUSED: dict[str, tuple[Any, str]] = {
    "not an object": ([], r"config\.json: a configuration must be an object, got \[\]"),
    "nothing at all": ({}, r"nothing in this configuration says how the model knows position"),
    "unknown model": ({"model_type": "lama"}, r"'lama' is in no table here; did you mean 'llama'\?"),
    "model type not a word": ({"model_type": 3}, r"model_type must be a string, got 3"),
    "base NaN": ({**LLAMA, "rope_theta": math.nan}, r"config\.json: rope_theta must be a finite number, got nan"),
    "base infinite": ({**LLAMA, "rope_theta": math.inf}, r"rope_theta must be a finite number, got inf"),
    "base negative": ({**LLAMA, "rope_theta": -1}, r"rope_theta must be > 0, got -1"),
    "base zero": ({**LLAMA, "rope_theta": 0}, r"rope_theta must be > 0, got 0"),
    "base a word": ({**LLAMA, "rope_theta": "1e6"}, r"rope_theta must be a finite number, got '1e6'"),
    "base true": ({**LLAMA, "rope_theta": True}, r"rope_theta must be a finite number, got True"),
    "base nowhere": (
        {"model_type": "novel", "head_dim": 64, "rope_scaling": {"rope_type": "linear", "factor": 2.0}},
        r"rope_theta is missing, and no default is known for model_type 'novel'",
    ),
    "unknown type": (parameters(rope_type="yarm", factor=2.0), r"rope_type is unknown: 'yarm'; did you mean 'yarn'\?"),
    "type not a word": (parameters(rope_type=["yarn"]), r"rope_parameters\.rope_type must be a string"),
    "two types": (parameters(rope_type="linear", type="yarn", factor=2.0), r"'linear' and .*'yarn'.* must agree"),
    "settings not an object": ({**LLAMA, "rope_scaling": "yarn"}, r"rope_scaling must be an object, got 'yarn'"),
    "both spellings differ": (
        {
            **LLAMA,
            "rope_scaling": {"type": "linear", "factor": 2.0},
            "rope_parameters": {"type": "linear", "factor": 4.0},
        },
        r"rope_parameters and rope_scaling disagree on factor: 4\.0 and 2\.0",
    ),
    "linear endless": (parameters(rope_type="linear", factor=1e308), r"factor 1e\+308 stretches 4096 tokens to more"),
    "yarn endless": (parameters(**{**YARN, "factor": 1e308}), r"factor 1e\+308 stretches 1024 tokens to more"),
    "yarn without factor": (parameters(**without(YARN, "factor")), r"factor is missing: rope_type 'yarn' needs it"),
    "yarn below 1": (parameters(**{**YARN, "factor": 0.5}), r"factor must be >= 1, got 0\.5"),
    "yarn NaN": (parameters(**{**YARN, "factor": math.nan}), r"factor must be a finite number, got nan"),
    "yarn betas": (parameters(**YARN, beta_fast=1, beta_slow=2), r"beta_fast must be >= beta_slow 2, got 1"),
    "yarn truncate": (parameters(**YARN, truncate="no"), r"truncate must be True or False, got 'no'"),
    "yarn magnitude": (parameters(**YARN, attention_factor=-1.0), r"attention_factor must be > 0"),
    "yarn length": (
        parameters(**{**YARN, "original_max_position_embeddings": 0}),
        r"original_max_position_embeddings must be an integer >= 1, got 0",
    ),
    "linear without factor": (parameters(rope_type="linear"), r"factor is missing: rope_type 'linear' needs it"),
    "dynamic without length": (
        {"model_type": "novel", "head_dim": 64, "rope_theta": 1e4, "rope_scaling": {"type": "dynamic", "factor": 2.0}},
        r"max_position_embeddings is missing: dynamic scaling starts there",
    ),
    "llama3 without band": (parameters(**without(LLAMA3, "low_freq_factor")), r"low_freq_factor is missing"),
    "llama3 band": (parameters(**{**LLAMA3, "high_freq_factor": 0.5}), r"high_freq_factor must be >= low_freq_factor"),
    "longrope short": (parameters(**{**LONGROPE, "short_factor": [1.0] * 31}), r"short_factor must have 32 .*got 31"),
    "longrope absent": (parameters(**without(LONGROPE, "long_factor")), r"long_factor must be a list of 32 divisors"),
    "longrope NaN": (
        parameters(**{**LONGROPE, "long_factor": [math.nan] * 32}),
        r"long_factor\[0\] must be a finite number, got nan",
    ),
    "odd head": ({**LLAMA, "head_dim": 65}, r"rotary width must be even.*got 65"),
    "odd head from hidden": ({**LLAMA, "hidden_size": 520}, r"rotary width must be even.*got 65"),
    "odd share": (
        parameters(rope_type="linear", factor=2.0, partial_rotary_factor=0.52),
        r"must be even.*got 33 of 64",
    ),
    "odd rotary_dim": ({"model_type": "gptj", "rotary_dim": 33}, r"must be even.*got 33"),
    "rotary_dim too large": ({"model_type": "gptj", "rotary_dim": 512}, r"rotary_dim must be at most 256"),
    "share of nothing": (parameters(rope_type="linear", factor=2.0, partial_rotary_factor=1e-9), r"leave 1 to 64"),
    "share endless": (
        parameters(rope_type="default", partial_rotary_factor=1e308),
        r"must be at most 65536, got 1e\+308",
    ),
    "share endless, proportional": (
        parameters(rope_type="proportional", partial_rotary_factor=1e308),
        r"partial_rotary_factor must be at most 65536, got 1e\+308",
    ),
    "head too wide": (
        {**LLAMA, "hidden_size": 2**24, "num_attention_heads": 1},
        r"hidden_size gives heads of 16777216 channels, at most 65536 are read",
    ),
    "padding a word": (
        {"model_type": "esm", "pad_token_id": "one"},
        r"pad_token_id must be an integer >= 0, got 'one'",
    ),
    "padding true": ({"model_type": "esm", "pad_token_id": True}, r"pad_token_id must be an integer >= 0, got True"),
    "share too large": (parameters(rope_type="linear", factor=2.0, partial_rotary_factor=1.5), r"leave 1 to 64"),
    "no width": ({"model_type": "novel", "rope_theta": 1e4}, r"head_dim is missing, and so is hidden_size"),
    "width huge": ({**LLAMA, "head_dim": 2**20}, r"head_dim must be at most 65536"),
    "heads zero": ({**LLAMA, "num_attention_heads": 0}, r"num_attention_heads must be an integer >= 1, got 0"),
    "layers huge": ({**LLAMA, "num_hidden_layers": 10**9}, r"num_hidden_layers must be at most 4096"),
    "layers a fraction": ({**LLAMA, "num_hidden_layers": 2.5}, r"num_hidden_layers must be an integer >= 1, got 2\.5"),
    "length NaN": ({**LLAMA, "max_position_embeddings": math.nan}, r"max_position_embeddings must be an integer"),
    "layer types short": ({**LLAMA, "layer_types": ["full_attention"]}, r"entry for each of 4 layers, got 1"),
    "layer type unknown": ({**LLAMA, "layer_types": ["fool_attention"] * 4}, r"did you mean 'full_attention'"),
    "layer types a word": ({**LLAMA, "layer_types": "full_attention"}, r"layer_types must be a list"),
    "no settings for a type": (
        {
            **LLAMA,
            "layer_types": ["full_attention", "sliding_attention"] * 2,
            "rope_parameters": {"full_attention": {"rope_theta": 1e4}},
        },
        r"no settings for layer type 'sliding_attention', only for full_attention",
    ),
    "sections": (
        {
            "model_type": "qwen2_vl_text",
            "hidden_size": 512,
            "num_attention_heads": 8,
            "rope_parameters": {"rope_theta": 1e4, "mrope_section": [16, 24, 24]},
        },
        r"mrope_section must add up to 32 pairs, got \[16, 24, 24\]",
    ),
    "axial width": ({"model_type": "pixtral", "head_dim": 66}, r"needs a head width that 4 divides, got 66"),
    "no_rope_layers short": ({"model_type": "smollm3", "no_rope_layers": [1]}, r"no_rope_layers must have an entry"),
    "text_config a word": ({"model_type": "gemma3", "text_config": "gemma3_text"}, r"text_config must be an object"),
    "learned without rows": (
        {"model_type": "roberta", "max_position_embeddings": 2},
        r"must be more than pad_token_id",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_used_is_refused_in_one_line(what: str) -> None:
    config, pattern = REFUSED[what]
    with pytest.raises(InputError, match=pattern) as caught:
        read(config)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("config.json: ")


WARNED: dict[str, tuple[Any, str]] = {
    "unknown model": ({"model_type": "novel", "head_dim": 64, "rope_theta": 1e4}, r"paired is unknown.*'novel'"),
    "code": (
        {**LLAMA, "auto_map": {"AutoModel": "modeling.Model"}},
        r"auto_map names repository code \(modeling.Model\)",
    ),
    "setting nobody knows": (
        parameters(rope_type="linear", factor=2.0, faktor=4.0),
        r"rope_parameters\.faktor is no setting",
    ),
    "setting without effect": (parameters(rope_type="default", factor=2.0), r"rope_parameters\.factor has no effect"),
    "two bases": (
        {**parameters(rope_theta=1e4), "rope_theta": 5e5},
        r"rope_parameters\.rope_theta is read, and rope_theta",
    ),
    "yarn without length": (
        parameters(**without(YARN, "original_max_position_embeddings")),
        r"max_position_embeddings 4096 is taken, as transformers does",
    ),
    "yarn null factor": (parameters(**{**YARN, "factor": None}), r"factor is null: .* 4, is taken"),
    "share overlooked": (
        parameters(rope_theta=1e4, partial_rotary_factor=0.5),
        r"turns the whole head of llama all the same",
    ),
    "set of settings nobody uses": (
        {
            **LLAMA,
            "layer_types": ["full_attention"] * 4,
            "rope_parameters": {"full_attention": {"rope_theta": 1e4}, "sliding_attention": {"rope_theta": 2e4}},
        },
        r"no layer uses the rotary settings for sliding_attention",
    ),
    "stray setting": (
        {
            **LLAMA,
            "layer_types": ["full_attention"] * 4,
            "rope_parameters": {"full_attention": {"rope_theta": 1e4}, "factor": 8.0},
        },
        r"rope_parameters\.factor stands beside settings for each layer type",
    ),
    "both spellings": (
        {
            **LLAMA,
            "rope_scaling": {"type": "linear", "factor": 2.0},
            "rope_parameters": {"type": "linear", "factor": 2.0, "rope_theta": 1e4},
        },
        r"read together, where transformers reads rope_scaling alone",
    ),
    "no length": ({"model_type": "novel", "head_dim": 64, "rope_theta": 1e4}, r"does not say how long its context is"),
    "heads that do not divide": ({**LLAMA, "hidden_size": 514}, r"no multiple of 8 heads"),
    "chunks": ({"model_type": "llama4_text"}, r"a chunk that starts anew"),
    "recurrent layers": ({"model_type": "qwen3_next"}, r"36 of 48 layers have no attention"),
    "odd default": ({"model_type": "glm4_moe"}, r"turns 21 channels, an odd number"),
    "dinov3": ({"model_type": "dinov3_vit"}, r"coordinates are 2 pi times a patch's centre"),
}


@pytest.mark.parametrize("what", WARNED)
def test_what_engines_guess_or_overlook_is_said(what: str) -> None:
    config, pattern = WARNED[what]
    warnings = read(config).warnings
    assert any(re.search(pattern, warning) for warning in warnings), warnings
    assert all("\n" not in warning for warning in warnings)


@pytest.mark.parametrize(
    "config",
    [
        {**LLAMA, "rope_scaling": None},
        {**LLAMA, "rope_parameters": None, "rope_theta": None},
        parameters(rope_theta=10000.0, rope_type="default", factor=None),
        parameters(**YARN, attention_factor=None, mscale=None, finetuned=True),
        parameters(**{"type": "yarn", **YARN}),
    ],
)
def test_null_is_as_good_as_absent_and_nothing_is_said(config: dict[str, Any]) -> None:
    assert read(config).warnings == ()


def test_settings_by_layer_type_that_are_not_applied_are_left_aside() -> None:
    config = {
        "model_type": "granitemoehybrid",
        "position_embedding_type": None,
        "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 10000.0}},
    }
    spec = read(config)
    assert spec.group.scheme == "none"
    assert any("the rotary settings are not applied" in warning for warning in spec.warnings)


def test_a_default_is_marked_as_assumed() -> None:
    spec = read(LLAMA)
    assert spec.group.rope.base == 10000.0
    assert spec.sources["full_attention.base"].startswith("assumed: transformers' default for llama")


def test_the_configuration_is_not_written_to() -> None:
    inner = {"rope_type": "linear", "factor": 2.0}
    config = {**LLAMA, "rope_scaling": inner, "rope_theta": 5e5}
    before = (dict(config), dict(inner))
    read(config)
    assert (config, inner) == before
