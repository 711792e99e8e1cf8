"""What biases that read q and k have in common."""

from abc import abstractmethod
from typing import Any

import numpy as np

from ordinate.errors import InputError, positive, positive_integer
from ordinate.schemes._integers import integer_positions
from ordinate.schemes._libraries import working
from ordinate.schemes.base import Array, Bias, Learned


class ContentBias(Bias):
    """A bias made from q and k: what is added to `softmax_scale * q k`, scaled likewise."""

    needs = "content"
    head_dim: int
    softmax_scale: float

    def _check_heads(self, terms: int = 1) -> None:
        """Check the shape of heads, and fill in the usual scale of a sum of `terms` products of q or k."""
        positive_integer("heads", self.heads)
        positive_integer("head_dim", self.head_dim)
        if self.softmax_scale == 0:
            object.__setattr__(self, "softmax_scale", (terms * self.head_dim) ** -0.5)
        positive("softmax_scale", self.softmax_scale)

    def bias(
        self,
        query_positions: Array,
        key_positions: Array,
        *,
        q: Array | None = None,
        k: Array | None = None,
        learned: Learned | None = None,
        xp: Any = np,
    ) -> Array:
        self.check_content(q, k)
        query = integer_positions("query_positions", query_positions)
        key = integer_positions("key_positions", key_positions)
        for name, array, tokens in (("q", q, query.size), ("k", k, key.size)):
            shape = tuple(array.shape) if array is not None else ()
            if shape[-3:] != (tokens, self.heads, self.head_dim):
                raise InputError(
                    f"{name} must have shape [..., {tokens}, {self.heads}, {self.head_dim}] "
                    f"(tokens, heads, head_dim), got {list(shape)}"
                )
        values = working(xp, {**self.learned_values(learned), "q": q, "k": k})
        return self._between(query, key, values.pop("q"), values.pop("k"), values, xp)

    @abstractmethod
    def _between(self, query: np.ndarray, key: np.ndarray, q: Array, k: Array, learned: Learned, xp: Any) -> Array:
        """`bias` of what has been checked."""
