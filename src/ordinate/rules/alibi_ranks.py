"""ALiBi's slopes over several tensor-parallel ranks."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule
from ordinate.schemes.alibi import Alibi


class AlibiRanks(Rule):
    name = "alibi_ranks"
    severity = "note"
    explanation = "Each tensor-parallel rank must take its part of all heads' slopes, not make its own."
    why = "Slopes made from a rank's own number of heads repeat on every rank: half the heads or more are wrong."
    remedy = "Slice the slopes of all heads by rank."
    reports = ("facebookresearch/metaseq#333", "Dao-AILab/flash-attention#17", "NVIDIA/TransformerEngine#1046")
    example: ClassVar = {"model_type": "bloom", "n_head": 16, "hidden_size": 1024}

    def find(self, subject: Subject) -> Iterator[Finding]:
        for group in () if subject.spec is None else subject.spec.groups.values():
            scheme = group.encoding
            if not isinstance(scheme, Alibi) or scheme.heads < 2 or scheme.heads % 2:
                continue
            half = replace(scheme, heads=scheme.heads // 2).slopes
            right = scheme.slopes[scheme.heads // 2]
            yield self.finding(
                subject,
                subject.key("num_attention_heads"),
                f"over 2 ranks head {scheme.heads // 2} has slope {right:.6g}; made from its rank's "
                f"{scheme.heads // 2} heads it "
                f"would be {half[0]:.6g}, {half[0] / right:.3g} times as much",
                f"slopes[rank * {scheme.heads // 2} : (rank + 1) * {scheme.heads // 2}] of all {scheme.heads}",
                right=float(right),
                wrong=float(half[0]),
            )
