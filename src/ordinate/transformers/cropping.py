"""Which layers of a cache of transformers can be cropped, asked of all before the first one is."""

from collections.abc import Iterable
from numbers import Integral
from typing import Any, cast

from torch import Tensor
from transformers.cache_utils import (
    BaseQuantizedLayer,
    DynamicSlidingWindowLayer,
    LinearAttentionCacheLayerMixin,
    StaticSlidingWindowLayer,
)

from ordinate.errors import InputError, got


def check_crop(layers: Iterable[Any], tokens_to_remove: Any, entries: int) -> None:
    """Refuse a crop that some layer could not follow, while all layers are still as they were.

    Args:
        layers: of a cache of transformers
        tokens_to_remove: how many, as a number <= 0, [token]
        entries: how many a row has, [token]

    Raises:
        InputError: a number > 0 or of more tokens than there are; a layer that has let go of what it would need
    """
    number = isinstance(tokens_to_remove, Integral) and not isinstance(tokens_to_remove, bool)
    if not number or not -entries <= int(tokens_to_remove) <= 0:
        raise InputError(
            f"tokens_to_remove must be an integer from {-entries} to 0, minus as many as are removed, got "
            f"{got(tokens_to_remove)}"
        )
    for index, layer in enumerate(layers):
        reason = _obstacle(layer, int(tokens_to_remove))
        if reason is not None:
            raise InputError(f"layer {index} of the cache cannot be cropped by {-tokens_to_remove} tokens: {reason}")


def _obstacle(layer: Any, tokens_to_remove: int) -> str | None:
    """Why a layer cannot be cropped; None where it can."""
    recording = getattr(layer, "record_past", False)
    if isinstance(layer, LinearAttentionCacheLayerMixin):
        # transformers' own crop takes convolutions back where they were recorded, and leaves recurrent states.
        if tokens_to_remove and any(layer.is_recurrent_states_initialized.values()):
            return "its recurrent state has read them, and is nowhere kept as it was before"
        if not recording:
            return "it keeps a state, not what came before (activate_past_recording before the first pass)"
    if isinstance(layer, DynamicSlidingWindowLayer) and layer.is_initialized:
        length, window = int(layer.get_seq_length()), layer.sliding_window
        left = cast(Tensor, layer.keys).shape[-2] + tokens_to_remove
        needed = min(length + tokens_to_remove, window - 1)
        if (length >= window and not recording) or left < needed:
            return f"it keeps a window of {window} alone (activate_past_recording before the first pass)"
    if not tokens_to_remove:
        return None
    if isinstance(layer, StaticSlidingWindowLayer) and layer.cumulative_length_int > layer.max_cache_len:
        return f"it keeps a window of {layer.max_cache_len} alone"
    if isinstance(layer, BaseQuantizedLayer):
        return "what is quantised is not taken apart"
    return None
