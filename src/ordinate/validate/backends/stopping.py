"""Where a response ends."""

from collections.abc import Sequence


def stopped(text: str, stop: Sequence[str]) -> tuple[str, bool]:
    """A text up to the first of the strings that end it, and whether one did.

    >>> stopped(" Tova" + chr(10) + "Question", [chr(10)])
    (' Tova', True)
    """
    places = [at for at in (text.find(end) for end in stop if end) if at >= 0]
    return (text[: min(places)], True) if places else (text, False)
