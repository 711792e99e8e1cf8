"""Faulty configurations from public reports, and for each a near miss that differs in one value.

A case is the report, the rule that must find it, the configuration (or files by name), the path of one value, what
that value is in the near miss (ABSENT: the key is not there), and the engine where the rule is about one.
"""

from typing import Any, NamedTuple

ABSENT = object()


class Case(NamedTuple):
    """A faulty configuration and its near miss."""

    report: str
    rule: str
    files: dict[str, Any]
    path: str
    sound: Any
    engine: str | None = None


def llama(**keys: Any) -> dict[str, Any]:
    """A Llama with heads of 128 channels."""
    shape = {"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8}
    return shape | {"num_hidden_layers": 32, "max_position_embeddings": 4096, "rope_theta": 10000.0} | keys


def scaled(length: int, kind: str, factor: Any, *, theta: Any = 10000.0, **settings: Any) -> dict[str, Any]:
    """A Llama with scaled frequencies."""
    rope = {"rope_type": kind, "factor": factor} | settings
    return llama(max_position_embeddings=length, rope_theta=theta, rope_scaling=rope)


def yarn(length: int, original: int, factor: Any, **settings: Any) -> dict[str, Any]:
    """A Llama with YaRN."""
    return scaled(length, "yarn", factor, original_max_position_embeddings=original, **settings)


def qwen3(length: int, **rope: Any) -> dict[str, Any]:
    """Qwen3 8B."""
    shape = {"model_type": "qwen3", "hidden_size": 4096, "num_attention_heads": 32, "head_dim": 128}
    return shape | {"max_position_embeddings": length, "rope_theta": 1000000.0, "rope_scaling": rope}


def deepseek(**rope: Any) -> dict[str, Any]:
    """DeepSeek-V3."""
    settings = {
        "type": "yarn",
        "factor": 40.0,
        "original_max_position_embeddings": 4096,
        "beta_fast": 32,
        "beta_slow": 1,
    }
    return {"model_type": "deepseek_v3", "max_position_embeddings": 163840, "rope_theta": 10000.0} | {
        "rope_scaling": settings | rope
    }


def longrope(**settings: Any) -> dict[str, Any]:
    """A model of 8 channels a head with the lists of report LROPE-01."""
    lists = {"short_factor": [1.0, 1.0, 1.0, 1.0], "long_factor": [2.0, 4.0, 8.0, 16.0]}
    rope = {"rope_type": "longrope", "original_max_position_embeddings": 4096} | lists | settings
    return llama(head_dim=8, max_position_embeddings=131072, rope_scaling=rope)


def llama3(**settings: Any) -> dict[str, Any]:
    """Llama 3.1 8B."""
    band = {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
    return scaled(131072, "llama3", 8.0, theta=500000.0, **(band | settings))


def gemma3(**sliding: Any) -> dict[str, Any]:
    """Gemma 3, whose full-attention layers alone are scaled."""
    full = {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000000.0}
    local = {"rope_type": "default", "rope_theta": 10000.0} | sliding
    return {"model_type": "gemma3_text", "rope_parameters": {"full_attention": full, "sliding_attention": local}}


def olmo3(**full: Any) -> dict[str, Any]:
    """Olmo 3, with YaRN on full-attention layers alone."""
    rope = {"rope_type": "yarn", "factor": 8.0, "rope_theta": 500000.0, "original_max_position_embeddings": 8192}
    local = {"rope_type": "default", "rope_theta": 500000.0}
    return {"model_type": "olmo3", "max_position_embeddings": 65536} | {
        "rope_parameters": {"full_attention": rope | full, "sliding_attention": local}
    }


def vision(**rope: Any) -> dict[str, Any]:
    """Qwen2-VL 2B, 64 pairs a head."""
    settings = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [16, 24, 24]} | rope
    text = {"hidden_size": 1536, "num_attention_heads": 12, "num_key_value_heads": 2, "rope_parameters": settings}
    return {"model_type": "qwen2_vl", "text_config": text}


def gpt_oss(**rope: Any) -> dict[str, Any]:
    """gpt-oss 20B."""
    shape = {"model_type": "gpt_oss", "num_hidden_layers": 24, "max_position_embeddings": 131072}
    return shape | GPT_OSS | {"rope_scaling": rope}


def beside(name: str, values: dict[str, Any], **keys: Any) -> dict[str, Any]:
    """A Llama's configuration and one file beside it."""
    return {"config.json": llama(**keys), name: values}


def stored(name: str, dtype: str, *values: float, **keys: Any) -> dict[str, Any]:
    """A Llama's configuration and a stored tensor."""
    config = llama(head_dim=8, **keys)
    return {"config.json": config, "tensors": {name: [dtype, [4], list(values)] if values else [dtype, [4]]}}


PLAIN = (1.0, 0.1, 0.01, 0.001)
SETTINGS = "rope_scaling"
GPT_OSS = {"head_dim": 64, "hidden_size": 2880, "num_attention_heads": 64}

CASES = [
    # Bases.
    Case("NVIDIA-NeMo/Megatron-Bridge#3077", "missing-base",
         qwen3(131072, rope_type="yarn", factor=4.0, original_max_position_embeddings=32768) | {"rope_theta": None},
         "rope_theta", 1000000.0),
    Case("vllm-project/vllm#58675", "missing-base", llama3() | {"rope_theta": None}, "rope_theta", 500000.0),
    Case("lyogavin/airllm#368", "engine-base-inside",
         llama(rope_theta=None, rope_parameters={"rope_type": "default", "rope_theta": 500000.0}),
         "rope_theta", 500000.0, "airllm"),
    Case("deepspeedai/DeepSpeed#8345", "engine-base-inside",
         llama(rope_theta=None, rope_parameters={"rope_type": "default", "rope_theta": 1000000.0}),
         "rope_parameters.rope_theta", 10000.0, "deepspeed"),
    Case("linkedin/Liger-Kernel#1013", "base-disagrees",
         llama(rope_theta=10000.0, rope_parameters={"rope_type": "default", "rope_theta": 500000.0}),
         "rope_theta", 500000.0),
    Case("sgl-project/sglang#14745", "base-disagrees",
         llama(rope_theta=1000000.0, rope_parameters={"rope_type": "default", "rope_theta": 10000.0}),
         "rope_theta", ABSENT),
    Case("karpathy/llama2.c#356", "base-repeats", llama(max_position_embeddings=262144), "rope_theta", 1000000.0),
    Case("LostRuins/koboldcpp#487", "base-repeats", llama(max_position_embeddings=1048576),
         "max_position_embeddings", 16384),
    Case("paiml/realizar#78", "base-unresolved", llama(max_position_embeddings=2048, rope_theta=1e24),
         "rope_theta", 1000000.0),
    Case("ggml-org/llama.cpp#2402", "neighbours-squeezed", scaled(2048, "linear", 64.0), "rope_scaling.factor", 4.0),
    # Keys and types.
    Case("vllm-project/vllm#1956", "unreadable", llama(num_attention_heads=-1), "num_attention_heads", 32),
    Case("Blaizzy/mlx-vlm#1710", "reader-note", llama(rope_ratio=8), "rope_ratio", ABSENT),
    Case("NVIDIA-NeMo/Automodel#2825", "unknown-rope-type", scaled(8192, "foo", 4.0), "rope_scaling.rope_type",
         "linear"),
    Case("Blaizzy/mlx-vlm#1710", "unknown-rope-type", scaled(8192, "yarm", 4.0,
         original_max_position_embeddings=2048), "rope_scaling.rope_type", "yarn"),
    Case("lablup/mlxcel#1355", "rope-type-conflict", scaled(4096, "dynamic", 2.0, type="linear"),
         "rope_scaling.type", "dynamic"),
    Case("lablup/mlxcel#1355", "legacy-rope-type", llama(rope_scaling={"type": "linear", "factor": 4.0, "x": 0}),
         "rope_scaling.rope_type", "linear"),
    Case("hiyouga/LlamaFactory#8101", "unknown-setting",
         yarn(8192, 2048, 4.0, orignal_max_position_embeddings=2048), "rope_scaling.orignal_max_position_embeddings",
         ABSENT),
    Case("Blaizzy/mlx-vlm#1710", "unknown-setting", scaled(8192, "linear", 4.0, scaling_factor=4.0),
         "rope_scaling.scaling_factor", ABSENT),
    Case("NVIDIA-NeMo/Automodel#2825", "ignored-setting", scaled(8192, "linear", 4.0, beta_fast=32),
         "rope_scaling.beta_fast", ABSENT),
    Case("vllm-project/vllm#1956", "ignored-setting", llama(rope_scaling={"rope_type": "default", "factor": 4.0}),
         "rope_scaling.rope_type", "linear"),
    Case("karpathy/llama2.c#356", "misspelt-key", llama(rope_theta=None, rope_thetta=1000000.0), "rope_thetta", ABSENT),
    Case("NVIDIA/TensorRT-Model-Connect#399", "two-spellings",
         yarn(131072, 4096, 32.0) | {"rope_parameters": {"rope_type": "yarn", "factor": 16.0,
                                                         "original_max_position_embeddings": 4096}},
         "rope_parameters.factor", 32.0),
    Case("NVIDIA-NeMo/Megatron-Bridge#3077", "two-spellings",
         scaled(4096, "linear", 4.0) | {"rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 1e6}},
         "rope_parameters.rope_theta", ABSENT),
    Case("antonellof/ferrox#39", "setting-beside-layer-types", gemma3() | {"rope_parameters": {
         **gemma3()["rope_parameters"], "factor": 8.0}}, "rope_parameters.factor", ABSENT),
    Case("hiyouga/LlamaFactory#4984", "number-as-text", llama(rope_theta="1e6"), "rope_theta", 1e6),
    Case("hiyouga/LlamaFactory#4984", "number-as-text", scaled(4096, "linear", "4.0"), "rope_scaling.factor", 4.0),
    Case("huggingface/transformers (nested truncate)", "nested-truncate", olmo3(truncate=False),
         "rope_parameters.full_attention.truncate", True),
    Case("vllm-project/vllm#28244", "engine-truncate",
         yarn(131072, 4096, 32.0, theta=150000.0, truncate=False) | GPT_OSS, "rope_scaling.truncate", True,
         "llama_cpp"),
    Case("sgl-project/sglang#14270", "engine-truncate",
         yarn(131072, 4096, 32.0, theta=150000.0, truncate=False) | GPT_OSS, "rope_scaling.truncate", ABSENT, "mlx"),
    Case("vllm-project/vllm#28244", "truncate-lost",
         gpt_oss(rope_type="yarn", factor=32.0, original_max_position_embeddings=4096, rope_theta=150000.0),
         "model_type", "llama"),
    Case("vllm-project/vllm#28244", "truncate-lost",
         gpt_oss(rope_type="yarn", factor=32.0, original_max_position_embeddings=4096, rope_theta=150000.0,
                 truncate=True),
         "rope_scaling.truncate", False),
    # Factors and lengths.
    Case("ggml-org/llama.cpp#2402", "factor-out-of-range", scaled(4096, "linear", 0.25), "rope_scaling.factor", 4.0),
    Case("ggml-org/llama.cpp#2544", "factor-out-of-range", yarn(8192, 2048, 0), "rope_scaling.factor", 4.0),
    Case("hiyouga/LlamaFactory#4984", "missing-setting", llama3(low_freq_factor=None),
         "rope_scaling.low_freq_factor", 1.0),
    Case("NVIDIA-NeMo/Automodel#2652", "missing-setting", scaled(4096, "dynamic", None), "rope_scaling.factor", 2.0),
    Case("vllm-project/vllm#18728", "factor-one", yarn(32768, 32768, 1.0), "rope_scaling.factor", 4.0),
    Case("hiyouga/LlamaFactory#8101", "original-length-missing", yarn(8192, None, 4.0),  # type: ignore[arg-type]
         "rope_scaling.original_max_position_embeddings", 2048),
    Case("NVIDIA/Megatron-LM#1418", "original-length-missing", qwen3(131072, rope_type="yarn", factor=4.0),
         "rope_scaling.original_max_position_embeddings", 32768),
    Case("huggingface/transformers#38224", "factor-against-lengths",
         qwen3(40960, rope_type="yarn", factor=4.0, original_max_position_embeddings=32768),
         "max_position_embeddings", 131072),
    Case("vllm-project/vllm#1264", "factor-against-lengths", yarn(65536, 4096, 8.0), "rope_scaling.factor", 16.0),
    Case("hiyouga/LlamaFactory#1298", "scaled-length-again",
         scaled(16384, "linear", 4.0, original_max_position_embeddings=4096), "max_position_embeddings", 4096),
    Case("vllm-project/vllm#55116", "scaled-length-again",
         scaled(32768, "linear", 4.0, original_max_position_embeddings=8192), "max_position_embeddings", 8192),
    Case("vllm-project/vllm#56446", "original-length-scaled", llama3(original_max_position_embeddings=131072),
         "rope_scaling.original_max_position_embeddings", 8192),
    Case("NVIDIA/Megatron-LM#1418", "original-length-scaled",
         longrope(original_max_position_embeddings=131072), "rope_scaling.original_max_position_embeddings", 4096),
    Case("blog.csdn.net/DK_Allen/148875869", "original-length-not-native",
         qwen3(163840, rope_type="yarn", factor=4.0, original_max_position_embeddings=40960),
         "rope_scaling.original_max_position_embeddings", 32768),
    Case("vllm-project/vllm#2518", "engine-length-refused",
         qwen3(40960, rope_type="yarn", factor=4.0, original_max_position_embeddings=32768),
         "max_position_embeddings", 131072, "vllm"),
    Case("huggingface/transformers#38224", "engine-factor-from-lengths",
         qwen3(40960, rope_type="yarn", factor=4.0, original_max_position_embeddings=32768),
         "max_position_embeddings", 131072, "exllamav3"),
    Case("vllm-project/vllm (linear_scaling_rope.py)", "engine-integer-factor", scaled(4096, "linear", 4),
         "rope_scaling.factor", 4.0, "vllm"),
    # Magnitudes.
    Case("turboderp-org/exllamav3#259", "mscale-cancels", yarn(262144, 16384, 16.0, mscale=1.0, mscale_all_dim=1.0),
         "rope_scaling.mscale_all_dim", 0.5),
    Case("deepseek-ai/DeepSeek-V3 (inference/model.py)", "mla-correction", deepseek(mscale=1.0),
         "rope_scaling.mscale_all_dim", 1.0),
    Case("turboderp-org/exllamav3#259", "two-magnitudes", yarn(131072, 8192, 16.0, attention_factor=1.0, mscale=1.0),
         "rope_scaling.mscale", ABSENT),
    Case("ggml-org/llama.cpp#4097", "magnitude-squared", yarn(4096, 2048, 2.0, attention_factor=1.143434),
         "rope_scaling.attention_factor", 1.069315),
    Case("turboderp-org/exllamav3#259", "magnitude-off", yarn(262144, 16384, 16.0, attention_factor=1.0),
         "rope_scaling.attention_factor", 1.277259),
    Case("sgl-project/sglang (rotary_embedding/yarn.py)", "engine-attention-factor",
         yarn(8192, 2048, 4.0, attention_factor=1.0), "rope_scaling.attention_factor", 1.138629, "sglang"),
    Case("ggml-org/llama.cpp#24823", "engine-attention-factor",
         longrope(factor=32.0, attention_factor=1.0), "rope_scaling.attention_factor", 1.190238, "llama_cpp"),
    Case("sgl-project/sglang (rotary_embedding/yarn.py)", "zero-setting",
         yarn(163840, 4096, 40.0, mscale=0.707, mscale_all_dim=0), "rope_scaling.mscale_all_dim", 0.707),
    Case("turboderp-org/exllamav3#259", "engine-mscale", deepseek(mscale=0.707, mscale_all_dim=1.0),
         "rope_scaling.mscale", 1.0, "llama_cpp"),
    Case("ggml-org/llama.cpp#4097", "engine-shift-magnitude", yarn(4096, 2048, 2.0), "rope_scaling.factor", 1.0,
         "llama_cpp"),
    # YaRN's ramp.
    Case("paiml/aprender#2161", "yarn-betas", yarn(8192, 2048, 4.0, beta_fast=1, beta_slow=32),
         "rope_scaling.beta_fast", 33),
    Case("Lightning-AI/litgpt (model.py)", "engine-yarn-ramp", yarn(8192, 2048, 4.0), "rope_scaling.factor", 1.0,
         "litgpt"),
    Case("keras-team/keras-hub#2981", "engine-yarn-ramp", yarn(524288, 131072, 4.0) | {"head_dim": 64},
         "rope_scaling.original_max_position_embeddings", 2048, "keras_hub"),
    Case("ggml-org/llama.cpp#4097", "engine-yarn-settings", yarn(8192, 2048, 4.0, beta_fast=16.0),
         "rope_scaling.beta_fast", 32.0, "llama_cpp"),
    # LongRoPE and Llama-3.
    Case("vllm-project/vllm#27414", "longrope-lists", longrope(short_factor=[1.0, 1.0, 1.0]),
         "rope_scaling.short_factor", [1.0, 1.0, 1.0, 1.0]),
    Case("unslothai/unsloth#1199", "longrope-lists", longrope(long_factor=[2.0] * 8), "rope_scaling.long_factor",
         [2.0] * 4),
    Case("vllm-project/vllm#19489", "longrope-swapped", longrope(long_factor=[0.5, 0.5, 0.5, 0.5]),
         "rope_scaling.long_factor", [2.0, 4.0, 8.0, 16.0]),
    Case("vllm-project/vllm#19489", "longrope-switch", longrope(), "rope_scaling.long_factor", [1.0, 1.0, 1.0, 1.0]),
    Case("vllm-project/vllm#27431", "engine-longrope", longrope(), "rope_scaling.long_factor", [1.0, 1.0, 1.0, 1.0],
         "vllm"),
    Case("ggml-org/llama.cpp#24823", "engine-longrope", longrope(), "rope_scaling.long_factor", [1.0, 1.0, 1.0, 1.0],
         "llama_cpp"),
    Case("turboderp-org/exllamav2 (rope.py)", "engine-longrope", longrope(), "rope_scaling.long_factor",
         [1.0, 1.0, 1.0, 1.0], "exllamav2"),
    Case("huggingface/transformers 4.57 (modeling_rope_utils.py)", "engine-longrope", longrope(),
         "rope_scaling.long_factor", [1.0, 1.0, 1.0, 1.0], "huggingface_v4"),
    Case("tiny-vllm#1", "llama3-band", llama3(low_freq_factor=4.0, high_freq_factor=1.0),
         "rope_scaling.high_freq_factor", 8.0),
    Case("pytorch/torchtune (Llama 3.1 rope)", "llama3-band", llama3(high_freq_factor=1.0),
         "rope_scaling.high_freq_factor", 4.0),
    # Dynamic scaling.
    Case("huggingface/transformers#25104", "dynamic-cache", scaled(2048, "dynamic", 2.0), "rope_scaling.rope_type",
         "linear"),
    Case("NVIDIA/TensorRT-LLM#1299", "dynamic-cache", scaled(4096, "dynamic", 4.0), "rope_scaling.factor", 1.0),
    Case("jquesnelle/yarn#53", "dynamic-growth", scaled(2048, "dynamic", 8.0), "rope_scaling.factor", 2.0),
    Case("vllm-project/vllm#55910", "engine-dynamic", scaled(2048, "dynamic", 2.0), "rope_scaling.rope_type", "linear",
         "vllm"),
    Case("NVIDIA/TensorRT-LLM#1610", "engine-dynamic", scaled(2048, "dynamic", 2.0), "rope_scaling.factor", 1.0,
         "tensorrt_llm"),
    Case("turboderp-org/exllamav2 (rope.py)", "engine-dynamic", scaled(2048, "dynamic", 2.0),
         "rope_scaling.rope_type", "linear", "exllamav2"),
    Case("ggml-org/llama.cpp (conversion/base.py)", "engine-dynamic", scaled(2048, "dynamic", 2.0),
         "rope_scaling.factor", 1.0, "llama_cpp"),
    # Widths.
    Case("vllm-project/vllm#43770", "partial-share-ignored",
         llama(rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}),
         "rope_parameters.partial_rotary_factor", 1.0),
    Case("vllm-project/vllm#43770", "head-dim-derived", llama(hidden_size=4050, num_attention_heads=48),
         "head_dim", 84),
    Case("ModelTC/LightLLM#1459", "rotary-width",
         {"model_type": "gpt_neox", "hidden_size": 1152, "num_attention_heads": 16, "rotary_pct": 0.3},
         "rotary_pct", 0.25),
    Case("jagmarques/nexusquant#12", "rotary-width",
         {"model_type": "gptj", "n_embd": 512, "n_head": 8, "rotary_dim": 128}, "rotary_dim", 64),
    Case("huggingface/transformers (getattr of head_dim)", "engine-null-head-dim",
         scaled(2048, "dynamic", 2.0) | {"head_dim": None}, "head_dim", 128, "transformers"),
    Case("apple/coreai-models#66", "engine-proportional-factor",
         llama(rope_parameters={"rope_type": "proportional", "rope_theta": 1e6, "partial_rotary_factor": 0.25,
                                "factor": 8.0}),
         "rope_parameters.factor", 1.0, "vllm"),
    Case("ohdearquant/lattice#96", "mrope-layout", vision(mrope_interleaved=True),
         "text_config.rope_parameters.mrope_interleaved", False),
    Case("huggingface/transformers#40490", "mrope-sections", vision(mrope_section=[32, 48, 48]),
         "text_config.rope_parameters.mrope_section", [16, 24, 24]),
    Case("Blaizzy/mlx-vlm#1282", "engine-mrope", vision(), "text_config.rope_parameters.mrope_section", ABSENT, "mlx"),
    Case("lablup/mlxcel#1355", "engine-type-first", vision(type="mrope"), "text_config.rope_parameters.type", "default",
         "mlx"),
    # Layers.
    Case("antonellof/ferrox#39", "sliding-scaled", gemma3(rope_type="linear", factor=8.0),
         "rope_parameters.sliding_attention.factor", 1.0),
    Case("Blaizzy/mlx-vlm#1709", "engine-layer-types", olmo3(),
         "rope_parameters.full_attention.rope_type", "default", "llama_cpp"),
    Case("huggingface/transformers#43756", "no-rope-layers",
         {"model_type": "smollm3", "num_hidden_layers": 8, "no_rope_layers": [0, 0, 0, 1] * 2},
         "no_rope_layers", [1, 1, 1, 0] * 2),
    # What does not rotate.
    Case("NVIDIA/TensorRT-LLM#1611", "alibi-heads", {"model_type": "bloom", "n_head": 12, "hidden_size": 768},
         "n_head", 16),
    Case("facebookresearch/metaseq#333", "alibi-ranks", {"model_type": "bloom", "n_head": 16, "hidden_size": 1024},
         "n_head", 1),
    Case("huggingface/transformers#530", "learned-table",
         {"config.json": {"model_type": "gpt2", "n_positions": 2048, "n_embd": 768},
          "tensors": {"wpe.weight": ["F32", [1024, 768]]}}, "config.json|n_positions", 1024),
    Case("minimaxir/gpt-2-simple#72", "learned-table",
         {"config.json": {"model_type": "gpt2", "n_positions": 1025, "n_embd": 768},
          "tensors": {"transformer.wpe.weight": ["F32", [1024, 768]]}}, "config.json|n_positions", 1024),
    Case("huggingface/transformers#20761", "learned-table",
         {"config.json": {"model_type": "opt", "max_position_embeddings": 2048, "hidden_size": 768},
          "tensors": {"model.decoder.embed_positions.weight": ["F32", [2048, 768]]}},
         "config.json|max_position_embeddings", 2046),
    Case("huggingface/transformers#14243", "roberta-offset",
         {"config.json": {"model_type": "roberta", "max_position_embeddings": 514, "pad_token_id": 1},
          "tokenizer_config.json": {"model_max_length": 514}}, "tokenizer_config.json|model_max_length", 512),
    Case("rinnakk/japanese-pretrained-models#3", "roberta-offset",
         {"config.json": {"model_type": "roberta", "max_position_embeddings": 514, "pad_token_id": 3},
          "tokenizer_config.json": {"model_max_length": 512}}, "tokenizer_config.json|model_max_length", 510),
    Case("huggingface/transformers (modeling_t5.py)", "t5-buckets",
         {"model_type": "t5", "relative_attention_num_buckets": 31},
         "relative_attention_num_buckets", 32),
    Case("ggml-org/llama.cpp (relative position bucket)", "t5-buckets",
         {"model_type": "t5", "relative_attention_max_distance": 16},
         "relative_attention_max_distance", 128),
    Case("ggml-org/llama.cpp (relative position bucket)", "engine-t5-distance",
         {"model_type": "t5", "relative_attention_max_distance": 256},
         "relative_attention_max_distance", 128, "llama_cpp"),
    # What a checkpoint stores, and the files beside the configuration.
    Case("huggingface/transformers#29496", "half-precision-tables", stored("model.rotary_emb.inv_freq", "BF16"),
         "tensors|model.rotary_emb.inv_freq", ["F32", [4]]),
    Case("EleutherAI/gpt-neox#1016", "half-precision-tables", stored("attention.rotary_emb.cos_cached", "F16"),
         "tensors|attention.rotary_emb.cos_cached", ["F32", [4]]),
    Case("vllm-project/speculators#574", "stored-frequencies",
         stored("rotary_emb.inv_freq", "F32", *PLAIN, rope_scaling={"rope_type": "linear", "factor": 4.0}),
         "config.json|rope_scaling", ABSENT),
    Case("karpathy/llama2.c#356", "stored-frequencies",
         stored("rotary_emb.inv_freq", "F32", 1.0, 0.0316227766, 0.001, 0.0000316227766),
         "config.json|rope_theta", 1000000.0),
    Case("huggingface/sentence-transformers#4060", "tokenizer-length",
         beside("tokenizer_config.json", {"model_max_length": 8192}), "tokenizer_config.json|model_max_length", 4096),
    Case("raullenchai/Rapid-MLX#1381", "tokenizer-short", beside("tokenizer_config.json", {"model_max_length": 512}),
         "tokenizer_config.json|model_max_length", 4096),
    Case("vllm-project/vllm#1185", "generation-length", beside("generation_config.json", {"max_length": 8192}),
         "generation_config.json|max_length", 4096),
    Case("marin-community/marin#4737", "generation-length",
         beside("generation_config.json", {"max_new_tokens": 4096}), "generation_config.json|max_new_tokens", 512),
    Case("unslothai/unsloth#1199", "adapter-positions",
         beside("adapter_config.json", {"peft_type": "LORA", "rope_theta": 500000.0}),
         "adapter_config.json|rope_theta", 10000.0),
    Case("meta-llama/llama-models (llama3/args.py)", "meta-constants",
         {"dim": 4096, "n_layers": 32, "n_heads": 32, "n_kv_heads": 8, "rope_theta": 500000.0, "multiple_of": 1024,
          "use_scaled_rope": True}, "use_scaled_rope", False),
    Case("ollama/ollama#8099", "engine-default-length", llama(max_position_embeddings=65536),
         "max_position_embeddings", 4096, "ollama"),
]  # fmt: skip
