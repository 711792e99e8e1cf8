"""Half-width tables in the shapes that other libraries read."""

from typing import Literal

import torch
from jaxtyping import Shaped
from torch import Tensor

Duplicate = Literal["half", "interleaved", "none"]


def duplicated(table: Shaped[Tensor, "*lead pairs"], duplicate: Duplicate) -> Shaped[Tensor, "*lead width"]:
    """Transformers' width: for nearly all models each entry twice, once for each channel of its pair.

    Args:
        table: [..., pairs]
        duplicate: "half" repeats the table behind itself (Llama's rotary module), "interleaved" each entry behind
            itself (Cohere's), "none" leaves the table as it is (gpt-oss's)

    Returns:
        [..., 2 * pairs], or [..., pairs] for "none"

    >>> duplicated(torch.tensor([1, 2]), "half").tolist(), duplicated(torch.tensor([1, 2]), "interleaved").tolist()
    ([1, 2, 1, 2], [1, 1, 2, 2])
    """
    if duplicate == "none":
        return table
    return torch.cat((table, table), dim=-1) if duplicate == "half" else table.repeat_interleave(2, dim=-1)
