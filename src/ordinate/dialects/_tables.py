"""How far the tables of one layer group are from another's, over the lengths at which a scaling may change."""

from collections.abc import Iterable

import numpy as np

from ordinate.spec import LayerGroup, Spec

TOLERANCE = 1e-6
"""Tables whose frequencies and magnitudes agree to this, relatively, are the same to a user."""
ROUNDING = 1e-9
"""What float64 leaves of two equal formulas; an engine that departs by more says so."""


def lengths_of(spec: Spec) -> tuple[int | None, ...]:
    """The lengths at which tables may differ: at construction, and at and past each length that the spec names."""
    return _around([spec.window.trained, spec.window.declared, *_switches(*spec.groups.values())])


def relative(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """How far each frequency of `b` is from that of `a`, relative to `a`; infinite where only `b` turns."""
    apart = np.abs(a - b)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(apart == 0, 0.0, apart / np.abs(a))


def table_changes(before: LayerGroup, after: LayerGroup, lengths: Iterable[int | None] = ()) -> list[str]:
    """The largest change in frequency, and the first in magnitude, from one rotating group to another, in words.

    Args:
        before: the group as it is
        after: as it becomes
        lengths: where to look besides construction and the lengths of both scalings, [token]
    """
    worst, pair, at, turns = 0.0, 0, None, 0.0
    factors: tuple[float, float] | None = None
    for length in _around([*lengths, *_switches(before, after)]):
        a, b = before.frequencies(length), after.frequencies(length)
        if len(a) != len(b):
            return [f"{len(a)} pairs become {len(b)}"]
        far = relative(a, b)
        if far.max() > worst:
            pair, at = int(far.argmax()), length
            worst, turns = float(far[pair]), float(b[pair])
        magnitudes = before.attention_factor(length), after.attention_factor(length)
        if factors is None and abs(magnitudes[0] - magnitudes[1]) > ROUNDING * max(magnitudes):
            factors = magnitudes
    changes = []
    where = "" if at is None else f" at {at} tokens"
    if np.isinf(worst):
        changes.append(f"frequencies change: pair {pair}, which stood still, turns by {turns:.4g} rad/token{where}")
    elif worst > ROUNDING:
        changes.append(f"frequencies change by up to {percent(worst)} (pair {pair}{where})")
    if factors is not None:
        changes.append(f"the magnitude {factors[0]:.4g} becomes {factors[1]:.4g}")
    return changes


def percent(share: float) -> str:
    """A share as a percentage that is not 0.

    >>> percent(0.7613), percent(0.0000012), percent(31.0)
    ('76 %', '0.00012 %', '3100 %')
    """
    return f"{100 * share:.0f} %" if share >= 1 else f"{100 * share:.2g} %"


def _switches(*groups: LayerGroup) -> list[int | None]:
    """The lengths at which the groups' scalings change."""
    keys = ("original_max_position_embeddings", "window")
    return [getattr(group.stretch, key, None) for group in groups for key in keys]


def _around(lengths: Iterable[int | None]) -> tuple[int | None, ...]:
    """Construction, then each length and the one past it, in order."""
    return (None, *sorted({m for n in lengths if n is not None for m in (n, n + 1)}))
