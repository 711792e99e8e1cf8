"""What a proof is as data: the fields of `report.json`."""

from typing import Annotated, Literal

import msgspec

from ordinate.schema import SCHEMA_VERSION as SCHEMA_VERSION

_SOME = msgspec.Meta(min_length=1)
Role = Literal["original", "extended"]


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a proof."""


class Estimate(Record, frozen=True):
    """A mean loss.

    Args:
        mean: [nat]
        standard_error: of the mean, over blocks of neighbouring tokens, [nat]; None where there is one block
        tokens: how many were averaged
    """

    mean: float
    standard_error: float | None
    tokens: int


class Compared(Record, frozen=True):
    """Two models on the same tokens.

    Args:
        original, extended: each one's loss
        difference: extended less original, token by token: below 0 the extended model is better
    """

    original: Estimate
    extended: Estimate
    difference: Estimate


class Range(Record, frozen=True):
    """Losses at positions in [start, stop)."""

    start: int
    stop: int
    loss: Compared


class LossByPosition(Record, frozen=True):
    """One long text, read once.

    Args:
        length: tokens read, passkeys included
        block: tokens in a block of the statistics
        ranges: the means by position
        fine: the same in narrow ranges of equal width, for a curve
        inside: all positions within the original's window, or None
        past: all positions past it, or None
    """

    length: int
    block: int
    ranges: Annotated[list[Range], _SOME]
    fine: Annotated[list[Range], _SOME]
    inside: Range | None
    past: Range | None


class Answer(Record, frozen=True):
    """What one model said when it was asked for a key.

    Args:
        said: what it wrote, greedily, as many tokens as the key has
        exact: whether that is the key
        loss: mean over the key's tokens, each given the right ones before it, [nat]
    """

    said: str
    exact: bool
    loss: float


class Question(Record, frozen=True):
    """One key, asked for after part of the text.

    Args:
        name: which key
        key: its digits
        start, stop: where the sentences that say it stand, [token]
        asked_at: how much of the text was read before the question, [token]
    """

    name: str
    key: str
    start: int
    stop: int
    asked_at: int
    original: Answer
    extended: Answer


class Count(Record, frozen=True):
    """Keys read exactly, of those asked for; `interval` is Wilson's at 95 %."""

    exact: int
    asked: int
    interval: tuple[float, float]


class Counts(Record, frozen=True):
    """Keys read at one place of asking."""

    asked_at: int
    original: Count
    extended: Count


class Passkeys(Record, frozen=True):
    """Passkeys hidden in the long text and asked for after more and more of it.

    Args:
        sentence, question: the wording, with {name} and {key}
        questions: every question and both answers
        counts: by place of asking, ascending; the last is the end of the text
    """

    sentence: str
    question: str
    questions: list[Question]
    counts: list[Counts]


class Context(Record, frozen=True):
    """The loss of the scored tokens at the end of a prompt of `length` tokens, of which `context` precede them."""

    length: int
    context: int
    loss: Compared


class Change(Record, frozen=True):
    """How a loss differs from the same tokens' loss in the first row of its table, by model."""

    original: Estimate
    extended: Estimate


class GrowingContext(Record, frozen=True):
    """The same tokens with more and more text before them.

    Args:
        scored: how many tokens are scored
        block: tokens in a block of the statistics
        rows: by length, ascending
        changes: of each row against the shortest, paired
    """

    scored: int
    block: int
    rows: Annotated[list[Context], _SOME]
    changes: Annotated[list[Change], _SOME]


class Gap(Record, frozen=True):
    """The loss of the second halves when they start at position id `distance`."""

    distance: int
    contiguous: bool
    loss: Compared


class PositionGap(Record, frozen=True):
    """Short texts whose second half is moved away by its position ids alone.

    Args:
        passages, tokens: how many texts, and the tokens in each
        block: tokens in a block of the statistics
        rows: by distance, ascending; the first is contiguous
        changes: of each row against the first, paired
    """

    passages: int
    tokens: int
    block: int
    rows: Annotated[list[Gap], _SOME]
    changes: Annotated[list[Change], _SOME]


class ModelFacts(Record, frozen=True):
    """A model that was measured.

    Args:
        name: its directory's or file's name, or the named model's
        architecture: its `model_type`
        scheme, scaling: by layer type
        window: declared, [token]
        trained: the length it was trained at, where its files say, [token]
        parameters: how many
        fingerprint: of its positional spec
    """

    name: str
    architecture: str
    scheme: dict[str, str]
    scaling: dict[str, str | None]
    window: int
    trained: int | None
    parameters: int
    fingerprint: str


class TextFacts(Record, frozen=True):
    """The text: what it is, where it comes from, and which of its tokens were read, as [start, stop)."""

    name: str
    title: str
    author: str | None
    year: int | None
    sha256: str
    source: str
    licence: str
    long_text: tuple[int, int]
    growing_context: tuple[int, int]
    passages: list[tuple[int, int]]


class Cost(Record, frozen=True):
    """What one part of a run took.

    Args:
        model: "original" or "extended"
        part: which part
        cpu_seconds: of all threads
        seconds: on the clock
        peak_memory: the process's highest resident memory so far, [byte]; None where the system does not say
    """

    model: Role
    part: str
    cpu_seconds: float
    seconds: float
    peak_memory: int | None


class Verdict(Record, frozen=True):
    """What the numbers say, in words made from them.

    Args:
        outcome: past the window and at the passkeys there, the extended model is "better", "worse", "mixed" (one of
            the two each way), or "no clear difference"; "not tested" where nothing past the window was read
        headline: one sentence
        findings: one sentence a measurement
    """

    outcome: Literal["better", "worse", "mixed", "no clear difference", "not tested"]
    headline: str
    findings: list[str]


class Proof(Record, frozen=True):
    """Everything that a run found, and how it was run.

    Args:
        kind: "prove"
        schema_version: of this form
        command: what to type for the same run
        started: when, UTC, ISO 8601
        versions: of what computed it
        threads: that PyTorch was given
        seed: that drew the keys
        dtype: that the models ran in
        float32_angles: whether angles were computed in float32 as transformers does
    """

    kind: Literal["prove"]
    schema_version: int
    command: str
    started: str
    versions: dict[str, str]
    threads: int
    seed: int
    dtype: str
    float32_angles: bool
    original: ModelFacts
    extended: ModelFacts
    text: TextFacts
    verdict: Verdict
    loss_by_position: LossByPosition
    passkeys: Passkeys
    growing_context: GrowingContext
    position_gap: PositionGap
    costs: list[Cost]
