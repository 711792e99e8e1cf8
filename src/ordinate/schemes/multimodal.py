"""Multimodal rotary embedding (M-RoPE): one head's frequencies, dealt out to time, height and width."""

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from ordinate.errors import InputError, even_integer, one_of, positive, positive_integer
from ordinate.schemes._integers import integer_positions
from ordinate.schemes.base import Array, Facts, Rotary
from ordinate.schemes.rope import Rope


@dataclass(frozen=True)
class Multimodal(Rotary):
    """Rotate pair i by RoPE's frequency times one of a token's positions; equal positions give RoPE.

    angles[t, i] = positions[axis_of_pair[i], t] * base ** (-2 i / rotary_dim)

    layout "chunked":     the first sections[0] pairs have axis 0, the next sections[1] axis 1, ... (Qwen2-VL)
    layout "interleaved": axis a > 0 has the sections[a] pairs a, a + axes, a + 2 axes, ...; axis 0 the rest
        (Qwen3-VL; two equal sections: NeoMME)
    layout "time-last":   height and width take turns over the fast pairs, time has the slow ones (Ernie 4.5 VL)

    Args:
        head_dim: channels of a head
        sections: pairs of each axis, in the order of the positions: time, height, width. `mrope_section` in
            configs; Ernie 4.5 VL's lists height, width, time
        rotary_dim: channels that turn, the first of the head; all where not given
        base: Hugging Face's `rope_theta`, [1]
        pairing: "half" (Qwen) or "interleaved" (GLM-4V, Ernie 4.5 VL): of channels, not of axes
        layout: how the axes lie among the pairs

    Raises:
        InputError: sections that do not add up to the pairs, or that interleaving cannot place: engines then
            give an axis fewer pairs than its section says

    Source: Wang et al. 2024, arXiv:2409.12191, section 2.1 (Qwen2-VL); interleaved: Bai et al. 2025,
    arXiv:2511.21631 (Qwen3-VL).
    Differs from the paper: nothing. Not covered: HunYuan-VL, which splits channels and not pairs, so that
    the two channels of a pair can follow different axes.

    >>> Multimodal(head_dim=8, sections=(2, 1, 1)).angles([[1], [2], [3]])
    array([[1.   , 0.1  , 0.02 , 0.003]])
    """

    name: ClassVar[str] = "multimodal"
    facts: ClassVar[Facts] = Facts(
        adds="a turn of each pair of channels by time, height or width times frequency",
        enters="q and k of every layer, after projection",
        learned="nothing",
        beyond="as RoPE; an image spends as many positions as its longer side, so text reaches further",
        source="Wang et al. 2024, arXiv:2409.12191",
    )
    traits: ClassVar[frozenset[str]] = frozenset({"shift_invariant", "norm_kept", "identity_at_zero"})

    head_dim: int
    sections: tuple[int, ...]
    rotary_dim: int = 0
    base: float = 10000.0
    pairing: Literal["half", "interleaved"] = "half"
    layout: Literal["chunked", "interleaved", "time-last"] = "chunked"

    def __post_init__(self) -> None:
        positive_integer("head_dim", self.head_dim)
        if self.rotary_dim == 0:
            object.__setattr__(self, "rotary_dim", self.head_dim)
        if even_integer("rotary_dim", self.rotary_dim) > self.head_dim:
            raise InputError(f"rotary_dim must be <= head_dim {self.head_dim}, got {self.rotary_dim}")
        positive("base", self.base)
        one_of("pairing", self.pairing, ("half", "interleaved"))
        one_of("layout", self.layout, ("chunked", "interleaved", "time-last"))
        if not isinstance(self.sections, (list, tuple)) or len(self.sections) < 2:
            raise InputError(f"sections must list the pairs of two axes or more, got {self.sections!r}")
        sections = tuple(positive_integer(f"sections[{axis}]", size) for axis, size in enumerate(self.sections))
        object.__setattr__(self, "sections", sections)
        if sum(sections) != self.pairs:
            raise InputError(f"sections must add up to {self.pairs} pairs, got {list(sections)}")
        if self.layout == "time-last" and (len(sections) != 3 or sections[1] != sections[2]):
            raise InputError(f"time-last needs three sections, the last two equal, got {list(sections)}")
        placed = np.bincount(self.axis_of_pair, minlength=len(sections))
        if tuple(placed.tolist()) != sections:
            raise InputError(
                f"sections cannot be interleaved over {self.pairs} pairs: {list(sections)} would become "
                f"{placed.tolist()}"
            )

    @classmethod
    def example(cls) -> Self:
        return cls(head_dim=16, sections=(2, 3, 3))

    @property
    def axes(self) -> int:
        """How many positions a token has."""
        return len(self.sections)

    @property
    def pairs(self) -> int:
        return self.rotary_dim // 2

    @property
    def axis_of_pair(self) -> np.ndarray:
        """Which position turns each pair: [pairs], int64."""
        index = np.arange(self.pairs)
        if self.layout == "chunked":
            return np.repeat(np.arange(self.axes), self.sections)
        if self.layout == "time-last":
            return np.where(index < self.sections[1] + self.sections[2], 1 + index % 2, 0)
        # Axis a ends where its section is full; from there on the pairs are axis 0's.
        turn = index % self.axes
        return np.where(index < self.axes * np.array(self.sections)[turn], turn, 0)

    def plain(self, base: float | None = None) -> np.ndarray:
        return Rope(head_dim=self.rotary_dim, base=self.base).plain(base)

    def angles(self, positions: Array, frequencies: np.ndarray | None = None) -> np.ndarray:
        """The angle of each pair.

        Args:
            positions: [axes, tokens], integer, [token]; see `ordinate.positions.multimodal`
            frequencies: [pairs], after scaling say

        Returns:
            [tokens, pairs], float64, [rad]

        Raises:
            InputError: positions or frequencies of another shape
        """
        turns = self.plain() if frequencies is None else np.asarray(frequencies)
        if turns.shape != (self.pairs,):
            raise InputError(f"frequencies must have shape [{self.pairs}], got {list(turns.shape)}")
        return integer_positions("positions", positions, self.axes)[self.axis_of_pair].T * turns
