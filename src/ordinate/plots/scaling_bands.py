"""What each scaling method does to each pair: fast, middle and slow ones."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ordinate.describe.words import figures, number
from ordinate.errors import InputError, positive_integer
from ordinate.extend.methods import methods, stretch
from ordinate.plots import _canvas, _sources
from ordinate.plots.base import Facts, tokens, word
from ordinate.scaling.base import Scaling
from ordinate.schemes.base import Rotary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FACTS = Facts("what each scaling method does to fast, middle and slow pairs (--to)", "a model that rotates")

FAST = 32.0
"""Turns in the trained length above which a pair counts as fast: YaRN's `beta_fast`."""


def scaling_bands(
    rope: Rotary,
    trained: int,
    target: int,
    scalings: Mapping[str, Scaling] | None = None,
    *,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw by how much each method slows each pair at the target length.

    slowing[i] = plain[i] / frequencies[i]; 1 keeps a pair, target / trained interpolates it wholly

    Bands: pairs that turn more than 32 times in the trained length, those that turn once at least, and those that never
    finish a turn.

    Args:
        rope: the trained scheme
        trained: [token]
        target: longer than trained, [token]
        scalings: methods by name; every one that `ordinate extend` makes from the two lengths where not given
        ax: where to draw; a new figure where not given

    Raises:
        InputError: lengths that do not rise, or a method that cannot be made from them
    """
    trained, target = positive_integer("trained", trained), positive_integer("target", target)
    if target <= trained:
        raise InputError(f"target must be longer than the trained {trained} tokens, got {target}")
    found = made(rope, trained, target) if scalings is None else dict(scalings)
    if not found:
        raise InputError("scalings must hold a method, got none")
    plain = rope.plain()
    turning = plain > 0
    pair = np.arange(len(plain))[turning]
    turns = trained * plain[turning] / (2 * np.pi)
    ax = _canvas.axes(ax, height=4.2)
    ax.set_yscale("log", base=2)
    slowed = {name: plain[turning] / one.frequencies(rope, target)[turning] for name, one in found.items()}
    for index, (name, values) in enumerate(slowed.items()):
        style = _canvas.look(index, marker=True, markevery=(index, max(len(pair) // 8, 1)), linewidth=1.4)
        ax.plot(pair, values, label=word(name), **style)
    factor = target / trained
    ax.axhline(factor, color=_canvas.FAINT, linewidth=0.9)
    ax.annotate(
        f"target / trained = {figures(factor)}",
        (0, factor),
        xycoords=("axes fraction", "data"),
        xytext=(4, 4),
        textcoords="offset points",
        fontsize="small",
        color=_canvas.FAINT,
    )
    _bands(ax, pair, turns, trained)
    _canvas.thousands(ax.yaxis)
    ax.set_xlabel("pair, from the fastest to the slowest")
    ax.set_ylabel("slowed by [1], at the target length")
    _canvas.beside(ax, "method")
    title = f"Scaling from {number(trained)} to {number(target)} tokens"
    return _canvas.finished(ax, title, _words(slowed, turns, trained, target))


def made(rope: Rotary, trained: int, target: int) -> dict[str, Scaling]:
    """Every method that needs no more than the two lengths; LongRoPE needs lists that are found by search."""
    wanted = [name for name in methods() if name != "longrope"]
    return {name: stretch(name, rope, trained=trained, to=target, options={}).scaling for name in wanted}


def bands(turns: np.ndarray) -> dict[str, np.ndarray]:
    """Which pairs are in which band, by their turns in the trained length."""
    return {
        "more than 32 turns": turns > FAST,
        "1 to 32 turns": (turns >= 1) & (turns <= FAST),
        "less than 1 turn": turns < 1,
    }


def _bands(ax: "Axes", pair: np.ndarray, turns: np.ndarray, trained: int) -> None:
    shades = ("#ffffff", "#f3f0e6", "#e3dcc6")
    low, high = ax.get_ylim()
    ax.set_ylim(low / 1.1, high * 1.35)
    for shade, (name, inside) in zip(shades, bands(turns).items(), strict=True):
        if inside.any():
            first, last = float(pair[inside].min()) - 0.5, float(pair[inside].max()) + 0.5
            ax.axvspan(first, last, color=shade, zorder=0)
            if last - first > 0.12 * len(pair):
                ax.text(
                    (first + last) / 2,
                    0.985,
                    name,
                    transform=ax.get_xaxis_transform(),
                    ha="center",
                    va="top",
                    fontsize="small",
                )
    ax.set_xlim(float(pair.min()) - 0.5, float(pair.max()) + 0.5)
    ax.text(
        0.0,
        -0.16,
        f"turns are those in {number(trained)} tokens, before scaling",
        transform=ax.transAxes,
        fontsize="x-small",
        color=_canvas.FAINT,
    )


def _words(slowed: Mapping[str, np.ndarray], turns: np.ndarray, trained: int, target: int) -> str:
    text = f"From {number(trained)} to {tokens(target)}: "
    parts = []
    for name, values in slowed.items():
        ends = f"the fastest pair by {_three(values[0])} and the slowest by {_three(values[-1])}"
        parts.append(f"{name} slows {ends}")
    found = {name: int(inside.sum()) for name, inside in bands(turns).items()}
    counted = ", ".join(f"{count} {name}" for name, count in found.items())
    return text + "; ".join(parts) + f". In the trained length {counted} (pairs)."


def _three(value: float) -> str:
    return figures(value, 3)


def from_sources(
    sources: Sequence[str], *, to: int | None = None, group: str | None = None, ax: "Axes | None" = None
) -> "Figure":
    spec = _sources.model(sources[0])
    found = _sources.layers(spec, group, Rotary)
    if to is None:
        raise InputError("scaling_bands needs --to, the length wanted")
    if spec.window.trained is None:
        raise InputError(f"the trained length is not in the file of {spec.name}, and scaling starts from it")
    known = made(found.rope, spec.window.trained, to)
    if found.stretch is not None:
        known[f"as it is ({found.scaling})"] = found.stretch
    return scaling_bands(found.rope, spec.window.trained, to, known, ax=ax)
