"""Magnitudes that cancel in plain attention."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._numbers import shown
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule
from ordinate.scaling.yarn import magnitude


class MscaleCancels(Rule):
    name = "mscale_cancels"
    explanation = "`mscale` equals `mscale_all_dim` in plain attention, so YaRN's magnitude is 1."
    why = "In MLA the softmax scale makes up for it; plain attention has no such term, and the correction is lost."
    remedy = "Remove both, or set `attention_factor` to 0.1 ln(factor) + 1."
    reports = ("turboderp-org/exllamav3#259", "mistralai/Mistral-Medium-3.5 c4be198 (config.json)")
    example: ClassVar = {
        "model_type": "llama",
        "max_position_embeddings": 131072,
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": 16.0,
            "original_max_position_embeddings": 8192,
            "rope_theta": 500000.0,
            "mscale": 1.0,
            "mscale_all_dim": 1.0,
        },
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.scaled("yarn"):
            mscale, whole, factor = (settings.number(key) for key in ("mscale", "mscale_all_dim", "factor"))
            latent = subject.get("qk_rope_head_dim") is not None
            if not mscale or not whole or mscale != whole or factor is None or factor <= 1:
                continue
            if latent or "attention_factor" in settings.values:
                continue
            meant = magnitude(factor)
            yield self.finding(
                subject,
                settings.key("mscale_all_dim"),
                f"mscale and mscale_all_dim are both {shown(mscale)}: cos and sin are multiplied by 1, where YaRN has "
                f"0.1 ln {shown(factor)} + 1 = {meant:.4f}, and this attention scales its softmax by nothing in "
                "its place",
                f'"attention_factor": {meant:.6g}, without mscale and mscale_all_dim, if the model was trained with it',
                magnitude=1.0,
                expected=meant,
            )
