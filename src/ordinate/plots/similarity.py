"""How alike positions are to each other."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ordinate.describe.words import counted, figures, number
from ordinate.errors import InputError, positive_integer
from ordinate.plots import _canvas, _sources
from ordinate.plots.base import Facts, check_size
from ordinate.registry import lookup
from ordinate.schemes.base import Rotary
from ordinate.schemes.sinusoidal import Sinusoidal
from ordinate.spec import LayerGroup

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FACTS = Facts(
    "similarity of each two positions, as a heat map", "sinusoidal:dim=128, rope:head_dim=64, or a model with either"
)

EVEN = 1e-9
"""Similarities of equal distance that differ by no more than this are the same."""


def similarity(
    encoding: "Sinusoidal | LayerGroup | np.ndarray", positions: int = 128, *, ax: "Axes | None" = None
) -> "Figure":
    """Draw the cosine of the angle between the encodings of each two positions.

    value[p, q] = vector[p] . vector[q] / (|vector[p]| |vector[q]|)

    Args:
        encoding: a sinusoid; a group of layers that rotate, whose vectors are the cosines and sines of all pairs; or
            vectors, [positions, dim], such as a learned table
        positions: how many, from 0, [token]; of an array all, whatever is said here
        ax: where to draw; a new figure where not given

    Raises:
        InputError: an array without two axes, or with a vector of length 0
    """
    count = positive_integer("positions", positions)
    check_size(count, count)
    vectors, name = _vectors(encoding, count)
    sizes = np.linalg.norm(vectors, axis=1)
    if not np.all(np.isfinite(sizes) & (sizes > 0)):
        raise InputError("every position needs a vector of finite length above 0")
    unit = vectors / sizes[:, None]
    alike = unit @ unit.T
    count = len(alike)
    ax = _canvas.axes(ax, width=5.6, height=4.4)
    image = ax.imshow(alike, cmap=_canvas.SEQUENTIAL, interpolation="nearest", origin="lower", vmax=1)
    ax.figure.colorbar(image, ax=ax, label="cosine similarity [1]")
    ax.set_xlabel("position [token]")
    ax.set_ylabel("position [token]")
    return _canvas.finished(ax, f"Similarity of positions: {name}", _words(alike, count))


def _vectors(encoding: "Sinusoidal | LayerGroup | np.ndarray", count: int) -> tuple[np.ndarray, str]:
    if isinstance(encoding, Sinusoidal):
        return encoding.table(np.arange(count)), f"sinusoids, {encoding.dim} channels"
    if isinstance(encoding, LayerGroup):
        angles = _sources.angles(encoding, np.arange(count))
        return np.concatenate(
            [np.cos(angles), np.sin(angles)], axis=1
        ), f"{encoding.scheme}, {counted(angles.shape[1], 'pair')}"
    vectors = np.asarray(encoding, dtype=np.float64)
    if vectors.ndim != 2 or not vectors.size:
        raise InputError(f"vectors must have shape [positions, dim], got {list(vectors.shape)}")
    return vectors, counted(vectors.shape[1], "channel")


def _words(alike: np.ndarray, count: int) -> str:
    spread = max(float(np.ptp(np.diagonal(alike, offset))) for offset in range(count))
    if spread <= EVEN:
        text = "It depends on the distance alone, the same on both sides: it says how far, not in which direction. "
    else:
        text = f"It does not depend on the distance alone: equal distances differ by up to {figures(spread, 2)}. "
    mean = np.array([np.diagonal(alike, offset).mean() for offset in range(count)])
    below = np.flatnonzero(mean < 0.5)
    rises = int((np.diff(mean) > EVEN).sum())
    half = f"falls below 0.5 at {counted(int(below[0]), 'token')}" if len(below) else "stays above 0.5"
    text += f"With distance its mean {half}, and is lowest, {mean.min():.2f}, at {number(int(mean.argmin()))}; "
    return text + (
        f"of {counted(count - 1, 'step')} of one token {rises} raise{'s' * (rises == 1)} it."
        if rises
        else "no step raises it."
    )


def from_sources(
    sources: Sequence[str], *, group: str | None = None, tokens: int = 128, ax: "Axes | None" = None
) -> "Figure":
    if _sources.names_scheme(sources[0]):
        rotates = issubclass(lookup("ordinate.schemes", sources[0].partition(":")[0], "scheme"), Rotary)
        if rotates:
            return similarity(_sources.rotating(sources[0], group), tokens, ax=ax)
        return similarity(_sources.scheme(sources[0], Sinusoidal, group), tokens, ax=ax)
    spec = _sources.model(sources[0])
    found = [spec.groups[group]] if group is not None and group in spec.groups else list(spec.groups.values())
    if any(isinstance(one.encoding, Sinusoidal) for one in found):
        return similarity(_sources.scheme(sources[0], Sinusoidal, group), tokens, ax=ax)
    return similarity(_sources.layers(spec, group, Rotary), tokens, ax=ax)
