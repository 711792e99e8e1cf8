"""The three kinds of positional scheme, and what every scheme says about itself.

A Transformer can learn where a token stands at three places only: added to the input embedding
(`Additive`), as a rotation of q and k (`Rotary`), or as a bias on the attention logits (`Bias`).
The classes here are abstract; every class that derives from them is final.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from ordinate.errors import InputError
from ordinate.schemes._integers import distances, whole_numbers
from ordinate.schemes._libraries import working

Array = Any
"""A NumPy array, or the torch tensor that stands in for one where `xp` is torch."""

Learned = Mapping[str, Array]
"""Learned parameters by name, in the shapes that `Scheme.parameters` declares."""


@dataclass(frozen=True)
class Facts:
    """What a scheme is, in words: the scheme table in the documentation is made from these."""

    adds: str
    enters: str
    learned: str
    beyond: str
    source: str


@dataclass(frozen=True)
class Parameter:
    """A learned parameter: its shape and the value it starts from (`uniform(low, high)` where they differ)."""

    shape: tuple[int, ...]
    low: float
    high: float

    @classmethod
    def spread(cls, shape: tuple[int, ...], deviation: float) -> Self:
        """A parameter that starts around 0 with this standard deviation."""
        return cls(shape, -deviation * 3**0.5, deviation * 3**0.5)

    @property
    def size(self) -> int:
        """How many numbers are learned."""
        return int(np.prod(self.shape, dtype=np.int64))


@dataclass(frozen=True)
class Cost:
    """What a scheme costs for `tokens` positions: see `Scheme.cost`."""

    parameters: int
    table_bytes: int
    operations: int


class Scheme(ABC):
    """A positional scheme: a frozen value, whose fields are all its inputs."""

    name: ClassVar[str]
    kind: ClassVar[Literal["additive", "rotary", "bias", "none"]]
    facts: ClassVar[Facts]
    traits: ClassVar[frozenset[str]] = frozenset()
    """The laws that the scheme obeys, by name; `tests/test_laws.py` holds it to each.

    The class states those of its default form; an instance whose fields break one drops it from its own `traits`.

    `shift_invariant`: scores do not change when all positions move by the same number.
    `norm_kept`: a rotation keeps the length of q and k.
    `identity_at_zero`: position 0 changes nothing.
    `linear_in_shift`: `table(p + k) = M_k table(p)` with one matrix M_k for all p.
    `decreasing`: the bias never rises with distance.
    `symmetric`: the bias depends on |distance| only.
    """

    @classmethod
    @abstractmethod
    def example(cls) -> Self:
        """A small valid instance, for laws, documentation and benchmarks."""

    def parameters(self) -> dict[str, Parameter]:
        """What is learned, by name; empty for a fixed scheme."""
        return {}

    def initial(self, seed: int = 0) -> dict[str, np.ndarray]:
        """Starting values of the learned parameters: float64, drawn from `seed` alone."""
        generator = np.random.default_rng(seed)
        return {name: generator.uniform(p.low, p.high, p.shape) for name, p in self.parameters().items()}

    def learned_values(self, learned: Learned | None) -> Learned:
        """Check that `learned` holds exactly the parameters this scheme declares, in their shapes."""
        declared, given = self.parameters(), learned or {}
        if declared.keys() != given.keys():
            raise InputError(
                f"{self.name} learns {', '.join(declared) or 'nothing'}: "
                f"`learned` must hold exactly these, got {', '.join(given) or 'none'}"
            )
        for name, parameter in declared.items():
            if tuple(given[name].shape) != parameter.shape:
                raise InputError(
                    f"{self.name}: learned {name!r} must have shape {parameter.shape}, got {tuple(given[name].shape)}"
                )
        return given

    def cost(self, tokens: int) -> Cost:
        """Learned numbers, bytes of a float32 table for `tokens` positions, and floating-point operations.

        Operations count what one layer adds for one sequence of `tokens` (an additive scheme: once a model;
        a rotary scheme: for one head of q or k; a bias: all its heads, all query-key pairs).
        """
        learned = sum(p.size for p in self.parameters().values())
        return Cost(learned, self._table_bytes(tokens), self._operations(tokens))

    @abstractmethod
    def _table_bytes(self, tokens: int) -> int: ...

    @abstractmethod
    def _operations(self, tokens: int) -> int: ...


class Additive(Scheme):
    """A vector for each position, added to the token's embedding or concatenated with it."""

    kind = "additive"
    dim: int
    combine: Literal["add", "concat"]

    @abstractmethod
    def table(self, positions: Array, learned: Learned | None = None, xp: Any = np) -> Array:
        """The encoding of each position: [positions, dim], float64 in NumPy."""

    def apply(self, embeddings: Array, positions: Array, learned: Learned | None = None, xp: Any = np) -> Array:
        """Put position into embeddings.

        Args:
            embeddings: [..., tokens, width]; the width must be `dim` where `combine` is "add"
            positions: [tokens], integer, [token]
            learned: the learned parameters, where the scheme has some
            xp: the array library, numpy or torch

        Returns:
            [..., tokens, width], or [..., tokens, width + dim] where `combine` is "concat"

        Raises:
            InputError: the widths or the token counts do not fit
        """
        return self.combined(embeddings, self.table(positions, learned, xp), xp)

    def combined(self, embeddings: Array, encoding: Array, xp: Any = np) -> Array:
        """Put an encoding that `table` made into embeddings: `apply` without making it.

        Args:
            embeddings: as in `apply`
            encoding: [tokens, dim], or [..., tokens, dim] with an encoding of its own for each sequence
            xp: the array library, numpy or torch

        Returns:
            as `apply`; in torch of the dtype and on the device of `embeddings`
        """
        if xp is not np:
            encoding = encoding.to(device=embeddings.device, dtype=embeddings.dtype)
        tokens = encoding.shape[-2]
        if embeddings.shape[-2] != tokens:
            raise InputError(
                f"positions must have one entry a token: {embeddings.shape[-2]} tokens, {tokens} positions"
            )
        if self.combine == "concat":
            lead = tuple(embeddings.shape[:-1])
            return xp.concatenate([embeddings, xp.broadcast_to(encoding, (*lead, encoding.shape[-1]))], -1)
        if embeddings.shape[-1] != self.dim:
            raise InputError(f"embeddings must be {self.dim} wide to add {self.name}, got {embeddings.shape[-1]}")
        return embeddings + encoding

    def _table_bytes(self, tokens: int) -> int:
        return 0 if self.parameters() else 4 * tokens * self.dim

    def _operations(self, tokens: int) -> int:
        return tokens * self.dim if self.combine == "add" else 0


