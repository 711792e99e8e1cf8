"""The page of a validation: what is claimed, where it fails, what it rests on, and what it does not show."""

from collections.abc import Mapping, Sequence
from typing import Any

from ordinate.report.curves import Curve, curves
from ordinate.report.markup import Markup, element, scrolling, table
from ordinate.report.page import Page, Section
from ordinate.validate.claims import BESIDE, LEVELS, MARGIN, Card, Claim, Reach, Row, card
from ordinate.validate.written import ASIDE, beside, figure, headline, outcomes, plain, run_facts, value

SIGNS = {"supported": "✓", "refuted": "✗", "inconclusive": "?", "not applicable": "–", "": "·"}
LOOKS = {"supported": "yes", "refuted": "no", "inconclusive": "open", "not applicable": "floor", "": "none"}


def page(result: Mapping[str, Any]) -> Page:
    """What goes on the page of a card.

    Args:
        result: as `ordinate.results.read` gives it
    """
    found = card(result)
    name = plain(found.name)
    return Page(
        title=f"Long context of {name}",
        lead=[f"Suite {plain(found.suite)}: which lengths are accepted, held and used, each proved or left open."],
        sections=[section for section in _sections(found) if section is not None],
        summary=plain(headline(found)),
    )


def _sections(found: Card) -> Sequence[Section | None]:
    parts = (_verdict, _map, _curves, _claims, _scores, _samples, _others, _method, _run)
    return [part(found) for part in parts]


def _verdict(found: Card) -> Section:
    least = found.headline
    look = "verdict" if least is None else "verdict better" if least.effective == max(least.tested) else "verdict worse"
    body = [
        element("p", plain(headline(found)), class_="headline"),
        table(
            "How far each task reaches",
            ["Task", "Ability", "Effective length", "Tested"],
            [_reach(reach) for reach in found.profile if reach.counts],
        ),
    ]
    return Section("claim", "What is claimed", body, look)


def _reach(reach: Reach) -> list[str]:
    none = "at its floor" if reach.verdict == "not applicable" else "none"
    effective = none if reach.effective is None else f"{reach.effective:,}"
    return [plain(reach.subject), plain(reach.ability), effective, ", ".join(f"{n:,}" for n in reach.tested)]


def _map(found: Card) -> Section | None:
    """Task by length: a sign and a look for each verdict, so that neither colour nor ink is needed to read it."""
    every = [claim for claim in found.claims if claim.level == "L3" and claim.length is not None]
    if not every:
        return None
    claims = [claim for claim in every if claim.ability not in BESIDE]
    lengths = sorted({claim.length for claim in claims if claim.length is not None})
    known = {(claim.subject, claim.ability, claim.length): claim for claim in claims}
    head = element("tr", element("th", "Task", scope="col"), *[element("th", f"{n:,}", scope="col") for n in lengths])
    rows = []
    for subject, ability in dict.fromkeys((claim.subject, claim.ability) for claim in claims):
        cells = [_tile(known.get((subject, ability, length))) for length in lengths]
        rows.append(element("tr", element("th", plain(subject), scope="row"), *cells))
    whole_table = element(
        "table",
        element("caption", "Verdict of each task at each length, in tokens; its worst place decides"),
        element("thead", head),
        element("tbody", *rows),
        class_="map",
    )
    legend = [
        element(
            "li",
            element("span", SIGNS[name], class_=f"tile {LOOKS[name]}", aria_hidden="true"),
            " ",
            name or "not tested",
        )
        for name in SIGNS
    ]
    body = [element("ul", *legend, class_="legend"), scrolling("Verdicts", whole_table)] if claims else []
    columns, aside = beside(found)
    if aside:
        body.append(table(f"{ASIDE}, in tokens", ["What", *columns], [[plain(cell) for cell in row] for row in aside]))
    return Section("map", "Where it holds", body)


def _tile(claim: Claim | None) -> Markup:
    verdict = "" if claim is None else claim.verdict
    sign = element("span", SIGNS[verdict], aria_hidden="true")
    said = element("span", verdict or "not tested", class_="said")
    return element("td", sign, said, class_=f"tile {LOOKS[verdict]}", title="" if claim is None else plain(claim.why))


