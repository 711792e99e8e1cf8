"""Readers by name, as a command line has them: "oracle", "window=3000"."""

from collections.abc import Callable, Mapping

from ordinate.errors import InputError
from ordinate.registry import suggestion
from ordinate.validate.readers.base import Reader
from ordinate.validate.readers.copying import SuffixReader
from ordinate.validate.readers.noisy import Noisy
from ordinate.validate.readers.oracle import Oracle
from ordinate.validate.readers.partial import LostInTheMiddle, Window
from ordinate.validate.readers.retrieval import RetrievalOnly

BLOCK = 8  # tokens that a reader of copies looks for: those of a block of the task

NAMED: Mapping[str, Callable[..., Reader | SuffixReader]] = {
    "oracle": Oracle,
    "window": lambda tokens: Window(int(tokens)),
    "lost_in_the_middle": LostInTheMiddle,
    "retrieval_only": RetrievalOnly,
    "noisy": lambda right: Noisy(float(right)),
    "suffix": lambda *window: SuffixReader(BLOCK, window=int(*window) if window else None),
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
        raise InputError(f"unknown reader {name!r}{suggestion(name, list(NAMED))}")
    try:
        return NAMED[name](*((number,) if has else ()))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"reader {name!r} must be written as window=3000, noisy=0.9, suffix or oracle: {error}"
        ) from error
