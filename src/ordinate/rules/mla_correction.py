"""YaRN in MLA without the softmax's share of the magnitude."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule
from ordinate.scaling.yarn import magnitude


class MlaCorrection(Rule):
    name = "mla_correction"
    explanation = "YaRN in MLA has no `mscale_all_dim`, so the softmax scale is not corrected."
    why = "cos and sin reach the rotary part of q and k alone; the rest of each logit keeps the old magnitude."
    remedy = "Set `mscale` and `mscale_all_dim` to the same number, as DeepSeek does."
    reports = (
        "turboderp-org/exllamav3#259",
        "deepseek-ai/DeepSeek-V3, inference/model.py",
    )
    example: ClassVar = {
        "model_type": "deepseek_v3",
        "max_position_embeddings": 163840,
        "rope_theta": 10000.0,
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": 40.0,
            "original_max_position_embeddings": 4096,
            "mscale": 1.0,
            "beta_fast": 32,
            "beta_slow": 1,
        },
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.scaled("yarn"):
            factor, group = settings.number("factor"), subject.group(settings)
            if factor is None or factor <= 1 or settings.number("mscale_all_dim"):
                continue
            if group is None or group.heads is None or group.heads.latent_dim is None:
                continue
            if "attention_factor" in settings.values:
                continue
            meant = magnitude(factor) ** 2
            yield self.finding(
                subject,
                settings.key("mscale_all_dim"),
                f"{settings.key('mscale_all_dim')} is missing or 0: cos and sin of the {group.rotary_dim} "
                "rotary channels are "
                f"multiplied by {group.attention_factor():.4f}, and the softmax scale, which DeepSeek multiplies by "
                f"{meant:.4f}, by nothing",
                '"mscale": 1.0, "mscale_all_dim": 1.0, if the model was trained so',
                softmax_correction=meant,
            )
