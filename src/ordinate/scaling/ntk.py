"""NTK-aware scaling: the base raised so that the slowest pair is interpolated by the factor."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from ordinate.errors import at_least
from ordinate.scaling.base import Frequencies, Scaling, ScalingFacts, checked_length, ntk_base


@dataclass(frozen=True)
class Ntk(Scaling):
    """Leave the fastest pair alone and divide the slowest by `factor`, by a change of base.

    frequencies[i] = (base * factor ** (d / (d - 2))) ** (-2 i / d), d = rotary_dim

    Args:
        factor: target length / trained length, >= 1 (`alpha` in bloc97's post)

    Source: bloc97 2023, "NTK-aware scaled RoPE"; Peng et al. 2023, arXiv:2309.00071, section 3.1.
    Differs from the paper: nothing.

    >>> from ordinate.schemes.rope import Rope
    >>> Ntk(4.0).frequencies(Rope(head_dim=4))
    array([1.    , 0.0025])
    """

    name: ClassVar[str] = "ntk"
    facts: ClassVar[ScalingFacts] = ScalingFacts(
        does="raises the base to base * factor^(d/(d-2)): fastest pair kept, slowest divided by the factor",
        needs_training="no, at a loss; the usable length is shorter than the factor says",
        source="bloc97 2023; Peng et al. 2023, arXiv:2309.00071",
    )
    traits: ClassVar[frozenset[str]] = frozenset({"identity_at_one", "bounded", "ordered", "static"})

    factor: float

    def __post_init__(self) -> None:
        at_least("factor", self.factor, 1)

    @classmethod
    def example(cls, factor: float = 4.0) -> Self:
        return cls(factor)

    def frequencies(self, rope: Frequencies, length: int | None = None) -> np.ndarray:
        checked_length(length)
        return rope.plain(ntk_base(rope.base, rope.spectrum_dim, self.factor))
