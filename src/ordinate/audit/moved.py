"""Keys of one text at two places: where each key was really turned to.

A text that is read at positions `start` and on has, under a scheme that promises it, the states that it has from 0
on; so its keys are those from 0 on, turned by `start` times the frequencies. The angle that is left over says what
turned them instead: another position, or other frequencies. It is measured in each layer and head.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from ordinate.audit.base import Where
from ordinate.audit.displaced import EXPLAINED, displacement
from ordinate.audit.fit import is_latent
from ordinate.audit.localiser import indices
from ordinate.audit.noise import apart
from ordinate.audit.runs import Held, Run
from ordinate.audit.sizes import learned_positions
from ordinate.audit.stored import stored
from ordinate.audit.subject import Subject
from ordinate.caches.turning import Turned, axes_of
from ordinate.schemes.base import Rotary
from ordinate.spec import LayerGroup, Spec

TOKENS = 64
"""Tokens that are read at both places."""

# Roundings to float32 on the way to an angle, each of half a unit in the last place: the power (two), the division, a
# scaling method's two or three, the product with the position, the cosine. What every engine of good standing has.
_HALF_UNIT = 2.0**-24
_ROUNDINGS = 8.0
# How much further than its value a key may be off, where both come from states that differ.
_CARRIED = 4.0
# Model types whose layers begin a new state at position 0: transformers' RG-LRU does, for packed documents.
_BEGINS_AT_ZERO = ("recurrent_gemma",)
# What may be another pair layout instead: it looks like neither whole positions nor one table.
_UNNAMED = ("table_precision", "table_lost", "unexplained")
# Of the rounding of a dtype: how far the mean angle of many keys may be off.
_MEAN = 16.0


@dataclass(frozen=True)
class Misplaced:
    """Keys that were not turned to where they were said to stand.

    Args:
        kind: a name in `kinds`
        where: it starts
        evidence: what was seen, in half a sentence
        radians: the largest angle by which a pair is off, [rad]
    """

    kind: str
    where: Where
    evidence: str
    radians: float


def why_not(subject: Subject) -> str | None:
    """None where keys can be placed, else why they cannot, in a sentence."""
    if subject.spec is None:
        return "what the model does with position is not known"
    if not subject.takes_positions:
        return "the model takes no positions"
    if not subject.call.keeps_cache:
        return "the model keeps no keys"
    if not any(isinstance(group.encoding, Rotary) for group in subject.spec.groups.values()):
        return "nothing rotates in the model"
    return promises(subject)


def promises(subject: Subject) -> str | None:
    """None where a text may stand anywhere, else why not, in a sentence."""
    if subject.spec is None:
        return "what the model does with position is not known"
    if learned_positions(subject.model):
        return "a learned table tells each token its own position"
    if subject.model.config.model_type in _BEGINS_AT_ZERO:
        return "its layers begin a new state at position 0"
    for group in subject.spec.groups.values():
        if "shift_invariant" not in group.encoding.traits and group.encoding.kind != "none":
            return f"{group.scheme} does not promise that a text may stand anywhere"
        if group.stretch is not None and "static" not in group.stretch.traits:
            return f"under {group.scaling} scaling a text that stands further on is another text"
        if group.temperature is not None:
            return "the temperature of queries grows with position"
    return None


def layers_of(spec: Spec, count: int) -> Iterator[tuple[int, LayerGroup]]:
    """Each layer of a model with its group, where the files say which it has."""
    groups = list(spec.groups.values())
    for group in groups:
        held = group.layers
        if held is None and len(groups) == 1:
            held = tuple(range(count))
        yield from ((layer, group) for layer in held or () if layer < count)


def pairs_of(keys: Tensor, group: LayerGroup, *, other: bool = False) -> Tensor:
    """The channel pairs of rotated keys as complex numbers: [..., dim] to [..., pairs], complex128.

    `other`: paired in the other layout than the group says.
    """
    turned = Turned(group, torch.zeros((1, 1) if axes_of(group) == 1 else (axes_of(group), 1, 1), dtype=torch.int64))
    width = 2 * group.rope.pairs
    turning = (keys[..., keys.shape[-1] - width :] if turned.part == "last" else keys[..., :width]).double()
    if (turned.pairing == "interleaved") != other:
        return torch.complex(turning[..., 0::2], turning[..., 1::2])
    first, second = turning.chunk(2, -1)
    return torch.complex(first, second)


def read_at(subject: Subject, start: int, tokens: int) -> Run:
    """The first tokens of each row, read at positions `start` and on."""
    ids = subject.ids[:, :tokens]
    positions = (start + torch.arange(tokens)).expand(len(ids), -1)
    return subject.keeping(ids, positions=positions)


def misplaced(subject: Subject, before: Run, after: Run, start: int, epsilon: float | None = None) -> Misplaced | None:
    """What turned keys by something else than `start` positions, in the first layer where something did.

    Args:
        subject: the model, for which `why_not` is None
        before, after: `read_at` 0 and at `start`
        start: how many positions lie between the two, [token]
        epsilon: the relative rounding of keys; that of the model's dtype where not given, [1]
    """
    assert subject.spec is not None  # noqa: S101 - `why_not` has said so
    rounding = subject.noise.epsilon if epsilon is None else epsilon
    for layer, group in sorted(layers_of(subject.spec, len(after.layers)), key=lambda found: found[0]):
        old, new = before.layers[layer], after.layers[layer]
        if old is None or new is None or not isinstance(group.encoding, Rotary):
            continue
        keys_threshold, _ = subject.noise.layer_thresholds(layer)
        if epsilon is not None:
            keys_threshold = max(keys_threshold, 4 * _MEAN * epsilon)
        if is_latent(group):
            # Beside MLA's latent, transformers holds the decoupled key, turned, where others hold values.
            old, new = (replace(held, keys=held.values, values=held.keys) for held in (old, new))
        found = _layer(group, old, new, start, keys_threshold, rounding, layer)
        if found is not None and found.kind != "position_precision":
            # A cache of keys that were turned twice or not at all looks much the same: their projection tells.
            kept = stored(subject, layer)
            return found if kept is None else replace(found, kind=kept.kind, evidence=kept.evidence)
        if found is not None:
            return found
    return None


def float32_error(frequencies: Tensor, position: float) -> Tensor:
    """How far an angle is off at most when it is computed in float32, for each frequency, [rad].

    position * frequency * 2**-24 * (8 + |ln frequency|): the last term is what base**exponent makes of an exponent
    that float32 rounds. bfloat16 and float16 anywhere on the way round 4096 times as much, or more.

    >>> float(float32_error(torch.ones(1).double(), 8192))
    0.00390625
    """
    return _HALF_UNIT * (_ROUNDINGS + frequencies.clamp(min=1e-30).log().abs()) * position * frequencies


def _layer(
    group: LayerGroup, old: Held, new: Held, start: int, threshold: float, rounding: float, layer: int
) -> Misplaced | None:
    direction = getattr(group.encoding, "direction", 1)
    frequencies = torch.from_numpy(np.abs(group.frequencies())) * direction
    reached = start + new.keys.shape[1]
    a, b = pairs_of(old.keys, group), pairs_of(new.keys, group)
    left = b * (a * torch.polar(torch.ones(()).double(), frequencies * start)).conj()
    size = left.abs().clamp(min=1e-300)
    lengths = a.abs().square().sum(-1).sqrt()
    lengths = torch.maximum(lengths, lengths.mean()).clamp(min=1e-30)
    off = (b - a * torch.polar(torch.ones(()).double(), frequencies * start)).abs().square().sum(-1).sqrt() / lengths
    error = float32_error(frequencies.abs(), reached)
    # Values do not turn: what they differ by came with the states, from the angles of the layers before.
    moved = apart(old.values, new.values).double()
    there = _CARRIED * moved.amax(-1, keepdim=True)
    far = off > threshold + there + float(error.max())
    # A pair's mean angle over the tokens is much finer than one key's in a low precision; a pair that is short beside
    # the others turns further by the same difference.
    mean = torch.angle(left.sum(1))
    short = (lengths[..., None] / (a.abs() * a.shape[-1] ** 0.5).clamp(min=1e-30)).median(1).values.clamp(min=1)
    allowed = error + (_MEAN * rounding / left.shape[1] ** 0.5 + moved.mean((1, 2))[:, None, None]) * short
    coherent = left.sum(1).abs() > 0.5 * size.sum(1)
    drifted = (mean.abs() > allowed) & coherent
    if not (far.any() or drifted.any()):
        return None
    touched = far.any(1) | drifted.any(-1)  # [rows, heads]
    rows, heads = touched.any(1), touched.any(0)
    tokens = far.any(-1) if far.any() else rows[:, None].expand(far.shape[:2])
    token, row = (int(number) for number in tokens.T.nonzero()[0])
    where = Where(token, row, layer, "keys", indices(heads), indices(rows), int(tokens.sum()))
    chosen = left[rows][:, :, heads]
    kind, evidence = displacement(chosen, size[rows][:, :, heads], frequencies, start, tokens[rows].any(0))
    if kind in _UNNAMED and _otherwise_paired(group, old, new, frequencies * start):
        kind, evidence = "pairing", "keys turn in the other pair layout than the configuration says"
    off = float((mean.abs() * coherent).max()) if kind == "table_precision" else float(torch.angle(left).abs().max())
    ratio = float(b.abs().sum() / a.abs().sum().clamp(min=1e-300))
    if kind == "table_precision" and abs(ratio - 1) > max(threshold, 1e-3) and off < 1e-2:
        kind, evidence = "magnitude", f"keys are {ratio:.3f} times as long as from 0 on"
    return Misplaced(kind, where, evidence, off)


def _otherwise_paired(group: LayerGroup, old: Held, new: Held, angles: Tensor) -> bool:
    """Whether the other pair layout explains how all keys turned."""
    a, b = (pairs_of(held.keys, group, other=True) for held in (old, new))
    turned = a * torch.polar(torch.ones(()).double(), angles)
    return float((b * turned.conj()).real.sum()) > EXPLAINED * float((b.abs() * turned.abs()).sum())
