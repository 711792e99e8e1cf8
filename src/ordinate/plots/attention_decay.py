"""The score of a query and a key that are alike, over their distance, before and after scaling."""

import dataclasses
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ordinate.describe.words import number
from ordinate.errors import InputError, positive_integer
from ordinate.extend.methods import stretch
from ordinate.plots import _canvas, _sources
from ordinate.plots.base import Facts, tokens
from ordinate.schemes.base import Rotary
from ordinate.schemes.xpos import Xpos
from ordinate.spec import LayerGroup

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FACTS = Facts(
    "attention's decay with distance, before and after scaling (--to, --method)",
    "a model that rotates, or xpos:head_dim=64",
)

MOST = 2**20
"""Distances that are computed at most, [token]."""
BINS = 120
BLOCK = 4096


def score(group: LayerGroup, reach: int, length: int | None = None) -> np.ndarray:
    """The score of equal q and k, all pairs of one size, as a share of that at distance 0 without scaling.

    score[n] = attention_factor ** 2 * mean_i cos(n * frequencies[i]), each cosine times what xPos leaves of its pair

    Args:
        group: layers that rotate
        reach: distances 0 to reach, [token]
        length: tokens seen so far, for scaling that depends on it, [token]

    Returns:
        [reach + 1], float64, [1]
    """
    frequencies, factor = group.frequencies(length), group.attention_factor(length)
    values = np.empty(reach + 1)
    for start in range(0, reach + 1, BLOCK):
        at = np.arange(start, min(start + BLOCK, reach + 1))
        cosines = np.cos(at[:, None] * frequencies)
        left = group.encoding.decay(at) if isinstance(group.encoding, Xpos) else 1.0
        values[start : start + len(at)] = (cosines * left).mean(axis=1)
    return factor**2 * values


def attention_decay(
    before: LayerGroup,
    after: LayerGroup | None = None,
    reach: int = 8192,
    *,
    names: tuple[str, str] = ("before scaling", "after scaling"),
    length: int | None = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw the score over distance: a line for the mean of neighbouring distances, a band from the least to the most.

    Args:
        before: layers that rotate
        after: the same after scaling, or None
        reach: distances 1 to reach, [token]
        names: of the two
        length: tokens seen so far, for scaling that depends on it, [token]
        ax: where to draw; a new figure where not given

    Raises:
        InputError: nothing rotates, or a reach below 2 or beyond 2**20
    """
    if not 2 <= positive_integer("reach", reach) <= MOST:
        raise InputError(f"reach must be from 2 to {MOST} tokens, got {reach}")
    ax = _canvas.axes(ax)
    ax.set_xscale("log")
    edges = np.unique(np.geomspace(1, reach + 1, BINS + 1).round().astype(int))
    said = []
    for index, (group, name) in enumerate(zip((before, after), names, strict=True)):
        if group is None:
            continue
        values = score(group, reach, length)
        middle, mean, low, high = _binned(values, edges)
        style = _canvas.look(index)
        band = ax.fill_between(middle, low, high, facecolor=style["color"], alpha=0.22, linewidth=0)
        if index:
            band.set(hatch="////", edgecolor=style["color"])
        ax.plot(middle, mean, label=name, linewidth=1.6, **style)
        said.append(_words(name, values))
    ax.axhline(0, color=_canvas.INK, linewidth=0.8)
    _canvas.grid(ax)
    _canvas.thousands(ax.xaxis)
    ax.set_xlabel("distance of query and key [token]")
    ax.set_ylabel("score, of that at distance 0 [1]")
    _canvas.legend(ax, loc="upper right")
    text = "The score of a query and an equal key, all pairs of one size. " + " ".join(said)
    text += " Scores do not always fall with distance: what a real query and key weigh in each pair decides."
    return _canvas.finished(ax, "Score of equal query and key over distance", text)


def _binned(values: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    parts = [values[start:stop] for start, stop in pairwise(edges.tolist())]
    mean, low, high = (np.array([take(part) for part in parts]) for take in (np.mean, np.min, np.max))
    return np.sqrt(edges[:-1] * (edges[1:] - 1.0)), mean, low, high


def _words(name: str, values: np.ndarray) -> str:
    rises = int((np.diff(values) > 0).sum())
    under = np.flatnonzero(values < 0.5)
    half = f"falls below 0.5 first at {tokens(int(under[0]))}" if len(under) else "stays above 0.5"
    reach = len(values) - 1
    text = f"It {half} {name}; {number(rises)} of {number(reach)} steps of one token raise it, and its least is "
    return text + f"{values.min():.2f}."


def from_sources(
    sources: Sequence[str],
    *,
    to: int | None = None,
    method: str | None = None,
    tokens: int | None = None,
    group: str | None = None,
    length: int | None = None,
    ax: "Axes | None" = None,
) -> "Figure":
    if _sources.names_scheme(sources[0]):
        if to is not None or method is not None or length is not None:
            raise InputError(f"--to, --method and --length belong to a model, got the scheme {sources[0]}")
        found = _sources.rotating(sources[0], group)
        return attention_decay(found, None, tokens or 8192, names=(found.scheme, ""), ax=ax)
    spec = _sources.model(sources[0])
    found = _sources.layers(spec, group, Rotary)
    plain = dataclasses.replace(found, stretch=None)
    trained, declared = spec.window.trained, spec.window.declared
    if to is None:
        if method is not None:
            raise InputError("--method needs --to, the length that it is to reach")
        reach = tokens or min(declared or trained or 8192, MOST)
        if found.stretch is None:
            return attention_decay(plain, None, reach, length=length, ax=ax)
        return attention_decay(plain, found, reach, names=("before", f"after {found.scaling}"), length=length, ax=ax)
    if trained is None:
        raise InputError(f"the trained length is not in the file of {spec.name}, and scaling starts from it")
    scaling = stretch(method or "yarn", found.rope, trained=trained, to=to, options={}).scaling
    after = dataclasses.replace(found, stretch=scaling)
    names = ("before", f"after {scaling.name}")
    return attention_decay(plain, after, tokens or min(to, MOST), names=names, length=length or to, ax=ax)
