"""The page of two models side by side."""

from collections.abc import Mapping
from typing import Any

import msgspec

from ordinate.report.markup import element, facts
from ordinate.report.page import Page, Section
from ordinate.report.pages._proofs import changes, proofs
from ordinate.results.diff import Diff


def page(result: Mapping[str, Any]) -> Page:
    """What goes on the page of two models.

    Args:
        result: as `ordinate.results.read` gives it
    """
    found = msgspec.convert(result, Diff)
    fields = f"{len(found.differences)} field" + "s" * (len(found.differences) != 1)
    said = "The same in every number that has to do with position." if found.same else f"They differ in {fields}."
    verdict = Section(
        "verdict",
        "Verdict: " + ("the same" if found.same else "different"),
        [element("p", said, class_="headline")],
        "verdict" if found.same else "verdict worse",
    )
    sections = [verdict]
    if found.differences:
        sections.append(Section("fields", "What differs", [changes(found.differences, ("In a", "In b"))]))
    if found.proof:
        note = "Frequencies and magnitudes are compared at every length that matters; → is from a to b."
        body = [element("p", note, class_="note"), proofs(found.proof)]
        sections.append(Section("proof", "What they compute", body))
    one, other = found.fingerprints
    rows = [("a", found.a), ("b", found.b), ("Fingerprint of a", one), ("Fingerprint of b", other)]
    sections.append(Section("models", "The two models", [facts("What was compared", rows)]))
    return Page(f"{found.a} against {found.b}", ["Two models, a and b, in what they do with position."], sections, said)
