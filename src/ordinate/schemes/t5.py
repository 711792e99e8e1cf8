"""T5's bucketed relative position bias."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ordinate.errors import InputError, boolean, positive_integer
from ordinate.schemes._integers import whole_numbers
from ordinate.schemes.base import Array, DistanceBias, Facts, Learned, Parameter


@dataclass(frozen=True)
class T5(DistanceBias):
    """Add a learned number for each head and bucket of distance; buckets widen with distance.

    bias[h, q, k] = learned["table"][bucket(key_positions[k] - query_positions[q]), h]

    n = |key_minus_query|; decoder form: max(-key_minus_query, 0)
    bucket = n where n < exact, else min(exact + floor((side - exact) * log(n / exact) / log(max_distance / exact)),
        side - 1), with exact = side // 2
    bidirectional: side = buckets // 2, and keys after the query use the second half; decoder form: side = buckets

    Args:
        buckets: Hugging Face's `relative_attention_num_buckets`, even where bidirectional
        max_distance: from here on every distance shares the last bucket, [token]
        bidirectional: the encoder's buckets; False is the decoder's, where all keys after the query are bucket 0
        heads: attention heads

    Raises:
        InputError: too few buckets, an odd number of them where bidirectional, `max_distance` <= exact

    Source: Raffel et al. 2020, arXiv:1910.10683, section 2.1; Mesh TensorFlow's relative position bucket.
    Differs from the paper: nothing. T5 adds it in self-attention alone, with one table for all layers of a stack,
    to logits without 1 / sqrt(head_dim). The logarithm is rounded to float32, as in every engine: at some
    boundaries the exact one lands in the next bucket. flaxformer adds an epsilon inside it, which moves others.

    >>> T5().bucket([-200, -9, -1, 0, 1, 9, 200])
    array([15,  8,  1,  0, 17, 24, 31])
    """

    name: ClassVar[str] = "t5"
    facts: ClassVar[Facts] = Facts(
        adds="a learned number of each head and bucket of distance",
        enters="the logits of self-attention in every layer, one table a stack; not cross-attention",
        learned="a table of buckets x heads",
        beyond="defined everywhere: distances past max_distance share the last bucket",
        source="Raffel et al. 2020, arXiv:1910.10683",
    )
    traits: ClassVar[frozenset[str]] = frozenset({"shift_invariant"})

    buckets: int = 32
    max_distance: int = 128
    bidirectional: bool = True
    heads: int = 8

    def __post_init__(self) -> None:
        positive_integer("heads", self.heads)
        positive_integer("buckets", self.buckets)
        positive_integer("max_distance", self.max_distance)
        if boolean("bidirectional", self.bidirectional) and self.buckets % 2:
            raise InputError(f"buckets must be even where bidirectional, a half each way, got {self.buckets}")
        if self._side < 2:
            raise InputError(f"buckets must be >= {4 if self.bidirectional else 2}, got {self.buckets}")
        if self.max_distance <= self._side // 2:
            raise InputError(
                f"max_distance must be > {self._side // 2}, the distances that have a bucket each, "
                f"got {self.max_distance}"
            )

    @classmethod
    def example(cls) -> Self:
        return cls(buckets=16, max_distance=40, heads=3)

    @property
    def _side(self) -> int:
        return self.buckets // 2 if self.bidirectional else self.buckets

    def parameters(self) -> dict[str, Parameter]:
        return {"table": Parameter.spread((self.buckets, self.heads), 0.05)}

    def bucket(self, key_minus_query: Array) -> np.ndarray:
        """The bucket of each distance.

        Args:
            key_minus_query: key minus query position, integer, any shape, [token]

        Returns:
            the same shape, int64, 0 to buckets - 1

        Raises:
            InputError: not integers
        """
        relative = whole_numbers("key_minus_query", key_minus_query)
        side, exact = self._side, self._side // 2
        after = side * (relative > 0) if self.bidirectional else 0
        reach = np.abs(relative) if self.bidirectional else np.maximum(-relative, 0)
        ratio = np.maximum(reach, exact).astype(np.float32) / np.float32(exact)
        # Correctly rounded float32: NumPy's own float32 logarithm differs between machines in the last place,
        # and at a boundary the last place is the bucket.
        logarithm = np.log(ratio.astype(np.float64)).astype(np.float32)
        steps = logarithm / np.float32(math.log(self.max_distance / exact)) * np.float32(side - exact)
        far = np.minimum(exact + steps.astype(np.int64), side - 1)
        return after + np.where(reach < exact, reach, far)

    def _at(self, distance: np.ndarray, learned: Learned, xp: Any) -> Any:
        return xp.moveaxis(learned["table"][self.bucket(-distance)], -1, 0)
