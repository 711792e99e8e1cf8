"""What turned keys or queries otherwise than those of one pass: other positions, another base, length or pairing."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from ordinate.audit.fit import Diagnosis, Fit, Keys
from ordinate.audit.runs import Run

if TYPE_CHECKING:
    from ordinate.audit.subject import Subject

# A turn explains a vector where so much of its length is left over at most; rounding needs some.
_LEFT_OVER = 1e-3
_ROUNDINGS = 4.0
# And of what is left over without it; so little is left over by sums in float64.
_EXPLAINED = 0.1
_NOTHING = 1e-12
# A key is longer or shorter than the reference's where it is so by more: less is no magnitude of a scaling method.
_LONGER = 0.02
# Vectors are longer by one factor where they differ by less from each other, and from their own direction.
_ALIKE = 4.0


def turned(subject: "Subject", run: Run, layouts: Sequence[Keys], what: str = "keys") -> Fit | Diagnosis | None:
    """Which turn explains vectors that differ from the reference's.

    Args:
        subject: the model
        run: that they are from
        layouts: the same vectors, for each pair layout that they may be in
        what: they are called

    Returns:
        the positions by which they are moved, or the fault where it is none of positions; None where nothing explains
        them
    """
    layouts = [keys for keys in layouts if keys.finite]
    least = 1 - max(_LEFT_OVER, _ROUNDINGS * subject.noise.epsilon)
    depends = any(keys.group.stretch and "static" not in keys.group.stretch.traits for keys in layouts)
    for keys in layouts:
        fit = keys.fit(_furthest(subject, run))
        if fit.agreement < least:
            continue
        if bool(fit.shifts.any()):
            if what == "keys" and depends and torch.equal(fit.shifts, fit.places[:, 1]):
                # Where frequencies follow the length, a cache keeps keys as they were before they were turned.
                return Diagnosis("length_switch", f"{what} are stored as the length of their time turns them")
            return fit
        spread = float(keys.magnitudes().sub(fit.magnitude).abs().max())
        aside = max(2 * (1 - fit.agreement), 0.0) ** 0.5
        if abs(fit.magnitude - 1) > _ALIKE * max(spread, aside):
            return _longer(keys, fit.magnitude, what)
    for keys in layouts:
        if _of_their_time(run, keys, least):
            return Diagnosis("length_switch", f"{what} keep the frequencies of the length at which they were made")
    for keys in layouts:
        left = 1 - float(keys.agreement(torch.zeros(len(keys.places), 1)).min())
        other = keys.turned_as("interleaved" if keys.pairing == "half" else "half")
        # At position 0 every layout turns alike.
        if 1 - other < min(1 - least, _EXPLAINED * left):
            return Diagnosis("pairing", f"{what} are paired in the other layout")
    # Coarse steps of angle from token to token: any frequencies at all explain them.
    changed = "length_switch" if depends and run.tokens > (subject.crossing or run.tokens) else "base"
    for keys in layouts:
        steady = keys.steady()
        # Vectors that are rounded or scaled turn steadily by nothing.
        if steady is None or 1 - steady[1] < _NOTHING:
            continue
        if 1 - steady[0] < min(1 - least, _EXPLAINED * (1 - steady[1])):
            return Diagnosis(changed, "each pair of channels turns with a frequency of its own")
    return None


def _furthest(subject: "Subject", run: Run) -> int:
    """How far a key may have been moved: a cache whose keys are turned in each pass moves them once for each."""
    passes = max(len(row.unique()) for row in run.starts)
    return (1 + passes) * max(run.tokens + max(run.before), subject.length)


def _longer(keys: Keys, magnitude: float, what: str) -> Diagnosis:
    """What makes keys longer is a magnitude that is applied again, or not at all; queries may be scaled otherwise."""
    words, numbers = f"{what} are {magnitude:.4g} times as long", {"magnitude": magnitude}
    factor = keys.group.attention_factor()
    ours = any(abs(magnitude - one) <= _LONGER / 2 * one for one in (factor, 1 / factor) if factor != 1)
    named = ours or (what == "keys" and abs(magnitude - 1) > _LONGER)
    return Diagnosis("magnitude" if named else "unexplained", words, numbers)


def _of_their_time(run: Run, keys: Keys, least: float) -> bool:
    """Whether keys were turned at the length of their time."""
    if keys.group.stretch is None or "static" in keys.group.stretch.traits:
        return False
    rows, tokens = keys.places[:, 0], keys.places[:, 1]
    lengths = {int(length) for row in run.starts for length in row.unique()} | {run.tokens}
    by_length = {length: torch.from_numpy(keys.group.frequencies(length or None)) for length in lengths}
    right = by_length[run.tokens]
    angles = []
    for row, token in zip(rows.tolist(), tokens.tolist(), strict=True):
        later = run.starts[row][run.starts[row] > token]
        end = int(later.min()) if len(later) else run.tokens
        angles.append(token * (by_length[end] - right))
    return float(keys.agreement(torch.stack(angles)).min()) > least
