"""Where in a text, and at which length, a task holds: a heat map whose undecided cells are hatched."""

import ast
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ordinate.describe.words import counted, number
from ordinate.errors import InputError
from ordinate.plots import _canvas, _sources
from ordinate.plots.base import Facts, word
from ordinate.registry import suggestion
from ordinate.validate.claims import Card, Row, card

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FACTS = Facts("score of a task by depth and length, undecided cells hatched (--task)", "a validation's run or card")

DEPTHS = {"start": 0.0, "middle": 0.5, "end": 1.0}
"""Where the evidence of a named place stands, as a share of the context; other names have no one depth."""

UNDECIDED = ("inconclusive", "not applicable")
SIGNS = {"supported": "✓", "refuted": "✗", "inconclusive": "?", "not applicable": "–", "": ""}


def depth_by_length(result: Mapping[str, Any], task: str | None = None, *, ax: "Axes | None" = None) -> "Figure":
    """Draw the share of right answers with the evidence in each place, at each length.

    A cell has its share, the number of units, and a sign: ✓ supported, ✗ refuted, ? inconclusive, – at the floor; the
    short baseline has none. Cells that are neither proved nor refuted are hatched, those not tested empty.

    Args:
        result: a card of `ordinate validate`
        task: which; the only one with shares, or that of the headline, where not given
        ax: where to draw; a new figure where not given

    Raises:
        InputError: not a card, no such task in it, or none with shares
    """
    found = card(result)
    task = _task(found, task)
    rows = [row for row in found.rows if row.subject == task and row.measure == "answer"]
    places = sorted(dict.fromkeys(row.places for row in rows), key=lambda place: _depth(place))
    lengths = sorted({row.length for row in rows})
    cells = {(row.places, row.length): row for row in rows}
    shares = np.array([[cells[p, n].value if (p, n) in cells else np.nan for n in lengths] for p in places])
    ax = _canvas.axes(ax, width=max(5.0, 1.5 + 0.9 * len(lengths)), height=max(2.6, 1.5 + 0.5 * len(places)))
    image = ax.imshow(shares, cmap=_canvas.SEQUENTIAL, vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    ax.figure.colorbar(image, ax=ax, label="share right [1]")
    _hatch(ax, cells, places, lengths)
    ax.set_xticks(range(len(lengths)), [number(length) for length in lengths])
    ax.set_yticks(range(len(places)), [_name(place) for place in places])
    ax.set_xlabel("length [token]")
    ax.set_ylabel("evidence stands at")
    return _canvas.finished(ax, f"{word(task)}: share right by place and length", _words(found, task, rows))


def _task(found: Card, task: str | None) -> str:
    tasks = list(dict.fromkeys(row.subject for row in found.rows if row.measure == "answer"))
    if not tasks:
        raise InputError("this card has no task with shares of right answers")
    if task is None:
        headline = found.headline
        return headline.subject if headline is not None and headline.subject in tasks else tasks[0]
    if task not in tasks:
        raise InputError(f"unknown task {task!r} of this card{suggestion(task, tasks)}")
    return task


def _depth(place: str) -> tuple[int, float, str]:
    """Places with a depth first, from the start to the end; the others after them."""
    if place in DEPTHS:
        return 0, DEPTHS[place], place
    try:
        shares = ast.literal_eval(place)
        return 0, float(min(shares)) if isinstance(shares, tuple) else float(shares), place
    except (ValueError, SyntaxError, TypeError):
        return 1, 0.0, place


def _name(place: str) -> str:
    return f"{word(place)} ({DEPTHS[place]:.0%})" if place in DEPTHS else word(place)


def _hatch(ax: "Axes", cells: Mapping[tuple[str, int], Row], places: Sequence[str], lengths: Sequence[int]) -> None:
    from matplotlib.patches import Rectangle

    for y, place in enumerate(places):
        for x, length in enumerate(lengths):
            row = cells.get((place, length))
            if row is None:
                continue
            if row.verdict in UNDECIDED:
                light = "#ffffff" if row.value < 0.5 else "#000000"
                box = Rectangle(
                    (x - 0.5, y - 0.5), 1, 1, fill=False, hatch="///", edgecolor=light, linewidth=0, alpha=0.45
                )
                box.set_gid(f"undecided {place} {length}")
                ax.add_patch(box)
            text = f"{row.value:.0%} {SIGNS[row.verdict]}".strip()
            background = {"boxstyle": "round,pad=0.15", "facecolor": "#ffffff", "edgecolor": "none", "alpha": 0.85}
            ax.text(x, y, f"{text}\nof {row.units}", ha="center", va="center", fontsize="x-small", bbox=background)


def _words(found: Card, task: str, rows: Sequence[Row]) -> str:
    counts = Counter(row.verdict for row in rows if row.verdict)
    names = {
        "supported": "supported",
        "refuted": "refuted",
        "inconclusive": "inconclusive",
        "not applicable": "at the floor",
    }
    judged = ", ".join(f"{counts[key]} {name}" for key, name in names.items() if counts[key]) or "none judged"
    text = f"Of {counted(sum(counts.values()), 'cell')} past the short baseline: {judged}. "
    if any(counts[key] for key in UNDECIDED):
        text += "Hatched cells are undecided: their colour proves nothing. "
    reach = next((one for one in found.profile if one.subject == task and one.counts), None)
    if reach is not None:
        text += (
            f"{word(task)} is supported up to {counted(reach.effective, 'token')}."
            if reach.effective
            else f"{word(task)} is supported at no length."
        )
    return text.strip()


def from_sources(sources: Sequence[str], *, task: str | None = None, ax: "Axes | None" = None) -> "Figure":
    return depth_by_length(_sources.result(sources[0], "validate"), task, ax=ax)
