"""The time that measuring may take."""

import time
from collections.abc import Callable

from ordinate.errors import Unavailable, positive


class Late(Unavailable):
    """The time is up."""


class Deadline:
    """Called, it says how much time is left.

    Args:
        seconds: from now on, [s]
        clock: [s]

    >>> Deadline(10, clock=lambda: 0.0)()
    10.0
    """

    def __init__(self, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds, self._clock = positive("seconds", seconds), clock
        self._end = clock() + self.seconds

    def __call__(self) -> float:
        """What is left, [s].

        Raises:
            Late: nothing
        """
        rest = self._end - self._clock()
        if rest <= 0:
            raise Late(f"the {self.seconds:g} s allowed are spent")
        return rest
