"""KERPLE's bias of each head over distance."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ordinate.describe.words import counted, figures
from ordinate.errors import positive_integer
from ordinate.plots import _canvas, _sources
from ordinate.plots.base import Facts, check_size, tokens
from ordinate.schemes.kerple import Kerple

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FACTS = Facts("KERPLE's bias of each head over distance", "kerple:heads=4, kerple:heads=4,variant=power")


def kerple(
    scheme: Kerple,
    learned: Mapping[str, np.ndarray] | None = None,
    reach: int = 1024,
    *,
    seed: int = 0,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw the bias of each head at distances 0 to reach.

    Args:
        scheme: its heads and kernel
        learned: r1 and r2, [heads] each; starting values drawn from the seed where not given
        reach: the largest distance, [token]
        seed: of the starting values
        ax: where to draw; a new figure where not given
    """
    values = scheme.initial(seed) if learned is None else learned
    check_size(positive_integer("reach", reach) + 1, scheme.heads)
    distance = np.arange(reach + 1)
    bias = scheme.by_distance(distance, values)
    ax = _canvas.axes(ax, height=3.6)
    for head in range(scheme.heads):
        step = max(reach // 8, 1)
        style = _canvas.look(head, marker=True, markevery=(head * step // max(scheme.heads, 1), step))
        r1, r2 = (float(np.abs(values[name])[head]) for name in ("r1", "r2"))
        ax.plot(distance, bias[head], label=f"head {head}: {figures(r1, 2)}, {figures(r2, 2)}", **style)
    _canvas.grid(ax)
    _canvas.thousands(ax.xaxis)
    ax.set_xlabel("distance of query and key [token]")
    ax.set_ylabel("bias [logit]")
    _canvas.beside(ax, "|r1|, |r2|")
    last, kernel = bias[:, -1], "logarithmic" if scheme.variant == "log" else "power"
    doubled = scheme.by_distance(np.array([2 * reach]), values)[:, 0] - last
    words = (
        f"The {kernel} kernel of {counted(scheme.heads, 'head')}{' at starting values' if learned is None else ''}: at "
        f"{tokens(reach)} the bias is from {figures(last.max(), 3)} to "
        f"{figures(last.min(), 3)} logits, and twice as far costs another "
        f"{figures(-doubled.max(), 3)} to {figures(-doubled.min(), 3)}."
    )
    return _canvas.finished(ax, f"KERPLE, {kernel} kernel", words)


def from_sources(sources: Sequence[str], *, tokens: int = 1024, seed: int = 0, ax: "Axes | None" = None) -> "Figure":
    return kerple(_sources.scheme(sources[0], Kerple), None, tokens, seed=seed, ax=ax)
