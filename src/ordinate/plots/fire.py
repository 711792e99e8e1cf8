"""FIRE's bias over distance, for queries at several positions."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ordinate.describe.words import figures, number
from ordinate.errors import InputError
from ordinate.plots import _canvas, _sources
from ordinate.plots.base import Facts
from ordinate.schemes.fire import Fire

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FACTS = Facts("FIRE's bias over distance, for queries at several positions", "fire:heads=4")


def fire(
    scheme: Fire,
    learned: Mapping[str, np.ndarray] | None = None,
    queries: Sequence[int] = (256, 1024, 4096),
    head: int = 0,
    *,
    seed: int = 0,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw one head's bias from each query to every key before it.

    Args:
        scheme: its heads and numbers
        learned: the network; starting values drawn from the seed where not given
        queries: where they stand, >= 1, [token]
        head: which
        seed: of the starting values
        ax: where to draw; a new figure where not given

    Raises:
        InputError: no query, one at position 0, or a head that is not there
    """
    if not queries or min(queries) < 1:
        raise InputError(f"queries must stand at positions from 1, got {list(queries)}")
    if not 0 <= head < scheme.heads:
        raise InputError(f"a head must be from 0 to {scheme.heads - 1}, got {head}")
    values = scheme.initial(seed) if learned is None else learned
    ax = _canvas.axes(ax, height=3.6)
    ax.set_xscale("symlog", linthresh=1)
    said = []
    for index, query in enumerate(queries):
        keys = np.unique(query - np.unique(np.geomspace(1, query + 1, 400).round().astype(int) - 1))
        bias = scheme.bias(np.array([query]), keys, learned=values)[head, 0]
        ax.plot(query - keys, bias, label=f"query at {number(query)}", linewidth=1.6, **_canvas.look(index))
        said.append(f"at {number(query)} from {bias[-1]:.3f} to {bias[0]:.3f}")
    _canvas.grid(ax)
    _canvas.thousands(ax.xaxis)
    ax.set_xlabel("distance of query and key [token]")
    ax.set_ylabel("bias [logit]")
    _canvas.legend(ax)
    words = (
        f"Head {head}{' at starting values' if learned is None else ''}: from the query itself to the first token the "
        f"bias goes, for a query {', '.join(said)}. Distance counts as a share of the query's position (of "
        f"{figures(scheme.threshold)} at least, before training): a longer text stretches the same curve."
    )
    return _canvas.finished(ax, "FIRE over distance", words)


def from_sources(
    sources: Sequence[str], *, positions: Sequence[int] = (256, 1024, 4096), seed: int = 0, ax: "Axes | None" = None
) -> "Figure":
    return fire(_sources.scheme(sources[0], Fire), None, positions, seed=seed, ax=ax)
