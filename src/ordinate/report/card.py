"""The card of a run, written into its folder."""

import json
from pathlib import Path

from ordinate.report.document import render
from ordinate.validate.cards import TABLES, card_of
from ordinate.validate.claims import Card
from ordinate.validate.written import to_markdown


def to_html(found: Card) -> str:
    """A card as one self-contained HTML file: no script, nothing loaded."""
    return render(json.loads(found.to_json()))


def write(folder: Path) -> Card:
    """Put the card into a run's folder: card.json, card.md and report.html, each whole.

    Raises:
        InputError: the folder is no run, or is damaged
    """
    from ordinate.validate.store.manifest import write_whole

    found = card_of(folder)
    for name, text in zip(TABLES, (found.to_json(), to_markdown(found), to_html(found)), strict=True):
        write_whole(folder / name, text.encode())
    return found
