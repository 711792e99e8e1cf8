"""Cached keys after a stale base or a shift: how far each is from what it should be."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ordinate.describe.words import counted, figures, number
from ordinate.errors import InputError, non_negative_integer, positive, positive_integer
from ordinate.extras import need
from ordinate.plots import _canvas, _sources
from ordinate.plots.base import Facts, tokens
from ordinate.scaling.abf import Abf
from ordinate.spec import LayerGroup

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FACTS = Facts(
    "cached keys after a stale base (--base) or a shift (--drop)", "a model that rotates, or rope:head_dim=64"
)

FLOOR = 1e-6
"""Below it errors are float32's rounding, which differs between machines: they are drawn here, as a share."""


NOTE: Mapping[str, Any] = {"textcoords": "offset points", "ha": "right", "va": "top", "fontsize": "small"}


@dataclass(frozen=True, eq=False)
class Keys:
    """How far cached keys are from the same keys turned anew, as a share of their length.

    Args:
        positions: of the keys, as they stand afterwards, [keys], [token]
        stale: left as they lay, [keys], [1]
        turned: turned on by the cache, [keys], [1]
    """

    positions: np.ndarray
    stale: np.ndarray
    turned: np.ndarray


def compute(
    group: LayerGroup,
    *,
    base: float | None = None,
    drop: int | None = None,
    keep_first: int = 4,
    count: int = 512,
    seed: int = 0,
) -> Keys:
    """Fill two caches with rotated keys, change one of the two, and compare both with keys that are turned anew.

    Args:
        group: layers that rotate
        base: the base from now on; or
        drop: how many tokens behind the first `keep_first` leave the cache, the rest moving down, [token]
        keep_first: [token]
        count: keys, [token]
        seed: of the keys, which are drawn from a normal distribution

    Raises:
        InputError: both changes or none, nothing left, nothing rotates
        Unavailable: torch is not installed
    """
    if (base is None) == (drop is None):
        raise InputError("stale keys need a new base or a number of dropped tokens, one of them")
    need("torch", "torch")
    import torch

    from ordinate.caches import Cache, Frozen

    count, regime = positive_integer("count", count), Frozen(positive_integer("count", count))
    k = torch.from_numpy(np.random.default_rng(seed).standard_normal((1, count, 1, group.rope.head_dim)))
    k = k.to(torch.float32)

    def filled(layers: LayerGroup, keys: torch.Tensor) -> Cache:
        cache = Cache(layers, keys="rotated", regime=regime)
        cache.append(keys, torch.zeros_like(keys))
        return cache

    def lying(cache: Cache) -> torch.Tensor:
        """The keys by their positions, without the places that nothing is in."""
        places = cache.positions[0]
        held = (places >= 0).nonzero()[:, 0]
        return cache.keys()[0][held[places[held].argsort()]]

    stale, turned = filled(group, k), filled(group, k)
    if base is not None:
        after = dataclasses.replace(group, stretch=Abf(positive("base", base)))
        turned.rebase(after)
        right, left = filled(after, k), lying(stale)
    else:
        gone = positive_integer("drop", drop)
        first = non_negative_integer("keep_first", keep_first)
        if first + gone >= count:
            raise InputError(f"of {count} tokens keep_first {first} and drop {gone} must leave some")
        turned.shift(gone, first)
        kept = torch.cat([torch.arange(first), torch.arange(first + gone, count)])
        right, left = filled(group, k[:, kept]), lying(stale)[kept]
    wanted = lying(right)
    length = wanted.norm(dim=-1)
    errors = [((one - wanted).norm(dim=-1) / length)[:, 0].double().numpy() for one in (left, lying(turned))]
    return Keys(np.arange(len(left)), *errors)


def stale_keys(
    group: LayerGroup,
    *,
    base: float | None = None,
    drop: int | None = None,
    keep_first: int = 4,
    count: int = 512,
    seed: int = 0,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw how wrong each cached key is after a change that nobody tells it of, and after one that the cache makes.

    error[p] = |key[p] - key turned anew[p]| / |key turned anew[p]|

    Args: as for `compute`
        ax: where to draw; a new figure where not given
    """
    found = compute(group, base=base, drop=drop, keep_first=keep_first, count=count, seed=seed)
    what: Literal["rebase", "shift"] = "rebase" if base is not None else "shift"
    ax = _canvas.axes(ax, height=3.8)
    ax.set_yscale("log")
    for index, (name, values) in enumerate(
        {"left as they lay": found.stale, f"after {what} of the cache": found.turned}.items()
    ):
        style = _canvas.look(index, marker=True, markevery=(0, max(len(values) // 16, 1)), linewidth=1)
        ax.plot(found.positions, np.maximum(values, FLOOR), label=name, **style)
    ax.axhline(1, color=_canvas.FAINT, linewidth=0.9)
    ax.set_ylim(FLOOR / 3, 8)
    _canvas.grid(ax)
    _canvas.thousands(ax.xaxis)
    ax.annotate("rounding of float32", (1, FLOOR), xycoords=("axes fraction", "data"), xytext=(-4, -4), **NOTE)
    ax.set_xlabel("position [token]")
    ax.set_ylabel("error, of a key's length [1]")
    _canvas.legend(ax, loc="center right")
    change = (
        f"base {figures(base)}" if base is not None else f"a shift by {tokens(drop or 0)} behind the first {keep_first}"
    )
    wrong, most, left = int((found.stale > 0.1).sum()), figures(found.stale.max(), 3), found.turned.max()
    one, floor = wrong == 1, figures(FLOOR).removeprefix("1 × ")
    words = (
        f"{tokens(count)} {'is' if count == 1 else 'are'} cached, then comes {change}. Left as they lay, "
        f"{number(wrong)} of {counted(len(found.stale), 'key')} {'is' if one else 'are'} wrong by more than a tenth of "
        f"{'its' if one else 'their'} length, {most} at most; nothing fails. After `{what}` of the cache the "
        f"largest error is {figures(left, 2) if left > FLOOR else f'below {floor}, rounding'}."
    )
    return _canvas.finished(ax, f"Cached keys after {change}", words)


def from_sources(
    sources: Sequence[str],
    *,
    base: float | None = None,
    drop: int | None = None,
    group: str | None = None,
    tokens: int = 512,
    seed: int = 0,
    ax: "Axes | None" = None,
) -> "Figure":
    found = _sources.rotating(sources[0], group)
    return stale_keys(found, base=base, drop=drop, count=tokens, seed=seed, ax=ax)
