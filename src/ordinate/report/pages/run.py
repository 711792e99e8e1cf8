"""The page of a run that has just ended: how it ended, and its card."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ordinate.report.markup import element, facts
from ordinate.report.numbers import count
from ordinate.report.page import Page, Section
from ordinate.report.pages import validate


def page(result: Mapping[str, Any]) -> Page:
    """What goes on the page of a run.

    Args:
        result: as `ordinate.results.read` gives it
    """
    card = validate.page(result["card"])
    whole = result["ended"] == "complete"
    said = "The run is complete." if whole else f"The run ended early: {result['why'] or result['ended']}."
    rows = [
        ("Folder", str(result["run"])),
        ("Tokens", count(result["tokens"])),
        ("Part", None if result["shard"] is None else str(result["shard"])),
    ]
    ended = Section("ended", "How the run ended", [element("p", said), facts("The run", rows)])
    first, *others = card.sections
    return replace(card, sections=[first, ended, *others])
