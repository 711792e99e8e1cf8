"""Transformer-XL's relative attention."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ordinate.errors import positive_integer
from ordinate.schemes._content import ContentBias
from ordinate.schemes._integers import distances
from ordinate.schemes._libraries import constant, distinct
from ordinate.schemes.base import Array, Facts, Learned, Parameter
from ordinate.schemes.sinusoidal import Sinusoidal


@dataclass(frozen=True)
class TransformerXL(ContentBias):
    """Add q's product with a projected sinusoid of the distance, and two terms that do not know the query.

    R[n] = sinusoid of distance n, all sines, then all cosines; r[n, h] = R[n] @ key_projection[:, h]
    n = query_positions[q] - key_positions[k]
    bias[h, q, k] = softmax_scale * ((q[q, h] + v[h]) . r[n, h] + u[h] . k[k, h])

    With the content term softmax_scale * q k these are the four terms of the paper.

    Args:
        heads: attention heads
        head_dim: channels of a head
        dim: width of the sinusoid, the model's; heads * head_dim where not given
        base: as in sinusoidal encoding, [1]
        clamp_length: distances past it count as it (`clamp_len`); 0 for none, [token]
        softmax_scale: what multiplies q k; head_dim ** -0.5 where not given, [1]

    Raises:
        InputError: a number out of range

    Source: Dai et al. 2019, arXiv:1901.02860, section 3.3; keys after the query: Yang et al. 2019,
    arXiv:1906.08237 (XLNet).
    Differs from the paper: distances come from positions, so that memories, caches and keys after the query
    are right; the authors shift rows of a matrix, which is right under a causal mask only.

    >>> sorted(TransformerXL(heads=2, head_dim=4).parameters())
    ['key_projection', 'u', 'v']
    """

    name: ClassVar[str] = "transformer_xl"
    facts: ClassVar[Facts] = Facts(
        adds="(q + v) times a projected sinusoid of the distance, and u times k",
        enters="the attention logits of every layer",
        learned="u and v, shared or a layer, and a projection a layer",
        beyond="defined everywhere; slow channels reach values never seen in training, unless clamped",
        source="Dai et al. 2019, arXiv:1901.02860",
    )
    traits: ClassVar[frozenset[str]] = frozenset({"shift_invariant"})

    heads: int
    head_dim: int
    dim: int = 0
    base: float = 10000.0
    clamp_length: int = 0
    softmax_scale: float = 0.0

    def __post_init__(self) -> None:
        self._check_heads()
        if self.dim == 0:
            object.__setattr__(self, "dim", self.heads * self.head_dim)
        self._sinusoid()
        if self.clamp_length != 0:
            positive_integer("clamp_length", self.clamp_length)

    @classmethod
    def example(cls) -> Self:
        return cls(heads=2, head_dim=8)

    def _sinusoid(self) -> Sinusoidal:
        return Sinusoidal(dim=self.dim, base=self.base, layout="concatenated")

    def parameters(self) -> dict[str, Parameter]:
        heads = Parameter.spread((self.heads, self.head_dim), 0.02)
        projection = Parameter.spread((self.dim, self.heads, self.head_dim), self.dim**-0.5)
        return {"u": heads, "v": heads, "key_projection": projection}

    def _between(self, query: np.ndarray, key: np.ndarray, q: Array, k: Array, learned: Learned, xp: Any) -> Array:
        distance = distances(query, key)
        if self.clamp_length:
            distance = np.clip(distance, -self.clamp_length, self.clamp_length)
        values, index = distinct(distance)
        sinusoids = constant(self._sinusoid().table(values), q, xp)
        keys = xp.einsum("nc,chd->nhd", sinusoids, learned["key_projection"])
        scores = xp.einsum("...qhd,nhd->...hqn", q + learned["v"], keys)
        of_keys = xp.einsum("...khd,hd->...hk", k, learned["u"])
        bias = scores[..., np.arange(query.size)[:, None], index] + of_keys[..., None, :]
        return self.softmax_scale * bias

    def _table_bytes(self, tokens: int) -> int:
        return 4 * (2 * tokens - 1) * self.dim

    def _operations(self, tokens: int) -> int:
        # project every distance, add v, multiply every query with every distance, u with every key; two additions
        span, width = 2 * tokens - 1, self.heads * self.head_dim
        products = 2 * span * self.dim * width + tokens * width + 2 * tokens * span * width + 2 * tokens * width
        return products + 2 * self.heads * tokens * tokens
