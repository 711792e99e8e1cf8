"""A card as text for a terminal and as Markdown. What a model said can be neither a command nor markup in them."""

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ordinate.validate.claims import BESIDE, LEVELS, Card, Claim, Figure, Reach, Row

WIDTH = 110
SIGNS = {"supported": "+", "refuted": "x", "inconclusive": "?", "not applicable": "-"}


ASIDE = "Beside the tasks, and no support of any: does the place of the evidence matter, does it have an effect at all"


CONTROLS = "controls (no evidence, other evidence, or nothing else), which count for no task"

FACTS = {
    "added": "tokens that the engine's template adds",
    "complete": "all sampled",
    "cut": "what is kept of a prompt beyond the limit",
    "limit": "limit of prompt and answer, in tokens",
    "ordinate": "version of ordinate",
    "right": "share that the reader answers rightly",
    "search": "longest length searched by bisection",
    "sent": "prompts sent as",
    "sure": "probability of what the reader says",
    "template": "SHA-256 of the chat template",
    "tokenizer": "SHA-256 of the tokenizer",
    "weights": "SHA-256 of the weights",
    "window": "tokens that the reader sees",
}
"""Facts of a run whose names say too little by themselves."""


def headline(card: Card) -> str:
    """What the card claims, in one sentence."""
    least = card.headline
    if least is None:
        floor = sum(reach.verdict == "not applicable" for reach in card.profile)
        return "Effective length: none; " + (
            f"all {floor} tasks are at their floor" if floor else "nothing was tested that reaches a verdict"
        )
    above = [reach for reach in card.profile if reach.counts and reach.verdict != "not applicable"]
    reached = f"{least.effective or 0:,} tokens"
    if least.effective is None:  # what is not proved is not disproved
        reached = "below every tested length" if least.verdict == "refuted" else "proved at no tested length"
    task = f"{least.subject} ({least.ability})"
    if sum(reach.counts for reach in card.profile) == 1:
        return f"Effective length: {reached}, by {task} alone, which alone was asked"
    if len(above) == 1:
        return f"Effective length: {reached}, by {task} alone: no other task is above its floor"
    which = "above their floor" if least.effective is not None else "not at their floor"
    return f"Effective length: {reached}, the least of {len(above)} tasks {which}: {task}"


def to_text(card: Card) -> str:
    """The card for a terminal."""
    lines = [plain(headline(card)), ""]
    lines += [*columns(["task", "ability", "effective", "tested"], _profile(card.profile)), ""]
    lengths, grid = _grid(card)
    if grid:
        lines += columns(["task", *lengths], grid)
        lines += ["  + supported  x refuted  ? inconclusive  - not applicable  . not tested", ""]
    lengths, grid = beside(card)
    if grid:
        lines += [f"{ASIDE}:", *columns(["what", *lengths], grid), ""]
    for claim in card.claims:
        if claim.level != "L3" or claim.verdict != "supported":
            lines += _claim(claim)
    lines += ["", *(f"{what}: {counts}" for what, counts in outcomes(card))]
    for one in card.failures:
        lines.append(plain(f"  {one.outcome}: {one.task} {one.index} at {one.length}: {one.why or one.response!r}"))
    if card.compatibility:
        lines += ["", "as other benchmarks count (point rules, no proof):"]
        lines += columns(["rule", "of", "value"], [[f.name, f.subject, figure(f)] for f in card.compatibility])
    for caveat in card.caveats:
        lines += textwrap.wrap(f"note: {plain(caveat)}", WIDTH, subsequent_indent="  ")
    return "\n".join(line.rstrip() for line in lines)


def to_markdown(card: Card) -> str:
    """The card as Markdown."""
    lengths, grid = _grid(card)
    parts = [
        f"# Long context of {marked(card.name)}: what is claimed",
        f"**{marked(headline(card))}**",
        "## How far each task reaches",
        table(["Task", "Ability", "Effective length", "Tested"], _profile(card.profile)),
    ]
    if grid:
        words = {sign: name for name, sign in SIGNS.items()} | {".": "not tested"}
        parts += ["## Verdicts", table(["Task", *lengths], [[row[0], *(words[x] for x in row[1:])] for row in grid])]
    lengths, grid = beside(card)
    if grid:
        parts += ["## Beside the tasks", f"{ASIDE}.", table(["What", *lengths], grid)]
    parts += ["## Claims", table(["Level", "Subject", "Length", "Verdict", "Why"], map(_claim_row, card.claims))]
    if card.rows:
        parts += [
            "## Scores, with 95 % intervals",
            table(["Task", "Length", "Place", "Units", "Value"], map(_row, card.rows)),
        ]
    parts += ["## Samples", "\n".join(f"- {what}: {counts}" for what, counts in outcomes(card))]
    if card.failures:
        header = ["Outcome", "Task", "Length", "Instance", "Why", "Response"]
        rows = [[f.outcome, f.task, str(f.length), str(f.index), f.why, f.response] for f in card.failures]
        parts.append(table(header, rows))
    if card.compatibility:
        parts += [
            "## As other benchmarks count",
            "Point rules, for comparison alone: no verdict rests on them.",
            table(
                ["Rule", "Of", "Value", "What it is"],
                [[f.name, f.subject, figure(f), f.rule] for f in card.compatibility],
            ),
        ]
    if card.caveats:
        parts += ["## To be kept in mind", "\n".join(f"- {marked(caveat)}" for caveat in card.caveats)]
    facts = [["suite", card.suite], *run_facts(card)]
    parts += ["## What was run", table(["Fact", "Value"], facts)]
    return "\n\n".join(parts) + "\n"


