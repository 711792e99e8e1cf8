"""Documents packed into one row against each document alone."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.audit.base import Check, Outcome
from ordinate.audit.comparison import compare
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
        other = subject.other_ids(2, 2 * lengths[0]).reshape(2, -1)
        one, another = subject.packed(lengths), subject.packed(lengths, first=other)
        kept = [row for row in range(one.rows) if row % len(lengths)]
        seen = max(compare(another.row(r), one.row(r), distributions=False).max_difference for r in kept)
        masked = seen > subject.noise.threshold
        case = f"documents of {', '.join(map(str, lengths))} tokens"
        if masked:
            # Positions alone do not part documents in every model: some want a mask of blocks.
            case += ", with a mask of blocks"
            if subject.carries_state:
                why = "positions alone do not part documents here, and no mask parts the state that layers carry"
                yield Outcome(self.name, case, "not applicable", evidence=why)
                return
            if subject.windows:
                why = "positions alone do not part documents here, and a mask of blocks would end the sliding window"
                yield Outcome(self.name, case, "not applicable", evidence=why)
                return
        yield self.compared(subject, case, lambda: subject.packed(lengths, masked=masked))
