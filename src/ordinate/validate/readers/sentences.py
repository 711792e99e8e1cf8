"""Sentences with gaps, and where they are found in a text."""

import re
from dataclasses import dataclass

_GAPS = re.compile(r"\{(\w+)(?::(\w+))?\}")
_MARKS = (".", ",", ":", "?")
_KINDS = {None: "[a-z]+", "number": r"\d+", "words": "[a-z ]+?"}


def pattern(template: str) -> re.Pattern[str]:
    """A sentence with gaps, as a pattern: {name} is a word, {name:number} digits, {name:words} several words.

    Letter case, and white space before marks, do not matter: tokenizers differ in what they keep of them.

    >>> pattern("On day {day:number} {who} moved.").search("on day 3 tova moved .").groupdict()
    {'day': '3', 'who': 'tova'}
    """
    parts, end = [], 0
    for gap in _GAPS.finditer(template):
        parts += [_literal(template[end : gap.start()]), f"(?P<{gap.group(1)}>{_KINDS[gap.group(2)]})"]
        end = gap.end()
    return re.compile(r"\b" + "".join(parts) + _literal(template[end:]), re.IGNORECASE)


def _literal(text: str) -> str:
    parts = re.split(r"(\s+|[.,:?])", text)
    return "".join(r"\s+" if part.isspace() else rf"\s?{re.escape(part)}" if part in _MARKS else part for part in parts)


@dataclass(frozen=True)
class Fact:
    """One sentence that was recognised.

    Args:
        start: where it begins, [character]
        form: which of the form's sentences it is
        values: what stands in its gaps, in lower case
    """

    start: int
    form: int
    values: dict[str, str]

    def __getitem__(self, name: str) -> str:
        return self.values[name]


def facts(text: str, templates: tuple[re.Pattern[str], ...], start: int = 0) -> list[Fact]:
    """All sentences of these forms from a character on, in the order in which they are told."""
    found = [
        Fact(match.start(), form, {name: value.lower() for name, value in match.groupdict().items()})
        for form, template in enumerate(templates)
        for match in template.finditer(text, start)
    ]
    return sorted(found, key=lambda fact: (fact.start, fact.form))
