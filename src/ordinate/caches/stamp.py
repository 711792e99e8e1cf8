"""What a cache's keys were made with, and what stands in the way of reading them as something else."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ordinate.caches.regimes import Regime
from ordinate.errors import InputError
from ordinate.fingerprint import differences, fingerprint
from ordinate.schemes.base import Rotary
from ordinate.spec import LayerGroup, Spec, Window

Kept = Literal["rotated", "unrotated"]
"""Whether a cache holds keys as attention reads them, or as they came from their projection."""

# An angle up to so many radians is within 1e-3 rad of the true one in float64: the frequency is off by one unit in the
# last place and what its rounded exponent makes, the product by half a unit.
_WITHIN_A_THOUSANDTH = 2.0**42


@dataclass(frozen=True)
class Stamp:
    """What the keys of a cache are: valid for one group of layers under one regime.

    Args:
        group: the layers: scheme, scaling, pairing, window
        kept: whether keys are kept rotated; "unrotated" where nothing rotates
        regime: what length-dependent methods are told
    """

    group: LayerGroup
    kept: Kept
    regime: Regime

    def __post_init__(self) -> None:
        if self.kept not in ("rotated", "unrotated"):
            raise InputError(f"keys must be kept 'rotated' or 'unrotated', got {self.kept!r}")
        if self.kept == "rotated" and not isinstance(self.group.encoding, Rotary):
            raise InputError(f"{self.group.scheme} rotates nothing: its keys must be kept 'unrotated', got 'rotated'")

    @property
    def fingerprint(self) -> str:
        """The identity of the group, as of a spec that has no other."""
        return fingerprint(_alone(self.group))

    @cached_property
    def reach(self) -> int:
        """The first position at which keys are not turned to within 1e-3 rad, [token]; of a group that rotates."""
        fastest = float(np.abs(self.group.frequencies()).max(initial=1.0))
        return int(_WITHIN_A_THOUSANDTH / fastest)

    def differences(self, other: "Stamp") -> Iterator[str]:
        """What differs, a line each; nothing where keys may be read as the other's."""
        for field in ("kept", "regime"):
            if getattr(self, field) != getattr(other, field):
                yield f"{field}: {getattr(self, field)} and {getattr(other, field)}"
        for found in differences(_alone(self.group), _alone(other.group)):
            path = found.path.split(".", 2)[-1]
            yield f"{path}: {found.a} and {found.b}"

    def check(self, other: "Stamp") -> None:
        """Raise `InputError`, with everything that differs, unless keys may be read as the other's."""
        found = list(self.differences(other))
        if found:
            raise InputError(f"the cache's keys were made with something else: {'; '.join(found)}")


def _alone(group: LayerGroup) -> Spec:
    # Where a group stands in its model is no part of what its keys are.
    here = replace(group, layer_type="cache", layers=None)
    if isinstance(group.encoding, Rotary):
        # Keys turn by the group's pairing, and by the scheme's where the group has none: only one of them counts.
        scheme: Any = group.encoding
        here = replace(here, pairing=group.pairing or scheme.pairing, encoding=replace(scheme, pairing="half"))
    return Spec("a cache", "cache", "huggingface", {"cache": here}, Window(None, None))
