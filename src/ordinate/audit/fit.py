"""Which positions keys were turned to, read off the keys themselves.

A rotary key at position p and the same key at position p + d differ, pair by pair, by the angle d * frequency. So the
shift that explains a key is the d for which all pairs agree.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ordinate.audit.base import Part
from ordinate.errors import InputError
from ordinate.schemes.base import Rotary
from ordinate.spec import LayerGroup, Spec

# Tokens that are looked at: the first that differ, and others spread over the rest.
_MOST = 48


@dataclass(frozen=True)
class Diagnosis:
    """A kind of fault, and what speaks for it.

    Args:
        kind: a name in `kinds`
        evidence: what was seen, in half a sentence
        numbers: of the evidence, by name
        part: what differs first, where more is known of it than before
        heads: that differ in that part; None for all
        layer: that differs first, where it is another than the one that was asked about
    """

    kind: str
    evidence: str = ""
    numbers: Mapping[str, Any] = field(default_factory=dict)
    part: Part | None = None
    heads: tuple[int, ...] | None = None
    layer: int | None = None


@dataclass(frozen=True)
class Fit:
    """How keys differ from the reference's, where a turn and a factor explain it.

    Args:
        places: [found, 2], the row and token of each key that was looked at
        shifts: [found], how many positions further each was turned, [token]
        agreement: the share of the keys' length that the turn explains, in the worst, at most 1
        magnitude: how many times longer the turned channels are, median, [1]
    """

    places: Tensor
    shifts: Tensor
    agreement: float
    magnitude: float


class Keys:
    """Rotary keys of one layer from two runs, by pairs of channels.

    Args:
        group: the layer's
        reference, found: [keys, heads, head_dim], those of the reference and of the run
        places: [keys, 2], row and token
        pairing: "half" or "interleaved"
    """

    def __init__(
        self, group: LayerGroup, reference: Tensor, found: Tensor, places: Tensor, pairing: str = "half"
    ) -> None:
        self.group, self.places, self.pairing = group, places, pairing
        self._found = found
        self.before, self.after = (_pairs(group, keys, pairing) for keys in (reference, found))
        direction = getattr(group.encoding, "direction", 1)
        self.frequencies = torch.from_numpy(np.asarray(group.frequencies())) * direction

    @property
    def finite(self) -> bool:
        """Whether all are numbers."""
        return bool(self.before.isfinite().all() and self.after.isfinite().all())

    def magnitude(self) -> float:
        """How many times longer the found keys are, their median, [1]."""
        return float(self.magnitudes().median())

    def magnitudes(self) -> Tensor:
        """How many times longer each found key is, [keys], [1]."""
        before, after = (keys.abs().square().sum((-2, -1)).sqrt() for keys in (self.before, self.after))
        return after / before.clamp(min=1e-30)

    def agreement(self, angles: Tensor) -> Tensor:
        """How well the found keys are the reference's turned by these angles, [keys]; 1 is exact, up to a factor."""
        turned = self.before * torch.polar(torch.ones_like(angles), angles)[:, None]
        dot = (turned.conj() * self.after).real.sum((-2, -1))
        lengths = self.before.abs().square().sum((-2, -1)) * self.after.abs().square().sum((-2, -1))
        return dot / lengths.sqrt().clamp(min=1e-30)

    def turned_as(self, pairing: str) -> float:
        """How well the found keys are the reference's, turned back and then turned in another pair layout, [1]."""
        angles = self.places[:, 1:2] * self.frequencies
        plain = self.before * torch.polar(torch.ones_like(angles), -angles)[:, None]
        other = _pairs(self.group, _channels(plain, self.pairing), pairing, alone=True)
        turned = other * torch.polar(torch.ones_like(angles), angles)[:, None]
        found = _pairs(self.group, self._found, pairing)
        dot = (turned.conj() * found).real.sum((-2, -1))
        lengths = turned.abs().square().sum((-2, -1)) * found.abs().square().sum((-2, -1))
        return float((dot / lengths.sqrt().clamp(min=1e-30)).min())

    def steady(self) -> tuple[float, float] | None:
        """How well each pair turns by an angle of its own from one token to the next, and by none, at most 1 each.

        The first is 1 where found keys were turned with other frequencies, whatever these are; the second where they
        were not turned otherwise. None if unknown.
        """
        rows, tokens = self.places[:, 0], self.places[:, 1]
        following = ((rows[1:] == rows[:-1]) & (tokens[1:] == tokens[:-1] + 1)).nonzero()[:, 0]
        if len(following) < 4:
            return None
        cross = (self.after * self.before.conj()).sum(1)
        steps = cross[following + 1] * cross[following].conj()
        weights = steps.abs().sum()
        return (float(steps.sum(0).abs().sum() / weights), float(steps.real.sum() / weights)) if weights else None

    def fit(self, furthest: int) -> Fit:
        """The shift of each key, among all up to `furthest` in both directions."""
        shifts = torch.arange(-furthest, furthest + 1)
        waves = torch.polar(torch.ones(()).double(), shifts[:, None] * self.frequencies[None])
        cross = (self.after * self.before.conj()).sum(1)
        score = (waves.conj() @ cross.T).real
        best = shifts[score.argmax(0)]
        agreement = self.agreement(best[:, None] * self.frequencies)
        return Fit(self.places, best, float(agreement.min()), self.magnitude())


