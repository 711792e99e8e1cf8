"""The same number added to all positions, where the scheme promises that nothing changes."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor

from ordinate.audit.base import Check, Outcome
from ordinate.audit.comparison import compare
from ordinate.audit.jitter import angles_jittered
from ordinate.audit.moved import TOKENS, misplaced, promises, read_at, why_not
from ordinate.audit.noise import FACTOR
from ordinate.audit.subject import Subject

# In float32 angles at far positions are a little off in every model: `table_error` holds them to account.
_FARTHEST = 2048
_SEEDS = 2
# Times the largest difference that such errors make: they are drawn as large as they can be, and the draws are few.
_ANGLES = 2.0


class ShiftInvariance(Check):
    name = "shift_invariance"
    title = "all positions moved by one number"
    explanation = "Attention that depends on the difference of positions alone gives a text the same logits anywhere."
    remedy = "Let attention depend on the difference of positions alone: same table, same precision, everywhere."
    kinds: ClassVar = ("shift", "position_precision", "clamped", "table_precision")
    reports: ClassVar = ("huggingface/transformers#29419", "huggingface/transformers#22683")
    cost = 1.5

    def applies(self, subject: Subject) -> str | None:
        if not subject.takes_positions:
            return "the model takes no positions"
        return promises(subject)

    def outcomes(self, subject: Subject) -> Iterator[Outcome]:
        window = subject.window or _FARTHEST + subject.length
        tokens = min(subject.length, window // 2)
        reference = subject.reference_for(tokens)
        ids = subject.ids[:, :tokens]
        for shift in sorted({1, 16, min(window - tokens, _FARTHEST)}):
            positions = (torch.arange(tokens) + shift).expand(len(ids), -1)
            outcome = self.compared(
                subject,
                f"positions + {shift}",
                lambda positions=positions: subject.whole(ids, positions=positions),
                reference,
            )
            yield self._named(subject, self._allowed(subject, outcome, ids, positions), tokens, shift)

    def _allowed(self, subject: Subject, outcome: Outcome, ids: Tensor, positions: Tensor) -> Outcome:
        """The same outcome, passed where the rounding of angles to float32 explains the difference.

        An angle that is computed in float32 is off by a share of the position; what the logits make of that is measured
        at these positions, and allowed beside the model's own noise.
        """
        if outcome.status != "failed" or outcome.comparison is None:
            return outcome
        plain, error = subject.whole(ids, positions=positions), 0.0
        for seed in range(_SEEDS):
            with angles_jittered(subject, seed) as met:
                run = subject.whole(ids, positions=positions)
            if not met:
                return outcome
            error = max(error, compare(plain, run, distributions=False).max_difference)
        threshold = FACTOR * subject.noise.logits + _ANGLES * error
        found = replace(outcome, threshold=threshold, numbers={**outcome.numbers, "angle_floor": error})
        if outcome.comparison.max_difference > threshold:
            return found
        return replace(found, status="passed", kind=None, where=None, evidence="")

    def _named(self, subject: Subject, outcome: Outcome, tokens: int, shift: int) -> Outcome:
        if outcome.status != "failed":
            return outcome
        kind, evidence = "shift", outcome.evidence
        if why_not(subject) is None:
            few = min(TOKENS, tokens)
            before = read_at(subject, 0, few)
            # Where the text leaves the reference, or is about to.
            left = outcome.where.token if outcome.where is not None and outcome.where.token else 0
            for start in (shift, shift + left):
                found = misplaced(subject, before, read_at(subject, start, few), start)
                if found is not None:
                    kind, evidence = found.kind, f"{outcome.evidence}; {found.evidence}"
                    break
        return replace(outcome, kind=kind, evidence=evidence)
