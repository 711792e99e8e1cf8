"""Axial rotary embedding: the coordinates of an image or a video, each in pairs of its own."""

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from ordinate.errors import InputError, one_of, positive, positive_integer
from ordinate.schemes._integers import integer_positions
from ordinate.schemes.base import Array, Facts, Rotary
from ordinate.schemes.rope import Rope


@dataclass(frozen=True)
class Axial(Rotary):
    """Rotate each pair by one coordinate: n = pairs / axes pairs for each axis.

    layout "blocks":      pair i is pair j = i % n of axis a = i // n (Qwen2-VL, SAM 2, Pixtral)
    layout "alternating": pair i is pair j = i // axes of axis a = i % axes (Kimi K2.5)
    spectrum "shared": frequency = base ** (-j / n), the same for all axes
    spectrum "split":  frequency = base ** (-(j * axes + a) / pairs), the axes deal out one head's (Pixtral)
    angles[t, i] = positions[a, t] * frequency

    Args:
        head_dim: channels of a head
        axes: 2 for images (height, width), 3 for videos (time, height, width). Axes are in the order of
            their pairs: Kimi K2.5, Step-3.7 and Llama 4 have the width first
        rotary_dim: channels that turn, the first of the head; a multiple of 2 * axes. All of the head where not
            given (MiniMax-M3: 78 of 80)
        base: Hugging Face's `rope_theta`, [1]
        pairing: "half" (Qwen2-VL, Pixtral) or "interleaved" (SAM 2, SAM 3, Llama 4)
        layout: how the axes lie among the pairs
        spectrum: which frequencies an axis has

    Raises:
        InputError: a `rotary_dim` that the axes cannot share, another number of axes, an unknown word

    Source: Wang et al. 2024, arXiv:2409.12191, section 2.1 (Qwen2-VL); Agrawal et al. 2024, arXiv:2410.07073,
    section 2.1 (Pixtral); transformers 5.24, rope type "axial".
    Differs from the paper: nothing. Not covered: Gemma 4's vision, whose channels pair within each axis' block;
    DINOv3's coordinates, which are fractions; V-JEPA 2, whose table does not fit its pairs, so that it is
    no rotation.

    >>> Axial(head_dim=8).angles([[1], [2]])
    array([[1.  , 0.01, 2.  , 0.02]])
    """

    name: ClassVar[str] = "axial"
    facts: ClassVar[Facts] = Facts(
        adds="a turn of each pair of channels by one coordinate times frequency",
        enters="q and k of every layer, after projection",
        learned="nothing",
        beyond="defined everywhere; larger images reach angles never seen in training",
        source="Wang et al. 2024, arXiv:2409.12191",
    )
    traits: ClassVar[frozenset[str]] = frozenset({"shift_invariant", "norm_kept", "identity_at_zero"})

    head_dim: int
    axes: int = 2
    rotary_dim: int = 0
    base: float = 10000.0
    pairing: Literal["half", "interleaved"] = "half"
    layout: Literal["blocks", "alternating"] = "blocks"
    spectrum: Literal["shared", "split"] = "shared"

    def __post_init__(self) -> None:
        positive_integer("head_dim", self.head_dim)
        if self.axes not in (2, 3):
            raise InputError(f"axes must be 2 or 3, got {self.axes!r}")
        if self.rotary_dim == 0:
            object.__setattr__(self, "rotary_dim", self.head_dim)
        if positive_integer("rotary_dim", self.rotary_dim) % (2 * self.axes):
            raise InputError(
                f"rotary_dim must be a multiple of {2 * self.axes}, a pair for each of {self.axes} axes, "
                f"got {self.rotary_dim}"
            )
        if self.rotary_dim > self.head_dim:
            raise InputError(f"rotary_dim must be <= head_dim {self.head_dim}, got {self.rotary_dim}")
        positive("base", self.base)
        one_of("pairing", self.pairing, ("half", "interleaved"))
        one_of("layout", self.layout, ("blocks", "alternating"))
        one_of("spectrum", self.spectrum, ("shared", "split"))

    @classmethod
    def example(cls) -> Self:
        return cls(head_dim=16)

    @property
    def pairs(self) -> int:
        return self.rotary_dim // 2

    @property
    def axis_of_pair(self) -> np.ndarray:
        """Which coordinate turns each pair: [pairs], int64."""
        axes = np.arange(self.axes)
        share = self.pairs // self.axes
        return np.repeat(axes, share) if self.layout == "blocks" else np.tile(axes, share)

    @property
    def index_in_axis(self) -> np.ndarray:
        """Which pair of its axis each pair is: [pairs], int64."""
        index = np.arange(self.pairs // self.axes)
        return np.tile(index, self.axes) if self.layout == "blocks" else np.repeat(index, self.axes)

    @property
    def spectrum_dim(self) -> int:
        """The width of one axis where all share a spectrum, else that of all."""
        return self.rotary_dim // self.axes if self.spectrum == "shared" else self.rotary_dim

    @property
    def spectrum_index(self) -> np.ndarray:
        if self.spectrum == "shared":
            return np.arange(self.pairs // self.axes)
        return self.index_in_axis * self.axes + self.axis_of_pair

    def plain(self, base: float | None = None) -> np.ndarray:
        """What an engine keeps as frequencies: float64, [rad/token].

        spectrum "shared": [pairs / axes], one axis' own; spectrum "split": [pairs], in the order of the pairs.
        """
        return Rope(head_dim=self.spectrum_dim, base=self.base).plain(base)[self.spectrum_index]

    def angles(self, positions: Array, frequencies: np.ndarray | None = None) -> np.ndarray:
        """The angle of each pair.

        Args:
            positions: [axes, tokens], integer, [token]
            frequencies: as `plain` gives them, after scaling say

        Returns:
            [tokens, pairs], float64, [rad]

        Raises:
            InputError: positions or frequencies of another shape
        """
        plain = self.plain()
        turns = plain if frequencies is None else np.asarray(frequencies)
        if turns.shape != plain.shape:
            raise InputError(f"frequencies must have shape {list(plain.shape)}, got {list(turns.shape)}")
        coordinates = integer_positions("positions", positions, self.axes)
        by_pair = turns[self.index_in_axis] if self.spectrum == "shared" else turns
        return coordinates[self.axis_of_pair].T * by_pair
