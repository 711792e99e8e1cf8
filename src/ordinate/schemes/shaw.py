"""Shaw's relative position representations."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ordinate.errors import InputError, boolean, positive_integer
from ordinate.schemes._content import ContentBias
from ordinate.schemes._integers import distances
from ordinate.schemes._libraries import working
from ordinate.schemes.base import Array, Facts, Learned, Parameter


@dataclass(frozen=True)
class Shaw(ContentBias):
    """Add q's product with a learned key of the clipped distance, one table for all heads.

    row = clip(key_positions[k] - query_positions[q], -left, right) + left
    bias[h, q, k] = softmax_scale * q[q, h] . learned["keys"][row]

    The paper also adds a learned value of the same row to what each weight brings; that is no bias on a logit, and
    has its own function: `attended`.

    Args:
        heads: attention heads
        head_dim: channels of a head
        left: how far back distances are told apart, [token]
        right: how far ahead; as far as `left` where not given, [token]
        values: whether relative values are learned too
        softmax_scale: what multiplies q k; head_dim ** -0.5 where not given, [1]

    Raises:
        InputError: a number out of range, `values` not a bool

    Source: Shaw et al. 2018, arXiv:1803.02155, section 3; left and right apart: Wav2Vec2-BERT.
    Differs from the paper: nothing.

    >>> Shaw(heads=1, head_dim=2, left=1).parameters()["keys"].shape
    (3, 2)
    """

    name: ClassVar[str] = "shaw"
    facts: ClassVar[Facts] = Facts(
        adds="q's product with a learned key of the clipped distance, and on request a learned value",
        enters="the attention logits of every layer; values: what attention brings",
        learned="a table of (left + right + 1) x head_dim, or two",
        beyond="defined everywhere: distances past left and right share the last row",
        source="Shaw et al. 2018, arXiv:1803.02155",
    )
    traits: ClassVar[frozenset[str]] = frozenset({"shift_invariant"})

    heads: int
    head_dim: int
    left: int = 16
    right: int = 0
    values: bool = False
    softmax_scale: float = 0.0

    def __post_init__(self) -> None:
        self._check_heads()
        positive_integer("left", self.left)
        if self.right == 0:
            object.__setattr__(self, "right", self.left)
        positive_integer("right", self.right)
        boolean("values", self.values)

    @classmethod
    def example(cls) -> Self:
        return cls(heads=2, head_dim=8, left=4)

    def parameters(self) -> dict[str, Parameter]:
        table = Parameter.spread((self.left + self.right + 1, self.head_dim), self.head_dim**-0.5)
        return {"keys": table, "values": table} if self.values else {"keys": table}

    def row(self, distance: Array) -> np.ndarray:
        """The row of the tables for each query minus key position: int64, the same shape."""
        return np.clip(-np.asarray(distance), -self.left, self.right) + self.left

    def attended(
        self, weights: Array, query_positions: Array, key_positions: Array, learned: Learned, xp: Any = np
    ) -> Array:
        """What relative values add to attention's output: sum over k of weights[q, k] * learned["values"][row].

        Args:
            weights: attention after softmax, [..., heads, query, key]
            query_positions: [query], integer, [token]
            key_positions: [key], integer, [token]
            learned: both tables
            xp: the array library, numpy or torch

        Returns:
            [..., query, heads, head_dim]

        Raises:
            InputError: this scheme has no relative values
        """
        if not self.values:
            raise InputError("this scheme learns no relative values: make it with values=True")
        given = working(xp, {**self.learned_values(learned), "weights": weights})
        rows = given["values"][self.row(distances(query_positions, key_positions))]
        return xp.einsum("...hqk,qkd->...qhd", given["weights"], rows)

    def _between(self, query: np.ndarray, key: np.ndarray, q: Array, k: Array, learned: Learned, xp: Any) -> Array:
        del k
        scores = xp.einsum("...qhd,rd->...hqr", q * self.softmax_scale, learned["keys"])
        return scores[..., np.arange(query.size)[:, None], self.row(distances(query, key))]

    def _operations(self, tokens: int) -> int:
        rows = self.left + self.right + 1
        products = 2 * tokens * rows * self.head_dim + tokens * tokens
        read = 2 * tokens * tokens * self.head_dim if self.values else 0
        return self.heads * (products + read)
