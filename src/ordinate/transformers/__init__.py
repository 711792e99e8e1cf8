"""Hugging Face models: converted, loaded with Ordinate's rotary embedding and attention, and run over long texts.

`ordinate.transformers.convert` needs neither torch nor transformers; everything else here does.
"""

from typing import TYPE_CHECKING, Any

from ordinate.extras import need

if TYPE_CHECKING:
    from ordinate.transformers.acceleration import accelerate
    from ordinate.transformers.cache import PositionCache
    from ordinate.transformers.caching import use_cache
    from ordinate.transformers.loading import load

__all__ = ["PositionCache", "accelerate", "load", "use_cache"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        need("transformers", "torch", "transformers", "safetensors", "tokenizers")
        from ordinate.transformers.acceleration import accelerate
        from ordinate.transformers.cache import PositionCache
        from ordinate.transformers.caching import use_cache
        from ordinate.transformers.loading import load

        return {"PositionCache": PositionCache, "accelerate": accelerate, "load": load, "use_cache": use_cache}[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
