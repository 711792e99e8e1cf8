"""Contextual position encoding (CoPE)."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ordinate.errors import InputError, positive_integer
from ordinate.schemes._content import ContentBias
from ordinate.schemes._libraries import along_last, constant
from ordinate.schemes.base import Array, Facts, Learned, Parameter


@dataclass(frozen=True)
class Cope(ContentBias):
    """Count, for each query, the keys it cares about between a key and itself, and add q's product with that count.

    gates[h, q, k] = sigmoid(softmax_scale * q[q, h] . k[k, h]), 0 for keys after the query
    count[h, q, k] = min(sum of gates[h, q, t] over keys t from k to the query, positions - 1)
    bias[h, q, k] = softmax_scale * q[q, h] . e, with e on the line through the two rows of learned["positions"]
        around count[h, q, k]

    Positions give the order of keys and nothing else, so keys may lie in any order (a ring buffer), but must be
    those of one sequence: a packed batch counts across its borders.

    Args:
        heads: attention heads
        head_dim: channels of a head
        positions: how many counts have an embedding; larger counts share the last, [count]
        softmax_scale: what multiplies q k; head_dim ** -0.5 where not given, [1]

    Raises:
        InputError: a number out of range, `positions` < 2, two keys at one position

    Source: Golovneva et al. 2024, arXiv:2405.18719, section 4, and the authors' code.
    Differs from the paper: gates and bias are scaled like the logits, as in the authors' code; the paper leaves
    1 / sqrt(head_dim) out. Keys after the query have count 0.

    >>> Cope(heads=1, head_dim=2, positions=8).cost(10).parameters
    16
    """

    name: ClassVar[str] = "cope"
    facts: ClassVar[Facts] = Facts(
        adds="q's product with the embedding of a count that q and k make",
        enters="the attention logits of every layer, or of some",
        learned="a table of positions x head_dim, one for all heads",
        beyond="defined everywhere: larger counts share the last row",
        source="Golovneva et al. 2024, arXiv:2405.18719",
    )
    traits: ClassVar[frozenset[str]] = frozenset({"shift_invariant"})

    heads: int
    head_dim: int
    positions: int = 64
    softmax_scale: float = 0.0

    def __post_init__(self) -> None:
        self._check_heads()
        if positive_integer("positions", self.positions) < 2:
            raise InputError(f"positions must be >= 2, got {self.positions}")

    @classmethod
    def example(cls) -> Self:
        return cls(heads=2, head_dim=8, positions=6)

    def parameters(self) -> dict[str, Parameter]:
        return {"positions": Parameter((self.positions, self.head_dim), 0.0, 0.0)}

    def _between(self, query: np.ndarray, key: np.ndarray, q: Array, k: Array, learned: Learned, xp: Any) -> Array:
        order = np.argsort(key, kind="stable")
        if (np.diff(key[order]) == 0).any():
            raise InputError("key_positions must differ: cope counts the keys of one sequence, got two at one position")
        q = q * self.softmax_scale
        logits = xp.einsum("...qhd,...khd->...hqk", q, k)
        past = constant(key[None, :] <= query[:, None], logits, xp)
        gates = past * (0.5 + 0.5 * xp.tanh(0.5 * logits))  # the sigmoid, without overflow
        # from the last key back to each: the running sum over keys in the order of their positions
        backwards = order[::-1].copy()
        counts = xp.cumsum(gates[..., backwards], -1)[..., np.argsort(backwards)]
        counts = xp.clip(counts * past, None, float(self.positions - 1))
        lower = xp.floor(counts)
        upper = xp.clip(lower + 1, None, float(self.positions - 1))
        weight = counts - lower
        at_rows = xp.einsum("...qhd,nd->...hqn", q, learned["positions"])
        return along_last(at_rows, lower, xp) * (1 - weight) + along_last(at_rows, upper, xp) * weight

    def _operations(self, tokens: int) -> int:
        # the logits are attention's own; a gate 4, a running sum 1, the line 6, the addition 1
        return self.heads * (2 * tokens * self.positions * self.head_dim + 12 * tokens * tokens)
