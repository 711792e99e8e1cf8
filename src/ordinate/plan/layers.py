"""What layers keep from one step to the next: keys and values that grow, latents, states that do not."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["attention", "latent", "cross", "state"]
"""attention: keys and values of heads; latent: MLA's, of no head; cross: keys and values of an encoder's tokens, made
once; state: numbers that no token adds to."""


@dataclass(frozen=True)
class State:
    """Numbers that a recurrent layer keeps of each sequence, however long it is.

    Args:
        name: what they are: "convolution", "recurrence"
        numbers: how many, in one layer
        cuts: into how many equal parts tensor-parallel ranks can cut them (heads or groups); 1: each rank has all
        bytes: of a number; None for the model's own dtype, [byte]
    """

    name: str
    numbers: int
    cuts: int = 1
    bytes: int | None = None


@dataclass(frozen=True)
class Cached:
    """Layers that keep alike. A layer with attention and a state beside it is in two of these.

    Args:
        name: the layer group's, "full_attention" say
        kind: what is kept
        layers: their numbers
        heads: key and value heads; 1 for a latent
        key_dim, value_dim: channels kept of a key and of a value head; of a latent and its rotary key
        window: tokens that a query sees, its own among them; None for all, [token]
        states: what is kept of each sequence
        query_heads: what tensor-parallel ranks share
        chunked: the window is a chunk that starts anew, not one that slides
    """

    name: str
    kind: Kind
    layers: tuple[int, ...]
    heads: int = 0
    key_dim: int = 0
    value_dim: int = 0
    window: int | None = None
    states: tuple[State, ...] = ()
    query_heads: int = 0
    chunked: bool = False

    @property
    def count(self) -> int:
        return len(self.layers)


Width = Callable[[int], float]
"""What one head of one token takes by its channels, [byte]."""


def entry_bytes(cached: Cached, keys: Width, values: Width, heads: int | None = None) -> float:
    """What one token takes in one of these layers.

    heads * (keys(key_dim) + values(value_dim))

    Args:
        cached: the layers; those of states give 0
        keys, values: what a head takes
        heads: on the rank that is asked about; all where not given

    Returns:
        [byte]
    """
    if cached.kind == "state":
        return 0.0
    count = cached.heads if heads is None else heads
    widths = ((keys, cached.key_dim), (values, cached.value_dim))
    return count * sum(width(dim) for width, dim in widths if dim)
