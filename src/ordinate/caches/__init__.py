"""KV caches that know their positions: what their keys were turned by, and how to turn them on."""

from ordinate.caches.regimes import Frozen, PerRow, Recompute, Regime, regime
from ordinate.caches.stamp import Stamp

__all__ = ["Frozen", "PerRow", "Recompute", "Regime", "Stamp", "regime"]
