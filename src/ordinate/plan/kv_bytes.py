"""What a cache takes: one formula for planning and for what is compared with a measurement."""

from collections.abc import Iterable, Mapping

from ordinate.errors import InputError, non_negative_integer, positive
from ordinate.plan.attention import attention_layers
from ordinate.plan.held import Holding, held
from ordinate.plan.layers import Cached, Width, entry_bytes
from ordinate.spec import Spec


def grown_bytes(
    layers: Iterable[Cached],
    tokens: int,
    batch: int,
    keys: Width,
    values: Width,
    how: Holding,
    *,
    heads: Mapping[int, int] | None = None,
) -> tuple[float, float]:
    """What keys and values of `tokens` tokens take in layers with attention.

    sum over layers of held(tokens) * heads * (keys(key_dim) + values(value_dim))

    Args:
        layers: those of states and of cross-attention add nothing
        tokens: of each sequence, [token]
        batch: sequences
        keys, values: what a head of a token takes
        how: tokens are held
        heads: on a rank, by the place of the layers in the list; all where not given

    Returns:
        what stands there, and what memory is taken for, [byte]
    """
    stands = taken = 0.0
    for place, cached in enumerate(layers):
        if cached.kind not in ("attention", "latent"):
            continue
        each = entry_bytes(cached, keys, values, None if heads is None else heads[place])
        found = held(tokens, batch, cached.window, how)
        stands += cached.count * found.tokens * each
        taken += cached.count * found.room * each
    return stands, taken


def kv_bytes(spec: Spec, tokens: int, *, value_bytes: float) -> int | None:
    """What keys and values of `tokens` tokens take in all layers, between two steps.

    full attention: layers * tokens * key_value_heads * (head_dim + value_dim) * value_bytes, which for equal widths
    is 2 * layers * tokens * heads * head_dim * value_bytes
    sliding window W: the same with min(tokens, W - 1) tokens, since a query sees W with its own
    MLA: layers * tokens * (latent_dim + rotary_key_dim) * value_bytes

    Args:
        spec: whose layer groups are summed
        tokens: [token]
        value_bytes: of one number: 2 for bfloat16, 34/32 for blocks of 32 in 8 bits with a scale, [byte]

    Returns:
        [byte]; None where the spec does not say a group's layers or heads

    >>> from ordinate.schemes.rope import Rope
    >>> from ordinate.spec import Heads, LayerGroup, Window
    >>> group = LayerGroup("full_attention", Rope(head_dim=64), layers=(0, 1), heads=Heads(8, 2, 64, 64))
    >>> kv_bytes(Spec("a model", "llama", "huggingface", {"full_attention": group}, Window(None, None)), 10,
    ...     value_bytes=2)
    10240
    """
    tokens = non_negative_integer("tokens", tokens)
    value_bytes = positive("value_bytes", value_bytes)
    if any(group.heads is None or _uncounted(spec, group.layers) for group in spec.groups.values()):
        return None

    def width(dim: int) -> float:
        return dim * value_bytes

    total, _ = grown_bytes(attention_layers(spec), tokens, 1, width, width, Holding(between_steps=True))
    if total != total or total < 0:
        raise InputError(f"the shape of {spec.name} gives no size, got {total}")
    return round(total)


def _uncounted(spec: Spec, layers: tuple[int, ...] | None) -> bool:
    return layers is None and (len(spec.groups) > 1 or spec.layers is None)
