"""Everything that one model makes of the material."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ordinate.prove.costs import measured
from ordinate.prove.growing_context import read_growing_context
from ordinate.prove.long_text import LongReading, read_long_text
from ordinate.prove.material import Material
from ordinate.prove.plan import Plan
from ordinate.prove.position_gap import read_gaps
from ordinate.prove.result import Cost, Role
from ordinate.transformers.prefill import Report


@dataclass(frozen=True)
class Reading:
    """What one model made of all the material.

    Args:
        long: losses along the long text, and answers
        contexts: losses by length of the prompt, [lengths, scored], [nat]
        gaps: losses by distance, [distances, passages, tokens], [nat]
    """

    long: LongReading
    contexts: np.ndarray
    gaps: np.ndarray


def read_all(
    model: Any, material: Material, plan: Plan, role: Role, costs: list[Cost], progress: Report | None = None
) -> Reading:
    """Put one model through the three readings.

    Args:
        model: a causal language model
        material: what it reads
        plan: how far
        role: which of the two it is
        costs: what each reading took is appended here
        progress: told how far each reading is
    """
    with measured(costs, role, "loss by position and passkeys"):
        told = labelled(progress, role, {"reading": "the long text", "asking": "passkeys"})
        long = read_long_text(model, material.long_text, material.keys, plan.asked_at, progress=told)
    with measured(costs, role, "growing context"):
        told = labelled(progress, role, {"reading": "growing context"})
        contexts = read_growing_context(
            model, material.growing_context, plan.contexts, plan.scored, prefix=material.prefix, progress=told
        )
    with measured(costs, role, "position gaps"):
        told = labelled(progress, role, {"reading": "position gaps"})
        gaps = read_gaps(model, material.passages, plan.distances, prefix=material.prefix, progress=told)
    return Reading(long, contexts, gaps)


def labelled(progress: Report | None, role: Role, parts: Mapping[str, str] | None = None) -> Report | None:
    """Say which model is meant, and which part: `parts` has a name for what a reading calls its work."""
    names = parts or {}
    return progress and (lambda what, done, total: progress(f"{role}: {names.get(what, what)}", done, total))
