"""Learned absolute position embeddings."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from ordinate.errors import InputError, one_of, positive_integer
from ordinate.schemes._integers import integer_positions
from ordinate.schemes._libraries import constant, working
from ordinate.schemes.base import Additive, Array, Facts, Learned, Parameter


@dataclass(frozen=True)
class LearnedPositions(Additive):
    """Add one learned vector a position.

    table(positions)[p] = learned["table"][offset + positions[p]], while positions[p] < length

    What stands for a position from `length` to `target` is chosen by `beyond`. "interpolate" stretches the table:

    at = keep_first + (positions[p] - keep_first) * step
    table(positions)[p] = the line through rows floor(at) and floor(at) + 1 of the table, at `at`

    Args:
        length: positions the table was trained for, [token]
        dim: channels of the embedding
        offset: rows of the table before that of position 0: OPT and BART 2, RoBERTa `padding_idx` + 1
        beyond: "refuse" a position past the table; "interpolate" between its rows; "extend" it by starting
            again from its first row, as RoBERTa became Longformer
        target: positions served after "interpolate" or "extend", >= length, [token]
        keep_first: rows that stay as they are when the rest is stretched or repeated: 20 in Long-CLIP
        spacing: how "interpolate" spreads rows: "ends" maps the last position to the last row, step =
            (length - keep_first - 1) / (target - keep_first - 1); "steps" has step = (length - keep_first) /
            (target - keep_first) and continues the last line past the last row (Long-CLIP's 77 to 248)
        combine: "add" to the embedding, or "concat" beside it

    Raises:
        InputError: a number out of range, an unknown word, `target` or `keep_first` where nothing is stretched

    Source: Gehring et al. 2017, arXiv:1705.03122; Devlin et al. 2019, arXiv:1810.04805 (BERT); repeating: Beltagy
    et al. 2020, arXiv:2004.05150, section 5; stretching: Zhang et al. 2024, arXiv:2403.15378 (Long-CLIP).
    Differs from the paper: Longformer and Long-CLIP train the longer table on; here rows stay tied to the first.

    >>> LearnedPositions(length=512, dim=768).cost(512).parameters
    393216
    """

    name: ClassVar[str] = "learned"
    facts: ClassVar[Facts] = Facts(
        adds="a learned vector of each position",
        enters="the input embedding, once, before the first layer",
        learned="a table of (offset + length) x dim",
        beyond="undefined: refused, or by choice interpolated or repeated; both need training on",
        source="Gehring et al. 2017, arXiv:1705.03122",
    )

    length: int = 512
    dim: int = 768
    offset: int = 0
    beyond: Literal["refuse", "interpolate", "extend"] = "refuse"
    target: int = 0
    keep_first: int = 0
    spacing: Literal["ends", "steps"] = "ends"
    combine: Literal["add", "concat"] = "add"

    def __post_init__(self) -> None:
        positive_integer("length", self.length)
        positive_integer("dim", self.dim)
        for name in ("offset", "target", "keep_first"):
            if getattr(self, name) != 0:
                positive_integer(name, getattr(self, name))
        one_of("beyond", self.beyond, ("refuse", "interpolate", "extend"))
        one_of("spacing", self.spacing, ("ends", "steps"))
        one_of("combine", self.combine, ("add", "concat"))
        if self.spacing != "ends" and self.beyond != "interpolate":
            raise InputError(f'spacing {self.spacing!r} is for beyond="interpolate", got beyond={self.beyond!r}')
        if self.beyond == "refuse":
            if self.target or self.keep_first:
                raise InputError(
                    f'target and keep_first are for beyond="interpolate" or "extend", '
                    f"got target {self.target}, keep_first {self.keep_first}"
                )
            return
        if self.target < self.length:
            raise InputError(f"target must be >= length {self.length}, got {self.target}")
        if self.keep_first >= self.length:
            raise InputError(f"keep_first must be < length {self.length}, got {self.keep_first}")

    @classmethod
    def example(cls) -> Self:
        return cls(length=32, dim=8)

    @property
    def limit(self) -> int:
        """How many positions are served, [token]."""
        return self.length if self.beyond == "refuse" else self.target

    def parameters(self) -> dict[str, Parameter]:
        # BERT, GPT-2 and ViT start from a standard deviation of 0.02
        return {"table": Parameter.spread((self.offset + self.length, self.dim), 0.02)}

    def table(self, positions: Array, learned: Learned | None = None, xp: Any = np) -> Array:
        rows = working(xp, self.learned_values(learned))["table"]
        places = self._served(integer_positions("positions", positions))
        if self.beyond == "refuse":
            return rows[self.offset + places]
        if self.beyond == "extend":
            again = self.keep_first + (places - self.keep_first) % (self.length - self.keep_first)
            return rows[self.offset + np.where(places < self.keep_first, places, again)]
        lower, weight = self._between(places)
        upper = np.minimum(lower + 1, self.length - 1)
        weights = constant(weight[:, None], rows, xp)
        return rows[self.offset + lower] * (1 - weights) + rows[self.offset + upper] * weights

    def _served(self, places: np.ndarray) -> np.ndarray:
        for place in (places.min(initial=0), places.max(initial=0)):
            if not 0 <= place < self.limit:
                cure = '; beyond="interpolate" or "extend" reach further' if self.beyond == "refuse" else ""
                raise InputError(f"position {place} is outside the learned table of {self.limit} positions{cure}")
        return places

    def _between(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The row at or before each stretched position, and how far it lies towards the next, in steps."""
        rows, served = self.length - self.keep_first, self.target - self.keep_first
        if self.spacing == "ends":
            rows, served = rows - 1, max(served - 1, 1)
        # whole numbers until the last division: a factor that rounds has cost others the last row
        scaled = np.maximum(places - self.keep_first, 0) * rows
        lower = np.minimum(scaled // served, max(self.length - self.keep_first - 2, 0))
        weight = (scaled - lower * served) / served
        kept = places < self.keep_first
        return np.where(kept, places, self.keep_first + lower), np.where(kept, 0.0, weight)
