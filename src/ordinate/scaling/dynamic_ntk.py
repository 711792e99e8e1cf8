"""Dynamic NTK: the NTK-aware base, grown with the length seen so far."""

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from ordinate.errors import at_least, one_of, positive_integer
from ordinate.scaling.base import Frequencies, Scaling, ScalingFacts, checked_length, ntk_base


@dataclass(frozen=True)
class DynamicNtk(Scaling):
    """Plain frequencies inside the window L; past it a base that grows with the length n.

    form "offset": base * (factor * n / L - (factor - 1)) ** (d / (d - 2)), as transformers computes it
    form "ratio":  base * (n / L) ** (d / (d - 2)), as the YaRN paper writes it; `factor` has no part in it

    Args:
        factor: how fast the base grows past the window, >= 1
        window: L, the length before scaling, [token]: Hugging Face's `max_position_embeddings`
        form: "offset" or "ratio"; equal where the factor is 1

    Source: emozilla 2023, "Dynamically scaled RoPE"; Peng et al. 2023, arXiv:2309.00071, section 3.3.
    Differs from the paper: "offset" has the factor; with factor 8 and n = 8 L it raises the base as a factor
    of 57 would. Cached keys stay rotated under the base of their time: see caches.

    >>> from ordinate.schemes.rope import Rope
    >>> DynamicNtk(2.0, window=2048).frequencies(Rope(head_dim=4), length=4096)
    array([1.        , 0.00333333])
    """

    name: ClassVar[str] = "dynamic_ntk"
    facts: ClassVar[ScalingFacts] = ScalingFacts(
        does="raises the base as NTK does, by the length reached; nothing inside the window",
        needs_training="no; keys cached before a change of base keep the old one",
        source="emozilla 2023; Peng et al. 2023, arXiv:2309.00071, section 3.3",
    )
    traits: ClassVar[frozenset[str]] = frozenset({"ordered"})

    factor: float
    window: int
    form: Literal["offset", "ratio"] = "offset"

    def __post_init__(self) -> None:
        at_least("factor", self.factor, 1)
        positive_integer("window", self.window)
        one_of("form", self.form, ("offset", "ratio"))

    @classmethod
    def example(cls, factor: float = 4.0) -> Self:
        return cls(factor, window=64)

    def growth(self, length: int | None) -> float:
        """What the base is raised by, before the exponent: 1 up to the window."""
        ratio = max(checked_length(length) or 0, self.window) / self.window
        return ratio if self.form == "ratio" else self.factor * ratio - (self.factor - 1)

    def frequencies(self, rope: Frequencies, length: int | None = None) -> np.ndarray:
        growth = self.growth(length)
        return rope.plain() if growth == 1 else rope.plain(ntk_base(rope.base, rope.spectrum_dim, growth))

    def settled(self, length: int | None) -> int | None:
        return None if self.growth(length) == 1 else length
