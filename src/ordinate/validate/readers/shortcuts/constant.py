"""Always the same answer."""

from collections import Counter
from collections.abc import Sequence

from ordinate.errors import InputError
from ordinate.validate.readers.base import PageReader, Reader
from ordinate.validate.readers.forms.base import Page, read


class Always(Reader):
    """Says one thing to every prompt.

    Args:
        said: what
    """

    name = "always"

    def __init__(self, said: str) -> None:
        self.said = said

    def respond(self, text: str) -> str:
        return self.said if text else ""


class Majority(PageReader):
    """Says what is most often right, by the answers of other instances; for each kind of question its own.

    Args:
        known: for other instances, their questions and answers

    Raises:
        InputError: a question of no task
    """

    name = "majority"

    def __init__(self, known: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        counts: dict[tuple[str, int], Counter[str]] = {}
        for question, answer in known:
            page = read(question, self.forms)
            if page is None:
                raise InputError(f"majority must be told questions of tasks, got {question!r}")
            counts.setdefault((page.form.name, page.asked.form), Counter())[answer] += 1
        self._best = {kind: min(count, key=lambda answer: (-count[answer], answer)) for kind, count in counts.items()}

    def choose(self, page: Page) -> str:
        return self._best.get((page.form.name, page.asked.form), "")
