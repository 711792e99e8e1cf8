"""A base so large that hardly a pair turns within the trained window."""

import math
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from ordinate.rules._numbers import shown
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule

SHARE = 8


class BaseUnresolved(Rule):
    name = "base_unresolved"
    explanation = "Fewer than one pair in eight completes a turn within the trained window."
    why = "Pairs that do not finish a turn hold no position of their own; past the window they meet new angles."
    remedy = "Lower the base to what the window needs, or state the window that the model was trained for."
    reports = ("paiml/realizar#78", "NVIDIA/TransformerEngine#1245")
    example: ClassVar = {
        "model_type": "llama",
        "max_position_embeddings": 2048,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e24},
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        trained = None if subject.spec is None else subject.spec.window.trained
        for group in subject.rotating:
            if trained is None or group.scheme != "rope" or len(group.rope.plain()) < 8:
                continue
            plain = np.abs(group.rope.plain())
            window = min(trained, group.sliding_window or trained)
            turning = int((plain > 0).sum())
            complete = int((window * plain >= 2 * math.pi).sum())
            if complete * SHARE >= turning:
                continue
            where = subject.settings[0].key("rope_theta") if subject.settings else subject.key("rope_theta")
            fitting = (window / (2 * math.pi)) ** 2
            yield self.finding(
                subject,
                where,
                f"{complete} of {turning} pairs of {group.layer_type} complete a turn in the trained {window} "
                "tokens under base "
                f"{shown(group.rope.base)}",
                f'"rope_theta": {fitting:.3g} or so, with which half of them do, or the right base',
                complete=complete,
                pairs=turning,
                window=window,
            )
