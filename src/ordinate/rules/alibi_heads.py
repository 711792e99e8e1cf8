"""ALiBi for a number of heads that is no power of two."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule
from ordinate.schemes.alibi import Alibi


class AlibiHeads(Rule):
    name = "alibi_heads"
    severity = "note"
    explanation = "ALiBi's slopes for this number of heads are not one geometric series."
    why = "The reference takes those of the power of two below and every second one of twice that; code that writes "
    why += "2 ** (-8 k / heads) has others."
    remedy = "Compare the engine's slopes with `ordinate describe --format json`."
    reports = ("NVIDIA/TensorRT-LLM#1611", "baichuan-inc/Baichuan2#225", "meta-pytorch/attention-gym, mods/alibi.py")
    example: ClassVar = {"model_type": "bloom", "n_head": 12, "hidden_size": 768}

    def find(self, subject: Subject) -> Iterator[Finding]:
        for group in () if subject.spec is None else subject.spec.groups.values():
            scheme = group.encoding
            if not isinstance(scheme, Alibi) or scheme.heads & (scheme.heads - 1) == 0:
                continue
            series = scheme.scale * 2.0 ** (-scheme.bias_max * np.arange(1, scheme.heads + 1) / scheme.heads)
            worst = float(np.max(np.maximum(series / scheme.slopes, scheme.slopes / series)))
            yield self.finding(
                subject,
                subject.key("num_attention_heads"),
                f"{scheme.heads} heads are no power of two: slopes of one series over all heads are up to "
                f"{worst:.2g} times off, "
                "and the last head of the reference is not its gentlest",
                f"slopes {scheme.slopes[0]:.6g}, {scheme.slopes[1]:.6g}, ..., {scheme.slopes[-1]:.6g}",
                heads=scheme.heads,
                times=worst,
            )
