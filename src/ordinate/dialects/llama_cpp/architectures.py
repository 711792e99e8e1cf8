"""What a GGUF file leaves to its architecture's name: the pairing of channels, and which layers do what.

Source: llama.cpp (ggml 0.25), llama_model_rope_type and the loaders of its architectures.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal


@dataclass(frozen=True)
class Sliding:
    """How an architecture's layers alternate between a window and full attention.

    Args:
        period: one layer in `period` is full; None where the file must list the layers
        full_first: the first of each period is full, else the last
        window: taken where the file has none, [token]; None where all layers are full then
        base: taken by sliding layers where the file has none for them; None where it is that of the full layers
        scaled: sliding layers are stretched as the full ones are
        chunked: the window is a chunk that starts anew, not one that slides
    """

    period: int | None = None
    full_first: bool = False
    window: int | None = None
    base: float | None = None
    scaled: bool = True
    chunked: bool = False


@dataclass(frozen=True)
class Architecture:
    """What follows from a GGUF architecture's name alone.

    Args:
        scheme: how it knows position; "none" has attention without position, "recurrent" no attention
        pairing: how its files pair channels; "unknown" where no engine says
        layout: how the sections of multimodal RoPE lie among the pairs, where it can have some; they turn half pairs
        sliding: how its layers alternate, where some have a window
        without_rope: layers that do not rotate: "full" those of full attention, "every fourth" 3, 7, ...,
            "first of four" 0, 4, ..., "switch" all where `rope.scaling.finetuned` is false, "listed" those of
            `attention.rope_pattern`
        bias_max: ALiBi's, where the file does not say
        interval: one layer in `interval` has attention where the file does not say, the others are recurrent
        rotates_last: the last channels of a head turn; so they do in every MLA
        full_share: the share of `rope.dimension_count` that turns in full layers
        softmax: what multiplies q k: "head" 1 / sqrt(head_dim), "one" 1, "inverse" 1 / head_dim
        wide_at: the number of layers at which it is 1 / sqrt(embedding_length / head_count) instead
        counts_after: its `context_length` counts linear scaling, where others' is the length before it
        tenth: its YaRN log multiplier is a tenth of Hugging Face's `mscale_all_dim`, and scales the softmax too
    """

    scheme: Literal["rope", "learned", "alibi", "t5", "none", "recurrent"] = "rope"
    pairing: Literal["half", "interleaved", "unknown"] = "unknown"
    layout: Literal["chunked", "interleaved"] | None = None
    sliding: Sliding | None = None
    without_rope: Literal["", "full", "every fourth", "first of four", "switch", "listed"] = ""
    bias_max: float | None = None
    interval: int | None = None
    rotates_last: bool = False
    full_share: float = 1.0
    softmax: Literal["head", "one", "inverse"] = "head"
    wide_at: int | None = None
    counts_after: bool = False
    tenth: bool = False


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _each(text: str, value: Any) -> dict[str, Any]:
    return dict.fromkeys(text.split(), value)


INTERLEAVED = _words("""
    arcee arctic baichuan bailingmoe bailingmoe3 chameleon chatglm cohere2 cohere2moe command-r deci deepseek deepseek2
    deepseek2-ocr deepseek32 deepseek4 dots3note eagle3 ernie4_5 ernie4_5-moe glm-dsa glm4 granite granite_swa
    granitehybrid granitemoe graniteswitch hy_v4 internlm2 llada llama llama-embed llama4 maincoder minicpm mistral3
    mistral4 muse-glimmer nanbeige neo-bert olmo plm pockettts smollm3 xverse
""")
HALF = _words("""
    afmoe apertus bailingmoe2 bitnet codeshell cogvlm dbrx dflash dots1 dream eurobert exaone exaone-moe exaone4 falcon
    falcon-h1 gemma gemma-embedding gemma2 gemma3 gemma3n gemma4 gemma4-assistant glm4moe gpt-oss gptneox grok grovemoe
    hrm_text hunyuan-dense hunyuan-moe hunyuan_vl hy_v3 jais2 jina-bert-v3 laguna lfm2 lfm2moe llada-moe maple mellum
    mimo2 minicpm3 minimax-01 minimax-m2 minimax-m3 modern-bert nemotron nomic-bert nomic-bert-moe olmo2 olmoe openelm
    orion paddleocr pangu-embedded phi2 phi3 phimoe plamo plamo2 plamo3 qwen qwen2 qwen2moe qwen2vl qwen3 qwen35
    qwen35moe qwen3moe qwen3next qwen3tts qwen3vl qwen3vlmoe qwen4exp rnd1 seed_oss smallthinker spark2_5 stablelm
    starcoder2 step35 talkie
