"""The sinusoid matrix as a heat map."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ordinate.describe.words import number
from ordinate.errors import positive_integer
from ordinate.plots import _canvas, _sources
from ordinate.plots.base import Facts, check_size, tokens
from ordinate.schemes.sinusoidal import Sinusoidal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FACTS = Facts("the sinusoid matrix, position by channel, as a heat map", "sinusoidal:dim=128, or a model that has it")

STILL = 0.1
"""A channel that changes by less than this over all positions shown tells them hardly apart."""


def sinusoid_matrix(scheme: Sinusoidal, positions: int = 128, *, ax: "Axes | None" = None) -> "Figure":
    """Draw the encoding of each position, one row a position.

    value[p, c] = scheme.table([p])[0, c]

    Args:
        scheme: what makes the matrix
        positions: how many, from 0, [token]
        ax: where to draw; a new figure where not given
    """
    count = positive_integer("positions", positions)
    check_size(count, scheme.dim)
    ax = _canvas.axes(ax, height=4.2)
    table = scheme.table(np.arange(count))
    image = ax.imshow(table, cmap=_canvas.SEQUENTIAL, vmin=-1, vmax=1, aspect="auto", interpolation="nearest")
    ax.figure.colorbar(image, ax=ax, label="value [1]")
    ax.set_xlabel("channel")
    ax.set_ylabel("position [token]")
    still = int((np.ptp(table, axis=0) < STILL).sum())
    lengths = 2 * np.pi / scheme.frequencies
    words = (
        f"Each row is what is added to the token at that position: {scheme.dim} channels, sines and cosines at "
        f"wavelengths from {number(lengths[0])} to {tokens(float(f'{lengths[-1]:.4g}'))}. Over these {tokens(count)} "
        f"{still} of {scheme.dim} channels {'changes' if still == 1 else 'change'} by less than {STILL}: "
        f"{'it tells' if still == 1 else 'they tell'} far positions apart, not near ones."
    )
    return _canvas.finished(ax, f"Sinusoidal encoding, {scheme.dim} channels", words)


def from_sources(
    sources: Sequence[str], *, group: str | None = None, tokens: int = 128, ax: "Axes | None" = None
) -> "Figure":
    return sinusoid_matrix(_sources.scheme(sources[0], Sinusoidal, group), tokens, ax=ax)
