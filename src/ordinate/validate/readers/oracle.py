"""The reader that reads all and makes no mistake."""

from ordinate.validate.readers.base import PageReader
from ordinate.validate.readers.forms.base import Page
from ordinate.validate.tasks.base import task_names


class Oracle(PageReader):
    """Works every answer out from the text."""

    name = "oracle"
    solves = frozenset(task_names())

    def choose(self, page: Page) -> str:
        return page.solve()