""")
WITHOUT_ROTATION = {
    "bert": Architecture("learned"),
    "gpt2": Architecture("learned"),
    "starcoder": Architecture("learned"),
    "bloom": Architecture("alibi", bias_max=8.0),
    "jais": Architecture("alibi", softmax="inverse"),
    "jina-bert-v2": Architecture("alibi", bias_max=8.0),
    "mpt": Architecture("alibi"),
    "refact": Architecture("alibi", bias_max=8.0),
    "t5": Architecture("t5", softmax="one"),
    "t5encoder": Architecture("t5", softmax="one"),
    "glm5-next": Architecture("none"),
    "jamba": Architecture("none"),
    "kimi-k3": Architecture("none"),
    "kimi-linear": Architecture("none"),
    "nemotron_h": Architecture("none"),
    "nemotron_h_moe": Architecture("none"),
    "wavtokenizer-dec": Architecture("none"),
    "arwkv7": Architecture("recurrent"),
    "mamba": Architecture("recurrent"),
    "mamba2": Architecture("recurrent"),
    "rwkv6": Architecture("recurrent"),
    "rwkv6qwen2": Architecture("recurrent"),
    "rwkv7": Architecture("recurrent"),
}
SLIDING = {
    "afmoe": Sliding(4),
    "cohere2": Sliding(4),
    "cohere2moe": Sliding(4, full_first=True),
    "dots3note": Sliding(base=10000.0, scaled=False),
    "exaone-moe": Sliding(4, window=128),
    "exaone4": Sliding(4),
    "gemma-embedding": Sliding(6, base=10000.0, scaled=False),
    "gemma2": Sliding(2, window=4096),
    "gemma3": Sliding(6, base=10000.0, scaled=False),
    "gemma3n": Sliding(5, base=10000.0, scaled=False),
    "gemma4": Sliding(base=10000.0, scaled=False),
    "gemma4-assistant": Sliding(base=10000.0, scaled=False),
    "gpt-oss": Sliding(2),
    "granite_swa": Sliding(),
    "laguna": Sliding(4, full_first=True, scaled=False),
    "llama4": Sliding(4, window=8192, chunked=True),
    "maple": Sliding(),
    "mellum": Sliding(4, scaled=False),
    "mimo2": Sliding(base=10000.0, scaled=False),
    "modern-bert": Sliding(3, full_first=True, base=10000.0, scaled=False),
    "muse-glimmer": Sliding(4, scaled=False),
    "olmo2": Sliding(4, scaled=False),
    "plamo3": Sliding(8, base=10000.0, scaled=False),
    "smallthinker": Sliding(4, full_first=True),
    "spark2_5": Sliding(),
    "step35": Sliding(base=10000.0, scaled=False),
}
PECULIAR = {
    "layout": {
        **_each("bailingmoe3 dflash glm4 glm4moe hunyuan_vl paddleocr qwen2vl", "chunked"),
        **_each("qwen35 qwen35moe qwen3tts qwen3vl qwen3vlmoe qwen4exp", "interleaved"),
    },
    "without_rope": {
        **_each("cohere2 cohere2moe exaone-moe exaone4 maple muse-glimmer", "full"),
        **_each("afmoe llama4 smollm3", "every fourth"),
        "smallthinker": "first of four",
        **_each("granite granitehybrid granitemoe graniteswitch", "switch"),
        "granite_swa": "listed",
    },
    "interval": {**_each("qwen35 qwen35moe qwen3next qwen4exp", 4), "minimax-01": 8},
    "rotates_last": {"deepseek4": True},
    "full_share": {"step35": 0.5},
    "softmax": _each("gemma3n gemma4 gemma4-assistant", "one"),
    "wide_at": {"gemma2": 46, "gemma3": 62},
    "counts_after": {"gemma3": True},
    "tenth": _each("deepseek2 deepseek2-ocr deepseek32 mistral4", True),
}


def architecture(name: str) -> Architecture | None:
    """What follows from a GGUF architecture's name, or None where it is not known.

    >>> architecture("llama").pairing, architecture("qwen2").pairing, architecture("bloom").scheme
    ('interleaved', 'half', 'alibi')
    """
    if name in WITHOUT_ROTATION:
        return WITHOUT_ROTATION[name]
    if name not in INTERLEAVED and name not in HALF:
        return None
    pairing = "interleaved" if name in INTERLEAVED else "half"
    traits = {trait: names[name] for trait, names in PECULIAR.items() if name in names}
    return replace(Architecture(pairing=pairing, sliding=SLIDING.get(name)), **traits)
