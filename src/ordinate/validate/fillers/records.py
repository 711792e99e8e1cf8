"""Decoys and nothing else: every sentence has the form of the task's own records."""

import hashlib
import re
from collections.abc import Callable

from ordinate.errors import InputError, got
from ordinate.validate.fillers._vocabulary import words
from ordinate.validate.fillers.base import Filler
from ordinate.validate.instances import Instance
from ordinate.validate.streams import stream
from ordinate.validate.words import pseudo_word

SENTENCES = 64  # in a block
STARTS = 64
_GAP = re.compile(r"\{([^{}]+)\}")


class Records(Filler):
    """Sentences of an instance's `forms`, about other entities than the instance's: the hardest filler.

    Their names and numbers are of any token count, so that lengths can be closed. Where an instance has no forms, an
    InputError says so.

    Args:
        forms: given by `fitting`, one for each instance
    """

    name = "records"

    def __init__(self, forms: tuple[str, ...] = ()) -> None:
        self.forms = forms
        self._key = hashlib.sha256("\n".join(forms).encode()).hexdigest()
        for form in forms:
            for gap in _GAP.findall(form):
                _meaning(gap)

    def fitting(self, instance: Instance) -> "Records":
        """The filler of an instance's forms."""
        if not instance.forms:
            raise InputError(f"the task {instance.task!r} has no decoys for the filler 'records': use another filler")
        return Records(instance.forms)

    @property
    def blocks(self) -> None:
        """Without end."""
        return

    @property
    def starts(self) -> int:
        """The first blocks."""
        return STARTS

    @property
    def identity(self) -> str:
        """The name and the sha256 of the forms."""
        return f"records:{self._key}"

    def sentences(self, block: int) -> list[str]:
        """Forms in random order, with fresh words."""
        generator = stream(0, "records", block, self._key)
        chosen = generator.integers(0, len(self.forms), SENTENCES)
        return [_GAP.sub(lambda gap: _meaning(gap[1])(generator), self.forms[number]) for number in chosen]

    def forbidden(self, instance: Instance) -> frozenset[str]:
        """The words of the instance that are not the forms' own."""
        own = words(" ".join(_GAP.sub(" ", form) for form in self.forms))
        own |= {word for form in self.forms for gap in _GAP.findall(form) if "|" in gap for word in words(gap)}
        texts = (*(record.text for record in instance.records), instance.question, *instance.answer, *instance.choices)
        return frozenset(words(" ".join(texts)) - own)


def _meaning(gap: str) -> Callable[..., str]:
    """What is drawn for one gap of a form."""
    if gap == "name":
        return lambda generator: pseudo_word(generator).capitalize()
    if gap == "noun":
        return pseudo_word
    if gap.startswith("number:") and gap[7:].isdecimal() and 1 <= int(gap[7:]) <= 18:
        digits = int(gap[7:])
        return lambda generator: str(generator.integers(10 ** (digits - 1), 10**digits))
    if "|" in gap:
        choices = gap.split("|")
        return lambda generator: choices[generator.integers(0, len(choices))]
    raise InputError(f"a gap of a form must be name, noun, number:DIGITS or one|of|these, got {got(gap)}")
