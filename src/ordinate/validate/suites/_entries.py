"""All tasks, as the larger suites ask them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ordinate.validate.cells import Measure

SLOTS = ("start", "middle", "end", "spread", "reversed")
ORDERED = ("start", "middle", "end", "spread")
"""The places of evidence that is told in order."""

FACTOR = ("near_key", "multi_hop", "contradiction", "citation")
"""Tasks whose evidence stands in every place: position stability is read off them."""

TOLD = ("event_order", "state_at_time", "ordinal_recall")
ANSWERS = (
    "passkey",
    "near_key",
    "indirect",
    "multi_hop",
    "graph_walk",
    "event_order",
    "state_at_time",
    "contradiction",
    "citation",
    "aggregation",
    "absence",
    "ordinal_recall",
)
MARGINS = ("near_key", "indirect", "multi_hop", "state_at_time")


@dataclass(frozen=True)
class Entry:
    """One task of a suite.

    Args:
        task: its name
        places: where its evidence stands
        measure: what is measured
        difficulty: what differs from the task's defaults
        units: at most; None: the suite's
    """

    task: str
    places: tuple[str, ...]
    measure: Measure = "answer"
    difficulty: Mapping[str, Any] = field(default_factory=dict)
    units: int | None = None


def answers(places: tuple[str, ...] | None = None) -> tuple[Entry, ...]:
    """The tasks that are answered in words.

    Args:
        places: of those that are no factor tasks; None: every place
    """
    every = {task: ORDERED if task in TOLD else SLOTS for task in ANSWERS}
    return tuple(Entry(task, every[task] if places is None or task in FACTOR else places) for task in ANSWERS)


def tokens(units: int, copies: tuple[str, ...]) -> tuple[Entry, ...]:
    """Copying of tokens, loss behind contexts, and margins: what needs log-probabilities."""
    return (
        Entry("associative_copy", copies, "copy", units=units),
        Entry("language_modelling", ("real", "shuffled", "foreign"), "language", units=units),
        *(Entry(task, ("spread",), "margin", units=units) for task in MARGINS),
    )
