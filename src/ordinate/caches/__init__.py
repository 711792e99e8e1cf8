"""KV caches that know their positions: what their keys were turned by, and how to turn them on."""

from ordinate.caches.cache import Cache
from ordinate.caches.entries import Entries
from ordinate.caches.layouts import Dense, Layout, Paged, Ring
from ordinate.caches.regimes import Frozen, PerRow, Recompute, Regime, regime
from ordinate.caches.stamp import Stamp
from ordinate.caches.tables import Tables

__all__ = [
    "Cache",
    "Dense",
    "Entries",
    "Frozen",
    "Layout",
    "Paged",
    "PerRow",
    "Recompute",
    "Regime",
    "Ring",
    "Stamp",
    "Tables",
    "regime",
]
