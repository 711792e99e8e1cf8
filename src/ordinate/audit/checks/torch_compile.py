"""The model traced by `torch.compile`."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from ordinate.audit.base import Check, Outcome
from ordinate.audit.runs import Run
from ordinate.audit.subject import Subject

# Tracing takes seconds a layer or so, whatever the layer's size.
_MOST_LAYERS = 12


class TorchCompile(Check):
    name = "torch_compile"
    title = "traced by torch.compile"
    explanation = (
        "A traced model has the logits of the model that was traced, at the length of the trace and at others."
    )
    remedy = "Build tables without branches on data or length, and pass positions as an argument."
    kinds: ClassVar = ("compiled",)
    reports: ClassVar = ("huggingface/transformers#35716", "meta-pytorch/torchtune#1544", "neuralmagic/sparseml#1826")
    cost = 2.0
    late = True

    def applies(self, subject: Subject) -> str | None:
        if sys.version_info >= (3, 15):
            return "torch cannot trace under this Python"
        if subject.caching is not None and subject.crossing is not None:
            return "under use_cache each row is turned by a length that is read from its positions, which is not traced"
        layers = getattr(subject.model.config.get_text_config(), "num_hidden_layers", 0) or 0
        return f"tracing {layers} layers takes too long" if layers > _MOST_LAYERS else None

    def outcomes(self, subject: Subject) -> Iterator[Outcome]:
        half = subject.length // 2
        traced = self.compared(subject, f"{half} tokens", lambda: _traced(subject, half), subject.reference_for(half))
        longer = self.compared(subject, f"then {subject.length} tokens", lambda: _traced(subject, subject.length))
        for outcome in (traced, longer):
            yield replace(outcome, kind="compiled") if outcome.status == "failed" else outcome


def _traced(subject: Subject, tokens: int) -> Run:
    """One pass of the traced model; the model itself is as before."""
    model = subject.model
    before = model.__dict__.get("_compiled_call_impl")
    # No code is generated: what differs then is what tracing made of the model.
    model.compile(backend="eager")
    try:
        return subject.whole(subject.ids[:, :tokens])
    finally:
        model._compiled_call_impl = before