class Rotary(Scheme):
    """A rotation of the channel pairs of q and k by angles that grow with position."""

    kind = "rotary"
    head_dim: int
    rotary_dim: int
    base: float
    pairing: Literal["half", "interleaved"]

    @property
    @abstractmethod
    def pairs(self) -> int:
        """How many channel pairs have an angle (pairs of frequency 0 included)."""

    @abstractmethod
    def plain(self, base: float | None = None) -> np.ndarray:
        """The frequencies before any scaling: [pairs], float64, [rad/token]; another `base` on request."""

    @abstractmethod
    def angles(self, positions: Array, frequencies: np.ndarray | None = None) -> np.ndarray:
        """The angle of each pair: [positions, pairs], float64, [rad]; of `frequencies` where given."""

    @property
    def spectrum_dim(self) -> int:
        """d, where one spectrum of frequencies is base ** (-2 i / d): scaling methods count its pairs."""
        return self.rotary_dim

    @property
    def spectrum_index(self) -> np.ndarray:
        """Which pair i of its spectrum each of the plain frequencies is: int64."""
        return np.arange(len(self.plain()))

    def magnitudes(self, positions: Array) -> tuple[np.ndarray, np.ndarray] | None:
        """What multiplies the rotated q and k, [positions, pairs] each; None where it is 1."""
        del positions

    def _table_bytes(self, tokens: int) -> int:
        return 2 * 4 * tokens * self.pairs

    def _operations(self, tokens: int) -> int:
        return 6 * tokens * self.pairs


class Bias(Scheme):
    """A number added to each attention logit.

    `needs` says what it is a function of: `distance` (query minus key position), `positions` (both, apart),
    or `content` (also q and k, or their product).
    """

    kind = "bias"
    needs: ClassVar[Literal["distance", "positions", "content"]]
    heads: int

    @abstractmethod
    def bias(
        self,
        query_positions: Array,
        key_positions: Array,
        *,
        q: Array | None = None,
        k: Array | None = None,
        learned: Learned | None = None,
        xp: Any = np,
    ) -> Array:
        """The bias of each logit: [heads, query, key] (content: [..., heads, query, key]), [logit].

        Args:
            query_positions: [query], integer, [token]
            key_positions: [key], integer, [token]
            q: [..., query, heads, head_dim]; given exactly where `needs` is "content"
            k: [..., key, heads, head_dim]; likewise
            learned: the learned parameters, where the scheme has some
            xp: the array library, numpy or torch

        Returns:
            float64 in NumPy; in torch the widest dtype of the learned parameters, q and k, float32 at least.
            Content schemes return what is added to `softmax_scale * q k`. Masking is the caller's.

        Raises:
            InputError: positions are not one-dimensional integers; q, k or parameters missing or not asked for
        """

    def check_content(self, q: Array | None, k: Array | None) -> None:
        """Refuse q and k where the scheme has no use for them, and their absence where it has."""
        wanted = self.needs == "content"
        if (q is not None) != wanted or (k is not None) != wanted:
            verb = "needs both q and k" if wanted else "does not use q or k"
            raise InputError(f"{self.name} {verb}, got q {_presence(q)}, k {_presence(k)}")

    def _table_bytes(self, tokens: int) -> int:
        return 4 * self.heads * (2 * tokens - 1) if self.needs == "distance" and not self.parameters() else 0

    def _operations(self, tokens: int) -> int:
        return self.heads * tokens * tokens


class DistanceBias(Bias):
    """A bias that is a function of query minus key position alone."""

    needs = "distance"

    def by_distance(self, distance: Array, learned: Learned | None = None, xp: Any = np) -> Array:
        """The bias at each distance: what kernels index as a table.

        Args:
            distance: query minus key position, integer, any shape, [token]
            learned: the learned parameters, where the scheme has some
            xp: the array library, numpy or torch

        Returns:
            [heads, *distance.shape], dtype as in `bias`, [logit]

        Raises:
            InputError: distances are not integers; parameters missing or not asked for
        """
        values = working(xp, self.learned_values(learned))
        return self._at(whole_numbers("distance", distance), values, xp)

    @abstractmethod
    def _at(self, distance: np.ndarray, learned: Learned, xp: Any) -> Array:
        """`by_distance` of what has been checked."""

    def bias(
        self,
        query_positions: Array,
        key_positions: Array,
        *,
        q: Array | None = None,
        k: Array | None = None,
        learned: Learned | None = None,
        xp: Any = np,
    ) -> Array:
        self.check_content(q, k)
        return self.by_distance(distances(query_positions, key_positions), learned, xp)


def _presence(value: Array | None) -> str:
    return "missing" if value is None else "given"
