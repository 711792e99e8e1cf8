"""What a cache of keys and values takes, over context and batch."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from ordinate.describe.words import counted, figures, number
from ordinate.errors import InputError, got
from ordinate.plan.result import Cell, Plan
from ordinate.plots import _canvas, _sources
from ordinate.plots.base import Facts, tokens, word
from ordinate.results import read
from ordinate.results.plan import PlanResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FACTS = Facts("memory of keys and values against context and batch", "the JSON of `ordinate plan`")

GIB = 2**30
MOST = 1e150
"""Numbers of a plan are at most this, so that all that is computed from them for the axes is finite."""


def memory(plan: Mapping[str, Any], *, ax: "Axes | None" = None) -> "Figure":
    """Draw what keys and values take on the fullest device, a line a batch; hollow where all together does not fit.

    Args:
        plan: the JSON of `ordinate plan`
        ax: where to draw; a new figure where not given

    Raises:
        InputError: another kind of result, no plan of this version, no cache, or numbers beyond what axes can show
    """
    found = _plan(plan)
    ax = _canvas.axes(ax, height=4.2)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", base=2)
    for index, batch in enumerate(sorted({cell.batch for cell in found.cells})):
        line = sorted((cell for cell in found.cells if cell.batch == batch), key=lambda cell: cell.context)
        _line(ax, index, batch, line)
    limit = found.requested.memory_bytes
    if limit is not None:
        ax.axhline(limit / GIB, color=_canvas.INK, linewidth=1.2, linestyle=(0, (6, 2)))
        ax.annotate(
            f"memory of a device, {figures(limit / GIB, 4)} GiB",
            (0, limit / GIB),
            xycoords=("axes fraction", "data"),
            xytext=(4, 5),
            textcoords="offset points",
            fontsize="small",
            bbox={"facecolor": "#ffffff", "edgecolor": "none", "pad": 0.5},
        )
    contexts = sorted({cell.context for cell in found.cells})
    ax.set_xticks([float(context) for context in contexts], [figures(context) for context in contexts])
    ax.minorticks_off()
    _canvas.thousands(ax.yaxis)
    _canvas.grid(ax)
    ax.set_xlabel("context [token]")
    ax.set_ylabel("keys and values of a device [GiB]")
    _canvas.beside(ax, "")
    return _canvas.finished(
        ax, f"{word(found.name)}: memory of keys and values, {word(found.requested.kv)}", _words(found)
    )


def _plan(plan: Mapping[str, Any]) -> PlanResult:
    if plan.get("kind") != "plan":
        raise InputError(f"this plot needs a result of plan, got kind {got(plan.get('kind'))}")
    found = msgspec.convert(read(plan), PlanResult)
    drawn = [number for cell in found.cells for number in (cell.context, cell.cache_bytes)]
    most = max(*drawn, found.requested.memory_bytes or 0)
    if min(cell.context for cell in found.cells) < 1 or not any(cell.cache_bytes > 0 for cell in found.cells):
        raise InputError(f"{word(found.name)} keeps no keys and values at the contexts of this plan: nothing is drawn")
    if most > MOST:
        raise InputError(f"a plan's contexts and bytes must be at most {MOST:g} to be drawn, got {got(most)}")
    return found


def _line(ax: "Axes", index: int, batch: int, line: Sequence[Cell]) -> None:
    style = _canvas.look(index, marker=True)
    contexts, gibs = [float(cell.context) for cell in line], [cell.cache_bytes / GIB for cell in line]
    name = counted(batch, "sequence")
    ax.plot(contexts, gibs, label=name, **style)
    over = [(float(cell.context), cell.cache_bytes / GIB) for cell in line if cell.fits is False]
    if over:
        x, y = zip(*over, strict=True)
        hollow = _canvas.look(index, marker=True, linestyle="none", markersize=7, markerfacecolor="white")
        ax.plot(x, y, label=f"{name}: does not fit", **hollow)


def _words(plan: Plan) -> str:
    first = min(plan.cells, key=lambda cell: (cell.context, cell.batch))
    last = max(plan.cells, key=lambda cell: (cell.context, cell.batch))
    text = f"Keys and values take {_gib(first)} for {number(first.batch)} x {tokens(first.context)}"
    if last is not first:
        text += f" and {_gib(last)} for {number(last.batch)} x {tokens(last.context)}"
    text += f"; one more token takes {number(plan.token_bytes)} bytes."
    judged = [cell for cell in plan.cells if cell.fits is not None]
    if judged:
        fitting = sum(bool(cell.fits) for cell in judged)
        text += f" With weights, tables and scratch {fitting} of {len(judged)} fit; hollow points do not."
    return text


def _gib(cell: Cell) -> str:
    return f"{figures(cell.cache_bytes / GIB, 4)} GiB"


def from_sources(sources: Sequence[str], *, ax: "Axes | None" = None) -> "Figure":
    return memory(_sources.result(sources[0], "plan"), ax=ax)