def keys_of(
    spec: Spec | None, layer: int, reference: Tensor, found: Tensor, places: Tensor, heads: tuple[int, ...] | None
) -> list[Keys]:
    """The keys of a layer that differ, for each pair layout that they may be in; empty where nothing rotates.

    Args:
        spec: of the model
        layer: from 0
        reference, found: [rows, tokens, heads, head_dim]
        places: [keys, 2], row and token of those that differ
        heads: that differ; None for all
    """
    group = group_of(spec, layer)
    if group is None or not isinstance(group.encoding, Rotary) or not len(places):
        return []
    if len(places) > _MOST:
        spread = torch.linspace(_MOST // 2, len(places) - 1, _MOST // 2).long()
        places = places[torch.cat([torch.arange(_MOST // 2), spread])]
    chosen = slice(None) if heads is None else list(heads)
    a, b = (keys[places[:, 0], places[:, 1]][:, chosen].cpu() for keys in (reference, found))
    return layouts_of(group, a, b, places)


def layouts_of(group: LayerGroup | None, reference: Tensor, found: Tensor, places: Tensor) -> list[Keys]:
    """Vectors of a layer, for each pair layout that they may be in, its own first; empty where nothing rotates.

    Args:
        group: the layer's
        reference, found: [vectors, heads, head_dim]
        places: [vectors, 2], row and token
    """
    if group is None or not isinstance(group.encoding, Rotary) or not len(places):
        return []
    first = "interleaved" if group.pairing == "interleaved" else "half"
    layouts = (first, "half" if first == "interleaved" else "interleaved")
    try:
        return [Keys(group, reference, found, places, layout) for layout in layouts]
    except InputError:
        return []


def group_of(spec: Spec | None, layer: int) -> LayerGroup | None:
    """The group that a layer is of, or None where that is not known."""
    if spec is None:
        return None
    for group in spec.groups.values():
        if group.layers is not None and layer in group.layers:
            return group
    # Of an encoder and a decoder it is the decoder whose keys are kept.
    only = [spec.groups["decoder"]] if "decoder" in spec.groups else list(spec.groups.values())
    return only[0] if len(only) == 1 else None


def is_latent(group: LayerGroup | None) -> bool:
    """Whether a layer keeps MLA's latent, and beside it the decoupled key, where others keep keys and values."""
    return group is not None and group.heads is not None and group.heads.latent_dim is not None


def _pairs(group: LayerGroup, keys: Tensor, pairing: str, *, alone: bool = False) -> Tensor:
    """[keys, heads, head_dim] as complex numbers, [keys, heads, pairs]; `alone`: all channels turn."""
    wide = keys.double()
    rotary = group.rotary_dim or 0
    if rotary > wide.shape[-1]:
        raise InputError(f"keys of {wide.shape[-1]} channels cannot turn in {rotary}")
    # MLA's decoupled key stands behind the part that does not turn.
    latent = is_latent(group)
    if not alone:
        wide = wide[..., -rotary:] if latent else wide[..., :rotary]
    if pairing == "half":
        return torch.complex(wide[..., : rotary // 2], wide[..., rotary // 2 :])
    return torch.complex(wide[..., 0::2].contiguous(), wide[..., 1::2].contiguous())


def _channels(pairs: Tensor, pairing: str) -> Tensor:
    if pairing == "half":
        return torch.cat([pairs.real, pairs.imag], -1)
    return torch.stack([pairs.real, pairs.imag], -1).flatten(-2)
