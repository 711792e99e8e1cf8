"""A rotary setting that nobody reads."""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import ClassVar

from ordinate.dialects.huggingface.parameters import COMMON, INERT, SECTION_KEYS, USED
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule

KNOWN = (*dict.fromkeys([*COMMON, *(key for keys in USED.values() for key in keys), *SECTION_KEYS, *INERT]),)
ARCHITECTURES = ("llama_4_scaling_beta", "short_mscale", "long_mscale", "max_position_embeddings")
ELSEWHERE = {
    "attn_factor": ("SGLang's old word", "attention_factor"),
    "extrapolation_factor": ("SGLang's", ""),
    "mixed_b": ("vLLM's, for its type ntk", ""),
    "rope_dim": ("vLLM's", "partial_rotary_factor"),
    "use_fope": ("vLLM's", ""),
    "max_trained_positions": ("vLLM's, for dynamic", ""),
}


class UnknownSetting(Rule):
    name = "unknown_setting"
    explanation = "A key among the rotary settings is read by no Hugging Face reader."
    why = "A misspelt key changes nothing, and the default that stands in its place runs without a word."
    remedy = "Correct the spelling, or remove the key."
    reports = ("Blaizzy/mlx-vlm#1710", "hiyouga/LlamaFactory#8101", "huggingface/transformers 5.24, GGUF loader")
    example: ClassVar = {
        "model_type": "llama",
        "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "orignal_max_position_embeddings": 2048},
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.settings if subject.kind == "huggingface" else ():
            for key in settings.values:
                if key in KNOWN or key in ARCHITECTURES:
                    continue
                close = get_close_matches(key[:80], KNOWN, n=1, cutoff=0.75)
                whose, instead = ELSEWHERE.get(key, ("", ""))
                instead = instead or (close[0] if close else "")
                yield self.finding(
                    subject,
                    f"{settings.where}.{key}",
                    f"{settings.where}.{key} is read by no Hugging Face reader" + (f"; it is {whose}" if whose else ""),
                    f"did you mean {instead!r}?" if instead else f"remove {key}",
                    key=key[:80],
                )
