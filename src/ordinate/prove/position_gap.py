"""Short texts whose second half is moved away by its position ids alone: what distance does, in seconds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ordinate.errors import InputError
from ordinate.prove.long_text import finite_losses
from ordinate.prove.plan import Plan
from ordinate.prove.result import Change, Gap, PositionGap
from ordinate.prove.statistics import compared, estimate
from ordinate.transformers.prefill import Report, prefill


def gap_positions(tokens: int, distance: int) -> torch.Tensor:
    """Position ids of a text whose second half starts at `distance`; tokens // 2 is contiguous.

    Raises:
        InputError: a distance that would put the second half over the first

    >>> gap_positions(6, 100).tolist()
    [0, 1, 2, 100, 101, 102]
    """
    half = tokens // 2
    if distance < half:
        raise InputError(f"distance must be at least half the text, {half} tokens, got {distance}")
    return torch.cat([torch.arange(half), torch.arange(tokens - half) + distance])


def read_gaps(
    model: Any,
    passages: Sequence[Sequence[int]],
    distances: Sequence[int],
    *,
    prefix: Sequence[int] = (),
    progress: Report | None = None,
) -> np.ndarray:
    """The losses of the second halves of short texts, by the position id at which these halves start.

    The first token of a second half is left out: what predicts it stands before the gap.

    Args:
        model: a causal language model
        passages: [passages][tokens], equally long
        distances: position ids
        prefix: special tokens that take the place of as many of a passage's first ones
        progress: told how many texts are read

    Returns:
        [distances, passages, tokens - tokens // 2 - 1], [nat]
    """
    rows, total = [], len(distances) * len(passages)
    for distance in distances:
        row = []
        for passage in passages:
            ids = torch.tensor([*prefix, *passage[len(prefix) :]])
            score = [(len(ids) // 2 + 1, len(ids))]
            # One chunk, so that the gap lies within one forward pass; no position stands in for another.
            read = prefill(model, ids, chunk=len(ids), position_ids=gap_positions(len(ids), distance), score=score)
            row.append(finite_losses(read.losses, f"a text with a gap to position {distance}"))
            if progress:
                progress("reading", len(rows) * len(passages) + len(row), total)
        rows.append(np.stack(row))
    return np.stack(rows)


def compare_gaps(original: np.ndarray, extended: np.ndarray, plan: Plan) -> PositionGap:
    """Both models' losses by distance, on the same tokens, and what each loses against contiguous positions."""
    _, passages, tokens = original.shape
    # Blocks do not reach over the end of a passage.
    stride = -(-tokens // plan.block) * plan.block
    places = (np.arange(passages)[:, None] * stride + np.arange(tokens)).ravel()
    flat = original.reshape(len(original), -1), extended.reshape(len(extended), -1)
    return PositionGap(
        passages=passages,
        tokens=plan.passage,
        block=plan.block,
        rows=[
            Gap(distance, distance == plan.passage // 2, compared(first, second, places, plan.block))
            for distance, first, second in zip(plan.distances, *flat, strict=True)
        ],
        changes=[
            Change(estimate(first - flat[0][0], places, plan.block), estimate(second - flat[1][0], places, plan.block))
            for first, second in zip(*flat, strict=True)
        ],
    )
