"""Which models have a cache of keys that a regime can hold: causal decoders with attention."""

import inspect
from typing import Any

from torch import nn
from transformers import DynamicCache
from transformers.cache_utils import CacheLayerMixin

from ordinate.errors import InputError, got
from ordinate.transformers.call import decoder_of


def check_decoder(model: Any) -> None:
    """Refuse what is no causal decoder with a cache of keys.

    Hybrids, which have layers of attention beside recurrent ones, pass: a regime says what turns keys, and the state
    of recurrent layers is left to transformers.

    Raises:
        InputError: no model of transformers, an encoder, an encoder-decoder, a model without attention
    """
    if not isinstance(model, nn.Module) or not hasattr(model, "config") or not hasattr(model, "get_decoder"):
        what = type(model).__name__ if isinstance(model, nn.Module) else got(model)
        raise InputError(f"use_cache needs a loaded model of transformers, got {what}")
    name = type(model).__name__
    config: Any = model.config
    if config.is_encoder_decoder:
        raise InputError(f"use_cache needs a model of one decoder, got {name}, an encoder-decoder")
    decoder = decoder_of(model)
    searched = decoder if hasattr(decoder, "config") else model  # of some encoders the last projection has that name
    told = [module.is_causal for module in searched.modules() if isinstance(getattr(module, "is_causal", None), bool)]
    if told and not any(told):
        raise InputError(f"use_cache needs a causal decoder, got {name}, whose tokens see those after them: an encoder")
    if not _keeps_keys(decoder):
        raise InputError(f"use_cache needs layers that keep keys, each at its position, got {name}, which has none")


def _keeps_keys(decoder: nn.Module) -> bool:
    """Whether some layer of a decoder has a cache of keys."""
    if "cache" not in inspect.signature(decoder.forward).parameters:
        return False
    layers = DynamicCache(config=decoder.config).layers  # pyright: ignore[reportArgumentType]
    return not layers or any(isinstance(layer, CacheLayerMixin) for layer in layers)
