"""Axes to draw into, the looks of lines, and files to write: all of matplotlib that every plot needs."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ordinate.describe.chart import COLOURS
from ordinate.describe.words import figures
from ordinate.errors import InputError, got
from ordinate.extras import need
from ordinate.plots.base import caption

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".svg", ".pdf", ".png")
INK, FAINT, SHADE = "#222222", "#666666", "#ece7d8"
SEQUENTIAL = "cividis"
"""Of heat maps: even in lightness, and alike for every colour vision."""

DASHES = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (7, 2, 1.5, 2)), (0, (4, 1, 1, 1, 1, 1)), (0, (1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P")


def axes(ax: "Axes | None", width: float = 7.2, height: float = 4.0) -> "Axes":
    """The axes that were given, or those of a new figure, which no global state knows.

    Args:
        ax: or None
        width, height: of a new figure, [inch]

    Raises:
        Unavailable: matplotlib is not installed
    """
    need("plots", "matplotlib")
    if ax is not None:
        return ax
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained").subplots()


def finished(ax: "Axes", title: str, words: str) -> "Figure":
    """Give axes their title and caption, and return their figure."""
    ax.set_title(title, loc="left", fontsize="medium", fontweight="bold")
    ax.set_label(words)
    if not ax.images:
        ax.spines[["top", "right"]].set_visible(False)
    figure = ax.get_figure(root=True)
    if figure is None:
        raise InputError("ax must belong to a figure, got axes without one")
    return figure


def look(index: int, *, marker: bool = False, **more: Any) -> dict[str, Any]:
    """Colour, dash and marker of a line, and what else is said of it: lines differ in more than colour."""
    turn = index // len(COLOURS)
    found: dict[str, Any] = {
        "color": COLOURS[index % len(COLOURS)],
        "linestyle": DASHES[(index + turn) % len(DASHES)],
    }
    if marker:
        found |= {"marker": MARKERS[(index + 2 * turn) % len(MARKERS)], "markersize": 4}
    return found | more


def thousands(axis: Any) -> None:
    """Numbers of an axis with commas, small ones in three figures and a power of ten."""
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: _shown(value)))


def _shown(value: float) -> str:
    """
    >>> _shown(16384.0), _shown(-0.5), _shown(2.0**-14)
    ('16,384', '−0.5', '6.1 × 10⁻⁵')
    """
    written = f"{value:,.10g}"
    return figures(value, 3) if "e" in written or 0 < abs(value) < 0.1 else written.replace("-", "−")


def grid(ax: "Axes", axis: str = "y") -> None:
    """Faint lines behind what is drawn."""
    ax.grid(axis=axis, color="#dddddd", linewidth=0.7)  # pyright: ignore[reportArgumentType]
    ax.set_axisbelow(True)


def legend(ax: "Axes", **options: Any) -> None:
    """A legend on white, so that lines behind it do not cross its words."""
    ax.legend(facecolor="#ffffff", edgecolor="none", framealpha=0.9, **options)


def beside(ax: "Axes", title: str) -> None:
    """A legend to the right of what is drawn."""
    legend(ax, title=title or None, loc="upper left", bbox_to_anchor=(1, 1))


def plain() -> "AbstractContextManager[None]":
    """Matplotlib as it comes, whatever a machine's settings are; they are back afterwards.

    Raises:
        Unavailable: matplotlib is not installed
    """
    need("plots", "matplotlib")
    from matplotlib import style

    return style.context("default")


def save(figure: "Figure", file: str | Path, *, dots: int = 150) -> None:
    """Write a figure, the same bytes for the same figure; its caption goes with it.

    Args:
        figure: of a plot
        file: whose suffix says the form: .svg, .pdf or .png
        dots: of pictures and of heat maps in drawings, [dot/inch]

    Raises:
        InputError: another suffix
    """
    path = Path(file)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"a picture's file must end in {', '.join(SUFFIXES)}, got {got(path.name)}")
    import matplotlib

    words, title = caption(figure), next((ax.get_title(loc="left") for ax in figure.axes if ax.get_title("left")), "")
    stamp = {
        ".svg": {"Title": title, "Description": words, "Date": None, "Creator": None},
        ".pdf": {"Title": title, "Subject": words, "CreationDate": None, "Creator": None, "Producer": None},
        ".png": {"Title": title, "Description": words, "Software": None},
    }[suffix]
    fixed: dict[Any, Any] = {"svg.hashsalt": "ordinate", "svg.fonttype": "path", "pdf.fonttype": 42}
    with matplotlib.rc_context(fixed):
        figure.savefig(path, format=suffix[1:], metadata=stamp, dpi=dots)
