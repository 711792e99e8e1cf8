"""Passages of a text, and how likely a model finds their tokens."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ordinate.errors import InputError
from ordinate.prove.material import special_prefix

# Below these positions the two pair layouts turn nearly alike.
NEAR = 64
_LEAST_LENGTH = 2 * NEAR
# Enough for a model's vocabulary to show which of its tokens are common.
_CHARACTERS = 200_000
# Logits of so many positions are in memory as float32.
_STEP = 64


@dataclass(frozen=True)
class Passages:
    """Token ids to read, and how common their tokens are.

    Args:
        ids: [passages, length], int64
        common: the mean loss of the scored tokens when each is predicted by its frequency in the text alone, [nat]
    """

    ids: torch.Tensor
    common: float


def cut(text: str, tokenizer: Any, passages: int, length: int) -> Passages:
    """Cut passages from a text, spread evenly over its beginning.

    Args:
        text: natural language
        tokenizer: of the model
        passages: how many
        length: of each, special tokens before it included, [token]

    Raises:
        InputError: a length at which too few tokens stand beyond position 64, or too short a text
    """
    if length < _LEAST_LENGTH:
        raise InputError(f"the window must be at least {_LEAST_LENGTH} tokens to tell layouts apart, got {length}")
    prefix = special_prefix(tokenizer)
    ids = tokenizer(text[:_CHARACTERS], add_special_tokens=False, verbose=False)["input_ids"]
    each = length - len(prefix)
    if len(ids) < passages * each:
        raise InputError(f"the text must have at least {passages * each} tokens, got {len(ids)}")
    starts = np.linspace(0, len(ids) - each, passages).astype(int)
    rows = torch.tensor([[*prefix, *ids[start : start + each]] for start in starts])
    names, counts = np.unique(ids, return_counts=True)
    surprise = dict(zip(names.tolist(), (-np.log(counts / len(ids))).tolist(), strict=True))
    scored = [token for row in rows[:, NEAR + 1 :].tolist() for token in row]
    return Passages(rows, float(np.mean([surprise[token] for token in scored])))


def losses(model: Any, passages: Passages) -> np.ndarray:
    """The loss of each token beyond position 64, given those before it.

    Args:
        model: a causal language model of transformers, in evaluation mode

    Returns:
        [passages, length - 65], float64, [nat]

    Raises:
        InputError: a loss that is not finite
    """
    found = []
    with torch.inference_mode():
        for row in passages.ids:
            logits = model(input_ids=row[None], use_cache=False).logits[0, NEAR:-1]
            targets = row[NEAR + 1 :]
            found.append(
                torch.cat(
                    [
                        torch.nn.functional.cross_entropy(part.float(), target, reduction="none")
                        for part, target in zip(logits.split(_STEP), targets.split(_STEP), strict=True)
                    ]
                )
            )
    values = torch.stack(found).double().numpy()
    if not np.isfinite(values).all():
        raise InputError(f"the model's losses must be finite, got {values[~np.isfinite(values)][0]}")
    return values
