"""What a plot says about itself, and the words that come with a figure."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ordinate.describe.words import counted
from ordinate.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST = 1 << 24


@dataclass(frozen=True)
class Facts:
    """What a plot shows, and what `ordinate plot` draws it from.

    Args:
        shows: one line
        source: what a SOURCE is
        least, most: how many there must be
    """

    shows: str
    source: str
    least: int = 1
    most: int = 1


def caption(drawn: "Figure | Axes") -> str:
    """The words that come with a figure or with one of its axes: what is to be seen, in numbers.

    A plot puts them on the axes that it draws into, as their label, which is nowhere drawn.

    Args:
        drawn: what a function of `ordinate.plots` returned, or the axes that it was given

    Returns:
        one or more sentences for each of the axes, in their order; "" where no plot of this package is
    """
    from matplotlib.figure import FigureBase

    axes = drawn.axes if isinstance(drawn, FigureBase) else [drawn]
    labels = [str(ax.get_label()) for ax in axes]
    return " ".join(label for label in labels if label and not label.startswith("<"))


def check_size(*lengths: int) -> None:
    """Refuse a picture of more values than memory holds and a page shows.

    Raises:
        InputError: a product above 16,777,216
    """
    values = math.prod(lengths)
    if values > _MOST:
        raise InputError(
            f"a picture of {' x '.join(f'{length:,}' for length in lengths)} values is too large: at most {_MOST:,}"
        )


def tokens(count: float) -> str:
    """'1 token', '8,192 tokens'."""
    return counted(count, "token")


def pairs(count: int) -> str:
    """'1 pair', '23 pairs'."""
    return counted(count, "pair")


def word(text: str, most: int = 44) -> str:
    """A name from a file as text in a figure: nothing in it is taken for mathematics or left out of a legend.

    >>> print(word("a$b_x"), word(chr(27) + "[31m"))
    a\\$b_x \\x1b[31m
    """
    shown = "".join(
        char if char.isprintable() and ord(char) < 0x250 else char.encode("unicode_escape").decode("ascii")
        for char in text
    )
    shown = shown if len(shown) <= most else shown[: most - 3] + "..."
    # Matplotlib leaves out of legends what begins with an underscore.
    return (" " if shown.startswith("_") else "") + shown.replace("$", r"\$")
