"""Where a run leaves the reference: the first token, layer and part of attention, its heads and rows."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ordinate.audit.base import Part, Where
from ordinate.audit.comparison import Comparison
from ordinate.audit.noise import apart
from ordinate.audit.runs import Run

if TYPE_CHECKING:
    from ordinate.audit.noise import Noise

# Values alone differ in a layer where they do so by this many times what rounding may do.
_PLAINLY = 4.0


@dataclass(frozen=True)
class Distances:
    """How far keys and values of a layer are apart, in units of what rounding may do.

    Args:
        keys, values: [rows, tokens, heads], float32, 0 where nothing was compared; above 1 they differ
        of: for each row of the run, the row of the reference that it was compared with
    """

    keys: Tensor
    values: Tensor
    of: list[int]

    @property
    def only_keys(self) -> Tensor:
        """Whose keys differ beside equal values, [rows, tokens], bool."""
        return (self.keys > 1).any(-1) & ~(self.values > 1).any(-1)


def distances(reference: Run, run: Run, noise: "Noise", layer: int) -> Distances | None:
    """How far keys and values of a layer are apart, or None where a side holds none."""
    if layer >= min(len(reference.layers), len(run.layers)):
        return None
    expected, found = reference.layers[layer], run.layers[layer]
    if expected is None or found is None:
        return None
    tokens = min(expected.keys.shape[1], found.keys.shape[1])
    of = [run.reference_row(row) if reference.rows > 1 else 0 for row in range(run.rows)]
    there = expected.there[of, :tokens] & found.there[:, :tokens]
    sides = []
    thresholds = noise.layer_thresholds(layer)
    for a, b, threshold in zip((expected.keys, expected.values), (found.keys, found.values), thresholds, strict=True):
        distance = apart(a[of, :tokens], b[:, :tokens]).cpu() / threshold
        sides.append(torch.where(there[:, :, None], distance, 0.0))
    return Distances(sides[0], sides[1], of)


def localise(reference: Run, run: Run, noise: "Noise", comparison: Comparison, threshold: float) -> Where | None:
    """Where a run first differs beyond the noise, or None where nowhere.

    Keys and values of a layer come from the same states, so that keys that differ beside equal values were turned
    otherwise; where both differ, what went into them did: the attention of the layer before, or the embedding, unless
    both are what another token or row has there. Of layers before that keep no keys the first is named, and what it
    carries from token to token.
    """
    beyond = comparison.beyond(threshold)
    part: Part | None = None
    found_layer, tokens_at, heads = None, beyond, None
    layers = min(len(reference.layers), len(run.layers))
    equal = -1  # the last layer whose keys and values are equal
    for layer in range(layers):
        sides = distances(reference, run, noise, layer)
        if sides is None:
            continue
        keys, values = sides.keys > 1, sides.values > 1
        if not (keys.any() or values.any()):
            equal = layer
            continue
        only_keys = sides.only_keys
        first_values = _first_token(values.any(-1))
        first_keys = _first_token(only_keys)
        if first_keys is not None and (first_values is None or first_keys <= first_values):
            part, found_layer, tokens_at = "keys", layer, only_keys
            heads = indices(keys[only_keys].any(0))
        elif not keys.any() and float(sides.values.max()) > _PLAINLY:
            # Keys of other states would differ as well.
            part, found_layer, tokens_at = "values", layer, values.any(-1)
            heads = indices(values[tokens_at].any(0))
        elif _exchanged(reference, run, noise, layer, sides):
            part, found_layer, tokens_at = "cache", layer, keys.any(-1) & values.any(-1)
            heads = indices(values[tokens_at].any(0))
        elif layer == 0:
            part, found_layer, tokens_at = "embedding", 0, values.any(-1)
        else:
            part, found_layer = _between(equal, layer)
            tokens_at = values.any(-1) | keys.any(-1)
        break
    else:
        if beyond.any() and layers:
            part, found_layer = _between(equal, layers)
    first = comparison.first_token(threshold)
    if part is None and first is None:
        return None
    places = tokens_at.T.nonzero() if tokens_at.any() else beyond.T.nonzero()
    token, row = (int(places[0, 0]), int(places[0, 1])) if len(places) else (first or (None, None))
    rows = indices((tokens_at | _like(beyond, tokens_at)).any(-1))
    return Where(
        token=token, row=row, layer=found_layer, part=part, heads=heads, rows=rows, tokens=int(tokens_at.sum())
    )


def _exchanged(reference: Run, run: Run, noise: "Noise", layer: int, sides: Distances) -> bool:
    """Whether the first key and value that differ are those of another token or row, both of the same one."""
    both = ((sides.keys > 1).any(-1) & (sides.values > 1).any(-1)).T.nonzero()
    expected, found = reference.layers[layer], run.layers[layer]
    if not len(both) or expected is None or found is None:
        return False
    token, row = (int(number) for number in both[0])
    which = ((sides.keys > 1) & (sides.values > 1))[row, token]
    near = expected.there
    for a, b, threshold in (
        (expected.keys, found.keys, noise.layer_thresholds(layer)[0]),
        (expected.values, found.values, noise.layer_thresholds(layer)[1]),
    ):
        one = b[row, token].expand_as(a)
        near = near & (apart(a, one)[..., which].cpu() <= threshold).all(-1)
    return bool(which.any()) and bool(near.any())


def _between(equal: int, differs: int) -> tuple[Part, int]:
    """What differs first between a layer whose keys are equal and the next one whose keys can be compared."""
    return ("attention", equal) if equal == differs - 1 else ("state", equal + 1)


def _like(beyond: Tensor, other: Tensor) -> Tensor:
    """`beyond` in the shape of `other`."""
    out = torch.zeros_like(other)
    tokens = min(beyond.shape[1], other.shape[1])
    out[:, :tokens] = beyond[:, :tokens]
    return out


def _first_token(which: Tensor) -> int | None:
    columns = which.any(0).nonzero()
    return None if len(columns) == 0 else int(columns[0, 0])


def indices(which: Tensor) -> tuple[int, ...] | None:
    """The indices that are true, or None where all are."""
    return None if bool(which.all()) else tuple(which.nonzero()[:, 0].tolist())