def _curves(found: Card) -> Section | None:
    rows: dict[tuple[str, str], list[Row]] = {}
    for row in found.rows:
        rows.setdefault((row.subject, row.measure), []).append(row)
    drawn = []
    for (subject, measure), cells in rows.items():
        if len({cell.length for cell in cells}) > 1:
            known = [c.evidence.get("chance") for c in found.claims if c.subject == subject and measure == "answer"]
            chance = next((float(one) for one in known if isinstance(one, int | float)), None)
            title = f"{subject}: {MARGIN}" if measure == "margin" else subject
            drawn.append(Curve(plain(title), measure, tuple(cells), chance))
    if not drawn:
        return None
    note = (
        "Each line is one place of the evidence; the band is the 95 % interval of the place that is worst at the "
        "longest length. The dotted level is what must be kept: 85 % of the short score above chance."
    )
    return Section("curves", "Scores by length", [element("p", note, class_="note"), curves(drawn)])


def _claims(found: Card) -> Section:
    rows = [
        [
            f"{claim.level} {LEVELS[claim.level]}",
            plain(f"{claim.subject}: {claim.ability}" if claim.ability else claim.subject),
            "" if claim.length is None else f"{claim.length:,}",
            element("span", _word(claim), class_=f"word {LOOKS[claim.verdict]}"),
            plain("; ".join([claim.why, *claim.caveats])),
        ]
        for claim in found.claims
    ]
    header = ["Level", "Subject", "Length", "Verdict", "Why"]
    return Section("claims", "All claims", [_wide("Every claim and what it rests on", header, rows)])


def _word(claim: Claim) -> str:
    return claim.word if claim.ability in BESIDE else f"{SIGNS[claim.verdict]} {claim.verdict}"


def _scores(found: Card) -> Section | None:
    if not found.rows:
        return None
    rows = [[plain(r.subject), f"{r.length:,}", plain(r.places), f"{r.units:,}", value(r)] for r in found.rows]
    caption = "Score of each cell, with its interval at 95 %"
    numbers = table(caption, ["Task", "Length", "Place", "Units", "Score"], rows)
    return Section("scores", "All scores", [element("details", element("summary", "The numbers as a table"), numbers)])


def _samples(found: Card) -> Section:
    (_, own), *controls = outcomes(found)
    body = [element("p", plain(f"Samples: {own}. Refused, unparsed and failed ones count as wrong."))]
    body += [element("p", plain(f"{what[0].upper()}{what[1:]}: {counts}.")) for what, counts in controls]
    if found.failures:
        rows = [
            [f.outcome, plain(f.task), f"{f.length:,}", plain(f.places), f"{f.index}", plain(f.why), plain(f.response)]
            for f in found.failures
        ]
        header = ["Outcome", "Task", "Length", "Place", "Instance", "Why", "Response"]
        body.append(_wide("The first of each kind", header, rows))
    return Section("samples", "Refusals, unparsed answers and errors", body)


def _others(found: Card) -> Section | None:
    if not found.compatibility:
        return None
    rows = [[plain(f.name), plain(f.subject), figure(f), plain(f.rule)] for f in found.compatibility]
    note = "For comparison with other publications alone. No verdict on this page rests on them."
    return Section(
        "compatibility",
        "As other benchmarks count",
        [
            element("p", note, class_="note"),
            _wide("Figures by other rules", ["Rule", "Of", "Value", "What it is"], rows),
        ],
    )


def _method(found: Card) -> Section:
    notes = [
        "Supported and refuted are proved, each with an error rate of 5 % at most for every length of a task; what is "
        "not proved is inconclusive. A task is measured where its short score is proved to be above chance by 0.10, "
        "with the evidence in every place; elsewhere it is not applicable.",
        "A length is supported where it keeps at least 85 % of the short score above chance, on the same instances, "
        "with the evidence in every place. The effective length is the longest that is supported with all shorter "
        "ones; the headline is the least of all tasks, never a mean.",
        "Supported does not say that nothing is lost, that other tasks, languages or fillers do as well, or that a "
        "longer length does.",
        *found.caveats,
    ]
    return Section("method", "How to read it", [element("ul", *[element("li", plain(note)) for note in notes])])


def _run(found: Card) -> Section:
    rows = [[plain(name), plain(one)] for name, one in run_facts(found)]
    return Section("run", "What was run", [_wide("Facts that determine the run", ["Fact", "Value"], rows)])


def _wide(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    """A table whose cells break their lines."""
    return element("div", table(caption, header, rows), class_="prose")
