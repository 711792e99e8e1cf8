"""Hugging Face models: converted, loaded with Ordinate's rotary embedding and attention, and run over long texts.

`ordinate.transformers.convert` needs neither torch nor transformers; everything else here does.
"""

from typing import TYPE_CHECKING, Any

from ordinate.extras import need

if TYPE_CHECKING:
    from ordinate.transformers.acceleration import accelerate
    from ordinate.transformers.loading import load

__all__ = ["accelerate", "load"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        need("transformers", "torch", "transformers", "safetensors", "tokenizers")
        from ordinate.transformers.acceleration import accelerate
        from ordinate.transformers.loading import load

        return {"accelerate": accelerate, "load": load}[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
