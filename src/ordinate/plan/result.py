"""A plan: plain values with units, as JSON has them."""

from typing import Any

import msgspec

SCHEMA_VERSION = 1
"""Raised when a key changes its meaning or goes; keys may be added without."""


class Requested(msgspec.Struct, frozen=True):
    """What was asked for.

    Args:
        contexts: tokens of each sequence, [token]
        batches: sequences at once
        memory_bytes: of one device; None where nothing is to fit, [byte]
        reserve_bytes: of it, kept free for what is not planned, [byte]
        kv: the format of keys, and of values after a slash where it is another
        tensor_parallel, pipeline_parallel, context_parallel: ranks of each kind; their product is the devices
        allocator: what layers with a window keep: "window" or "full"
        page_size: of the pages that memory is given out in; None for exactly what is needed, [token]
        shared_prefix: tokens that all sequences have in common and keep once, [token]
        sinks, recent: what eviction leaves; `recent` None where nothing is evicted, [token]
        attention: what computes it: "attend", "dense" (a mask with the biases of all pairs) or "eager" (and all scores)
        queries: tokens that are computed at once; None for the whole context, [token]
        encoder_tokens: that a decoder attends to; None where it attends to none, [token]
        expand_latent: MLA keeps keys and values of all heads instead of the latent
        target: a length to be reached; None where none is, [token]
    """

    contexts: tuple[int, ...]
    batches: tuple[int, ...]
    memory_bytes: int | None
    reserve_bytes: int
    kv: str
    tensor_parallel: int
    pipeline_parallel: int
    context_parallel: int
    allocator: str
    page_size: int | None
    shared_prefix: int
    sinks: int
    recent: int | None
    attention: str
    queries: int | None
    encoder_tokens: int | None
    expand_latent: bool
    target: int | None


class Layers(msgspec.Struct, frozen=True):
    """Layers that keep alike.

    Args:
        name: of their group, "full_attention" say
        kind: "MHA", "GQA", "MQA", "MLA", "indexer", "cross-attention" or "state"
        layers: their numbers
        key_value_heads: of which keys and values are kept; 1 for a latent, 0 for a state
        rank_heads: of these on one tensor-parallel rank
        copies: on how many ranks each of them stands
        key_dim, value_dim: channels kept of a key and a value; of MLA the rotary key's and the latent's
        window: tokens that a query sees; None for all, [token]
        token_bytes: what one more token takes in all these layers, on all ranks, each thing counted once, [byte]
        sequence_bytes: what a sequence takes whatever its length, counted so, [byte]
    """

    name: str
    kind: str
    layers: tuple[int, ...]
    key_value_heads: int
    rank_heads: int
    copies: int
    key_dim: int
    value_dim: int
    window: int | None
    token_bytes: int
    sequence_bytes: int


class Table(msgspec.Struct, frozen=True):
    """What position takes beside keys and values.

    Args:
        name: of the layer group
        scheme: how its position enters
        parameters: learned numbers, which are part of the weights
        bytes: of the computed table at the longest context asked for, [byte]
        declared_bytes: of one as long as the declared window, which many engines make; None where that is unknown
    """

    name: str
    scheme: str
    parameters: int
    bytes: int
    declared_bytes: int | None


class Weights(msgspec.Struct, frozen=True):
    """What the weights take.

    Args:
        bytes: in all, [byte]; None where neither files nor the configuration say
        parameters: numbers, or None
        dtype: in which they are kept, or None where in several
        rank_bytes: on the rank that has most, [byte]; None as above
        source: where that is from
    """

    bytes: int | None
    parameters: int | None
    dtype: str | None
    rank_bytes: int | None
    source: str


class Cell(msgspec.Struct, frozen=True):
    """One context and batch. All bytes are those of one device, the rank that needs most.

    Args:
        context: tokens of each sequence, [token]
        batch: sequences
        cache_bytes: keys, values, latents and states, [byte]
        state_bytes: of these, what no token adds to, [byte]
        cross_bytes: of these, keys and values of an encoder's tokens, [byte]
        waste_bytes: of these, the rest of pages that are not full, [byte]
        ranks_cache_bytes: the cache on all ranks, copies included, [byte]
        tables_bytes: position tables, [byte]
        scratch_bytes: what attention makes and drops in one layer, beyond its result, [byte]
        dense_bias_bytes: what a mask with the bias of every head and pair would take, [byte]; 0 where none is added
        weights_bytes: None where it is not known, [byte]
        reserve_bytes: kept free, [byte]
        total_bytes: without weights where these are not known, [byte]
        fits: whether that is at most the memory; None where none was given
    """

    context: int
    batch: int
    cache_bytes: int
    state_bytes: int
    cross_bytes: int
    waste_bytes: int
    ranks_cache_bytes: int
    tables_bytes: int
    scratch_bytes: int
    dense_bias_bytes: int
    weights_bytes: int | None
    reserve_bytes: int
    total_bytes: int
    fits: bool | None


