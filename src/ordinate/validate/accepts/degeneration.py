"""Output that is no answer to anything: nothing at all, or the same again and again."""

import re

TIMES = 4
_LONGEST = 24  # characters of what is repeated


def degenerate(text: str) -> str | None:
    """What is wrong with a response, in words; None where nothing is.

    Wrong are an empty one, one without a letter or digit, and one that is a piece of at most 24 characters repeated
    four times or more.

    >>> degenerate("the the the the the"), degenerate(" 48213. The code"), degenerate("")
    ("repeats 'the' 5 times", None, 'is empty')
    """
    words = " ".join(text.split())
    if not words:
        return "is empty"
    if not any(character.isalnum() for character in words):
        return "holds no letter and no digit"
    found = re.fullmatch(rf"(.{{1,{_LONGEST}}}?)\s?(?:\1\s?){{{TIMES - 1},}}(.*)", words)
    # A short text of digits may be a number.
    if found is None or len(found[2]) >= len(found[1]) or (words.isdigit() and len(words) < 8):
        return None
    piece = found[1].strip()
    return f"repeats {piece!r} {words.count(piece)} times"
