"""A window longer than the slowest pair's turn."""

import math
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule

# GLM 4 and other models that are sound repeat up to four times.
OFTEN = 4


class BaseRepeats(Rule):
    name = "base_repeats"
    severity = "warning"
    explanation = "Every pair turns more than once within the window, so no pair tells far positions apart alone."
    why = "A base for a short window in a long one: distances past the slowest wavelength look like near ones."
    remedy = "Raise the base, or scale, so that the slowest wavelength exceeds the window; both need training."
    reports = (
        "karpathy/llama2.c#356",
        "LostRuins/koboldcpp#487",
        "abetlen/llama-cpp-python#767",
        "ggml-org/llama.cpp#3401",
    )
    example: ClassVar = {
        "model_type": "llama",
        "head_dim": 128,
        "max_position_embeddings": 262144,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for group in subject.rotating:
            lengths = [n for n in (subject.declared, group.sliding_window) if n]
            frequencies = subject.frequencies(group, min(subject.declared or 0, 2**50) or None)
            if group.scheme != "rope" or frequencies is None or not lengths or len(frequencies) < 8:
                continue
            turning = np.abs(frequencies[frequencies != 0])
            window = min(lengths)
            if not turning.size or not (np.abs(frequencies) > 0).all():
                continue
            slowest = 2 * math.pi / float(turning.min())
            if slowest >= window:
                continue
            pairs = group.rope.pairs
            needed = (window / (2 * math.pi)) ** (pairs / max(pairs - 1, 1))
            yield self.finding(
                subject,
                subject.key("rope_theta") if not subject.settings else subject.settings[0].key("rope_theta"),
                f"the slowest of {pairs} pairs of {group.layer_type} turns once in {slowest:.6g} tokens, and "
                "the window is "
                f"{window}: all pairs repeat {window / slowest:.3g} times within it",
                f'"rope_theta": at least {needed:.3g} for this window (with training), or a window of at most '
                f"{int(slowest)}",
                severity="warning" if window > OFTEN * slowest else "note",
                slowest_wavelength=slowest,
                window=window,
                base=group.rope.base,
            )
