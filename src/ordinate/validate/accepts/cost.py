"""How many tokens level 1 takes, said before it is measured."""

from collections.abc import Iterable, Sequence

from ordinate.audit.server.prompts import CANARIES
from ordinate.validate.accepts.canaries import Canaries
from ordinate.validate.accepts.lengths import edges
from ordinate.validate.accepts.reading import FEW, FRESH
from ordinate.validate.backends import Backend

MOST = CANARIES + 3 * CANARIES + 2 + FEW * len(FRESH) + CANARIES
"""Requests of one length at most: nine questions; for each lost canary three with another text; the log-probabilities
of one answer twice; other texts; and the nine questions once more. A refusal takes fewer."""


def cost(
    backend: Backend, lengths: Sequence[int], *, mode: str = "base", windows: Iterable[int] = (), around: bool = True
) -> tuple[int, int]:
    """Tokens of prompts and answers at least, where each length is refused at once, and at most.

    Args:
        backend: as for `accepts`
        lengths, mode, windows, around: as for `accepts`

    Returns:
        least and most, [token]
    """
    tried = [n for n in edges(lengths, limit=backend.limit, windows=windows) if around or n in lengths]
    canaries = Canaries(backend.tokenizer, mode=mode)
    short, steps = canaries.short, canaries.steps
    least = sum(length for length in tried if length >= short)
    if hasattr(getattr(backend, "model", None), "named_modules"):  # one prompt of each length, and a short one
        return least, sum(length + steps for length in tried) + short + steps
    once = CANARIES * (short + steps)  # and again for each length
    return least, sum(MOST * (length + steps) + once for length in tried) + once
