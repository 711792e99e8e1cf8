"""Keys turned by their positions, turned back, and moved from one way of turning to another.

A move turns a rotated key by the difference of its two angles, so that what it held before is not multiplied by a
magnitude again, and nothing is un-rotated on the way.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from ordinate.errors import InputError
from ordinate.ops.rotate import rotate
from ordinate.ops.rotate.arguments import Pairing, Part
from ordinate.schemes.base import Rotary
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup

Role = Literal["key", "query"]
"""Whose rows are asked for: xPos scales the two apart."""


@dataclass(frozen=True)
class Turned:
    """How the keys of a batch are turned.

    Args:
        group: a group that rotates
        positions: [batch, tokens], int64, -1 where there is no key, [token]; [axes, batch, tokens] for several axes
        lengths: [batch, tokens], int64: the length that each key is turned by, settled (`Regime.settled`), 0 for None;
            None where all are turned as without any token

    Raises:
        InputError: nothing rotates in the group, its pairing is unknown, or shapes that do not fit
    """

    group: LayerGroup
    positions: Tensor
    lengths: Tensor | None = None
    pairing: Pairing = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        pairing = check_pairing(self.group)
        object.__setattr__(self, "pairing", pairing)
        self.group.rope  # noqa: B018 - an `InputError` where nothing rotates
        axes, shape = axes_of(self.group), tuple(self.positions.shape)
        fits = len(shape) == 2 if axes == 1 else len(shape) == 3 and shape[0] == axes
        if not fits:
            wanted = "[batch, tokens]" if axes == 1 else f"[{axes}, batch, tokens]"
            raise InputError(f"positions must have shape {wanted}, got {list(shape)}")
        if self.lengths is not None and tuple(self.lengths.shape) != shape[-2:]:
            raise InputError(f"lengths must have shape {list(shape[-2:])}, got {list(self.lengths.shape)}")

    @property
    def part(self) -> Part:
        """Which channels turn."""
        return self.group.rope.part if isinstance(self.group.rope, Rope) else "first"

    @property
    def shape(self) -> tuple[int, int]:
        """batch, tokens"""
        return self.positions.shape[-2], self.positions.shape[-1]


def axes_of(group: LayerGroup) -> int:
    """How many positions a token has in this group."""
    return getattr(group.encoding, "axes", 1) if isinstance(group.encoding, Rotary) else 1


def check_pairing(group: LayerGroup) -> Pairing | None:
    """How the channels of a group pair, None where nothing rotates; an `InputError` where its files leave it open."""
    if not isinstance(group.encoding, Rotary):
        return None
    pairing: Any = group.pairing or group.encoding.pairing
    if pairing == "unknown":
        raise InputError("the files do not say how channels pair: give the group a pairing")
    return pairing


def rows(turned: Turned, role: Role = "key", inverse: bool = False) -> tuple[Tensor, Tensor]:
    """The cos and sin that turn each token, magnitude included.

    Args:
        turned: how
        role: of keys, or of queries at these positions
        inverse: of the same angles with the magnitude's inverse: what `rotate` with `inverse` undoes the turn by

    Returns:
        cos, sin: [batch, tokens, pairs] each, float64, on the device of the positions
    """
    entries = _entries(turned)
    found, index = _distinct(entries)
    angles, magnitudes = _turns(turned.group, found, role)
    if inverse:
        magnitudes = 1 / magnitudes
    return _placed(angles, magnitudes, index, turned)


def rotate_keys(keys: Tensor, turned: Turned, role: Role = "key") -> Tensor:
    """Un-rotated keys, rotated.

    Args:
        keys: [batch, tokens, heads, dim], float16, bfloat16, float32 or float64
        turned: how
        role: "query" where these are queries

    Returns:
        as `keys`, in new memory: float64 of float64 tables, others as `ordinate.ops.rotate` of float32 tables

    Raises:
        InputError: shapes that do not fit
    """
    cos, sin = rows(_checked(keys, turned), role)
    return _turn(keys, cos, sin, turned, turned.pairing, False)


def unrotate_keys(keys: Tensor, turned: Turned) -> Tensor:
    """Rotated keys as they came from their projection: `rotate_keys` undone, its magnitude too.

    Args, Returns, Raises: as for `rotate_keys`
    """
    cos, sin = rows(_checked(keys, turned), inverse=True)
    return _turn(keys, cos, sin, turned, turned.pairing, True)


def move_keys(keys: Tensor, before: Turned, after: Turned) -> Tensor:
    """Rotated keys, as if they had been rotated at other positions, by another length, base, factor or method.

    out = keys turned by (angles after - angles before) * (magnitude after / magnitude before)

    Angles, their difference, cos and sin are float64; so is the product with float32 and float64 keys, rounded once,
    so that a thousand moves by the same angle change no length. Half precision is multiplied in float32.

    Args:
        keys: [batch, tokens, heads, dim], rotated as `before` says
        before, after: how the keys are turned, and are to be

    Returns:
        as `keys`, in new memory

    Raises:
        InputError: shapes that do not fit, or groups that turn other channels or pair them otherwise: such keys must
            be un-rotated and rotated
    """
    _checked(keys, before)
    _checked(keys, after)
    for name in ("pairing", "part"):
        if getattr(before, name) != getattr(after, name):
            raise InputError(
                f"keys that move must keep their {name}, got {getattr(before, name)} and {getattr(after, name)}"
            )
    pairs = before.group.rope.pairs, after.group.rope.pairs
    if pairs[0] != pairs[1]:
        raise InputError(f"keys that move must keep the pairs that turn, got {pairs[0]} and {pairs[1]}")
    old, new = _entries(before), _entries(after)
    alike = before.group == after.group and np.array_equal(old[-1], new[-1])
    if alike and before.group.rope.magnitudes(np.zeros(0, dtype=np.int64)) is None:
        # Angles are linear in position: keys that move by one distance turn by one angle.
        found, index = _distinct(np.concatenate([new[:-1] - old[:-1], new[-1:]]))
        angles, _ = _turns(before.group, found, "key")
        magnitudes = np.ones((1, 1))
    else:
        found, index = _distinct(np.concatenate([old, new]))
        from_angles, from_magnitudes = _turns(before.group, found[: len(old)], "key")
        to_angles, to_magnitudes = _turns(after.group, found[len(old) :], "key")
        angles, magnitudes = to_angles - from_angles, to_magnitudes / from_magnitudes
    cos, sin = _placed(angles, magnitudes, index, before)
    # What "interleaved-in-half-out" wrote is paired in halves.
    pairing: Pairing = "half" if before.pairing == "interleaved-in-half-out" else before.pairing
    return _turn(keys, cos, sin, before, pairing, False, exact=True)


def _checked(keys: Tensor, turned: Turned) -> Turned:
    if keys.ndim != 4 or tuple(keys.shape[:2]) != turned.shape:
        batch, tokens = turned.shape
        raise InputError(f"keys must have shape [{batch}, {tokens}, heads, dim], got {list(keys.shape)}")
    return turned


def _entries(turned: Turned) -> np.ndarray:
    """Positions and the length of each token: [axes + 1, tokens of all rows], int64; where no key is, 0."""
    positions = turned.positions.reshape(axes_of(turned.group), -1).cpu().numpy()
    if turned.lengths is None:
        lengths = np.zeros(positions.shape[1], dtype=np.int64)
    else:
        lengths = turned.lengths.reshape(-1).cpu().numpy()
    there = positions[0] >= 0
    return np.concatenate([positions, lengths[None]]).astype(np.int64) * there


def _distinct(entries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The columns that occur, and for each column which it is."""
    if (entries[1:] == entries[1:, :1]).all():
        first, index = np.unique(entries[0], return_inverse=True)
        return np.concatenate([first[None], np.repeat(entries[1:, :1], len(first), 1)]), index.reshape(-1)
    found, index = np.unique(entries, axis=1, return_inverse=True)
    return found, index.reshape(-1)


