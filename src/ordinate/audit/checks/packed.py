"""Documents packed into one row against each document alone."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.audit.base import Check, Outcome
from ordinate.audit.batches import ROWS
from ordinate.audit.comparison import compare
from ordinate.audit.noise import FACTOR
from ordinate.audit.runs import Run
from ordinate.audit.subject import Subject

_MOST = 192


class Packed(Check):
    name = "packed"
    title = "documents packed into one row"
    explanation = "Documents in one row, with positions from 0 in each, have the logits of each document alone."
    remedy = "Start positions at 0 in each document, and let no query see another document."
    kinds: ClassVar = ("packing",)
    reports: ClassVar = ("allenai/OLMo-core#591", "pytorch/torchtitan#2559", "hiyouga/LlamaFactory#7754")
    cost = 1.0

    def applies(self, subject: Subject) -> str | None:
        if subject.call.architecture != "causal":
            return "documents are packed for causal models"
        return None if subject.takes_positions else "the model takes no position_ids"

    def outcomes(self, subject: Subject) -> Iterator[Outcome]:
        room = min(_MOST, subject.length)
        # The second document is the longer one, so that positions that go on are seen.
        lengths = (room // 4, room // 2, room // 4)
        case = f"documents of {', '.join(map(str, lengths))} tokens"
        one = subject.packed(lengths)
        plain = self.compared(subject, case, lambda: one)
        seen = _seen(subject, one, lengths) if plain.status == "failed" else 0.0
        if not seen:
            yield plain
            return
        # Positions alone do not part documents in every model: some want a mask of blocks.
        case += ", with a mask of blocks"
        if not (subject.carries_state or subject.windows):
            yield self.compared(subject, case, lambda: subject.packed(lengths, masked=True))
        elif seen > subject.noise.logits:
            kept = "no mask parts the state that layers carry"
            ended = "a mask of blocks would end the sliding window"
            why = f"positions alone do not part documents here, and {kept if subject.carries_state else ended}"
            yield Outcome(self.name, case, "not applicable", evidence=why)
        else:
            yield plain


def _seen(subject: Subject, one: Run, lengths: tuple[int, ...]) -> float:
    """How much other tokens in the first document change the logits of those behind it, or 0 where that is rounding.

    Where documents are parted not a bit of them changes, except in a mixture of experts, which computes the tokens of
    all documents together. What other tokens in the last document change before it, where no query may look, is that.
    """
    changes = []
    for changed in (0, len(lengths) - 1):
        other = subject.other_ids(2, ROWS * lengths[changed]).reshape(ROWS, -1)
        another = subject.packed(lengths, others={changed: other})
        looked_at = range(1, len(lengths)) if changed == 0 else range(changed)
        kept = [row for row in range(one.rows) if row % len(lengths) in looked_at]
        changes.append(max(compare(another.row(r), one.row(r), distributions=False).max_difference for r in kept))
    first, last = changes
    return first if first > FACTOR * last else 0.0
