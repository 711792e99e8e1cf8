"""The operations that touch every element: they receive tables, never formulas."""

from ordinate.ops.attend import attend, merge
from ordinate.ops.rotate import rotate, rotate_, rotate_into_cache_

__all__ = ["attend", "merge", "rotate", "rotate_", "rotate_into_cache_"]
