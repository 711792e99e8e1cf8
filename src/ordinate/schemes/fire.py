"""Functional interpolation for relative positional encoding (FIRE)."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ordinate.errors import positive, positive_integer
from ordinate.schemes._integers import integer_positions
from ordinate.schemes._libraries import constant, working
from ordinate.schemes.base import Array, Bias, Facts, Learned, Parameter


@dataclass(frozen=True)
class Fire(Bias):
    """Feed distance, as a share of how far the query could look back, through a small learned network.

    psi(x) = log(|c| x + 1), reach = max(query_positions[q], |multiplier| * threshold)
    share = psi(|query_positions[q] - key_positions[k]|) / (psi(reach) + epsilon)
    bias[h, q, k] = output_weight[h] . relu(hidden_weight * share + hidden_bias) + output_bias[h]

    Args:
        heads: attention heads
        width: channels of the hidden layer
        threshold: reach below which a query counts as having this one, before `multiplier`, [token]
        epsilon: keeps the division defined at reach 0, [1]

    Raises:
        InputError: a number out of range

    Source: Li et al. 2024, arXiv:2310.04418, section 3, and the code in its appendix.
    Differs from the paper: distance counts either way, so that it is defined for keys after the query too.

    >>> Fire(heads=2).bias([5], [3, 4, 5], learned=Fire(heads=2).initial()).shape
    (2, 1, 3)
    """

    name: ClassVar[str] = "fire"
    facts: ClassVar[Facts] = Facts(
        adds="a learned function of distance as a share of the query's position",
        enters="the attention logits of every layer",
        learned="a network of one hidden layer, a logarithm's scale and a threshold",
        beyond="defined everywhere; the share stays between 0 and 1, as it was in training",
        source="Li et al. 2024, arXiv:2310.04418",
    )
    needs = "positions"

    heads: int
    width: int = 32
    threshold: float = 512.0
    epsilon: float = 1e-6

    def __post_init__(self) -> None:
        positive_integer("heads", self.heads)
        positive_integer("width", self.width)
        positive("threshold", self.threshold)
        positive("epsilon", self.epsilon)

    @classmethod
    def example(cls) -> Self:
        return cls(heads=3, width=8, threshold=16.0)

    def parameters(self) -> dict[str, Parameter]:
        last = self.width**-0.5
        return {
            "c": Parameter((1,), 0.1, 0.1),
            "multiplier": Parameter((1,), 1.0, 1.0),
            "hidden_weight": Parameter((self.width,), -1.0, 1.0),
            "hidden_bias": Parameter((self.width,), -1.0, 1.0),
            "output_weight": Parameter((self.heads, self.width), -last, last),
            "output_bias": Parameter((self.heads,), -last, last),
        }

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
        query = integer_positions("query_positions", query_positions)[:, None]
        key = integer_positions("key_positions", key_positions)[None, :]
        values = working(xp, self.learned_values(learned))
        c = xp.abs(values["c"])
        reach = xp.maximum(constant(query, c, xp), xp.abs(values["multiplier"]) * self.threshold)
        distance = constant(np.abs(query - key), c, xp)
        share = xp.log(c * distance + 1) / (xp.log(c * reach + 1) + self.epsilon)
        hidden = xp.clip(share[..., None] * values["hidden_weight"] + values["hidden_bias"], 0.0, None)
        bias = xp.einsum("qkw,hw->hqk", hidden, values["output_weight"])
        return bias + values["output_bias"][:, None, None]

    def _operations(self, tokens: int) -> int:
        # each logit: 4 for its share, 3 a hidden channel, 2 a weight of the output, 2 a head for the two additions
        return tokens * tokens * (4 + 3 * self.width + 2 * self.width * self.heads + 2 * self.heads)
