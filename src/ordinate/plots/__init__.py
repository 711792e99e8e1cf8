"""Pictures of what position does, with matplotlib: a figure a function, a file each.

Every function returns the figure, draws into `ax` where one is given, and leaves words that `caption` reads back.
Nothing here imports matplotlib before something is drawn, and no global state of it is used or left.
"""

import importlib
from typing import Any

from ordinate import registry
from ordinate.errors import InputError
from ordinate.plots._canvas import plain, save
from ordinate.plots.base import Facts, caption

__all__ = ["Facts", "caption", "facts", "plain", "plot", "plots", "save", "source_reader"]


def plots() -> list[str]:
    """The names of all plots.

    >>> "wavelengths" in plots()
    True
    """
    return registry.names(__name__)


def plot(name: str) -> Any:
    """The function of a plot by its name.

    Raises:
        InputError: no plot has this name
    """
    return getattr(_module(name), name)


def facts(name: str) -> Facts:
    """What a plot shows and is drawn from."""
    return _module(name).FACTS


def source_reader(name: str) -> Any:
    """What draws a plot from the sources of `ordinate plot`: a function of a list of texts, and of its options."""
    return _module(name).from_sources


def _module(name: str) -> Any:
    if name not in plots():
        raise InputError(f"unknown plot {name!r}{registry.suggestion(name, plots())}")
    return importlib.import_module(f"{__name__}.{name}")
