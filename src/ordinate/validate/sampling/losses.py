"""Losses of tokens: of a block's second copy, and of a fixed target behind a context."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ordinate.errors import InputError, one_of
from ordinate.validate.backends import Refusal
from ordinate.validate.cells import Sample
from ordinate.validate.sampling.base import Ask, Kitchen, failed, fingerprint, refused
from ordinate.validate.tasks.associative_copy import AssociativeCopy
from ordinate.validate.tasks.language_modelling import CONTEXTS, LanguageModelling, Passage

SHARES = {"start": 0.0, "middle": 0.5, "end": 1.0}
"""Where the first copy stands, between the first and the last place that leaves room for the decoys."""

COPIES = 2
"""Rows of losses that a sample of copying takes: up to the first copy, and up to the second."""

TARGETS = 20
"""In each novel, so that more units than this in every novel there are not."""

NATS, DIGITS = "nats", 4
"""The fact that holds the loss of each token of a target behind its own text [nat], and its decimals."""

PART = 64
"""Of a target, whose loss is told by its place in it, [token]."""


def copy(kitchen: Kitchen, sample: Sample) -> Ask:
    """The losses of a block's two copies, [nat/token]."""
    cell, task, bos = sample.cell, AssociativeCopy(), kitchen.material.tokenizer.bos
    level = {**task.defaults, **dict(cell.difficulty)}
    block = level["key"] + level["value"]
    first, last = len(bos) + (level["pairs"] - 1) * block, cell.length - level["key"] - level["pairs"] * block
    one_of("the place of a copy", cell.places, tuple(SHARES))
    start = first + round(SHARES[cell.places] * (last - first))
    made = task.instance(
        sample.seed,
        sample.index,
        length=cell.length,
        distance=cell.length - start - level["key"],
        vocabulary=kitchen.material.vocabulary,
        bos=bos,
        **level,
    )
    _fits(len(made.scored), kitchen.backend.limit)
    assert made.first is not None  # noqa: S101 - the instance is no control
    # What stands behind the first copy does not change its loss, so that two rows need fewer outputs than one.
    rows = ((made.ids[: made.first[1]], level["value"]), (made.scored, level["value"]))
    facts = {"distance": made.distance, "first": list(made.first)}
    answer = tuple(map(str, made.answer))
    begun = replace(sample, prompt=fingerprint(made.ids), answer=answer, facts=facts)

    def ask() -> Sample:
        try:
            once, again = (kitchen.backend.losses(*row) for row in rows)
        except Refusal as refusal:
            return refused(begun, refusal)
        numbers = {"first": _mean(once.nats), "second": _mean(again.nats), "top1": _mean(again.top1)}
        return _measured(begun, numbers)

    return ask


def language(kitchen: Kitchen, sample: Sample) -> Ask:
    """The mean loss of a target's tokens, [nat/token]; the difficulty names the target's size and the longest length.

    Unit i is the target number i // novels of the novel i % novels.
    """
    cell, level = sample.cell, dict(sample.cell.difficulty)
    if cell.filler != kitchen.material.novels_identity:
        raise InputError(f"the texts must be {kitchen.material.novels_identity}, got {cell.filler}")
    one_of("the place of language modelling", cell.places, CONTEXTS)
    novels, bos = kitchen.material.novels, kitchen.material.tokenizer.bos
    task = LanguageModelling(level["target"])
    target, document = divmod(sample.index, len(novels))
    if target >= TARGETS:
        raise InputError(f"units must be below {TARGETS * len(novels)}, got {sample.index}")
    rows = task.passages([len(ids) for ids in novels], [level["longest"]], targets=TARGETS, seed=sample.seed)
    own = [row for row in rows if row.document == document and row.context == cell.places]
    row = Passage(document, own[target].target, own[target].context, cell.length)
    ids = task.ids(row, novels, bos=bos, seed=sample.seed)
    _fits(len(ids), kitchen.backend.limit)
    facts = {"document": document, "target": list(row.target)}
    begun = replace(sample, prompt=fingerprint(ids), facts=facts)

    def ask() -> Sample:
        try:
            found = kitchen.backend.losses(ids, level["target"])
        except Refusal as refusal:
            return refused(begun, refusal)
        parts = {f"loss {i}-{i + PART}": _mean(found.nats[i : i + PART]) for i in range(0, level["target"], PART)}
        told = begun
        if cell.places == "real":  # LongPPL compares tokens one by one
            told = replace(begun, facts={**facts, NATS: [round(float(nat), DIGITS) for nat in found.nats]})
        return _measured(told, {"loss": _mean(found.nats), "top1": _mean(found.top1), **parts})

    return ask


def _fits(tokens: int, limit: int | None) -> None:
    if limit is not None and tokens > limit:
        raise InputError(f"{tokens} tokens exceed the limit {limit}")


def _mean(values: Sequence[float] | np.ndarray) -> float:
    return float(np.asarray(values, dtype=np.float64).mean())


def _measured(sample: Sample, numbers: dict[str, float]) -> Sample:
    if not all(np.isfinite(value) for value in numbers.values()):
        return failed(sample, "the losses are not finite")
    return replace(sample, numbers=numbers)
