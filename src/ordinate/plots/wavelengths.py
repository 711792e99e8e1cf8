"""The wavelength of each pair, against the trained, the declared and the wanted length."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ordinate.describe.wavelengths import unfinished
from ordinate.describe.wavelengths import wavelengths as of_group
from ordinate.describe.words import figures, number
from ordinate.errors import InputError, positive_integer
from ordinate.plots import _canvas, _sources
from ordinate.plots.base import Facts, pairs, tokens, word
from ordinate.schemes.base import Rotary
from ordinate.spec import LayerGroup, Spec

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FACTS = Facts("wavelength of each pair against trained, declared and target length", "a model that rotates")


def wavelengths(
    spec: Spec,
    target: int | None = None,
    *,
    length: int | None = None,
    group: str | None = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw how many tokens each pair takes for a turn; hollow points never finish one in the trained length.

    wavelength[i] = 2 pi / |frequency[i]|

    Args:
        spec: a model that rotates
        target: a length that it is to reach, [token]
        length: tokens seen so far, for scaling that depends on it, [token]
        group: these layers alone; all that rotate where not given
        ax: where to draw; a new figure where not given

    Raises:
        InputError: nothing rotates, or no such group
    """
    chosen = spec.groups if group is None else {group: _sources.layers(spec, group, Rotary)}
    groups = _alike({name: found for name, found in chosen.items() if isinstance(found.encoding, Rotary)})
    if not groups:
        raise InputError(
            f"{spec.name} has no pairs that turn: its scheme is {', '.join(g.scheme for g in chosen.values())}"
        )
    trained, declared = spec.window.trained, spec.window.declared
    target = None if target is None else positive_integer("target", target)
    ax = _canvas.axes(ax)
    ax.set_yscale("log")
    said = []
    for index, (name, found) in enumerate(groups.items()):
        values = of_group(found, length)
        _draw(ax, index, found, values, trained, name if len(groups) > 1 else "")
        said.append(_words(name if len(groups) > 1 else "", found, values, trained, target, length))
    top = ax.get_ylim()[1] * 1.3
    if trained is not None:
        ax.axhspan(
            trained, top, facecolor=_canvas.SHADE, edgecolor="#cfc7ae", zorder=0, label="longer than the trained length"
        )
    _lines(ax, {"trained": trained, "declared": declared if declared != trained else None, "target": target})
    ax.set_ylim(top=top)
    ax.set_xlabel("pair")
    ax.set_ylabel("wavelength [token]")
    _canvas.legend(ax, loc="upper left", fontsize="small")
    where = "" if length is None else f", at {tokens(length)}"
    return _canvas.finished(ax, f"{word(spec.name)}: wavelength of each pair{where}", " ".join(said))


def _alike(groups: dict[str, LayerGroup]) -> dict[str, LayerGroup]:
    """Groups that turn alike as one, under all their names."""
    found: list[tuple[list[str], LayerGroup]] = []
    for name, group in groups.items():
        same = next((n for n, g in found if (g.encoding, g.stretch) == (group.encoding, group.stretch)), None)
        if same is None:
            found.append(([name], group))
        else:
            same.append(name)
    return {" and ".join(names): group for names, group in found}


def _draw(ax: "Axes", index: int, group: LayerGroup, values: np.ndarray, trained: int | None, name: str) -> None:
    colour, marker = _canvas.COLOURS[index % len(_canvas.COLOURS)], _canvas.MARKERS[index % len(_canvas.MARKERS)]
    at, finite = np.arange(len(values)), np.isfinite(values)
    hollow = finite & (values > trained) if trained is not None else np.zeros(len(values), dtype=bool)
    points = {"linestyle": "none", "marker": marker, "markersize": 4.5, "color": colour}
    lead = f"{word(name)}: " if name else ""
    if group.stretch is not None:
        before = of_group(LayerGroup(group.layer_type, group.encoding))
        if not np.array_equal(before, values):
            turns = np.isfinite(before)
            ax.plot(at[turns], before[turns], color=_canvas.FAINT, linewidth=1, label=f"{lead}before {group.scaling}")
    full = finite & ~hollow
    ax.plot(at[full], values[full], label=f"{lead}finishes a turn" if trained else f"{lead}wavelength", **points)
    if not finite.all():
        still = np.full(int((~finite).sum()), 0.985)
        crosses = points | {"marker": "x", "transform": ax.get_xaxis_transform()}
        ax.plot(at[~finite], still, label=f"{lead}does not turn at all", **crosses)
    if hollow.any():
        ax.plot(at[hollow], values[hollow], markerfacecolor="white", label=f"{lead}never finishes a turn", **points)


def _lines(ax: "Axes", lengths: dict[str, int | None]) -> None:
    for (name, value), dash in zip(lengths.items(), ("-", (0, (6, 2)), (0, (2, 1.5))), strict=True):
        if value is not None:
            ax.axhline(value, color=_canvas.INK, linewidth=1.2, linestyle=dash)
            ax.annotate(
                f"{name} {number(value)}",
                (1, value),
                xycoords=("axes fraction", "data"),
                xytext=(-4, 2 if name == "target" else -2),
                textcoords="offset points",
                ha="right",
                va="bottom" if name == "target" else "top",
                fontsize="small",
            )


def _words(
    name: str, group: LayerGroup, values: np.ndarray, trained: int | None, target: int | None, length: int | None
) -> str:
    finite = values[np.isfinite(values)]
    lead = f"In {name}: " if name else ""
    text = f"{lead}{pairs(len(values))} turn once in {figures(finite.min(), 4)} to " if len(finite) else ""
    text += f"{tokens(float(f'{finite.max():.4g}'))}. " if len(finite) else f"{lead}no pair turns. "
    if len(finite) < len(values):
        text += f"{pairs(len(values) - len(finite))} of {len(values)} do not turn at all. "
    if trained is None:
        return text + "The trained length is not in the file."
    text += f"Within the trained {tokens(trained)} {unfinished(group, trained, length)} never finish a turn"
    text += ": past it they meet angles that training has not shown"
    if target is not None:
        text += f"; within {tokens(target)} {unfinished(group, target, length)} do not"
    return text + "."


def from_sources(
    sources: Sequence[str],
    *,
    to: int | None = None,
    length: int | None = None,
    group: str | None = None,
    ax: "Axes | None" = None,
) -> "Figure":
    return wavelengths(_sources.model(sources[0]), to, length=length, group=group, ax=ax)
