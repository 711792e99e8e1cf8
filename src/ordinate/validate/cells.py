"""What is asked of a model, and what came of it: cells, the requests in them, and samples."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import msgspec

Measure = Literal["answer", "margin", "copy", "language"]
"""answer: a response, scored; margin: how far swapped evidence moves the log-probabilities of two answers; copy: the
losses of a block's second copy; language: the loss of fixed target tokens behind a context."""

Outcome = Literal["right", "wrong", "unparsed", "refused", "error"]
"""Of an answer; all but the first count as wrong. refused: the engine said explicitly that it does not take the
request; error: no usable reply, or the prompt could not be built."""


@dataclass(frozen=True)
class Cell:
    """What all samples share that are compared as one number.

    Args:
        measure: what is measured
        task: its name
        length: of every prompt, everything before the answer, [token]
        places: where the evidence stands; empty where a task has no such thing
        difficulty: of the task, what differs from its defaults, sorted by name
        filler: its identity, or its name
        mode: of the response: "base", "chat" or "reasoning"
        control: which control is asked; empty for the instances themselves
        reserve: room for the answer, [token]
    """

    measure: Measure
    task: str
    length: int
    places: str = ""
    difficulty: tuple[tuple[str, Any], ...] = ()
    filler: str = ""
    mode: str = "base"
    control: str = ""
    reserve: int = 0


@dataclass(frozen=True)
class Request:
    """One sample to be taken.

    Args:
        cell: where it belongs
        seed, index: of the instance
    """

    cell: Cell
    seed: int
    index: int

    def key(self, subject: Mapping[str, str]) -> str:
        """The SHA-256 of all that determines the sample, in hexadecimal.

        Args:
            subject: what answers, and how its prompts are made: a backend's `identity`, the tokenizer's hash
        """
        whole = {"subject": dict(subject), "request": asdict(self)}
        return hashlib.sha256(msgspec.json.encode(whole, order="deterministic")).hexdigest()


@dataclass(frozen=True)
class Sample:
    """What came of a request; everything in it is determined by the request and the subject, so it holds no time.

    Args:
        key: of the request
        cell, seed, index: the request
        prompt: SHA-256 of the prompt's token ids, in hexadecimal; empty where none could be built
        outcome: of an answer; None for measures that are not right or wrong
        response: as it came
        parsed: what was read in the answer slot
        answer: the canonical answer
        why: in words, what is wrong
        counted: prompt tokens as the engine counted them; None where it does not say
        numbers: what is measured: "margin" [nat], "first" and "second" [nat], "top1", "loss" [nat], by name
        facts: of the instance, for reports
    """

    key: str
    cell: Cell
    seed: int
    index: int
    prompt: str = ""
    outcome: Outcome | None = None
    response: str = ""
    parsed: tuple[str, ...] | None = None
    answer: tuple[str, ...] = ()
    why: str = ""
    counted: int | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
