"""Every task in every place, up to 100 units."""

from typing import ClassVar

from ordinate.validate.instances import CONTROLS
from ordinate.validate.suites._entries import Entry, answers, tokens
from ordinate.validate.suites.base import Suite


class Publication(Suite):
    """What `standard` asks, with all looks (24, 50 and 100 units) and the evidence of every task in every place.

    With 100 units full retention of a short score of 0.95 is proved nearly always, and a stability of 5 points where
    hardly an answer differs between places.
    """

    name = "publication"
    title = "every task in every place, up to 100 units, controls"
    units = 100
    controls: ClassVar = CONTROLS
    control_units = 24

    def entries(self) -> tuple[Entry, ...]:
        return (*answers(), *tokens(100, ("start", "middle", "end")))
