"""Released configurations in the spellings of transformers 4 and 5: what is read, and that both say the same."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from ordinate.dialects import huggingface
from ordinate.schemes.multimodal import Multimodal
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup, Spec, Window

LLAMA_3_1 = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "num_hidden_layers": 32,
    "max_position_embeddings": 131072,
}
LLAMA3_SCALING = {
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
    "rope_type": "llama3",
}
GEMMA_3 = {
    "model_type": "gemma3_text",
    "hidden_size": 2560,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "num_hidden_layers": 34,
    "head_dim": 256,
    "query_pre_attn_scalar": 256,
    "sliding_window": 1024,
    "max_position_embeddings": 131072,
}
PHI_3 = {
    "model_type": "phi3",
    "hidden_size": 3072,
    "num_attention_heads": 32,
    "num_key_value_heads": 32,
    "num_hidden_layers": 32,
    "max_position_embeddings": 131072,
    "original_max_position_embeddings": 4096,
    "sliding_window": 262144,
}
SHORT, LONG = [1.0 + i / 100 for i in range(48)], [1.0 + i for i in range(48)]
QWEN2_VL = {
    "model_type": "qwen2_vl",
    "hidden_size": 3584,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "num_hidden_layers": 28,
    "max_position_embeddings": 32768,
    "use_sliding_window": False,
    "sliding_window": 32768,
    "max_window_layers": 28,
}
MODERNBERT = {
    "model_type": "modernbert",
    "hidden_size": 768,
    "num_attention_heads": 12,
    "num_hidden_layers": 22,
    "max_position_embeddings": 8192,
    "local_attention": 128,
}
DEEPSEEK_V3 = {
    "model_type": "deepseek_v3",
    "hidden_size": 7168,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "num_hidden_layers": 61,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "max_position_embeddings": 163840,
}
DEEPSEEK_YARN = {
    "beta_fast": 32,
    "beta_slow": 1,
    "factor": 40,
    "mscale": 1.0,
    "mscale_all_dim": 1.0,
    "original_max_position_embeddings": 4096,
    "type": "yarn",
}
QWEN3 = {
    "model_type": "qwen3",
    "hidden_size": 1024,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "num_hidden_layers": 28,
    "max_position_embeddings": 40960,
}


def read(config: Mapping[str, Any]) -> Spec:
    return huggingface.read(config, name="released")


def said(spec: Spec) -> tuple[str, dict[str, LayerGroup], Window, int | None]:
    """All that a spec says, without where it was read."""
    return spec.architecture, dict(spec.groups), spec.window, spec.layers


PAIRS = {
    "llama 3.1": (
        {**LLAMA_3_1, "rope_theta": 500000.0, "rope_scaling": LLAMA3_SCALING},
        {**LLAMA_3_1, "rope_parameters": {**LLAMA3_SCALING, "rope_theta": 500000.0}},
    ),
    "gemma 3": (
        {
            **GEMMA_3,
            "rope_theta": 1000000.0,
            "rope_local_base_freq": 10000.0,
            "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
            "sliding_window_pattern": 6,
        },
        {
            **GEMMA_3,
            "rope_parameters": {
                "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000000.0},
                "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
            },
            "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 5 + ["sliding_attention"] * 4,
        },
    ),
    "phi 3": (
        {
            **PHI_3,
            "rope_theta": 10000.0,
            "rope_scaling": {"type": "su", "short_factor": SHORT, "long_factor": LONG},
        },
        {
            **PHI_3,
            "rope_parameters": {
                "rope_type": "longrope",
                "rope_theta": 10000.0,
                "short_factor": SHORT,
                "long_factor": LONG,
                "original_max_position_embeddings": 4096,
                "partial_rotary_factor": 1.0,
            },
        },
    ),
    "qwen2-vl": (
        {**QWEN2_VL, "rope_theta": 1e6, "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}},
        {
            "model_type": "qwen2_vl",
            "text_config": {
                **QWEN2_VL,
                "model_type": "qwen2_vl_text",
                "rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [16, 24, 24]},
            },
        },
    ),
    "modernbert": (
        {**MODERNBERT, "global_rope_theta": 160000.0, "local_rope_theta": 10000.0, "global_attn_every_n_layers": 3},
        {
            **MODERNBERT,
            "rope_parameters": {
                "full_attention": {"rope_type": "default", "rope_theta": 160000.0},
                "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
            },
            "layer_types": ["sliding_attention" if i % 3 else "full_attention" for i in range(22)],
        },
    ),
    "deepseek v3": (
        {**DEEPSEEK_V3, "rope_theta": 10000, "rope_scaling": DEEPSEEK_YARN},
        {**DEEPSEEK_V3, "rope_parameters": {**DEEPSEEK_YARN, "rope_theta": 10000, "rope_type": "yarn"}},
    ),
    "pythia": (
        {"model_type": "gpt_neox", "hidden_size": 512, "num_attention_heads": 8, "rotary_pct": 0.25,
         "rotary_emb_base": 10000, "num_hidden_layers": 6, "max_position_embeddings": 2048},
        {"model_type": "gpt_neox", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 6,
         "max_position_embeddings": 2048, "rope_parameters":
            {"rope_type": "default", "rope_theta": 10000, "partial_rotary_factor": 0.25}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("model", PAIRS)
def test_both_spellings_say_the_same(model: str) -> None:
    old, new = PAIRS[model]
    assert said(read(old)) == said(read(new))


def test_llama_3_1_is_stretched_by_eight() -> None:
    spec = read(PAIRS["llama 3.1"][0])
    group = spec.group
    assert (group.scheme, group.scaling, group.pairing, group.rotary_dim) == ("rope", "llama3", "half", 128)
    assert spec.window == Window(8192, 131072)
    plain = 500000.0 ** (-np.arange(64) / 64)
    np.testing.assert_allclose(group.frequencies()[[0, -1]], [plain[0], plain[-1] / 8], rtol=1e-12)
    assert spec.sources["full_attention.base"] == "rope_theta"
    assert spec.sources["full_attention.scaling"] == "rope_scaling"
    assert group.heads is not None
    assert group.heads.kind == "GQA"


def test_gemma_3_scales_its_full_layers_only() -> None:
    spec = read(PAIRS["gemma 3"][0])
    full, sliding = spec.groups["full_attention"], spec.groups["sliding_attention"]
    assert (full.scaling, sliding.scaling) == ("linear", None)
    assert (full.rope.base, sliding.rope.base) == (1000000.0, 10000.0)
    assert full.layers == (5, 11, 17, 23, 29)
    assert (full.sliding_window, sliding.sliding_window) == (None, 1024)
    assert full.softmax_scale is None
    assert spec.window == Window(None, 131072)
    assert any("after linear scaling" in warning for warning in spec.warnings)


def test_gemma_3_inside_a_composite_configuration_is_found() -> None:
    spec = read({"model_type": "gemma3", "text_config": PAIRS["gemma 3"][0], "vision_config": {"hidden_size": 8}})
    assert said(spec) == said(read(PAIRS["gemma 3"][1]))
    assert spec.sources["full_attention.base"] == "text_config.rope_theta"


def test_phi_3_takes_the_ratio_of_its_lengths_for_a_factor() -> None:
    spec = read(PAIRS["phi 3"][0])
    group = spec.group
    assert spec.window == Window(4096, 131072)
    plain = 10000.0 ** (-np.arange(48) / 48)
    np.testing.assert_allclose(group.frequencies(4096), plain / SHORT, rtol=1e-12)
    np.testing.assert_allclose(group.frequencies(4097), plain / LONG, rtol=1e-12)
    assert group.attention_factor() == pytest.approx(math.sqrt(1 + math.log(32) / math.log(4096)), rel=1e-12)


def test_phi_3_reads_its_length_from_the_top() -> None:
    config = {**PHI_3, "rope_scaling": {"type": "longrope", "short_factor": SHORT, "long_factor": LONG,
                                        "original_max_position_embeddings": 8192}}  # fmt: skip
    spec = read(config)
    assert spec.window.trained == 4096
    assert any("original_max_position_embeddings" in w and "differs" in w for w in spec.warnings)


def test_qwen2_vl_deals_its_pairs_to_three_axes() -> None:
    group = read(PAIRS["qwen2-vl"][0]).group
    assert group.encoding == Multimodal(128, (16, 24, 24), base=1e6)
    assert group.sliding_window is None


def test_qwen3_vl_lays_its_axes_in_turn_and_glm_pairs_neighbours() -> None:
    qwen = read({"model_type": "qwen3_vl", "text_config": {"model_type": "qwen3_vl_text"}}).group
    assert qwen.encoding == Multimodal(128, (24, 20, 20), base=qwen.rope.base, layout="interleaved")
    parameters = {"rope_theta": 10000.0, "partial_rotary_factor": 0.5, "mrope_section": [8, 12, 12]}
    glm = read({"model_type": "glm4v_text", "rope_parameters": parameters}).group
    assert glm.pairing == "interleaved"
    assert glm.encoding == Multimodal(128, (8, 12, 12), 64, pairing="interleaved")


def test_deepseek_v3_turns_the_last_channels_and_scales_its_logits() -> None:
    group = read(PAIRS["deepseek v3"][0]).group
    assert group.encoding == Rope(192, 64, 10000.0, "interleaved", "last")
    assert group.pairing == "interleaved-in-half-out"
    assert group.attention_factor() == 1.0
    assert group.softmax_scale == pytest.approx((0.1 * math.log(40) + 1) ** 2 / math.sqrt(192), rel=1e-12)
    assert group.heads is not None
    assert (group.heads.kind, group.heads.latent_dim, group.heads.rotary_key_dim) == ("MLA", 512, 64)
    halves = read({**PAIRS["deepseek v3"][0], "rope_interleave": False}).group
    assert (halves.pairing, halves.rope.pairing) == ("half", "half")


def test_gpt_oss_does_not_round_its_ramp() -> None:
    config = {"model_type": "gpt_oss", "hidden_size": 2880, "num_attention_heads": 64, "head_dim": 64,
              "num_hidden_layers": 24, "max_position_embeddings": 131072, "rope_theta": 150000,
              "layer_types": ["sliding_attention", "full_attention"] * 12, "sliding_window": 128,
              "rope_scaling": {"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0,
                               "truncate": False, "original_max_position_embeddings": 4096}}  # fmt: skip
    spec = read(config)
    assert list(spec.groups) == ["sliding_attention", "full_attention"]
    for group in spec.groups.values():
        assert group.stretch is not None
        assert getattr(group.stretch, "truncate", None) is False
        assert group.attention_factor() == pytest.approx(0.1 * math.log(32) + 1, rel=1e-12)
    assert spec.groups["sliding_attention"].sliding_window == 128
    assert spec.window == Window(4096, 131072)


def test_truncate_inside_settings_by_layer_type_is_honoured_with_a_warning() -> None:
    yarn = {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 4096, "truncate": False,
            "rope_theta": 500000.0}  # fmt: skip
    base = {"model_type": "olmo3", "max_position_embeddings": 32768}
    nested = read({**base, "rope_parameters": {"full_attention": yarn, "sliding_attention": {"rope_theta": 500000.0}}})
    assert getattr(nested.groups["full_attention"].stretch, "truncate", None) is False
    assert any("truncate" in warning for warning in nested.warnings)


@pytest.mark.parametrize(("declared", "window", "remark"), [
    (131072, Window(32768, 131072), ""),
    (40960, Window(32768, 131072), "engines that stop there"),
    (262144, Window(32768, 262144), "past what was stretched for"),
])  # fmt: skip
def test_yarn_declares_the_larger_of_both_lengths(declared: int, window: Window, remark: str) -> None:
    yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768, "rope_theta": 1e6}
    spec = read({**QWEN3, "max_position_embeddings": declared, "rope_parameters": yarn})
    assert spec.window == window
    assert (len(spec.warnings) > 0) == bool(remark)
    assert all(remark in warning for warning in spec.warnings)


@pytest.mark.parametrize("method", ["linear", "dynamic"])
def test_linear_and_dynamic_count_before_scaling(method: str) -> None:
    scaling = {"type": method, "factor": 4.0}
    assert read({**QWEN3, "rope_theta": 1e6, "rope_scaling": scaling}).window == Window(40960, 163840)


@pytest.mark.parametrize(("factor", "declared"), [(8.0, 131072), (32.0, 131072)])
def test_llama_3_declares_what_its_file_says_whatever_its_factor_reaches(factor, declared):
    rope = {
        "rope_type": "llama3", "rope_theta": 500000.0, "factor": factor, "low_freq_factor": 1.0,
        "high_freq_factor": 4.0, "original_max_position_embeddings": 8192,
    }  # fmt: skip
    config = {
        "model_type": "llama", "hidden_size": 2048, "num_attention_heads": 32, "head_dim": 64,
        "max_position_embeddings": declared, "rope_parameters": rope,
    }  # fmt: skip
    spec = huggingface.read(config, name="llama")
    assert spec.window == Window(8192, declared)
    assert spec.sources["window.trained"] == "rope_parameters.original_max_position_embeddings"
    assert spec.sources["window.declared"] == "max_position_embeddings"


OLD_WORDS = [
    ("bloom", {"n_head": 32}, {"n_embed": 4096}),
    ("falcon", {"num_attention_heads": 32}, {"n_embed": 4096}),
    ("dots3_note_vision_encoder", {"adapter_in_dim": 2048}, {"embed_dim": 2048, "num_heads": 16}),
    ("step3p5_vision", {}, {"width": 2048, "heads": 8, "layers": 3}),
]


@pytest.mark.parametrize("model_type, own, old", OLD_WORDS, ids=[case[0] for case in OLD_WORDS])
@pytest.mark.parametrize("beside", [{}, {"hidden_size": 1024}], ids=["alone", "beside that of today"])
def test_words_of_old_files_come_before_those_of_today_as_in_transformers(
    model_type: str, own: Mapping[str, int], old: Mapping[str, int], beside: Mapping[str, int]
) -> None:
    transformers = pytest.importorskip("transformers")
    config = {"model_type": model_type, **own, **beside, **old}
    theirs = transformers.AutoConfig.for_model(**config)
    group = huggingface.read(config, name="released").group
    assert group.heads is not None
    assert theirs.hidden_size in old.values()
    assert (group.heads.query, group.heads.head_dim) == (
        theirs.num_attention_heads,
        theirs.hidden_size // theirs.num_attention_heads,
    )
