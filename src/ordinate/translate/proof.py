"""How far two specs are apart in what they compute: frequencies, magnitude, and angle at a length."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ordinate.dialects._tables import TOLERANCE, lengths_of, relative
from ordinate.errors import positive_integer
from ordinate.schemes.base import Rotary
from ordinate.spec import LayerGroup, Spec


@dataclass(frozen=True)
class GroupProof:
    """The largest differences of a layer group over the lengths that were compared.

    Args:
        group: its name
        pairs: pairs that were compared; 0 where nothing rotates
        lengths: tokens seen so far, None as at construction, [token]
        frequency_error: largest |b - a| / |a|, [1]; None where the numbers of pairs differ, or only `b` turns
        pair: where that is
        frequencies: of that pair, in both, [rad/token]
        length: at which length that is, [token]
        magnitude_error: largest relative difference in magnitude, [1]
        magnitudes: at that length, in both, [1]
        angle_error: largest |b - a| * `at`, over pairs and lengths, not reduced by full turns, [rad]
        at: the position of that angle: the declared window, [token]
        scheme: None where the same scheme stands on both sides, else both
    """

    group: str
    pairs: int
    lengths: tuple[int | None, ...]
    frequency_error: float | None = 0.0
    pair: int = 0
    frequencies: tuple[float, float] = (0.0, 0.0)
    length: int | None = None
    magnitude_error: float = 0.0
    magnitudes: tuple[float, float] = (1.0, 1.0)
    angle_error: float = 0.0
    at: int | None = None
    scheme: tuple[str, str] | None = None

    @property
    def exact(self) -> bool:
        """Whether frequencies and magnitude agree to a relative 1e-6."""
        same = self.frequency_error is not None and self.frequency_error <= TOLERANCE
        return self.scheme is None and same and self.magnitude_error <= TOLERANCE


def prove(a: Spec, b: Spec, length: int | None = None) -> tuple[GroupProof, ...]:
    """Compare what two specs compute, group by group.

    Tables are compared at construction, at and past the lengths that either spec names, and at `length`; the angle
    is that at the declared window, or at `length` where that is given.

    Args:
        a: the model
        b: the other, or the model as an engine runs it; a group that it does not have is found by its layers
        length: compare at this length alone, [token]

    Returns:
        a proof for each group of `a` that some layer has
    """
    lengths = (
        tuple(sorted({*lengths_of(a), *lengths_of(b)}, key=lambda n: n or 0))
        if length is None
        else (positive_integer("length", length),)
    )
    at = length or a.window.declared or b.window.declared
    proofs = []
    for name, group in a.groups.items():
        if group.layers == ():
            continue
        others = [b.groups[name]] if name in b.groups else [g for g in b.groups.values() if g.layers == group.layers]
        if not others and len(b.groups) == 1:
            others = [b.group]
        proofs.append(_prove(group, others[0] if others else None, lengths, at))
    return tuple(proofs)


def _prove(a: LayerGroup, b: LayerGroup | None, lengths: Sequence[int | None], at: int | None) -> GroupProof:
    lengths = tuple(lengths)
    if b is None:
        return GroupProof(a.layer_type, 0, lengths, None, at=at, scheme=(a.scheme, "absent"))
    if not isinstance(a.encoding, Rotary) or not isinstance(b.encoding, Rotary):
        same = a.encoding == b.encoding
        return GroupProof(a.layer_type, 0, lengths, at=at, scheme=None if same else (a.scheme, b.scheme))
    pairs = len(a.frequencies(lengths[0]))
    frequency, magnitude, angle = (-1.0, 0, lengths[0]), (-1.0, lengths[0]), 0.0
    for length in lengths:
        left, right = a.frequencies(length), b.frequencies(length)
        if left.shape != right.shape:
            return GroupProof(
                a.layer_type, pairs, lengths, None, at=at, scheme=(f"{len(left)} pairs", f"{len(right)} pairs")
            )
        far = relative(left, right)
        worst = int(far.argmax())
        frequency = max(frequency, (float(far[worst]), worst, length), key=lambda found: found[0])
        factors = a.attention_factor(length), b.attention_factor(length)
        magnitude = max(magnitude, (abs(factors[1] - factors[0]) / factors[0], length), key=lambda found: found[0])
        angle = max(angle, float(np.abs(left - right).max()) * (at or 0))
    error, pair, where = frequency
    return GroupProof(
        a.layer_type,
        pairs,
        lengths,
        error if np.isfinite(error) else None,
        pair,
        (float(a.frequencies(where)[pair]), float(b.frequencies(where)[pair])),
        where,
        magnitude[0],
        (a.attention_factor(magnitude[1]), b.attention_factor(magnitude[1])),
        angle,
        at,
    )
