"""What one context and batch take on each pipeline rank."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ordinate.plan.formats import Format
from ordinate.plan.held import Holding
from ordinate.plan.kv_bytes import grown_bytes
from ordinate.plan.layers import Cached, entry_bytes
from ordinate.plan.ranks import Ranks, rank_heads, rank_numbers


@dataclass(frozen=True)
class CacheBytes:
    """A cache, or a rank's part of it, [byte].

    Args:
        total: all of it
        states: of it, what no token adds to
        cross: of it, an encoder's tokens
        waste: of it, the rest of pages that are not full
    """

    total: int
    states: int
    cross: int
    waste: int


def cache_bytes(
    layers: Sequence[Cached],
    context: int,
    batch: int,
    formats: tuple[Format, Format],
    how: Holding,
    *,
    tensor: int = 1,
    encoder_tokens: int = 0,
    state_bytes: int = 2,
) -> CacheBytes:
    """What layers keep of a batch, on one tensor-parallel rank.

    grown + batch * (states + layers * encoder_tokens * heads * (keys + values))

    Args:
        layers: those of one pipeline rank
        context: tokens of each sequence, [token]
        batch: sequences
        formats: of keys and of values
        how: tokens are held
        tensor: ranks that share the heads
        encoder_tokens: of the input, [token]
        state_bytes: of a number of a state that has no type of its own, [byte]
    """
    keys, values = (found.bytes_per_head for found in formats)
    heads = {place: rank_heads(cached, tensor)[0] for place, cached in enumerate(layers)}
    stands, taken = grown_bytes(layers, context, batch, keys, values, how, heads=heads)
    cross = states = 0
    for place, cached in enumerate(layers):
        if cached.kind == "cross":
            each = cached.count * encoder_tokens * entry_bytes(cached, keys, values, heads[place])
            cross += round(batch * each)
        for state in cached.states:
            size = state_bytes if state.bytes is None else state.bytes
            states += batch * cached.count * rank_numbers(state, tensor) * size
    return CacheBytes(round(taken) + cross + states, states, cross, round(taken - stands))


def on_stage(layers: Sequence[Cached], stage: range) -> list[Cached]:
    """Of layers that keep alike, those of one pipeline rank."""
    cut = [replace(cached, layers=tuple(n for n in cached.layers if n in stage)) for cached in layers]
    return [cached for cached in cut if cached.layers]


def expanded(layers: Sequence[Cached], head_dim: int, value_dim: int) -> list[Cached]:
    """MLA's layers as engines keep them that do not keep the latent: keys and values of all query heads."""
    return [
        replace(cached, kind="attention", heads=cached.query_heads, key_dim=head_dim, value_dim=value_dim)
        if cached.kind == "latent" and cached.query_heads
        else cached
        for cached in layers
    ]


def check_ranks(ranks: Ranks, layers: Sequence[Cached]) -> None:
    """Raise `InputError` where layers cannot be cut so."""
    for cached in layers:
        rank_heads(cached, ranks.tensor)
        for state in cached.states:
            rank_numbers(state, ranks.tensor)
