"""Loss by position, of a proof or of a validation."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from ordinate.describe.words import number
from ordinate.errors import InputError, got
from ordinate.plots import _canvas, _sources
from ordinate.plots.base import Facts, tokens, word
from ordinate.prove.result import Proof
from ordinate.results import read
from ordinate.validate.claims import Row, card

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FACTS = Facts(
    "loss by position, of both models of a proof or of a validation",
    "the JSON of `ordinate prove`, or a validation's run or card",
)

BARS = 2.0
"""Standard errors either way."""


def loss_by_position(result: Mapping[str, Any], *, ax: "Axes | None" = None) -> "Figure":
    """Draw the loss of a text's tokens by where they stand.

    Of a proof: both models' means over ranges of positions with two standard errors either way, and narrow ranges as a
    thin line. Of a validation: the mean loss of the scored tokens behind prompts of each length, with its interval at
    95 %, a line for each kind of context.

    Args:
        result: the JSON of `ordinate prove`, or a card of `ordinate validate`
        ax: where to draw; a new figure where not given

    Raises:
        InputError: a result of another kind or form, or a card without losses
    """
    kind = result.get("kind")
    if kind == "prove":
        return _of_proof(_proof(result), ax)
    if kind == "validate":
        return _of_card(result, ax)
    raise InputError(f"loss by position needs a result of prove or validate, got kind {got(kind)}")


def _proof(result: Mapping[str, Any]) -> Proof:
    return msgspec.convert(read(result), Proof)


def _of_proof(proof: Proof, ax: "Axes | None") -> "Figure":
    found = proof.loss_by_position
    ax = _canvas.axes(ax)
    for index, role in enumerate(("original", "extended")):
        style, name = _canvas.look(index), word(getattr(proof, role).name)
        fine = [(one.start + one.stop) / 2 for one in found.fine]
        losses = [getattr(one.loss, role).mean for one in found.fine]
        ax.plot(
            fine,
            losses,
            color=style["color"],
            linestyle=style["linestyle"],
            linewidth=0.8,
            alpha=0.6,
            label=f"_{role} fine",
        )
        middles = [(one.start + one.stop) / 2 for one in found.ranges]
        means = [getattr(one.loss, role).mean for one in found.ranges]
        errors = [BARS * (getattr(one.loss, role).standard_error or 0.0) for one in found.ranges]
        widths = [(one.stop - one.start) / 2 for one in found.ranges]
        ax.errorbar(
            middles,
            means,
            xerr=widths,
            yerr=errors,
            linestyle="none",
            color=style["color"],
            marker=_canvas.MARKERS[index],
            markersize=5,
            linewidth=1.8 - 0.5 * index,
            capsize=2,
            label=f"{role}: {name}",
        )
    _windows(ax, {"original's window": proof.original.window, "extended window": proof.extended.window}, found.length)
    ax.set_xlim(0, found.length)
    _canvas.grid(ax)
    _canvas.thousands(ax.xaxis)
    ax.set_xlabel("position [token]")
    ax.set_ylabel("loss [nat/token]")
    _canvas.legend(ax, loc="upper left")
    text = f"Of {tokens(found.length)} read once; bars are two standard errors, thin lines narrower ranges. "
    for name, part in (("Within", found.inside), ("Past", found.past)):
        if part is not None:
            loss = part.loss
            text += f"{name} the original's window of {tokens(proof.original.window)} the original's loss is "
            text += f"{loss.original.mean:.2f} nats a token, the extended model's {loss.extended.mean:.2f}. "
    return _canvas.finished(ax, "Loss by position", text.strip())


def _windows(ax: "Axes", windows: Mapping[str, int], length: int) -> None:
    for (name, window), dash in zip(windows.items(), ((0, (6, 2)), (0, (2, 1.5))), strict=True):
        if window < length:
            ax.axvline(window, color=_canvas.INK, linewidth=1, linestyle=dash)
            ax.annotate(
                f"{name} {number(window)}",
                (window, 0),
                xycoords=("data", "axes fraction"),
                xytext=(4, 5),
                textcoords="offset points",
                fontsize="small",
            )


def _of_card(result: Mapping[str, Any], ax: "Axes | None") -> "Figure":
    rows = [row for row in card(result).rows if row.measure == "language"]
    if not rows:
        raise InputError("this card has no losses: its run did not ask for language_modelling")
    ax = _canvas.axes(ax)
    ax.set_xscale("log", base=2)
    said = []
    for index, place in enumerate(dict.fromkeys(row.places for row in rows)):
        line = sorted((row for row in rows if row.places == place), key=lambda row: row.length)
        lengths, means = [row.length for row in line], [row.value for row in line]
        errors = [[row.value - row.low for row in line], [row.high - row.value for row in line]]
        style = _canvas.look(index, marker=True)
        ax.errorbar(lengths, means, yerr=errors, capsize=3, label=f"context: {word(place)}", **style)
        said.append(_change(place, line))
    lengths = sorted({row.length for row in rows})
    ax.set_xticks(lengths, [number(length) for length in lengths])
    ax.minorticks_off()
    _canvas.grid(ax)
    ax.set_xlabel("length of the prompt [token]")
    ax.set_ylabel("loss of its last tokens [nat/token]")
    _canvas.legend(ax)
    return _canvas.finished(ax, "Loss by length", " ".join(said) + " Bars are 95 % intervals.")


def _change(place: str, line: Sequence[Row]) -> str:
    first, last = line[0], line[-1]
    return (
        f"Behind {word(place)} context of {tokens(first.length)} the loss is {first.value:.3f} nats a token, of "
        f"{number(last.length)} it is {last.value:.3f}."
    )


def from_sources(sources: Sequence[str], *, ax: "Axes | None" = None) -> "Figure":
    return loss_by_position(_sources.result(sources[0], "prove", "validate"), ax=ax)
