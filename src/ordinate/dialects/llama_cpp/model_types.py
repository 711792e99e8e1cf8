"""Which GGUF architecture a Hugging Face model becomes, and which files llama.cpp reads what from.

Source: llama.cpp (ggml 0.25), conversion/*.py (registered classes) and the tensors that src/models/*.cpp ask for.
"""

from ordinate.spec import Spec


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Hugging Face's model_type where GGUF's name is not the same word.
ARCHITECTURES = {
    "bamba": "granitehybrid",
    "cohere": "command-r",
    "cohere2_moe": "cohere2moe",
    "deepseek_v2": "deepseek2",
    "deepseek_v3": "deepseek2",
    "deepseek_v32": "deepseek32",
    "deepseek_v4": "deepseek4",
    "dots3_note": "dots3note",
    "dots3_note_text": "dots3note",
    "ernie4_5_moe": "ernie4_5-moe",
    "exaone_moe": "exaone-moe",
    "falcon_h1": "falcon-h1",
    "gemma3_text": "gemma3",
    "gemma3n_text": "gemma3n",
    "gemma4_text": "gemma4",
    "gemma4_unified_text": "gemma4",
    "glm": "chatglm",
    "glm4_moe": "glm4moe",
    "glm4_moe_lite": "deepseek2",
    "glm_moe_dsa": "glm-dsa",
    "gpt_neox": "gptneox",
    "gpt_oss": "gpt-oss",
    "granitemoe_swa": "granite_swa",
    "granitemoehybrid": "granitehybrid",
    "granitemoeshared": "granitemoe",
    "grok-1": "grok",
    "hunyuan_v1_dense": "hunyuan-dense",
    "hunyuan_v1_moe": "hunyuan-moe",
    "hunyuan_vl_text": "hunyuan_vl",
    "internlm3": "llama",
    "kimi_k2": "deepseek2",
    "lfm2_moe": "lfm2moe",
    "llama4_text": "llama4",
    "mimo_v2_flash": "mimo2",
    "minimax_m2": "minimax-m2",
    "ministral3": "mistral3",
    "mistral": "llama",
    "mixtral": "llama",
    "modernbert": "modern-bert",
    "nomic_bert": "nomic-bert",
    "olmo3": "olmo2",
    "phi": "phi2",
    "phi4_multimodal": "phi3",
    "qwen2_5_vl": "qwen2vl",
    "qwen2_5_vl_text": "qwen2vl",
    "qwen2_moe": "qwen2moe",
    "qwen2_vl": "qwen2vl",
    "qwen2_vl_text": "qwen2vl",
    "qwen3_5": "qwen35",
    "qwen3_5_moe": "qwen35moe",
    "qwen3_5_moe_text": "qwen35moe",
    "qwen3_5_text": "qwen35",
    "qwen3_moe": "qwen3moe",
    "qwen3_next": "qwen3next",
    "qwen3_vl": "qwen3vl",
    "qwen3_vl_moe": "qwen3vlmoe",
    "qwen3_vl_moe_text": "qwen3vlmoe",
    "qwen3_vl_text": "qwen3vl",
    "sarvam_mla": "deepseek2",
    "sarvam_moe": "glm4moe",
    "solar_open": "glm4moe",
    "step3p5": "step35",
    "youtu": "deepseek2",
}

# Architectures that load rope_freqs.weight; in files of others an extra tensor stops the load.
ONE_LIST = _names("""
    apertus arcee cogvlm deci exaone exaone-moe exaone4 falcon-h1 gemma4 gemma4-assistant granite granite_swa
    granitehybrid granitemoe llada llama llama-embed llama4 minicpm mistral3 nanbeige pangu-embedded step35
""")
# Architectures that load rope_factors_short.weight and rope_factors_long.weight.
TWO_LISTS = _names("""
    apertus deci granite granite_swa granitemoe llama llama-embed minicpm minicpm3 mistral3 pangu-embedded phi3
    phimoe step35
""")
# Of these the ones whose converter writes the tensors from a Hugging Face configuration.
LLAMA3_CONVERTED = _names("""
    apertus arcee deci exaone exaone-moe exaone4 granite granite_swa granitemoe llama llama-embed llama4 mistral3
    nanbeige step35
""")
LONGROPE_CONVERTED = frozenset({"minicpm", "minicpm3", "phi3", "phimoe"})
# Those of them whose converter also writes the magnitude.
LONGROPE_MAGNITUDE_CONVERTED = frozenset({"phi3", "phimoe"})
# Architectures for which YaRN's log multiplier is read.
LOG_MULTIPLIER = frozenset({"deepseek2", "deepseek2-ocr", "deepseek32", "mistral3", "mistral4"})


def gguf_architecture(spec: Spec) -> str:
    """The GGUF architecture of a spec's model; its own word where no other is known.

    >>> from ordinate import read
    >>> gguf_architecture(read({"model_type": "gpt_oss"}))
    'gpt-oss'
    """
    word = spec.architecture
    return word if spec.container == "gguf" else ARCHITECTURES.get(word, word)
