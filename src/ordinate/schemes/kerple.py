"""Kernelised relative position bias (KERPLE)."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from ordinate.errors import one_of, positive_integer
from ordinate.schemes._libraries import constant
from ordinate.schemes.base import DistanceBias, Facts, Learned, Parameter


@dataclass(frozen=True)
class Kerple(DistanceBias):
    """Lower each logit by a learned kernel of distance, logarithmic or a power.

    "log":   bias[h, q, k] = -|r1[h]| * log(1 + |r2[h]| * |query_positions[q] - key_positions[k]|)
    "power": bias[h, q, k] = -|r1[h]| * |query_positions[q] - key_positions[k]| ** min(|r2[h]|, 2)

    Args:
        heads: attention heads
        variant: "log" or "power"

    Raises:
        InputError: a number out of range, an unknown word

    Source: Chi et al. 2022, arXiv:2205.09921, section 4; starting values from the authors' code.
    Differs from the paper: r1, r2 > 0 is kept by the absolute value; the authors overwrite a parameter below 0.01
    with 0.01 at every forward pass, so their stored values give the same bias here. It is added to logits that are
    divided by sqrt(head_dim) already, as in their code; the paper divides the bias too.

    >>> Kerple(heads=1).bias([2], [1, 2], learned={"r1": np.array([2.0]), "r2": np.array([1.0])}).round(4)
    array([[[-1.3863,  0.    ]]])
    """

    name: ClassVar[str] = "kerple"
    facts: ClassVar[Facts] = Facts(
        adds="minus a learned logarithm or power of distance, two numbers a head",
        enters="the attention logits of every layer",
        learned="r1 and r2 of each head",
        beyond="defined everywhere; the logarithm falls more gently than ALiBi",
        source="Chi et al. 2022, arXiv:2205.09921",
    )
    traits: ClassVar[frozenset[str]] = frozenset({"shift_invariant", "decreasing", "symmetric"})

    heads: int
    variant: Literal["log", "power"] = "log"

    def __post_init__(self) -> None:
        positive_integer("heads", self.heads)
        one_of("variant", self.variant, ("log", "power"))

    @classmethod
    def example(cls) -> Self:
        return cls(heads=3)

    def parameters(self) -> dict[str, Parameter]:
        highs = {"r1": 2.0, "r2": 1.0} if self.variant == "log" else {"r1": 1.0, "r2": 2.0}
        return {name: Parameter((self.heads,), 0.01, high) for name, high in highs.items()}

    def _at(self, distance: np.ndarray, learned: Learned, xp: Any) -> Any:
        column = (-1, *[1] * distance.ndim)
        r1, r2 = (xp.abs(learned[name]).reshape(column) for name in ("r1", "r2"))
        reach = constant(np.abs(distance), r1, xp)
        if self.variant == "log":
            return 0.0 - r1 * xp.log(1 + r2 * reach)
        return 0.0 - r1 * reach ** xp.clip(r2, None, 2.0)

    def _operations(self, tokens: int) -> int:
        # the kernel at each distance either way, then one addition a logit
        kernel = 4 if self.variant == "log" else 2
        return self.heads * (kernel * (2 * tokens - 1) + tokens * tokens)
