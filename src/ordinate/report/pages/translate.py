"""The page of a translation: the words to paste, what is lost, and the proof."""

from collections.abc import Mapping
from typing import Any

import msgspec

from ordinate.report.markup import element, facts, listing
from ordinate.report.page import Page, Section
from ordinate.report.pages._proofs import losses, proofs
from ordinate.results.translate import Translate


def page(result: Mapping[str, Any]) -> Page:
    """What goes on the page of a translation.

    Args:
        result: as `ordinate.results.read` gives it
    """
    found = msgspec.convert(result, Translate)
    lost = len({loss.setting for loss in found.losses})
    said = f"Nothing is lost in {found.engine}." if found.faithful else f"{found.engine} changes the model: "
    if not found.faithful:
        said += f"{lost} setting{'s are' if lost != 1 else ' is'} lost." if lost else "it computes something else."
    look = "verdict better" if found.faithful else "verdict worse"
    sections = [Section("verdict", "Verdict", [element("p", said, class_="headline")], look)]
    if found.text is None:
        words = element("p", "The words are withheld, because they would change the model; --lossy gives them.")
    else:
        words = element("pre", element("code", found.text or "Nothing needs to be said."))
    sections.append(Section("words", "What to paste", [words]))
    if found.steps:
        sections.append(Section("steps", "What else to do", [listing(found.steps)]))
    if found.losses:
        sections.append(Section("losses", "What is lost", [losses(found.losses)]))
    note = "Rebuilt from the words as the engine reads them, against the model; → is from the model to the engine."
    sections.append(Section("proof", "Proof", [element("p", note, class_="note"), proofs(found.proof)]))
    rows = [("Model", found.model), ("Engine", f"{found.engine} {found.version}"), ("Fingerprint", found.fingerprint)]
    sections.append(Section("models", "What was translated", [facts("From and to", rows)]))
    return Page(
        f"{found.model} in the words of {found.engine}", ["The same model in another engine's words."], sections, said
    )
