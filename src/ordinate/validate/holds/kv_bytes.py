"""What a cache of keys and values takes, by a model's shape."""

from ordinate.errors import InputError, non_negative_integer, positive
from ordinate.spec import LayerGroup, Spec


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
    >>> from ordinate.spec import Heads, Window
    >>> group = LayerGroup("full_attention", Rope(head_dim=64), layers=(0, 1), heads=Heads(8, 2, 64, 64))
    >>> kv_bytes(Spec("a model", "llama", "huggingface", {"full_attention": group}, Window(None, None)), 10,
    ...     value_bytes=2)
    10240
    """
    tokens = non_negative_integer("tokens", tokens)
    value_bytes = positive("value_bytes", value_bytes)
    total = 0.0
    for group in spec.groups.values():
        width, layers = _width(group), _layers(spec, group)
        if width is None or layers is None:
            return None
        window = group.sliding_window
        held = tokens if window is None else min(tokens, max(window - 1, 0))
        total += layers * held * width * value_bytes
    if total != total or total < 0:
        raise InputError(f"the shape of {spec.name} gives no size, got {total}")
    return round(total)


def _width(group: LayerGroup) -> int | None:
    """Numbers that one token takes in one layer."""
    heads = group.heads
    if heads is None:
        return None
    if heads.latent_dim is not None:
        return heads.latent_dim + (heads.rotary_key_dim or 0)
    return heads.key_value * (heads.head_dim + heads.value_dim)


def _layers(spec: Spec, group: LayerGroup) -> int | None:
    if group.layers is not None:
        return len(group.layers)
    return spec.layers if len(spec.groups) == 1 else None
