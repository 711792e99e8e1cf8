"""Sentences that mention what is asked for, taken without reading what they say of it."""

from ordinate.validate.readers.base import PageReader
from ordinate.validate.readers.forms.base import Page
from ordinate.validate.readers.shortcuts.slots import Candidate, Chooser

LOOKUPS = frozenset({"passkey", "near_key"})


def _mentioning(page: Page) -> list[Candidate]:
    """Candidates of sentences that share a name or number with the question; all, where none does."""
    wanted = set(page.asked.values.values())
    places = {fact.start for fact in page.told if wanted & set(fact.values.values())}
    candidates = page.candidates()
    return [candidate for candidate in candidates if candidate[0] in places] or candidates


class FirstMention(Chooser):
    """What the first sentence says that mentions what is asked for: the first state, whatever the time asked for."""

    name = "first_mention"
    solves = LOOKUPS

    def pick(self, page: Page) -> Candidate:
        return _mentioning(page)[0]


class LastMention(Chooser):
    """What the last sentence says that mentions what is asked for: the last state, whatever the time asked for."""

    name = "last_mention"
    solves = LOOKUPS

    def pick(self, page: Page) -> Candidate:
        return _mentioning(page)[-1]


class AllMentions(PageReader):
    """All sentences with all names and numbers of the question, denials and plans among them; yes where there is one.

    A single keyed sentence is what it finds, so that it may solve lookups.
    """

    name = "all_mentions"
    solves = LOOKUPS

    def choose(self, page: Page) -> str:
        wanted = set(page.asked.values.values())
        places = {fact.start for fact in page.told if wanted <= set(fact.values.values())}
        if set(page.form.options) == {"no", "yes"}:
            return "yes" if places else "no"
        return ", ".join(dict.fromkeys(answer for place, answer in page.candidates() if place in places))
