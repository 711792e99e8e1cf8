"""How layers, heads and tokens are cut among devices, and what every one of them has a copy of."""

from collections.abc import Iterable
from dataclasses import dataclass

from ordinate.errors import InputError, positive_integer
from ordinate.plan.layers import Cached, State


@dataclass(frozen=True)
class Ranks:
    """Groups of devices.

    Args:
        tensor: that share the heads of a layer
        pipeline: that share the layers
        context: that share the tokens of a sequence
    """

    tensor: int = 1
    pipeline: int = 1
    context: int = 1

    def __post_init__(self) -> None:
        for name in ("tensor", "pipeline", "context"):
            positive_integer(f"{name}-parallel ranks", getattr(self, name))

    @property
    def count(self) -> int:
        return self.tensor * self.pipeline * self.context


def check_heads(name: str, layers: Iterable[Cached]) -> None:
    """Refuse layers whose query heads cannot share the key and value heads that they say: no engine runs them.

    Args:
        name: of the model
        layers: what its layers keep

    Raises:
        InputError: key and value heads that do not divide the query heads, or are more
    """
    for cached in layers:
        if cached.kind in ("attention", "cross") and cached.query_heads % cached.heads:
            raise InputError(
                f"{name}: the key-value heads of {cached.name} must divide its {cached.query_heads} query heads, got "
                f"{cached.heads}"
            )


def rank_heads(cached: Cached, tensor: int) -> tuple[int, int]:
    """How many key and value heads one tensor-parallel rank keeps, and on how many ranks each head stands.

    heads >= ranks: heads / ranks, once;  heads < ranks: 1, ranks / heads times;  a latent: 1, on every rank

    Raises:
        InputError: they do not divide, which engines refuse

    >>> grouped = Cached("full_attention", "attention", (0,), 8, 128, 128, query_heads=32)
    >>> rank_heads(grouped, 4), rank_heads(grouped, 16)
    ((2, 1), (1, 2))
    """
    if cached.kind == "state" or tensor == 1:
        return cached.heads, 1
    if cached.query_heads and cached.query_heads % tensor:
        raise InputError(f"tensor-parallel ranks must divide the {cached.query_heads} query heads, got {tensor}")
    if cached.kind == "latent":
        return 1, tensor
    if cached.heads % tensor == 0:
        return cached.heads // tensor, 1
    if cached.heads < tensor and tensor % cached.heads == 0:
        return 1, tensor // cached.heads
    raise InputError(
        f"{cached.heads} key-value heads cannot be cut among tensor-parallel ranks unless one divides the other, got "
        f"{tensor}"
    )


def rank_numbers(state: State, tensor: int) -> int:
    """How many numbers of a state one tensor-parallel rank keeps.

    Raises:
        InputError: its heads or groups do not divide
    """
    if state.cuts % tensor == 0:
        return state.numbers // tensor
    if tensor % state.cuts == 0:
        return state.numbers // state.cuts
    raise InputError(
        f"the {state.cuts} parts of the {state.name} state cannot be cut among {tensor} tensor-parallel ranks"
    )


def stages(layers: int, pipeline: int) -> list[range]:
    """The layers of each pipeline rank, in runs: what does not divide goes to the ranks before the last.

    Raises:
        InputError: fewer layers than ranks

    >>> [len(stage) for stage in stages(61, 4)]
    [15, 15, 16, 15]
    """
    if layers < pipeline:
        raise InputError(f"pipeline-parallel ranks must be at most the {layers} layers, got {pipeline}")
    sizes = [layers // pipeline] * pipeline
    for place in range(layers % pipeline):
        # The last rank has the output layer besides.
        sizes[-2 - place] += 1
    found, start = [], 0
    for size in sizes:
        found.append(range(start, start + size))
        start += size
    return found
