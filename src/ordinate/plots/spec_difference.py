"""A spec against another: the frequency of each pair."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ordinate.describe.words import figures
from ordinate.errors import InputError
from ordinate.plots import _canvas, _sources
from ordinate.plots.base import Facts, pairs, word
from ordinate.schemes.base import Rotary
from ordinate.spec import LayerGroup, Spec

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FACTS = Facts("a model's frequencies against another's, pair by pair", "two models that rotate", 2, 2)

SAME = 1e-6
"""Frequencies that agree to this, relatively, are the same to a user."""


def spec_difference(
    a: Spec, b: Spec, *, length: int | None = None, group: str | None = None, ax: "Axes | None" = None
) -> "Figure":
    """Draw how fast each pair of the second turns, as a share of the first.

    share[i] = b.frequencies[i] / a.frequencies[i]

    Groups are matched by name, or the only one of each by themselves. Pairs that stand still in the first are left out.

    Args:
        a, b: models that rotate
        length: tokens seen so far, for scaling that depends on it, [token]
        group: these layers alone
        ax: where to draw; a new figure where not given

    Raises:
        InputError: no layers to compare, or different numbers of pairs
    """
    matched = _matched(a, b, group)
    ax = _canvas.axes(ax, height=3.6)
    said, shares = [], []
    for index, (left, right) in enumerate(matched):
        first, second = left.frequencies(length), right.frequencies(length)
        if len(first) != len(second):
            raise InputError(
                f"{left.layer_type} of {a.name} has {pairs(len(first))}, that of {b.name} {len(second)}: "
                "only equal numbers can be compared"
            )
        turning = first != 0
        share = second[turning] / first[turning]
        name = word(left.layer_type) if len(matched) > 1 else f"{word(b.name)} / {word(a.name)}"
        style = _canvas.look(index, marker=True, linewidth=1)
        ax.plot(np.flatnonzero(turning), share, label=name, **style)
        shares.append(share)
        said.append(_words(left, right, share, length, left.layer_type if len(matched) > 1 else ""))
    ax.axhline(1, color=_canvas.INK, linewidth=0.9, linestyle=(0, (6, 2)), label="the same")
    _canvas.grid(ax)
    values = np.concatenate(shares)
    if values.min() > 0 and values.max() / values.min() > 20:
        ax.set_yscale("log")
        _canvas.thousands(ax.yaxis)
    elif np.ptp(values) < SAME:
        ax.set_ylim(0.9, 1.1)
    ax.set_xlabel("pair")
    ax.set_ylabel("frequency, as a share [1]")
    _canvas.legend(ax, loc="best")
    return _canvas.finished(ax, f"{word(b.name)} against {word(a.name)}", " ".join(said))


def _matched(a: Spec, b: Spec, group: str | None) -> list[tuple[LayerGroup, LayerGroup]]:
    if group is not None:
        return [(_sources.layers(a, group, Rotary), _sources.layers(b, group, Rotary))]
    left, right = ({n: g for n, g in spec.groups.items() if isinstance(g.encoding, Rotary)} for spec in (a, b))
    if len(left) == len(right) == 1:
        return [(next(iter(left.values())), next(iter(right.values())))]
    found = [(left[name], right[name]) for name in left if name in right]
    if not found:
        have = ["; ".join(f"{n}: {g.scheme}" for n, g in spec.groups.items()) for spec in (a, b)]
        raise InputError(f"nothing that rotates in both: {a.name} has {have[0]}, {b.name} has {have[1]}")
    return found


def _words(a: LayerGroup, b: LayerGroup, share: np.ndarray, length: int | None, name: str) -> str:
    lead = f"In {name}: " if name else ""
    changed = int((np.abs(share - 1) > SAME).sum())
    if not changed:
        text = lead + ("The only pair turns alike" if len(share) == 1 else f"All {len(share)} pairs turn alike")
    else:
        low, high = figures(share.min(), 4), figures(share.max(), 4)
        text = f"{lead}{changed} of {pairs(len(share))} turn at another rate, from {low} to {high} of the first model's"
    factors = a.attention_factor(length), b.attention_factor(length)
    if abs(factors[1] / factors[0] - 1) > SAME:
        text += f"; the magnitude {figures(factors[0])} becomes {figures(factors[1])}"
    return text + "."


def from_sources(
    sources: Sequence[str], *, length: int | None = None, group: str | None = None, ax: "Axes | None" = None
) -> "Figure":
    return spec_difference(*(_sources.model(source) for source in sources), length=length, group=group, ax=ax)
