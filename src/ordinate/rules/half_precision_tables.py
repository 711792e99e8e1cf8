"""Frequencies or tables stored in half precision."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from ordinate.rules._numbers import bfloat16
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule

WORDS = ("inv_freq", "rope.freqs", "cos_cached", "sin_cached", "freqs_cos", "freqs_sin", "cos_sin_cache", "rope_freqs")
ROUNDED = ("BF16", "F16", "F8_E4M3", "F8_E5M2")


class HalfPrecisionTables(Rule):
    name = "half_precision_tables"
    explanation = "A checkpoint stores frequencies or cos and sin tables in half precision."
    why = "Loaded as they are they turn by another angle at every far position: whole radians from a few thousand on."
    remedy = "Remove the tensors, which are computed anew, or store them in float32."
    reports = (
        *("huggingface/transformers#29496", "EleutherAI/gpt-neox#1016", "sgl-project/sglang-jax#1472"),
        *("Modalities/modalities#462", "NVIDIA/Megatron-LM#744", "vllm-project/vllm#1004"),
    )
    example: ClassVar = {
        "config.json": {"model_type": "llama", "head_dim": 128, "max_position_embeddings": 4096},
        "tensors": {"model.layers.0.self_attn.rotary_emb.inv_freq": ["BF16", [64]]},
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        named = [n for n, t in subject.files.tensors().items() if t.dtype in ROUNDED and any(w in n for w in WORDS)]
        if not named:
            return
        text, numbers = "", {}
        for group in subject.rotating[:1]:
            right, window = subject.frequencies(group), subject.declared
            if right is None or window is None:
                continue
            error = np.abs(bfloat16(right) - right) * min(window, 2**50)
            pair = int(error.argmax())
            text = f": rounded to bfloat16, pair {pair} is {error[pair]:.3g} rad off at position {window}"
            numbers = {"pair": pair, "angle_error": float(error[pair]), "position": window}
        dtype = subject.files.tensors()[named[0]].dtype
        yield self.finding(
            subject,
            "",
            f"{len(named)} tensors such as {named[0]} are stored as {dtype}{text}",
            "remove them from the file, or store them as F32",
            tensors=len(named),
            **numbers,
        )
