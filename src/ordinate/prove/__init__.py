"""Original against extended, side by side on real text: loss by position, passkeys, growing context, position gaps.

`ordinate.prove.result` and `ordinate.prove.verdict` need neither torch nor transformers; measuring does.
"""

from typing import TYPE_CHECKING, Any

from ordinate.extras import need

if TYPE_CHECKING:
    from ordinate.prove.run import prove

__all__ = ["prove"]


def __getattr__(name: str) -> Any:
    if name == "prove":
        need("transformers", "torch", "transformers", "safetensors", "tokenizers")
        from ordinate.prove.run import prove

        return prove
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
