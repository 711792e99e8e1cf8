"""Attention with linear biases (ALiBi)."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ordinate.errors import boolean, positive, positive_integer
from ordinate.schemes.base import DistanceBias, Facts, Learned


@dataclass(frozen=True)
class Alibi(DistanceBias):
    """Lower each logit in proportion to distance, more steeply in some heads than in others.

    bias[h, q, k] = -slopes[h] * |query_positions[q] - key_positions[k]|
    causal form:    -slopes[h] * max(query_positions[q] - key_positions[k], 0)

    With n the largest power of two <= heads, slopes[k - 1] = scale * 2 ** (-bias_max * k / n) for k = 1 ... n, and
    the heads left over take every second slope of 2 n heads: scale * 2 ** (-bias_max * (2 k - 1) / (2 n)).

    Args:
        heads: attention heads, any number
        bias_max: the gentlest of n slopes is 2 ** -bias_max (MPT's `alibi_bias_max`, GGUF's `max_alibi_bias`), [1]
        symmetric: by distance either way, for encoders and prefixes; False gives keys after the query bias 0,
            and is the same under a causal mask
        scale: multiplies every slope: 1, or Falcon's head_dim ** -0.5, which scales the bias along with q k, [1]

    Raises:
        InputError: a number out of range, `symmetric` not a bool

    Source: Press et al. 2022, arXiv:2108.12409, section 3; their code for other numbers of heads.
    Differs from the paper: it is defined for keys in the past, so for a causal mask only. BLOOM adds slope * key
    position instead, in the model's dtype: the same after softmax, except that bfloat16 rounds neighbouring keys
    to one bias. MPT takes the power of two above `heads` and reorders; slopes and their order come out the same.

    >>> Alibi(heads=2).bias([2], [0, 1, 2])
    array([[[-0.125     , -0.0625    ,  0.        ]],
           [[-0.0078125 , -0.00390625,  0.        ]]])
    """

    name: ClassVar[str] = "alibi"
    facts: ClassVar[Facts] = Facts(
        adds="minus slope times distance, a fixed slope a head",
        enters="the attention logits of every layer",
        learned="nothing",
        beyond="defined everywhere; far tokens weigh ever less, so loss stays flat and far facts go unread",
        source="Press et al. 2022, arXiv:2108.12409",
    )
    traits: ClassVar[frozenset[str]] = frozenset({"shift_invariant", "decreasing", "symmetric"})

    heads: int
    bias_max: float = 8.0
    symmetric: bool = True
    scale: float = 1.0

    def __post_init__(self) -> None:
        positive_integer("heads", self.heads)
        positive("bias_max", self.bias_max)
        positive("scale", self.scale)
        if not boolean("symmetric", self.symmetric):
            object.__setattr__(self, "traits", self.traits - {"symmetric"})

    @classmethod
    def example(cls) -> Self:
        return cls(heads=6)

    @property
    def slopes(self) -> np.ndarray:
        """What a token of distance costs each head: [heads], float64, [logit/token]."""
        power = 1 << (int(self.heads).bit_length() - 1)
        first = np.arange(1, power + 1) / power
        between = (2 * np.arange(1, self.heads - power + 1) - 1) / (2 * power)
        return self.scale * 2.0 ** (-self.bias_max * np.concatenate([first, between]))

    def _at(self, distance: np.ndarray, learned: Learned, xp: Any) -> Any:
        del learned
        reach = np.abs(distance) if self.symmetric else np.maximum(distance, 0)
        # 0 - x, not -x: a token's bias towards itself is 0.0, never -0.0
        bias = 0.0 - self.slopes.reshape(-1, *[1] * distance.ndim) * reach
        return bias if xp is np else xp.asarray(bias)

    def _table_bytes(self, tokens: int) -> int:
        del tokens
        return 4 * self.heads

    def _operations(self, tokens: int) -> int:
        return 2 * self.heads * tokens * tokens
