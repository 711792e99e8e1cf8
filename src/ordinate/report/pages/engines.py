"""The page of one model as engines run it."""

from collections.abc import Mapping
from typing import Any

import msgspec

from ordinate.report.markup import Markup, breakable, element, prose, table
from ordinate.report.numbers import count
from ordinate.report.page import Page, Section
from ordinate.report.pages._proofs import cells
from ordinate.results.engines import Engine, Engines


def page(result: Mapping[str, Any]) -> Page:
    """What goes on the page of engines.

    Args:
        result: as `ordinate.results.read` gives it
    """
    found = msgspec.convert(result, Engines)
    same = [one.engine for one in found.engines if one.same]
    refused = [one.engine for one in found.engines if one.refusal is not None]
    said = f"{len(same)} of {len(found.engines)} engines run it as its files say."
    if refused:
        said += f" {len(refused)} cannot run it: {', '.join(refused)}."
    look = "verdict better" if len(same) == len(found.engines) else "verdict worse"
    verdict = Section("verdict", "Verdict", [element("p", said, class_="headline")], look)
    return Page(
        f"{found.model} as engines run it",
        ["What each engine computes from the model, against what its files say."],
        [verdict, _side_by_side(found), *_lost(found), _explained(found)],
        said,
    )


def _side_by_side(found: Engines) -> Section:
    rows = [row for engine in found.engines for row in _rows(engine)]
    header = [
        "Engine",
        "Runs it",
        "Tokens",
        "Layers",
        "It is",
        "Frequencies within",
        "Widest pair",
        "Magnitude",
        "Angle",
    ]
    return Section("engines", "Side by side", [table("Each engine by group of layers", header, rows)])


def _rows(engine: Engine) -> list[list[str]]:
    tokens = "" if engine.tokens is None else count(engine.tokens)
    verdict = _verdict(engine)
    if not engine.proof:
        return [[engine.engine, verdict, tokens, "", "", "", "", "", ""]]
    return [[engine.engine, verdict, tokens, proof.group, *cells(proof)] for proof in engine.proof]


def _verdict(engine: Engine) -> Markup:
    if engine.refusal is not None:
        return element("span", "✗ no", class_="word no")
    if engine.same:
        return element("span", "✓ same here" if engine.elsewhere else "✓ same", class_="word yes")
    return element("span", "✗ otherwise", class_="word no")


def _lost(found: Engines) -> list[Section]:
    rows = []
    for one in found.engines:
        if one.refusal is not None:
            rows.append([one.engine, one.version, "", one.refusal, ""])
        rows += [
            [one.engine, one.version, breakable(loss.setting), loss.what, breakable(loss.source)]
            for loss in dict.fromkeys(one.losses)
        ]
    if not rows:
        return []
    header = ["Engine", "Version", "Setting", "What it does", "Source"]
    return [Section("losses", "What is lost, and where that can be seen", [prose(table("Losses", header, rows))])]


def _explained(found: Engines) -> Section:
    notes = [
        "Tokens: for how many the engine is taken to be started; by itself where nothing was asked.",
        f"Fingerprint of what the files say: {found.fingerprint}.",
    ]
    elsewhere = [one.engine for one in found.engines if one.elsewhere]
    if elsewhere:
        notes.append(f"The same at this length and not at others: {', '.join(elsewhere)}.")
    alone = [one.engine for one in found.engines if one.files_alone and one.refusal is None]
    if alone:
        notes.append(f"What the engine computes from the model's own file, without flags: {', '.join(alone)}.")
    return Section("method", "How to read it", [element("ul", *[element("li", note) for note in notes])])
