"""Every task, up to 50 units."""

from typing import ClassVar

from ordinate.validate.instances import CONTROLS
from ordinate.validate.suites._entries import Entry, answers, tokens
from ordinate.validate.suites.base import Suite


class Standard(Suite):
    """Twelve tasks in words, copying, language modelling and margins, at every length of the grid.

    Looks are after 24 and 50 units. Nothing is supported at the first of these, since 24 of 24 right answers at both
    lengths score 2.06 at the best; but wrong answers may refute a length there. At 50 units one answer may be lost
    where the task's chance is at most 1/3. The four tasks that position stability is read off have their evidence in
    five places; the others at the start, which is farthest from the question and so the worst for a window, and in the
    middle, where readers get lost.
    """

    name = "standard"
    title = "every task, up to 50 units, controls"
    units = 50
    controls: ClassVar = CONTROLS
    control_units = 12

    def entries(self) -> tuple[Entry, ...]:
        return (*answers(("start", "middle")), *tokens(24, ("start", "middle")))