def outcomes(card: Card) -> list[tuple[str, str]]:
    """How many samples of the tasks ended how, and how many controls, where there are any."""

    def told(counts: Mapping[str, int]) -> str:
        return ", ".join(f"{count:,} {name}" for name, count in counts.items() if count) or "none"

    own = {name: count - card.controls.get(name, 0) for name, count in card.outcomes.items()}
    return [("samples", told(own)), *([(CONTROLS, told(card.controls))] if card.controls else [])]


def run_facts(card: Card) -> list[list[str]]:
    """What determined the run, in words; what was not set is left out."""
    words = {True: "yes", False: "no"}
    return [
        [FACTS.get(name, name), words.get(value, str(value)) if isinstance(value, bool) else str(value)]
        for name, value in sorted(card.model.items())
        if str(value) not in ("None", "")
    ]


def figure(one: Figure) -> str:
    """A compatibility figure's value in words."""
    if one.value is None:
        return "none"
    return f"{one.value:,.0f} tokens" if one.unit == "token" else f"{one.value:.2f}"


def plain(text: str) -> str:
    """A text in one line, from which nothing can reach a terminal as a command."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in " ".join(text.split()))


def marked(text: str) -> str:
    """A text that Markdown shows as it is."""
    escaped = plain(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # An address by itself would become a link, and a tag or a bar something else than text.
    return re.sub(r"([\\`*_{}\[\]()#|~!])", r"\\\1", escaped).replace("://", ":&#47;&#47;")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown."""

    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(marked(cell) for cell in cells) + " |"

    return "\n".join([line(header), "|" + " --- |" * len(header), *map(line, rows)])


def columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows with their columns under each other."""
    whole = [list(map(plain, row)) for row in (header, *rows)]
    widths = [max(len(row[i]) for row in whole) for i in range(len(header))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in whole]


def _profile(reaches: Iterable[Reach]) -> list[list[str]]:
    found = []
    for reach in reaches:
        if not reach.counts:
            continue
        what = "at its floor" if reach.verdict == "not applicable" else "none"
        effective = what if reach.effective is None else f"{reach.effective:,}"
        found.append([reach.subject, reach.ability, effective, ", ".join(f"{n:,}" for n in reach.tested)])
    return found


def _grid(card: Card) -> tuple[list[str], list[list[str]]]:
    """A sign for each task and length."""
    claims = [claim for claim in card.claims if claim.level == "L3" and claim.ability not in BESIDE]
    return _by_length(claims, lambda claim: claim.subject, lambda claim: SIGNS[claim.verdict])


def beside(card: Card) -> tuple[list[str], list[list[str]]]:
    """Lengths, and a row for each claim of what lies beside the tasks, in words."""
    claims = [claim for claim in card.claims if claim.ability in BESIDE]
    return _by_length(claims, lambda claim: f"{claim.subject}: {claim.ability}", lambda claim: claim.word)


def _by_length(
    claims: Iterable[Claim], name: Callable[[Claim], str], shown: Callable[[Claim], str]
) -> tuple[list[str], list[list[str]]]:
    known: dict[tuple[str, str], dict[int, Claim]] = {}
    for claim in claims:
        if claim.length is not None:
            known.setdefault((claim.subject, claim.ability), {})[claim.length] = claim
    lengths = sorted({length for row in known.values() for length in row})
    rows = [
        [name(next(iter(row.values()))), *(shown(row[length]) if length in row else "." for length in lengths)]
        for row in known.values()
    ]
    return [f"{length:,}" for length in lengths], rows


def _claim(claim: Claim) -> Iterator[str]:
    length = "" if claim.length is None else f" at {claim.length:,} tokens"
    subject = f"{claim.subject}, {claim.ability}" if claim.ability in BESIDE else claim.subject
    name = f"{claim.level} {LEVELS[claim.level]}: {subject}{length}: {claim.word}; {claim.why}"
    yield from textwrap.wrap(plain(name), WIDTH, subsequent_indent="    ")
    for caveat in claim.caveats:
        yield from textwrap.wrap(plain(caveat), WIDTH, initial_indent="    ", subsequent_indent="    ")


def _claim_row(claim: Claim) -> list[str]:
    length = "" if claim.length is None else f"{claim.length:,}"
    subject = f"{claim.subject}: {claim.ability}" if claim.ability else claim.subject
    return [
        f"{claim.level} {LEVELS[claim.level]}",
        subject,
        length,
        claim.word,
        "; ".join([claim.why, *claim.caveats]),
    ]


def _row(row: Row) -> list[str]:
    return [row.subject, f"{row.length:,}", row.places, str(row.units), value(row)]


def value(row: Row) -> str:
    """A row's value with its interval."""
    if row.measure == "answer":
        return f"{row.value:.0%} [{row.low:.0%}, {row.high:.0%}]"
    return f"{row.value:.3f} nat [{row.low:.3f}, {row.high:.3f}]"


Writer = Callable[[Card], str]
WRITERS: Mapping[str, Writer] = {"text": to_text, "markdown": to_markdown, "json": Card.to_json}
