"""What a validation claims, and the card that holds all of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from ordinate.errors import InputError
from ordinate.schema import SCHEMA_VERSION, beginning
from ordinate.validate.statistics import Verdict, effective_length

Level = Literal["L1", "L2", "L3", "P", "R"]
"""L1: accepts the length; L2: holds it; L3: uses it; P: position numbering is consistent; R: short context is kept."""

LEVELS: Mapping[Level, str] = {
    "L1": "accepts",
    "L2": "holds",
    "L3": "uses",
    "P": "position numbering consistent",
    "R": "no short-context regression",
}

STABILITY, MARGIN = "position stability", "effect of evidence"
"""Abilities of claims that lie beside the profile: they say something of a task, not how far it reaches."""

BESIDE: Mapping[str, Mapping[Verdict, str]] = {
    STABILITY: {"supported": "stable", "refuted": "unstable", "inconclusive": "neither is proved"},
    MARGIN: {"supported": "an effect", "refuted": "an effect the wrong way", "inconclusive": "no effect proved"},
}
"""Their verdicts in words that nobody takes for support of the task."""


@dataclass(frozen=True)
class Claim:
    """One statement about one length, with what it rests on.

    Args:
        level: at which level
        subject: the task or the check
        ability: what it asks of a model, where the level is L3; else empty
        length: [token]; None where it is about no single one
        verdict: supported and refuted are proved
        evidence: numbers, by name, as JSON has them
        why: one sentence
        caveats: what is to be kept in mind
    """

    level: Level
    subject: str
    ability: str
    length: int | None
    verdict: Verdict
    evidence: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""
    caveats: tuple[str, ...] = ()

    @property
    def word(self) -> str:
        """The verdict, as it is shown."""
        return BESIDE.get(self.ability, {}).get(self.verdict, self.verdict)


@dataclass(frozen=True)
class Reach:
    """How far one task is supported.

    Args:
        subject, ability: as in the claims
        verdict: "not applicable" where the short baseline is at its floor, else "supported" where any length is
        effective: the longest length supported with all shorter ones, [token]; None where there is none, and where it
            does not count: that evidence has an effect is no support of a task
        tested: every length tried, ascending, [token]
        counts: whether it takes part in the headline
    """

    subject: str
    ability: str
    verdict: Verdict
    effective: int | None
    tested: tuple[int, ...]
    counts: bool = True


@dataclass(frozen=True)
class Failure:
    """One sample that did not end in an answer."""

    outcome: str
    task: str
    length: int
    places: str
    index: int
    response: str
    why: str


@dataclass(frozen=True)
class Figure:
    """A number as another benchmark defines it, for comparison alone.

    Args:
        name: whose rule it is
        subject: what it is applied to
        value: a length [token], a share or a perplexity; None where the rule gives nothing
        unit: "token", "share" or "perplexity"
        rule: in words, and why it proves less
    """

    name: str
    subject: str
    value: float | None
    unit: Literal["token", "share", "perplexity"]
    rule: str


@dataclass(frozen=True)
class Row:
    """One cell of the results: a task at a length with its evidence in one place.

    Args:
        subject, ability, measure: of its claims
        length: [token]
        places: where the evidence stands
        units: how many
        value, low, high: a share with Wilson's interval, or a mean [nat] with that of a cluster bootstrap, at 95 %
        verdict: of this place alone; "" for the short baseline itself
    """

    subject: str
    ability: str
    measure: str
    length: int
    places: str
    units: int
    value: float
    low: float
    high: float
    verdict: Verdict | Literal[""] = ""


@dataclass(frozen=True)
class Card:
    """All that is claimed of one model, with what it rests on.

    Args:
        model: facts: its name, engine, tokenizer, declared limit
        suite: which one was run
        claims: of all levels
        rows: of all cells of L3
        outcomes: how many samples ended how
        failures: the first few refusals, unparsed answers and errors of each kind
        compatibility: figures as other benchmarks define them
        caveats: of the whole
        controls: of the outcomes, those of controls: without evidence, with other evidence, or with nothing else
    """

    model: Mapping[str, Any]
    suite: str
    claims: tuple[Claim, ...] = ()
    rows: tuple[Row, ...] = ()
    outcomes: Mapping[str, int] = field(default_factory=dict)
    failures: tuple[Failure, ...] = ()
    compatibility: tuple[Figure, ...] = ()
    caveats: tuple[str, ...] = ()
    controls: Mapping[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What was asked: the model, or the reader of a simulation."""
        return named(self.model)

    @property
    def profile(self) -> tuple[Reach, ...]:
        """How far each task is supported, in the order of the claims."""
        return profile(self.claims)

    @property
    def headline(self) -> Reach | None:
        """The task that reaches least among those above their floor; None where there is none."""
        above = [reach for reach in self.profile if reach.counts and reach.verdict != "not applicable"]
        return min(above, key=lambda reach: reach.effective or 0, default=None)

    def to_dict(self) -> dict[str, Any]:
        """The card as JSON has it, with its profile and headline."""
        found = {**beginning("validate"), **msgspec.to_builtins(self)}
        return {**found, "profile": msgspec.to_builtins(self.profile), "headline": msgspec.to_builtins(self.headline)}

    def to_json(self) -> str:
        """The card as JSON; the same card gives the same text."""
        return msgspec.json.format(msgspec.json.encode(self.to_dict(), order="deterministic"), indent=2).decode() + "\n"


def named(facts: Mapping[str, Any]) -> str:
    """What a run asked, by its facts: the model, or the reader of a simulation."""
    name = str(facts.get("model") or facts.get("name") or "")
    reader = facts.get("reader")
    return name or (f"the simulated reader {reader}" if reader else "a model")


def card(document: Mapping[str, Any]) -> Card:
    """The card that `to_dict` wrote.

    Raises:
        InputError: another schema version, or not a card
    """
    if document.get("kind") != "validate" or document.get("schema_version") != SCHEMA_VERSION:
        raise InputError(f"a card must be of kind 'validate' and schema version {SCHEMA_VERSION}")
    try:
        return msgspec.convert(document, Card)
    except msgspec.ValidationError as error:
        raise InputError(f"this is not a card: {error}") from error


def profile(claims: Iterable[Claim]) -> tuple[Reach, ...]:
    """How far each task of L3 is supported.

    The headline is the least of them, never a mean: a long window in which one ability fails is not a long window.
    """
    tasks: dict[tuple[str, str], dict[int, Verdict]] = {}
    for claim in claims:
        if claim.level == "L3" and claim.length is not None and claim.ability != STABILITY:
            tasks.setdefault((claim.subject, claim.ability), {})[claim.length] = claim.verdict
    found = []
    for (subject, ability), verdicts in tasks.items():
        reached = effective_length(verdicts)
        verdict: Verdict = "supported" if reached is not None else verdicts[min(verdicts)]
        counts = ability != MARGIN
        found.append(Reach(subject, ability, verdict, reached if counts else None, tuple(sorted(verdicts)), counts))
    return tuple(found)
