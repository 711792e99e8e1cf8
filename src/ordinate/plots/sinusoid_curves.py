"""Chosen dimensions of the sinusoid matrix as curves."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ordinate.describe.words import counted
from ordinate.errors import InputError, positive_integer
from ordinate.plots import _canvas, _sources
from ordinate.plots.base import Facts, check_size
from ordinate.schemes.sinusoidal import Sinusoidal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FACTS = Facts("chosen channels of the sinusoid matrix, as curves", "sinusoidal:dim=128, or a model that has it")


def sinusoid_curves(
    scheme: Sinusoidal, channels: Sequence[int] | None = None, positions: int = 128, *, ax: "Axes | None" = None
) -> "Figure":
    """Draw some channels of the encoding over position.

    value[p] = scheme.table([p])[0, channel]

    Args:
        scheme: what makes the matrix
        channels: which, 0 to dim - 1; four, from the fastest to the slowest that still moves, where not given
        positions: how many, from 0, [token]
        ax: where to draw; a new figure where not given

    Raises:
        InputError: a channel that is not there
    """
    count = positive_integer("positions", positions)
    check_size(count, scheme.dim)
    table = scheme.table(np.arange(count))
    moving = np.flatnonzero(np.ptp(table, axis=0) > 0.5)
    if not len(moving):  # of one position nothing moves
        moving = np.arange(scheme.dim)
    if channels is None:
        channels = sorted({int(moving[i]) for i in np.linspace(0, len(moving) - 1, 4).round().astype(int)})
    for channel in channels:
        if not 0 <= channel < scheme.dim:
            raise InputError(f"a channel must be from 0 to {scheme.dim - 1}, got {channel}")
    ax = _canvas.axes(ax, height=3.4)
    said = []
    for index, channel in enumerate(channels):
        wavelength, name = _of(scheme, channel)
        label = f"{channel}: {name}, {counted(float(f'{wavelength:.4g}'), 'token')}"
        ax.plot(np.arange(count), table[:, channel], label=label, **_canvas.look(index))
        said.append(f"channel {channel} turns {counted(float(f'{count / wavelength:.3g}'), 'time')}")
    ax.set_xlabel("position [token]")
    ax.set_ylabel("value [1]")
    _canvas.grid(ax)
    _canvas.beside(ax, "channel, wavelength")
    words = f"Over {counted(count, 'token')} {', '.join(said)}. A fast channel tells neighbours apart and repeats "
    words += "itself; a slow one never repeats, and hardly moves from one token to the next."
    return _canvas.finished(ax, f"Sinusoidal encoding, {len(channels)} of {scheme.dim} channels", words)


def _of(scheme: Sinusoidal, channel: int) -> tuple[float, str]:
    """The wavelength of a channel, and whether it is a sine or a cosine."""
    wavelengths = 2 * np.pi / scheme.frequencies
    if scheme.layout == "interleaved":
        return float(wavelengths[channel // 2]), "cos" if channel % 2 else "sin"
    sines = len(wavelengths)
    if channel < sines:
        return float(wavelengths[channel]), "sin"
    if channel - sines < scheme.dim // 2:
        return float(wavelengths[channel - sines]), "cos"
    return float("inf"), "zero"


def from_sources(
    sources: Sequence[str],
    *,
    group: str | None = None,
    tokens: int = 128,
    dimensions: Sequence[int] | None = None,
    ax: "Axes | None" = None,
) -> "Figure":
    return sinusoid_curves(_sources.scheme(sources[0], Sinusoidal, group), dimensions, tokens, ax=ax)
