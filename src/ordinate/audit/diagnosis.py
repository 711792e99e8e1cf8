"""Which kind of fault the evidence fits: how far each token was moved, and what that depends on."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ordinate.audit.base import Refusal, Where
from ordinate.audit.comparison import compare
from ordinate.audit.fit import Diagnosis, Keys, group_of, keys_of
from ordinate.audit.localiser import differing, localise
from ordinate.audit.patterns import Moved, patterns
from ordinate.audit.runs import Run
from ordinate.audit.stored import stored
from ordinate.schemes.base import Bias, Rotary

if TYPE_CHECKING:
    from ordinate.audit.subject import Subject

# A turn explains a key where so much of its length is left over at most; rounding needs some.
_LEFT_OVER = 1e-3
_ROUNDINGS = 4.0
# A key is longer or shorter than the reference's where it is so by more.
_LONGER = 0.02
# Tokens whose position in a learned table is looked for.
_LOOKED_UP = 4
_PROBE = 8


def diagnose(subject: "Subject", run: Run, reference: Run, where: Where, *, probe: bool = True) -> Diagnosis:
    """Name the kind of fault that a run shows, from what differs first in it.

    Args:
        subject: the model
        run, reference: what differs
        where: it differs first
        probe: whether another run may be made where this one leaves two kinds open
    """
    if where.part == "keys" and where.layer is not None:
        return _keys(subject, run, reference, where, probe)
    if where.part == "embedding":
        return _embedding(subject, run, reference, probe)
    if where.part == "attention" and where.layer is not None:
        return _attention(subject, run, where)
    if where.part == "state":
        return Diagnosis("state" if subject.carries_state else "unexplained")
    return Diagnosis("unexplained")


def _keys(subject: "Subject", run: Run, reference: Run, where: Where, probe: bool) -> Diagnosis:
    layer = where.layer or 0
    sides = differing(reference, run, subject.noise, layer)
    expected, found = reference.layers[layer], run.layers[layer]
    if sides is None or expected is None or found is None:
        return Diagnosis("unexplained")
    places = (sides[0].any(-1) & ~sides[1].any(-1)).nonzero()
    of = [run.reference_row(row) if reference.rows > 1 else 0 for row in range(run.rows)]
    layouts = keys_of(subject.spec, layer, expected.keys[of], found.keys, places, where.heads)
    depends = any(keys.group.stretch and "static" not in keys.group.stretch.traits for keys in layouts)
    tolerance = max(_LEFT_OVER, _ROUNDINGS * subject.noise.epsilon)
    for keys in layouts:
        magnitude = keys.magnitude()
        fit = keys.fit(2 * max(run.tokens + max(run.before), subject.length))
        if fit.agreement < 1 - tolerance:
            continue
        if not bool(fit.shifts.any()):
            if abs(magnitude - 1) > _LONGER:
                return Diagnosis("magnitude", f"keys are {magnitude:.4g} times as long", {"magnitude": magnitude})
            continue
        if depends and torch.equal(fit.shifts, fit.places[:, 1]):
            # Where frequencies follow the length, a cache keeps keys as they were before they were turned.
            return Diagnosis("length_switch", "keys are stored as the length of their time turns them")
        return _moved(subject, run, fit.places, fit.shifts, probe)
    for keys in layouts:
        other = _other_frequencies(run, keys, 1 - tolerance)
        if other is not None:
            return other
    for keys in layouts:
        if keys.turned_as("interleaved" if keys.pairing == "half" else "half") > 1 - tolerance:
            return Diagnosis("pairing", "keys are paired in the other layout")
    # Coarse steps of angle from token to token: any frequencies at all explain them.
    changed = "length_switch" if depends and run.tokens > (subject.crossing or run.tokens) else "base"
    for keys in layouts:
        steady = keys.steady()
        if steady is not None and steady > 1 - tolerance:
            return Diagnosis(changed, "each pair of channels turns with a frequency of its own")
    return Diagnosis("unexplained")


def _moved(subject: "Subject", run: Run, places: Tensor, shifts: Tensor, probe: bool) -> Diagnosis:
    rows, tokens = places[:, 0], places[:, 1]
    moved = Moved(
        tokens=tokens,
        stands=tokens + shifts,
        starts=run.starts[rows, tokens],
        before=torch.tensor(run.before)[rows],
        all_before=run.before,
        window=min(subject.windows, default=None),
    )
    found = patterns(moved)
    kinds = [kind for kind, _ in found]
    if probe and len(set(kinds)) > 1:
        other = _probed(subject)
        if other is not None and other.kind in kinds:
            return other
    return Diagnosis(*found[0], {"shift": int(shifts[0])})


def _probed(subject: "Subject") -> Diagnosis | None:
    """What another way of chunking shows, in which no rule gives what another one does."""
    start = subject.length - _PROBE
    # Neither at a block's edge nor at the first slot of a ring.
    while start > 1 and any(start % size < _PROBE for window in subject.windows for size in (window - 1, window)):
        start -= 1
    try:
        run = subject.chunked([start, _PROBE], ids=subject.ids[:, : start + _PROBE])
    except Refusal:
        return None
    comparison = compare(subject.reference, run, distributions=False)
    where = localise(subject.reference, run, subject.noise, comparison, subject.noise.threshold)
    return None if where is None else diagnose(subject, run, subject.reference, where, probe=False)


def _other_frequencies(run: Run, keys: Keys, least: float) -> Diagnosis | None:
    """Whether keys were turned at the length of their time."""
    if keys.group.stretch is None or "static" in keys.group.stretch.traits:
        return None
    rows, tokens = keys.places[:, 0], keys.places[:, 1]
    lengths = {int(length) for row in run.starts for length in row.unique()} | {run.tokens}
    by_length = {length: torch.from_numpy(keys.group.frequencies(length or None)) for length in lengths}
    right = by_length[run.tokens]
    angles = []
    for row, token in zip(rows.tolist(), tokens.tolist(), strict=True):
        later = run.starts[row][run.starts[row] > token]
        end = int(later.min()) if len(later) else run.tokens
        angles.append(token * (by_length[end] - right))
    if float(keys.agreement(torch.stack(angles)).min()) > least:
        return Diagnosis("length_switch", "keys keep the frequencies of the length at which they were made")
    return None


def _embedding(subject: "Subject", run: Run, reference: Run, probe: bool) -> Diagnosis:
    """Look up which row of the position table a token got, by giving the model this token everywhere."""
    found = run.layers[0] if run.layers else None
    sides = None if found is None else differing(reference, run, subject.noise, 0)
    if found is None or sides is None:
        return Diagnosis("unexplained")
    places = sides[1].any(-1).nonzero()
    places = places[torch.linspace(0, len(places) - 1, min(_LOOKED_UP, len(places))).long()]
    stood, shifts = [], []
    for row, token in places.tolist():
        word = subject.ids[run.words_row(row), token]
        try:
            table = subject.keeping(word.expand(1, subject.length)).layers[0]
        except Refusal:
            table = None
        if table is None:
            return Diagnosis("unexplained")
        vectors = torch.cat([table.keys[0].flatten(1), table.values[0].flatten(1)], -1).float()
        own = torch.cat([found.keys[row, token].flatten(), found.values[row, token].flatten()], -1).float()
        distances = (vectors - own).norm(dim=-1) / own.norm().clamp(min=1e-30)
        if float(distances.min()) <= max(subject.noise.layer_thresholds(0)):
            stood.append((row, token))
            shifts.append(int(distances.argmin()) - token)
    if not stood:
        return Diagnosis("unexplained", "the states that enter the first layer are those of no position")
    return _moved(subject, run, torch.tensor(stood), torch.tensor(shifts), probe)


def _attention(subject: "Subject", run: Run, where: Where) -> Diagnosis:
    group = group_of(subject.spec, where.layer or 0)
    if group is None:
        return Diagnosis("mask")
    token = where.token or 0
    depends = group.stretch is not None and "static" not in group.stretch.traits
    if depends and subject.crossing is not None and run.tokens > subject.crossing:
        return Diagnosis("length_switch", f"past {subject.crossing} tokens frequencies depend on the length")
    if isinstance(group.encoding, Bias):
        return Diagnosis("bias_offset", f"{group.scheme} adds its bias there")
    window = group.sliding_window
    if window is not None and token >= window - 1:
        return Diagnosis("window", f"its window holds {window} tokens and is full from token {window - 1} on")
    if isinstance(group.encoding, Rotary):
        words = "keys and values are equal there: the queries, the mask or what follows up to the next keys differs"
        return stored(subject, where.layer or 0) or Diagnosis("query_position", words)
    return Diagnosis("mask")
