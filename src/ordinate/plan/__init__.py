"""Before a model runs: what its cache, tables, scratch and weights take, and what fits. Nothing here imports torch."""

from ordinate.plan.formats import Format, formats, kv_format
from ordinate.plan.held import Held, Holding, held
from ordinate.plan.kv_bytes import kv_bytes
from ordinate.plan.planning import plan
from ordinate.plan.ranks import Ranks
from ordinate.plan.request import Request
from ordinate.plan.result import Plan
from ordinate.plan.text import to_text

__all__ = [
    "Format",
    "Held",
    "Holding",
    "Plan",
    "Ranks",
    "Request",
    "formats",
    "held",
    "kv_bytes",
    "kv_format",
    "plan",
    "to_text",
]
