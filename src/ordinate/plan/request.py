"""What is asked of a plan."""

from dataclasses import dataclass, field

from ordinate.errors import InputError, got, non_negative_integer, one_of, positive_integer
from ordinate.plan.held import Allocator, Holding
from ordinate.plan.ranks import Ranks

ATTENTION = ("attend", "dense", "eager")


@dataclass(frozen=True)
class Request:
    """How a model is to run; `Plan.requested` has the same, with what was left open decided.

    Args:
        contexts: tokens of each sequence; empty for the declared window, [token]
        batches: sequences at once
        memory: of one device, [byte]; None where nothing is to fit
        reserve: of it, kept free for activations and whatever else is not planned, [byte]
        kv: the format of keys and values, as `kv_format` names it, of values after a slash where it is another;
            "auto" for the model's own floats
        ranks: devices
        allocator: what layers with a window keep
        page_size: of pages, [token]
        shared_prefix: tokens kept once for all sequences, [token]
        sinks, recent: what eviction leaves, [token]
        attention: what computes it: "attend", "dense" or "eager"
        queries: tokens computed at once; None for the whole context, [token]
        encoder_tokens: that a decoder attends to; None for what its architecture says, else the context, [token]
        expand_latent: MLA keeps keys and values of all heads
        weights: what the weights take, where neither files nor shapes say, [byte]
        dtype: in which weights and "auto" are; None for what the configuration says
        target: a length to be reached, for the options, [token]
    """

    contexts: tuple[int, ...] = ()
    batches: tuple[int, ...] = (1,)
    memory: int | None = None
    reserve: int = 0
    kv: str = "auto"
    ranks: Ranks = field(default_factory=Ranks)
    allocator: Allocator = "window"
    page_size: int | None = None
    shared_prefix: int = 0
    sinks: int = 0
    recent: int | None = None
    attention: str = "attend"
    queries: int | None = None
    encoder_tokens: int | None = None
    expand_latent: bool = False
    weights: int | None = None
    dtype: str | None = None
    target: int | None = None

    def __post_init__(self) -> None:
        for length in self.contexts:
            positive_integer("context", length)
        if not self.batches:
            raise InputError("batches must be one or more numbers, got none")
        for batch in self.batches:
            positive_integer("batch", batch)
        for name in ("memory", "queries", "encoder_tokens", "weights", "target"):
            value = getattr(self, name)
            if value is not None:
                positive_integer(name, value)
        if not isinstance(self.ranks, Ranks):
            raise InputError(f"ranks must be Ranks, got {got(self.ranks)}")
        non_negative_integer("reserve", self.reserve)
        one_of("attention", self.attention, ATTENTION)
        if self.dtype is not None:
            one_of("dtype", self.dtype, ("float32", "float16", "bfloat16"))
        if self.reserve and self.memory is None:
            raise InputError("a reserve is kept of the memory: give the memory too")
        if self.memory is not None and self.reserve >= self.memory:
            raise InputError(f"a reserve must be less than the memory, {self.memory}, got {self.reserve}")
        self.holding  # noqa: B018 - refuses what does not go together

    @property
    def holding(self) -> Holding:
        """How tokens are held."""
        return Holding(self.allocator, self.page_size, self.sinks, self.recent, self.shared_prefix, self.ranks.context)
