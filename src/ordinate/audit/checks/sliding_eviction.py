"""A sliding window that fills, evicts and wraps while tokens are decoded."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.audit.base import Check, Outcome
from ordinate.audit.subject import Subject


class SlidingEviction(Check):
    name = "sliding_eviction"
    title = "decoding through the edge of a sliding window"
    explanation = (
        "Tokens that are decoded while a sliding window fills, evicts its oldest entries and wraps have the logits of "
        "one pass, to the token."
    )
    remedy = "Keep exactly the window's tokens, and take positions from the text, not from the slot in the ring."
    kinds: ClassVar = ("window", "ring_index", "eviction")
    reports: ClassVar = ("huggingface/transformers#37574", "ml-explore/mlx-lm#1437", "EricLBuehler/mistral.rs#246")
    cost = 5.0

    def applies(self, subject: Subject) -> str | None:
        if not subject.call.keeps_cache:
            return "the model keeps no cache"
        windows = windows_of(subject)
        if not windows:
            return "no layer has a sliding window"
        if not [window for window in windows if window + 4 <= subject.length]:
            return f"the text of {subject.length} tokens does not fill a window of {min(windows)}"
        return None

    def outcomes(self, subject: Subject) -> Iterator[Outcome]:
        for window in windows_of(subject):
            few = max(8, window - 2)
            for edge in (window, 2 * window):
                for prompt in (edge - 1, edge, edge + 1):
                    end = min(prompt + 6, subject.length)
                    if prompt >= end:
                        continue
                    ids, sizes = subject.ids[:, :end], [prompt, *[1] * (end - prompt)]
                    yield self.compared(
                        subject,
                        f"window {window}: {prompt} tokens, then one by one",
                        lambda ids=ids, sizes=sizes: subject.chunked(sizes, ids=ids),
                        control=lambda few=few: subject.chunked([few - 4, 4], ids=subject.ids[:, :few]),
                    )


def windows_of(subject: Subject) -> list[int]:
    """The sliding windows of a model's layers, shortest first, [token]."""
    groups = () if subject.spec is None else subject.spec.groups.values()
    return sorted({group.sliding_window for group in groups if group.sliding_window})
