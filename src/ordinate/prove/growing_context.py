"""The same tokens with more and more text before them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ordinate.errors import InputError
from ordinate.prove.long_text import finite_losses
from ordinate.prove.plan import Plan
from ordinate.prove.result import Change, Context, GrowingContext
from ordinate.prove.statistics import compared, estimate
from ordinate.transformers.prefill import Report, prefill


def read_growing_context(
    model: Any,
    text: Sequence[int],
    lengths: Sequence[int],
    scored: int,
    *,
    prefix: Sequence[int] = (),
    progress: Report | None = None,
) -> np.ndarray:
    """The losses of a text's last tokens in prompts of growing length, each read anew from position 0.

    Args:
        model: a causal language model
        text: token ids, as many as the longest prompt
        lengths: of the prompts, prefix and scored tokens included
        scored: how many tokens at the end are scored
        prefix: special tokens before each prompt
        progress: told how many tokens are read, over all prompts

    Returns:
        [lengths, scored], [nat]

    Raises:
        InputError: a prompt that is longer than the text, or too short for what is scored
    """
    if not len(prefix) + scored < min(lengths) or max(lengths) > len(text):
        raise InputError(
            f"lengths must be more than {len(prefix) + scored} and at most the text's {len(text)}, got {list(lengths)}"
        )
    rows, before = [], 0
    for length in lengths:
        ids = torch.tensor([*prefix, *text[len(text) - length + len(prefix) :]])
        read = prefill(
            model,
            ids,
            score=[(length - scored, length)],
            progress=progress and _shifted(progress, before, sum(lengths)),
        )
        rows.append(finite_losses(read.losses, f"a prompt of {length} tokens"))
        before += length
    return np.stack(rows)


def _shifted(progress: Report, before: int, total: int) -> Report:
    return lambda what, done, _: progress(what, before + done, total)


def compare_contexts(original: np.ndarray, extended: np.ndarray, plan: Plan) -> GrowingContext:
    """Both models' losses by length, on the same tokens, and what each gains over its shortest prompt."""
    places = np.arange(plan.scored)
    return GrowingContext(
        scored=plan.scored,
        block=plan.context_block,
        rows=[
            Context(length, length - plan.scored, compared(first, second, places, plan.context_block))
            for length, first, second in zip(plan.contexts, original, extended, strict=True)
        ],
        changes=[
            Change(
                estimate(first - original[0], places, plan.context_block),
                estimate(second - extended[0], places, plan.context_block),
            )
            for first, second in zip(original, extended, strict=True)
        ],
    )
