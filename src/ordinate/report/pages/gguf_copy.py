"""The page of a GGUF copy: what changed in it, and the proof that it has what it was given."""

from collections.abc import Mapping
from typing import Any

import msgspec

from ordinate.report.markup import element, listing
from ordinate.report.page import Page, Section
from ordinate.report.pages._proofs import changes, losses, proofs
from ordinate.results.gguf_copy import GgufCopy


def page(result: Mapping[str, Any]) -> Page:
    """What goes on the page of a copy.

    Args:
        result: as `ordinate.results.read` gives it
    """
    found = msgspec.convert(result, GgufCopy)
    if found.written:
        said = f"A copy is written; {len(found.changes or ())} fields are otherwise than in its source."
    else:
        said = "No copy is written, because llama.cpp would not heed all of it."
    look = "verdict better" if found.written and not found.losses else "verdict worse"
    sections = [Section("verdict", "Verdict", [element("p", said, class_="headline")], look)]
    if found.losses:
        sections.append(Section("losses", "What llama.cpp does not heed", [losses(found.losses)]))
    if found.warnings:
        sections.append(Section("warnings", "What to beware of", [listing(found.warnings)]))
    if found.changes:
        sections.append(Section("changes", "What changed", [changes(found.changes, ("In the source", "In the copy"))]))
    if found.proof:
        note = "The copy, read back, against the settings that it was given."
        sections.append(Section("proof", "Proof", [element("p", note, class_="note"), proofs(found.proof)]))
    return Page("A GGUF copy with other positional settings", ["The weights are those of the source."], sections, said)