class LargestContext(msgspec.Struct, frozen=True):
    """The longest context that fits a batch; None where not even one token does, [token]."""

    batch: int
    context: int | None
    unbounded: bool = False


class LargestBatch(msgspec.Struct, frozen=True):
    """The largest batch that fits a context; None where not even one sequence does."""

    context: int
    batch: int | None
    unbounded: bool = False


class Largest(msgspec.Struct, frozen=True):
    """What fits at most; empty where no memory was given."""

    contexts: tuple[LargestContext, ...] = ()
    batches: tuple[LargestBatch, ...] = ()


class Reach(msgspec.Struct, frozen=True):
    """How far the model reaches, [token]; None where it is not known.

    Args:
        trained: before any stretching
        declared: what its files promise
        extended: the length that a scaling method stretches it to; None where none does
        extended_by: that method
        effective: the longest length that a validation found supported with all shorter ones
        effective_source: which task of which run says so
    """

    trained: int | None
    declared: int | None
    extended: int | None
    extended_by: str | None
    effective: int | None
    effective_source: str | None


class PositionWay(msgspec.Struct, frozen=True):
    """One way by which positions reach a target.

    Args:
        method: "as it is", "longer table" or a scaling method
        factor: of it, [1]
        training: whether it needs any, in words
    """

    method: str
    factor: float
    training: str


class MemoryWay(msgspec.Struct, frozen=True):
    """What a target takes, as asked or with one thing changed, or two where no one thing suffices.

    Args:
        changes: "nothing", "kv", "batch", "weights" or "devices"; of two kinds at once both, as in "kv and devices"
        what: the change in words
        kv: the format of the cache
        batch: sequences
        devices: in all
        cache_bytes, weights_bytes, total_bytes: as in a cell, [byte]
        fits: whether the total is at most the memory; None where none was given
    """

    changes: str
    what: str
    kv: str
    batch: int
    devices: int
    cache_bytes: int
    weights_bytes: int | None
    total_bytes: int
    fits: bool | None


class Ways(msgspec.Struct, frozen=True):
    """The ways to a target: any of those for position goes with any of those for memory.

    Args:
        context: the target, [token]
        batch: sequences that were asked for
        position: methods; empty where the trained length is not known
        memory: as asked, in other formats of the cache and, where that does not fit, what else does or helps; where
            nothing does by itself, the cheapest pairs of changes that do
    """

    context: int
    batch: int
    position: tuple[PositionWay, ...]
    memory: tuple[MemoryWay, ...]


class Plan(msgspec.Struct, frozen=True):
    """What a model takes, and what fits.

    Args:
        name, architecture, container: as `describe` has them
        requested: what was asked for
        layers: what keeps what
        token_bytes: what one more token of a long context takes in all layers and ranks, counted once: the slope
        sequence_bytes: what each sequence takes whatever its length, windows filled: the rest
        weights, tables, cells, largest, window, ways: see there; `ways` None where no target was given
        provenance: for each number, where it is from
        notes: what to know, one line each
    """

    name: str
    architecture: str
    container: str
    requested: Requested
    layers: tuple[Layers, ...]
    token_bytes: int
    sequence_bytes: int
    weights: Weights
    tables: tuple[Table, ...]
    cells: tuple[Cell, ...]
    largest: Largest
    window: Reach
    ways: Ways | None
    provenance: dict[str, str]
    notes: tuple[str, ...] = ()

    @property
    def fits(self) -> bool | None:
        """Whether every cell does, and a target in some format of the cache; None where no memory was given."""
        said = [cell.fits for cell in self.cells]
        if None in said:
            return None
        same = () if self.ways is None else [way.fits for way in self.ways.memory if way.changes in ("nothing", "kv")]
        return all(said) and (self.ways is None or any(same))

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON has it."""
        return {"schema_version": SCHEMA_VERSION, "kind": "plan", **msgspec.to_builtins(self)}