def _turns(group: LayerGroup, entries: np.ndarray, role: Role) -> tuple[np.ndarray, np.ndarray]:
    """Angles and magnitudes of columns of positions and a length: [columns, pairs] each, float64."""
    rope = group.rope
    angles = np.zeros((entries.shape[1], rope.pairs))
    magnitudes = np.ones_like(angles)
    for length in np.unique(entries[-1]):
        here = entries[-1] == length
        positions = entries[:-1, here] if axes_of(group) > 1 else entries[0, here]
        told = int(length) or None
        angles[here] = rope.angles(positions, group.frequencies(told))
        magnitudes[here] = group.attention_factor(told)
        apart = rope.magnitudes(positions)
        if apart is not None:
            magnitudes[here] *= apart[0 if role == "query" else 1]
    return angles, magnitudes


def _placed(angles: np.ndarray, magnitudes: np.ndarray, index: np.ndarray, turned: Turned) -> tuple[Tensor, Tensor]:
    """cos and sin of each token, from those of the columns that occur."""
    device = turned.positions.device
    where = torch.from_numpy(index).to(device)
    cos, sin = (
        torch.from_numpy(table * magnitudes).to(device)[where].view(*turned.shape, table.shape[1])
        for table in (np.cos(angles), np.sin(angles))
    )
    return cos, sin


def _turn(
    keys: Tensor, cos: Tensor, sin: Tensor, turned: Turned, pairing: Pairing, inverse: bool, exact: bool = False
) -> Tensor:
    """Each token by its own row; in float64 where keys are that, or are float32 and `exact` is asked for."""
    cos, sin = cos.to(keys.device), sin.to(keys.device)
    wide = keys.dtype == torch.float64 or (exact and keys.dtype == torch.float32)
    if not wide:
        table = cos.float().flatten(0, 1), sin.float().flatten(0, 1)
        row = torch.arange(keys.shape[0] * keys.shape[1], device=keys.device).view(keys.shape[:2])
        return rotate(None, keys, *table, row, pairing, part=turned.part, inverse=inverse)[1]
    width = 2 * cos.shape[-1]
    if keys.shape[-1] < width:
        raise InputError(f"keys must have at least {width} channels, got {keys.shape[-1]}")
    start = keys.shape[-1] - width if turned.part == "last" else 0
    out = keys.clone()
    turning = keys[..., start : start + width].double()
    cos, sin = cos[:, :, None], (-sin if inverse else sin)[:, :, None]
    read, write = ("half", "half") if pairing == "half" else ("interleaved", "interleaved")
    if pairing == "interleaved-in-half-out":
        read, write = ("half", "interleaved") if inverse else ("interleaved", "half")
    first, second = turning.chunk(2, -1) if read == "half" else (turning[..., 0::2], turning[..., 1::2])
    pair = first * cos - second * sin, first * sin + second * cos
    made = torch.cat(pair, -1) if write == "half" else torch.stack(pair, -1).flatten(-2)
    out[..., start : start + width] = made.to(keys.dtype)
    return out
