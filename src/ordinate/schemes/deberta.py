"""DeBERTa's disentangled attention."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ordinate.errors import InputError, boolean, positive_integer
from ordinate.schemes._content import ContentBias
from ordinate.schemes._integers import distances, whole_numbers
from ordinate.schemes.base import Array, Facts, Learned, Parameter


@dataclass(frozen=True)
class Deberta(ContentBias):
    """Add q's product with a projected key of the distance (c2p), and k's with a projected query of it (p2c).

    row = clip(bucket(query_positions[q] - key_positions[k]) + span, 0, 2 span - 1)
    c2p[h, q, k] = q[q, h] . (positions[row] @ key_projection[:, h])
    p2c[h, q, k] = k[k, h] . (positions[row] @ query_projection[:, h])
    bias = softmax_scale * (c2p + p2c)

    Args:
        heads: attention heads
        head_dim: channels of a head
        dim: width of the position embeddings; heads * head_dim where not given. A projection with a bias is one
            with a further channel, in which positions hold 1
        max_distance: Hugging Face's `max_relative_positions`; > buckets / 2 where there are buckets, [token]
        buckets: 0 tells every distance below `max_distance` apart (DeBERTa); an even number tells those up to half
            of it apart, and widens from there to `max_distance` (v2 and v3: 256 and 512)
        content_to_position: whether c2p is part of it
        position_to_content: whether p2c is part of it
        softmax_scale: what multiplies q k and both terms; (terms * head_dim) ** -0.5 where not given, with 3 terms,
            or 2 where one of c2p and p2c is left out, [1]

    Raises:
        InputError: a number out of range, an odd number of buckets, neither term chosen

    Source: He et al. 2021, arXiv:2006.03654, equations 2 to 4; buckets: He et al. 2023, arXiv:2111.09543, and
    the authors' code.
    Differs from the paper: p2c reads the row of query minus key, as all checkpoints do; the paper's equation 4
    writes key minus query. `positions` is one table for all layers, and v2 projects it as it does the content.

    >>> Deberta(heads=12, head_dim=64, max_distance=512, buckets=256).bucket([0, 128, 129, 300, 511, -511])
    array([   0,  128,  129,  207,  255, -255])
    """

    name: ClassVar[str] = "deberta"
    facts: ClassVar[Facts] = Facts(
        adds="q's product with a key of the distance, and k's with a query of it",
        enters="the attention logits of every layer",
        learned="position embeddings of 2 span x dim, and two projections a layer",
        beyond="defined everywhere: distances past the span share the last row",
        source="He et al. 2021, arXiv:2006.03654",
    )
    traits: ClassVar[frozenset[str]] = frozenset({"shift_invariant"})

    heads: int
    head_dim: int
    dim: int = 0
    max_distance: int = 512
    buckets: int = 0
    content_to_position: bool = True
    position_to_content: bool = True
    softmax_scale: float = 0.0

    def __post_init__(self) -> None:
        terms = boolean("content_to_position", self.content_to_position)
        terms += boolean("position_to_content", self.position_to_content)
        if not terms:
            raise InputError("deberta needs content_to_position, position_to_content or both, got neither")
        self._check_heads(terms=1 + terms)
        if self.dim == 0:
            object.__setattr__(self, "dim", self.heads * self.head_dim)
        positive_integer("dim", self.dim)
        positive_integer("max_distance", self.max_distance)
        if self.buckets != 0:
            positive_integer("buckets", self.buckets)
            if self.buckets % 2 or self.buckets < 4:
                raise InputError(f"buckets must be even and >= 4, or 0 for none, got {self.buckets}")
            if self.max_distance <= self.buckets // 2 + 1:
                raise InputError(
                    f"max_distance must be > {self.buckets // 2 + 1} with {self.buckets} buckets, "
                    f"got {self.max_distance}"
                )

    @classmethod
    def example(cls) -> Self:
        return cls(heads=2, head_dim=8, max_distance=12, buckets=8)

    @property
    def span(self) -> int:
        """Distances each way that have a row of their own: half the rows of `positions`."""
        return self.buckets or self.max_distance

    def parameters(self) -> dict[str, Parameter]:
        projection = Parameter.spread((self.dim, self.heads, self.head_dim), self.dim**-0.5)
        declared = {"positions": Parameter.spread((2 * self.span, self.dim), 0.02)}
        if self.content_to_position:
            declared["key_projection"] = projection
        if self.position_to_content:
            declared["query_projection"] = projection
        return declared

    def bucket(self, distance: Array) -> np.ndarray:
        """The signed bucket of each query minus key position; the distance itself where there are no buckets.

        With middle = buckets // 2: distance where |distance| <= middle, else
        sign * (middle + ceil((middle - 1) * log(|distance| / middle) / log((max_distance - 1) / middle)))
        """
        distance = whole_numbers("distance", distance)
        if not self.buckets:
            return distance
        middle = self.buckets // 2
        reach = np.maximum(np.abs(distance), middle)
        steps = _logarithm(reach / middle) / _logarithm((self.max_distance - 1) / middle) * np.float32(middle - 1)
        far = np.sign(distance) * (np.ceil(steps).astype(np.int64) + middle)
        return np.where(np.abs(distance) <= middle, distance, far)

    def _between(self, query: np.ndarray, key: np.ndarray, q: Array, k: Array, learned: Learned, xp: Any) -> Array:
        rows = np.clip(self.bucket(distances(query, key)) + self.span, 0, 2 * self.span - 1)
        bias = 0.0
        if self.content_to_position:
            keys = xp.einsum("rc,chd->rhd", learned["positions"], learned["key_projection"])
            scores = xp.einsum("...qhd,rhd->...hqr", q, keys)
            bias = bias + scores[..., np.arange(query.size)[:, None], rows]
        if self.position_to_content:
            queries = xp.einsum("rc,chd->rhd", learned["positions"], learned["query_projection"])
            scores = xp.einsum("...khd,rhd->...hkr", k, queries)
            bias = bias + scores[..., np.arange(key.size)[None, :], rows]
        return self.softmax_scale * bias

    def _operations(self, tokens: int) -> int:
        # a term: its projection, its products with every row, and one addition a logit
        rows, width = 2 * self.span, self.heads * self.head_dim
        term = 2 * rows * self.dim * width + 2 * tokens * rows * width + self.heads * tokens * tokens
        return (self.content_to_position + self.position_to_content) * term


def _logarithm(ratio: float | np.ndarray) -> np.ndarray:
    """The logarithm of a float32, rounded to float32: what the checkpoints' bucket boundaries were made with."""
    return np.log(np.asarray(ratio, dtype=np.float32).astype(np.float64)).astype(np.float32)
