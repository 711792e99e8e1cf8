"""A model that was emptied, initialised and filled from its state, as after a load on the meta device."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from ordinate.audit.base import Check, Outcome
from ordinate.audit.copies import emptied_and_filled, too_large
from ordinate.audit.subject import Subject


class MetaLoad(Check):
    name = "meta_load"
    title = "emptied and filled again"
    explanation = "A model that is built without memory, initialised and filled from its state is the same model."
    remedy = "Fill frequencies and tables in the model's own initialisation, not in the constructor alone."
    kinds: ClassVar = ("table_lost",)
    reports: ClassVar = ("huggingface/transformers#45902", "Synthyra/FastPLMs#47", "macwiatrak/Bacformer#33")
    cost = 1.0

    def applies(self, subject: Subject) -> str | None:
        return too_large(subject)

    def outcomes(self, subject: Subject) -> Iterator[Outcome]:
        case = "emptied, initialised and filled from its state"
        outcome = self.compared(subject, case, lambda: emptied_and_filled(subject).alone())
        yield replace(outcome, kind="table_lost") if outcome.status == "failed" else outcome
