"""ALiBi's slope of each head."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ordinate.describe.wavelengths import reaches
from ordinate.describe.words import counted, figures
from ordinate.plots import _canvas, _sources
from ordinate.plots.base import Facts, tokens
from ordinate.schemes.alibi import Alibi

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FACTS = Facts("ALiBi's slope of each head", "alibi:heads=12, or a model that has it")


def alibi_slopes(scheme: Alibi, *, ax: "Axes | None" = None) -> "Figure":
    """Draw what a token of distance costs each head, on a logarithmic axis.

    Heads whose slopes come from the nearest power of two are filled; those that fill up another number are hollow.

    Args:
        scheme: its heads and numbers
        ax: where to draw; a new figure where not given
    """
    slopes, heads = scheme.slopes, scheme.heads
    power = 1 << (heads.bit_length() - 1)
    ax = _canvas.axes(ax, height=3.4)
    ax.set_yscale("log", base=2)
    points = {"linestyle": "none", "color": _canvas.COLOURS[0], "markersize": 6}
    ax.plot(np.arange(power), slopes[:power], marker="o", label=f"the {power} slopes of a power of two", **points)
    if power < heads:
        rest = np.arange(power, heads)
        ax.plot(rest, slopes[power:], marker="s", markerfacecolor="white", label="slopes between them", **points)
        _canvas.legend(ax)
    _canvas.grid(ax)
    ax.set_xlabel("head")
    ax.set_ylabel("slope [logit/token]")
    reach = reaches(slopes)
    steepest, gentlest = float(f"{reach.min():.4g}"), float(f"{reach.max():.4g}")
    said = f"The steepest of {heads} heads loses a logit in {tokens(steepest)}, the gentlest in {figures(gentlest)}"
    if heads == 1:
        said = f"The head loses a logit in {tokens(steepest)}"
    words = f"{said}. Nothing is forbidden: a far key is weighed less, by e to the penalty."
    return _canvas.finished(ax, f"ALiBi's slopes, {counted(heads, 'head')}", words)


def from_sources(sources: Sequence[str], *, group: str | None = None, ax: "Axes | None" = None) -> "Figure":
    return alibi_slopes(_sources.scheme(sources[0], Alibi, group), ax=ax)
