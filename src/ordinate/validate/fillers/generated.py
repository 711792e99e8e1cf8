"""Prose that nobody has read before: a diary, a ledger and reports made by a grammar."""

import re

from ordinate.validate.fillers.base import Filler
from ordinate.validate.streams import stream

SENTENCES = 64  # in a block
STARTS = 512

GRAMMAR: dict[str, tuple[str, ...]] = {
    "sentence": ("{diary}", "{diary}", "{diary}", "{ledger}", "{report}", "{report}", "{aside}"),
    "diary": (
        "{when}, {we} {walked} {along} the {ground} {until} {event}.",
        "{We} {walked} {along} the {ground}, and {event}.",
        "{When} {we} {kept} the {thing} in the {room}.",
        "{We} {kept} the {thing} for {span}.",
        "Nobody {knew} why the {thing} {stood} in the {room}.",
        "{When} the {weather} {turned}, so {we} {kept} the {thing}.",
    ),
    "ledger": (
        "{Paid}: {number} {goods} for the {trade}.",
        "{Paid}: {number} {goods} and a {quality} {thing}, to be {settled} {later}.",
        "The {trade} asked for {number} {goods} {later}.",
    ),
    "report": (
        "The {trade} reported that the {thing} was {quality} and that {event}.",
        "According to the {trade}, {event} {later}.",
        "It was noted that the {ground} {along2} the {room} had been {settled}.",
        "The {weather} {turned} twice in {span}, which the {trade} had expected.",
        "No change was seen in the {quality} {thing} during {span}.",
    ),
    "aside": (
        "{That} was {quality}.",
        "{That} did not matter much.",
        "It was {quality}, all the same.",
        "So the {weather} {turned}.",
    ),
    "when": ("In the morning", "Towards evening", "On the way back", "After supper", "A week later", "Before dawn"),
    "we": ("we", "the others", "two of the lodgers", "the carrier and his boy", "some of the guests", "the children"),
    "walked": ("walked", "went slowly", "drove", "wandered", "hurried", "rode in silence"),
    "along": ("along", "across", "down to", "past", "round"),
    "along2": ("behind", "beside", "below", "in front of"),
    "ground": ("gravel path", "lower meadow", "canal", "quarry", "long wall", "orchard", "mill stream", "south field"),
    "until": ("until", "long before", "just as", "while"),
    "event": (
        "the bells stopped",
        "the lamps were lit",
        "the ferry came in",
        "somebody shut the gates",
        "the dogs began to bark",
        "the kettle boiled over",
        "a cart lost one of its wheels",
        "the rain had filled the barrels",
    ),
    "kept": ("kept", "mended", "covered", "counted again and put away", "cleaned", "looked for"),
    "thing": ("ladder", "stove", "copper kettle", "spare rope", "old harness", "window frame", "grindstone", "trunk"),
    "room": ("hall", "cellar", "back kitchen", "stable", "attic", "wash house", "porch", "tool shed"),
    "knew": ("knew", "asked", "remembered", "could say", "wrote down"),
    "stood": ("stood", "had been left", "was still lying", "hung from a nail"),
    "weather": ("wind", "frost", "fog", "heat", "drizzle", "thaw"),
    "turned": ("turned", "let up", "grew worse", "lasted", "came back"),
    "span": ("three days", "most of the summer", "an hour or two", "the better part of a year", "one long night"),
    "Paid": ("Paid out", "Received", "Carried over", "Still owing", "Entered late"),
    "number": ("four", "seven", "nine", "eleven", "sixteen", "thirty", "forty-two", "ninety"),
    "goods": ("planks", "bushels of oats", "tiles", "yards of canvas", "candles", "sacks of lime", "nails", "barrels"),
    "trade": ("joiner", "surveyor", "mill", "carrier", "parish clerk", "lock keeper", "glazier", "brewery"),
    "quality": ("dry", "rather heavy", "well made", "of no use", "older than expected", "plain", "hard to reach"),
    "settled": ("settled", "repaired", "measured", "written off", "agreed on"),
    "later": ("by the end of the month", "in spring", "at the next meeting", "within the week", "when the roads allow"),
    "That": ("That", "This", "Most of it", "The rest"),
}

_SYMBOL = re.compile(r"\{(\w+)\}")


class Generated(Filler):
    """Sentences of a grammar: no model has seen them, and their style is nearer to the records' than a novel's."""

    name = "generated"
    repeats = True

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
        """The name."""
        return "generated"

    def sentences(self, block: int) -> list[str]:
        """Sentences that the grammar makes, all different within a block."""
        generator = stream(0, "generated", block)
        numbers = iter(generator.integers(0, 2**31, 4096).tolist())

        def grown(symbol: str) -> str:
            rule = symbol if symbol in GRAMMAR else symbol.lower()
            form = GRAMMAR[rule][next(numbers) % len(GRAMMAR[rule])]
            text = _SYMBOL.sub(lambda found: grown(found[1]), form)
            return text[0].upper() + text[1:] if symbol[0].isupper() else text

        found: dict[str, None] = {}
        while len(found) < SENTENCES:
            text = grown("sentence")
            found[text[0].upper() + text[1:]] = None
        return list(found)
