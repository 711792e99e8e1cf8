"""T5's bucket of each distance."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ordinate.describe.words import counted, number
from ordinate.errors import positive_integer
from ordinate.plots import _canvas, _sources
from ordinate.plots.base import Facts, check_size
from ordinate.schemes.t5 import T5

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FACTS = Facts("T5's bucket of each distance", "t5, t5:bidirectional=false, or a model that has it")


def t5_buckets(scheme: T5, reach: int | None = None, *, ax: "Axes | None" = None) -> "Figure":
    """Draw which of the learned numbers each distance takes.

    Args:
        scheme: how many buckets, and how they widen
        reach: the largest distance either way; a quarter more than `max_distance` where not given, [token]
        ax: where to draw; a new figure where not given
    """
    reach = scheme.max_distance * 5 // 4 if reach is None else positive_integer("reach", reach)
    check_size(2, reach + 1)
    relative = np.arange(-reach, reach + 1 if scheme.bidirectional else 1)
    buckets = scheme.bucket(relative)
    ax = _canvas.axes(ax, height=3.6)
    for index, (name, side) in enumerate({"key before the query": relative <= 0, "key after it": relative > 0}.items()):
        if side.any():
            ax.step(relative[side], buckets[side], where="mid", label=name, linewidth=1.8, **_canvas.look(index))
    for edge in (-scheme.max_distance, scheme.max_distance):
        if relative[0] <= edge <= relative[-1]:
            ax.axvline(edge, color=_canvas.FAINT, linewidth=0.9, linestyle=(0, (6, 2)))
            ax.annotate(
                f"max_distance {number(abs(edge))}",
                (edge, 0),
                xycoords=("data", "axes fraction"),
                xytext=(3, 4) if edge < 0 else (-3, 4),
                textcoords="offset points",
                ha="left" if edge < 0 else "right",
                fontsize="small",
                color=_canvas.FAINT,
            )
    _canvas.grid(ax)
    _canvas.thousands(ax.xaxis)
    ax.set_xlabel("key minus query position [token]")
    ax.set_ylabel("bucket")
    _canvas.legend(ax, loc="upper left" if scheme.bidirectional else "upper right")
    past = scheme.bucket(-np.arange(2 * scheme.max_distance + 1))
    alone = int((np.bincount(past, minlength=1)[: past.max()] == 1).sum())
    last = int(np.flatnonzero(past == past.max())[0])
    words = (
        f"Each of the distances 0 to {alone - 1} has a bucket of its own; further off buckets widen, and from "
        f"{counted(last, 'token')} on every distance shares bucket {int(past.max())}: the model cannot tell 1,000 "
        f"tokens from 10,000. {'Keys after the query have buckets of their own.' if scheme.bidirectional else ''}"
    )
    return _canvas.finished(ax, f"T5's {scheme.buckets} buckets", words.strip())


def from_sources(
    sources: Sequence[str], *, group: str | None = None, tokens: int | None = None, ax: "Axes | None" = None
) -> "Figure":
    return t5_buckets(_sources.scheme(sources[0], T5, group), tokens, ax=ax)
