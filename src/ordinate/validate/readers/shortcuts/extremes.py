"""Whatever candidate has most of something, or least."""

from abc import abstractmethod
from collections.abc import Callable

from ordinate.validate.readers.forms.base import Page
from ordinate.validate.readers.shortcuts.slots import Candidate, Chooser


class Extreme(Chooser):
    """The first of the candidates that weigh most."""

    @abstractmethod
    def weigh(self, page: Page) -> Callable[[Candidate], int]:
        """What a candidate weighs on a page; the negative of it where the least is wanted."""

    def pick(self, page: Page) -> Candidate:
        return max(page.candidates(), key=self.weigh(page))
