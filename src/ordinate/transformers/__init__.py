"""Hugging Face models: converted, loaded with Ordinate's rotary embedding, and run over long texts.

`ordinate.transformers.convert` needs neither torch nor transformers; everything else here does.
"""

from typing import TYPE_CHECKING, Any

from ordinate.extras import need

if TYPE_CHECKING:
    from ordinate.transformers.loading import load

__all__ = ["load"]


def __getattr__(name: str) -> Any:
    if name == "load":
        need("transformers", "torch", "transformers", "safetensors", "tokenizers")
        from ordinate.transformers.loading import load

        return load
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
