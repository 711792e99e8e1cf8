"""ALiBi's penalty of each head over distance."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ordinate.describe.words import counted, figures
from ordinate.errors import positive_integer
from ordinate.plots import _canvas, _sources
from ordinate.plots.base import Facts, check_size, tokens
from ordinate.schemes.alibi import Alibi

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FACTS = Facts("ALiBi's penalty of each head over distance", "alibi:heads=12, or a model that has it")

NAMED = 8
"""Heads that are named; where there are more, these are spread evenly."""


def alibi_penalties(scheme: Alibi, reach: int = 256, *, ax: "Axes | None" = None) -> "Figure":
    """Draw the bias of each head at distances 0 to reach.

    bias[h, n] = -slopes[h] * n

    Args:
        scheme: its heads and numbers
        reach: the largest distance, [token]
        ax: where to draw; a new figure where not given
    """
    check_size(positive_integer("reach", reach) + 1, scheme.heads)
    distance = np.arange(reach + 1)
    bias = scheme.by_distance(distance)
    ax = _canvas.axes(ax, height=3.8)
    shown = sorted({round(i) for i in np.linspace(0, scheme.heads - 1, min(NAMED, scheme.heads)).tolist()})
    by_slope = sorted(range(scheme.heads), key=lambda head: -scheme.slopes[head])
    named = {by_slope[i]: index for index, i in enumerate(shown)}
    for head in by_slope:
        if head in named:
            step = max(reach // 8, 1)
            style = _canvas.look(named[head], marker=True, markevery=(named[head] * step // 8, step))
            label = f"head {head}: {figures(scheme.slopes[head], 3)}"
            ax.plot(distance, bias[head], label=label, linewidth=1.3, **style)
        else:
            ax.plot(distance, bias[head], label=f"_head {head}", color="#bbbbbb", linewidth=0.7, zorder=1)
    floor = max(float(bias.min()), -20.0)
    ax.set_ylim(floor * 1.02, 0.4 if floor < -4 else -0.02 * floor)
    _canvas.grid(ax)
    ax.set_xlabel("distance of query and key [token]")
    ax.set_ylabel("penalty [logit]")
    _canvas.beside(ax, "slope [logit/token]")
    last = bias[:, -1]
    words = (
        f"At {tokens(reach)} the penalty is from {figures(last.max(), 3)} to "
        f"{figures(last.min(), 4)} logits: before softmax has its sum, a key there keeps "
        f"{figures(np.exp(last.max()), 2)} of its weight in the gentlest head, "
        f"{figures(np.exp(last.min()), 2)} in the steepest. "
        "No distance is forbidden."
    )
    if bias.min() < -20:
        words += " Below −20 logits lines are cut off."
    return _canvas.finished(ax, f"ALiBi's penalty, {counted(scheme.heads, 'head')}", words)


def from_sources(
    sources: Sequence[str], *, group: str | None = None, tokens: int = 256, ax: "Axes | None" = None
) -> "Figure":
    return alibi_penalties(_sources.scheme(sources[0], Alibi, group), tokens, ax=ax)
