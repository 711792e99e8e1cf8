"""Readers by name, as a command line has them: "oracle", "window=3000"."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from ordinate.errors import InputError
from ordinate.registry import suggestion
from ordinate.validate.readers.base import Reader
from ordinate.validate.readers.copying import SuffixReader
from ordinate.validate.readers.noisy import Noisy
from ordinate.validate.readers.oracle import Oracle
from ordinate.validate.readers.partial import LostInTheMiddle, Window
from ordinate.validate.readers.retrieval import RetrievalOnly

BLOCK = 8  # tokens that a reader of copies looks for: those of a block of the task


@dataclass(frozen=True)
class _Named:
    """How a reader is made of what is written behind its name.

    Args:
        make: of a number, or of none
        written: as it is to be written, with an example of the number
        number: whether one is needed ("needed"), may be given ("may") or not
    """

    make: Callable[..., Reader | SuffixReader]
    written: str
    number: Literal["needed", "may", "none"] = "none"


NAMED: Mapping[str, _Named] = {
    "oracle": _Named(Oracle, "oracle"),
    "window": _Named(lambda tokens: Window(int(tokens)), "window=3000, tokens that it sees", "needed"),
    "lost_in_the_middle": _Named(LostInTheMiddle, "lost_in_the_middle"),
    "retrieval_only": _Named(RetrievalOnly, "retrieval_only"),
    "noisy": _Named(lambda right: Noisy(float(right)), "noisy=0.9, the share that it answers rightly", "needed"),
    "suffix": _Named(
        lambda *window: SuffixReader(BLOCK, window=int(*window) if window else None),
        "suffix, or suffix=3000, tokens that it sees",
        "may",
    ),
}


def named(text: str) -> Reader | SuffixReader:
    """The reader of this name, with its number where it has one.

    Raises:
        InputError: no such reader, or not the number that it takes

    >>> named("window=3000").name
    'window'
    """
    name, has, number = text.partition("=")
    if name not in NAMED:
        asked = f"unknown reader {name!r}" if name else "the backend 'simulated' needs a reader, as in simulated:oracle"
        raise InputError(f"{asked}{suggestion(name, list(NAMED))}")
    found = NAMED[name]
    wrong = InputError(f"the reader must be written as {found.written}; got {text!r}")
    if (found.number == "needed" and not has) or (found.number == "none" and has):
        raise wrong
    try:
        return found.make(*((number,) if has else ()))
    except ValueError as error:  # no number, or one out of its range
        raise (error if isinstance(error, InputError) else wrong) from error
