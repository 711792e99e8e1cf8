"""Links followed without regard to where the question begins."""

from ordinate.validate.readers.base import PageReader
from ordinate.validate.readers.forms.base import Page
from ordinate.validate.readers.forms.multi_hop import follow


class ChainOfTheFirst(PageReader):
    """Where sentences link two names: the end of the chain that the first sentence belongs to.

    It follows chains and does not tell decoys apart; of a network, it names what the first place leads to.
    """

    name = "chain_of_the_first"

    def choose(self, page: Page) -> str:
        links = [tuple(fact.values.values()) for fact in page.told if len(fact.values) >= 2]
        if not links:
            return page.form.options[-1] if page.form.options else ""
        sets = [answer for start, answer in page.candidates() if start == page.told[0].start and ", " in answer]
        return sets[0] if sets else follow({link[0]: link[-1] for link in links}, links[0][0])[-1]


class FirstNames(PageReader):
    """The first five names of the text: right on every instance of a chain without decoy chains."""

    name = "first_names"

    def choose(self, page: Page) -> str:
        return ", ".join(list(dict.fromkeys(value for fact in page.told for value in fact.values.values()))[:5])
