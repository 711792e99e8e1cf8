"""Is position handled as a model's files say, and consistently? What answers runs the model, or asks its server.

`ordinate.audit.server` needs neither torch nor transformers; everything that is named here does.
"""

from typing import TYPE_CHECKING, Any

from ordinate.extras import need

if TYPE_CHECKING:
    from ordinate.audit.pairing import Detection, detect
    from ordinate.audit.run import Audit, all_checks, audit, audit_model, find_check

_HOMES = {
    "Audit": "run",
    "Detection": "pairing",
    "all_checks": "run",
    "audit": "run",
    "audit_model": "run",
    "detect": "pairing",
    "find_check": "run",
}

__all__ = ["Audit", "Detection", "all_checks", "audit", "audit_model", "detect", "find_check"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        need("transformers", "torch", "transformers", "safetensors", "tokenizers")
        from importlib import import_module

        return getattr(import_module(f"ordinate.audit.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
