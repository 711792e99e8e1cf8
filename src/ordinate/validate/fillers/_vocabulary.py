"""The words of a text."""

import re


def words(text: str) -> set[str]:
    """The words and numbers of a text, in lower case.

    >>> sorted(words("Tavomil has 12, and 12 again."))
    ['12', 'again', 'and', 'has', 'tavomil']
    """
    return set(re.findall(r"\w+", text.lower()))
