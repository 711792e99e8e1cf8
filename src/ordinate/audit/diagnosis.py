"""Which kind of fault the evidence fits: how far each token was moved, and what that depends on."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ordinate.audit.attended import parted
from ordinate.audit.base import Refusal, Where
from ordinate.audit.comparison import compare
from ordinate.audit.fit import Diagnosis, Keys, group_of, is_latent, keys_of
from ordinate.audit.joined import explained
from ordinate.audit.localiser import distances, localise
from ordinate.audit.patterns import Moved, patterns
from ordinate.audit.runs import Run
from ordinate.audit.stored import stored
from ordinate.audit.turned import turned
from ordinate.schemes.base import Bias, Rotary

if TYPE_CHECKING:
    from ordinate.audit.subject import Subject

# Tokens whose position in a learned table is looked for.
_LOOKED_UP = 4
_PROBE = 8


def diagnose(
    subject: "Subject",
    run: Run,
    reference: Run,
    where: Where,
    again: Callable[[], Run] | None = None,
    *,
    probe: bool = True,
) -> Diagnosis:
    """Name the kind of fault that a run shows, from what differs first in it.

    Args:
        subject: the model
        run, reference: what differs
        where: it differs first
        again: computes the run anew, so that attention can be looked into; not looked into where not given
        probe: whether another run may be made where this one leaves two kinds open
    """
    layer = where.layer
    if layer is not None and where.part in ("keys", "values"):
        # Beside MLA's latent, transformers holds the decoupled key, turned, where others hold values.
        latent = is_latent(group_of(subject.spec, layer))
        if (where.part == "values") == latent:
            return _keys(subject, run, reference, where, layer, "values" if latent else "keys", probe)
    if where.part == "embedding":
        return _embedding(subject, run, reference, probe)
    if where.part == "attention" and layer is not None:
        return _attention(subject, run, where, again)
    if where.part == "state":
        return Diagnosis("state" if subject.carries_state else "unexplained")
    return Diagnosis("unexplained")


def _keys(subject: "Subject", run: Run, reference: Run, where: Where, layer: int, side: str, probe: bool) -> Diagnosis:
    sides = distances(reference, run, subject.noise, layer)
    expected, found = reference.layers[layer], run.layers[layer]
    if sides is None or expected is None or found is None:
        return Diagnosis("unexplained")
    differ = (sides.values > 1).any(-1) if side == "values" else sides.only_keys
    before, after = getattr(expected, side)[sides.of], getattr(found, side)
    layouts = keys_of(subject.spec, layer, before, after, differ.nonzero(), where.heads)
    return replace(_by_turn(subject, run, layouts, probe), part="keys", heads=where.heads)


def _by_turn(subject: "Subject", run: Run, layouts: list[Keys], probe: bool) -> Diagnosis:
    """What turned these keys."""
    found = turned(subject, run, layouts)
    if found is None:
        return Diagnosis("unexplained")
    return found if isinstance(found, Diagnosis) else _moved(subject, run, found.places, found.shifts, probe)


def _moved(subject: "Subject", run: Run, places: Tensor, shifts: Tensor, probe: bool) -> Diagnosis:
    rows, tokens = places[:, 0], places[:, 1]
    moved = Moved(
        tokens=tokens,
        stands=tokens + shifts,
        rows=rows,
        starts=run.starts[rows, tokens],
        ends=torch.tensor([int((run.starts[row] == run.starts[row, token]).nonzero()[-1]) for row, token in places]),
        later=torch.tensor(
            [len(run.starts[row][run.starts[row] > run.starts[row, token]].unique()) for row, token in places]
        ),
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


def _embedding(subject: "Subject", run: Run, reference: Run, probe: bool) -> Diagnosis:
    """Look up which row of the position table a token got, by giving the model this token everywhere."""
    found = run.layers[0] if run.layers else None
    sides = None if found is None else distances(reference, run, subject.noise, 0)
    if found is None or sides is None:
        return Diagnosis("unexplained")
    places = (sides.values > 1).any(-1).nonzero()
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
        apart = (vectors - own).norm(dim=-1) / own.norm().clamp(min=1e-30)
        if float(apart.min()) <= max(subject.noise.layer_thresholds(0)):
            stood.append((row, token))
            shifts.append(int(apart.argmin()) - token)
    if not stood:
        return Diagnosis("unexplained", "the states that enter the first layer are those of no position")
    return _moved(subject, run, torch.tensor(stood), torch.tensor(shifts), probe)


def _attention(subject: "Subject", run: Run, where: Where, again: Callable[[], Run] | None) -> Diagnosis:
    group = group_of(subject.spec, where.layer or 0)
    depends = group is not None and group.stretch is not None and "static" not in group.stretch.traits
    if depends and subject.crossing is not None and run.tokens > subject.crossing:
        return Diagnosis("length_switch", f"past {subject.crossing} tokens frequencies depend on the length")
    found = None if again is None else _read(subject, run, where, again)
    if found is not None:
        return found
    if group is None:
        return Diagnosis("mask")
    if isinstance(group.encoding, Bias):
        return Diagnosis("bias_offset", f"{group.scheme} adds its bias there")
    window, token = group.sliding_window, where.token or 0
    if window is not None and token >= window - 1:
        return Diagnosis("window", f"its window holds {window} tokens and is full from token {window - 1} on")
    if isinstance(group.encoding, Rotary):
        words = "keys and values are equal there: the queries, the mask or what follows up to the next keys differs"
        if subject.caching is not None:
            # Its keys lie un-turned by design, and its attention is no operation of torch's that can be watched.
            return Diagnosis("unexplained", words)
        return stored(subject, where.layer or 0) or Diagnosis("query_position", words)
    return Diagnosis("mask")


def _read(subject: "Subject", run: Run, where: Where, again: Callable[[], Run]) -> Diagnosis | None:
    """What is wrong in what attention reads, or None where that cannot be seen.

    A sliding layer has dropped the keys that would tell of a layer before it: where queries are wrong in no way that
    has a name, it is the first layer before in which anything is.
    """

    def at(layer: int) -> Diagnosis | None:
        there = replace(where, layer=layer)
        seen = parted(subject, run, there, again)
        if seen is None or (seen.part == "behind" and layer != where.layer):
            return None
        return explained(subject, run, there, seen, lambda layouts: _by_turn(subject, run, layouts, probe=False))

    layer = where.layer or 0
    found = at(layer)
    if found is not None and found.kind == "unexplained" and found.part == "queries" and subject.windows:
        for earlier in range(layer):
            first = at(earlier)
            if first is not None:
                return replace(first, layer=earlier)
    return found
