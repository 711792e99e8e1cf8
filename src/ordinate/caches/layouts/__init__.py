"""How the entries of a cache lie in memory: a layout a file, the file's name is the name of the layout."""

from ordinate.caches.layouts.base import Layout
from ordinate.caches.layouts.dense import Dense
from ordinate.caches.layouts.paged import Paged
from ordinate.caches.layouts.ring import Ring

__all__ = ["Dense", "Layout", "Paged", "Ring"]
