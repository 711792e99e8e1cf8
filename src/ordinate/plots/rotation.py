"""The pairs of a head at two positions, as hands of clocks."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ordinate.describe.words import counted, figures, number
from ordinate.errors import InputError
from ordinate.plots import _canvas, _sources
from ordinate.plots.base import Facts
from ordinate.spec import LayerGroup

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FACTS = Facts(
    "the angle of some pairs at two positions, as hands of clocks", "a model that rotates, or rope:head_dim=64"
)

SHOWN = 8
"""Pairs that are drawn where none are chosen."""


def rotation(
    group: LayerGroup,
    positions: tuple[int, int] = (3, 11),
    pairs: Sequence[int] | None = None,
    *,
    length: int | None = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw each chosen pair as a dial: a hand for each of two positions, from the same start.

    angle[i] = position * group.frequencies(length)[i], counted from the right, against the clock

    Args:
        group: layers that rotate
        positions: of a query and a key, [token]
        pairs: which; eight from the fastest to the slowest where not given
        length: tokens seen so far, for scaling that depends on it, [token]
        ax: where to draw; a new figure where not given

    Raises:
        InputError: nothing rotates in the group, a pair that is not there, or another number of positions
    """
    if len(positions) != 2:
        raise InputError(f"a rotation is drawn at two positions, got {len(positions)}")
    frequencies = group.frequencies(length)
    count = len(frequencies)
    if pairs is None:
        pairs = sorted({round(i) for i in np.linspace(0, count - 1, min(SHOWN, count)).tolist()})
    for pair in pairs:
        if not 0 <= pair < count:
            raise InputError(f"a pair must be from 0 to {count - 1}, got {pair}")
    angles = _sources.angles(group, np.array(positions), length)[:, list(pairs)]
    ax = _canvas.axes(ax, width=7.2, height=2.0 if len(pairs) > 4 else 2.6)
    circle = np.linspace(0, 2 * math.pi, 121)
    for index, pair in enumerate(pairs):
        x = 2.6 * index
        ax.plot(x + np.cos(circle), np.sin(circle), color="#bbbbbb", linewidth=1, label="_circle")
        for hand, angle in enumerate(angles[:, index].tolist()):
            tip = x + math.cos(angle), math.sin(angle)
            ax.plot(
                (x, tip[0]),
                (0, tip[1]),
                **_canvas.look(hand, marker=True, linewidth=2.4 - 0.8 * hand, markevery=[1]),
                label=f"position {number(positions[hand])}" if index == 0 else "_hand",
            )
        ax.text(x, -1.25, f"pair {pair}", ha="center", va="top", fontsize="small")
        ax.text(x, -1.75, figures(frequencies[pair], 2), ha="center", va="top", fontsize="small")
    ax.set_xlim(-1.3, 2.6 * (len(pairs) - 1) + 1.3)
    ax.set_ylim(-2.9, 1.2)
    ax.text(-1.3, -2.4, "below each pair: its frequency [rad/token]", va="top", fontsize="small", color=_canvas.FAINT)
    ax.set_aspect("equal")
    figure = _canvas.finished(ax, "Turn of each pair at two positions", _words(group, positions, pairs, angles))
    ax.axis("off")
    # Beside the title where it has room there, else beside the dials.
    beside = {"loc": "lower right", "bbox_to_anchor": (1, 1), "ncols": 2}
    if len(pairs) <= 4:
        beside = {"loc": "upper left", "bbox_to_anchor": (1.02, 1), "ncols": 1}
    _canvas.legend(ax, **beside, frameon=False, borderaxespad=0)
    return figure


def _words(group: LayerGroup, positions: tuple[int, int], pairs: Sequence[int], angles: np.ndarray) -> str:
    apart = angles[1] - angles[0]
    fast, slow = apart[0], apart[-1]
    scaled = group.rope.magnitudes(np.zeros(0, dtype=np.int64)) is not None
    text = (
        f"Between positions {number(positions[0])} and {number(positions[1])}, "
        f"{counted(abs(positions[1] - positions[0]), 'token')} apart, pair {pairs[0]} turns by {_rad(abs(fast))} rad "
        f"({_rad(abs(fast) / (2 * math.pi))} turns) and pair {pairs[-1]} by {_rad(abs(slow))} rad. Only these "
        "differences reach the score of a query and a key: both hands of a dial may start anywhere. "
    )
    if scaled:
        return text + f"What {group.scheme} scales q and k by, on top of the turn, is not drawn."
    return text + "A hand keeps its length: rotation changes no norm."


def _rad(value: float) -> str:
    return figures(value, 3)


def from_sources(
    sources: Sequence[str],
    *,
    group: str | None = None,
    positions: Sequence[int] = (3, 11),
    pairs: Sequence[int] | None = None,
    length: int | None = None,
    ax: "Axes | None" = None,
) -> "Figure":
    if len(positions) != 2:
        raise InputError(f"--positions must be two, with a comma, got {len(positions)}")
    found = _sources.rotating(sources[0], group)
    return rotation(found, (positions[0], positions[1]), pairs, length=length, ax=ax)
