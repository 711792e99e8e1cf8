"""The page of two validations, before and after a change: what was kept, what changed, what the lengths gained."""

from collections.abc import Mapping
from typing import Any

import msgspec

from ordinate.report.markup import Markup, element, listing, prose, table
from ordinate.report.numbers import count, fact
from ordinate.report.page import Page, Section
from ordinate.report.pages.validate import LOOKS, SIGNS
from ordinate.results.validate_diff import ValidateDiff
from ordinate.validate.claims import Row, named
from ordinate.validate.regression import Extension
from ordinate.validate.written import plain, value


def page(result: Mapping[str, Any]) -> Page:
    """What goes on the page of two runs.

    Args:
        result: as `ordinate.results.read` gives it
    """
    found = msgspec.convert(result, ValidateDiff)
    said, look = _headline(found)
    sections = [
        Section("verdict", "Is the short context kept?", [element("p", said, class_="headline")], look),
        _claims(found),
        _gained(found),
        _flips(found),
        _runs(found),
    ]
    names = [plain(named(facts)) for facts in (found.before, found.after)]
    lead = "The same instances before and after a change of the model."
    return Page(f"Long context of {names[0]}, then {names[1]}", [lead], sections, said)


def _headline(found: ValidateDiff) -> tuple[str, str]:
    verdicts = [claim.verdict for claim in found.claims]
    lost, kept = verdicts.count("refuted"), verdicts.count("supported")
    if lost:
        return f"No: a loss at short context is proved in {lost} of {len(verdicts)} tasks.", "verdict worse"
    if verdicts and kept == len(verdicts):
        return f"Yes: in all {kept} tasks, within the margin.", "verdict better"
    return f"Open: proved in {kept} of {len(verdicts)} tasks, a loss in none.", "verdict"


def _word(verdict: str | None) -> Markup:
    name = verdict or ""
    sign = element("span", SIGNS[name], aria_hidden="true")
    return element("span", sign, f" {name or 'not tested'}", class_=f"word {LOOKS[name]}")


def _claims(found: ValidateDiff) -> Section:
    rows = [
        [
            plain(c.subject),
            "" if c.length is None else count(c.length),
            _word(c.verdict),
            plain("; ".join([c.why, *c.caveats])),
        ]
        for c in found.claims
    ]
    return Section(
        "kept", "The short context", [prose(table("One claim a task", ["Task", "Length", "Kept", "Why"], rows))]
    )


def _gained(found: ValidateDiff) -> Section:
    lengths = sorted({row[0] for one in found.extension for row in one.verdicts})
    header = ["Task", *[f"{count(length)}: before, after" for length in lengths], "Effective length: before, after"]
    rows = [_extension(one, lengths) for one in found.extension]
    scored = [
        [plain(one.subject), count(length), plain(place), *map(_score, pair)]
        for one in found.extension
        for length, place, *pair in one.scores()
    ]
    scores = table("Scores, with 95 % intervals", ["Task", "Length", "Place", "Before", "After"], scored, heads=3)
    body = [table("Verdict of each task at each length", header, rows), *([scores] if scored else [])]
    return Section("gained", "What the lengths gained", body)


def _score(row: Row | None) -> str:
    return "not tested" if row is None else f"{value(row)} of {row.units}"


def _extension(one: Extension, lengths: list[int]) -> list[str]:
    known = {length: (before, after) for length, before, after in one.verdicts}
    pairs = [known.get(length, (None, None)) for length in lengths]
    cells = [Markup.join_all([_word(before), ", ", _word(after)]) for before, after in pairs]
    reached = ", ".join("none" if length is None else count(length) for length in one.effective)
    return [plain(f"{one.subject}: {one.ability}"), *cells, reached]


def _flips(found: ValidateDiff) -> Section:
    if not found.flips:
        return Section("flips", "Answers that changed", [element("p", "None at the short length.")])
    right = sum(flip.became == "right" for flip in found.flips)
    said = f"{len(found.flips)} at the short length: {right} became right, {len(found.flips) - right} wrong."
    rows = [
        [plain(f.subject), plain(f.places), str(f.unit), f"now {f.became}", plain(f.before), plain(f.after)]
        for f in found.flips
    ]
    header = ["Task", "Place", "Instance", "It is", "Before", "After"]
    whole = prose(table("Every answer that changed", header, rows))
    return Section(
        "flips",
        "Answers that changed",
        [element("p", said), element("details", element("summary", "The answers as a table"), whole)],
    )


def _runs(found: ValidateDiff) -> Section:
    names = sorted({*found.before, *found.after})
    rows = [[plain(name), plain(fact(found.before.get(name))), plain(fact(found.after.get(name)))] for name in names]
    body = [prose(table("Facts that determine each run", ["Fact", "Before", "After"], rows))]
    if found.apart:
        body = [listing(map(plain, found.apart)), *body]
    return Section("runs", "The two runs", body)
