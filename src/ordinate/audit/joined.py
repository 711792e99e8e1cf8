"""What is wrong in attention that was looked into: its queries, its mask, what it reads, or its logits."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ordinate.audit.attended import Parted, level
from ordinate.audit.base import Part, Where
from ordinate.audit.fit import Diagnosis, Keys, group_of, keys_of, layouts_of
from ordinate.audit.noise import apart
from ordinate.audit.runs import Run
from ordinate.audit.stored import stored
from ordinate.audit.turned import turned
from ordinate.describe.words import figures
from ordinate.schemes.base import Bias
from ordinate.spec import LayerGroup

if TYPE_CHECKING:
    from ordinate.audit.subject import Subject

# Logits are one number times others where this share of their size at most is left over.
_LEFT_OVER = 1e-2
# Queries that must see as many tokens, where a window is not full, for it to be a shorter one.
_SEVERAL = 3
_PARTS: dict[str, Part] = {"queries": "queries", "keys": "keys", "values": "values"}


def explained(
    subject: "Subject", run: Run, where: Where, seen: Parted, by_turn: Callable[[list[Keys]], Diagnosis]
) -> Diagnosis:
    """Name what is wrong where two runs part in attention.

    Args:
        subject: the model
        run: what differs from one pass
        where: it differs first
        seen: what attention reads in both
        by_turn: names what turned keys otherwise
    """
    lost = [name for name in ("queries", "keys", "values") if not getattr(seen.found, name).isfinite().all()]
    if lost or seen.found.logits.isnan().any():
        words = f"its {' and '.join(lost) or 'logits'} are not numbers"
        return Diagnosis("unexplained", words, part="attention" if len(lost) != 1 else _PARTS[lost[0]])
    layer, row = where.layer or 0, where.row or 0
    group = group_of(subject.spec, layer)
    threshold = subject.noise.layer_thresholds(layer)[0]
    if seen.part == "queries":
        found = _queries(subject, run, row, group, seen, threshold)
    elif seen.part == "mask":
        found = replace(_mask(group, seen), part="mask")
    elif seen.part == "keys":
        found = _keys(subject, run, layer, row, seen, by_turn)
    elif seen.part in ("values", "cache"):
        found = _values(seen)
    elif seen.part == "logits":
        found = _logits(group, seen)
    else:
        words = "queries, keys, values and logits are equal there"
        found = Diagnosis("unexplained", words, part="attention" if seen.part == "result" else "behind")
    return replace(found, heads=seen.heads)


def _queries(
    subject: "Subject", run: Run, row: int, group: LayerGroup | None, seen: Parted, threshold: float
) -> Diagnosis:
    """A query that is turned to another position than its key, or that is otherwise wrong."""
    heads = slice(None) if seen.heads is None else list(seen.heads)
    expected, found = seen.expected.queries[:, heads], seen.found.queries[:, heads]
    which = (apart(expected, found) > threshold).any(-1)
    tokens = seen.found.tokens[which]
    places = torch.stack([torch.full_like(tokens, row), tokens], 1)
    told = turned(subject, run, layouts_of(group, expected[which], found[which], places), "queries")
    if told is None:
        share = figures(float(apart(expected, found).max()), 2)
        words = f"queries differ by {share} of their length, and neither a position nor a factor explains it"
        told = Diagnosis("unexplained", words)
    elif not isinstance(told, Diagnosis):
        token, position = int(tokens[0]), int(tokens[0] + told.shifts[0])
        words = f"the query of token {token} is turned to position {position}, its key is not"
        told = Diagnosis("query_position", words, {"shift": int(told.shifts[0])})
    return replace(told, part="queries")


def _mask(group: LayerGroup | None, seen: Parted) -> Diagnosis:
    """Other tokens are seen: a window of another length where both see what lies next before them, else a mask."""
    expected, found = seen.expected.visible, seen.found.visible
    query = int((seen.seen.any(-1) | (seen.found.padding != seen.expected.padding)).any(-1).nonzero()[0])
    token = int(seen.found.tokens[query])
    lacking, further = (
        (a & ~b)[query].any(0).nonzero()[:, 0].tolist() for a, b in ((expected, found), (found, expected))
    )
    told = [f"{verb} {_tokens(some)}" for verb, some in (("does not see", lacking), ("sees", further)) if some]
    if (seen.found.padding & ~seen.expected.padding).any():
        told.append("sees padding")
    window = None if group is None else group.sliding_window
    words = f"the query of token {token} {' and '.join(told)}"
    if window is not None and _window(seen, window):
        return Diagnosis("window", f"{words}; its window holds {window} tokens")
    return Diagnosis("mask", words)


def _window(seen: Parted, window: int) -> bool:
    """Whether every query that is looked at sees itself and all before it, up to a number of tokens.

    Where a window is not full it hides nothing: a query there tells one only beside others that see as many.
    """
    differ = seen.seen.any(-1).any(-1)
    tokens = seen.found.tokens[differ].tolist()
    sides = [(side.visible[differ]) for side in (seen.expected, seen.found)]
    if not tokens or not all(_unbroken(one, token) for side in sides for one, token in zip(side, tokens, strict=True)):
        return False
    # Of the heads that differ.
    heads = seen.seen.any(-1).any(0)
    counts = sides[1][:, heads].sum(-1)
    return tokens[0] >= window - 1 or (len(tokens) > _SEVERAL and bool((counts == counts[0, 0]).all()))


def _unbroken(visible: Tensor, token: int) -> bool:
    """Whether each head of a query sees itself and all that lies between it and the first that it sees."""
    seen = visible[:, : token + 1]
    return not bool(visible[:, token + 1 :].any()) and bool((seen.int().diff(dim=-1) >= 0).all() and seen[:, -1].all())


def _tokens(some: list[int]) -> str:
    if len(some) == 1:
        return f"token {some[0]}"
    if some == list(range(some[0], some[-1] + 1)):
        return f"tokens {some[0]} to {some[-1]}"
    return f"{len(some)} tokens from {some[0]} to {some[-1]}"


def _keys(
    subject: "Subject", run: Run, layer: int, row: int, seen: Parted, by_turn: Callable[[list[Keys]], Diagnosis]
) -> Diagnosis:
    """Keys are read otherwise than one pass makes them: as they were stored, or turned when they are read."""
    kept = stored(subject, layer)
    if kept is None:
        places = torch.stack([torch.full_like(seen.tokens, row), seen.tokens], 1)
        before, after = (side.keys.expand(run.rows, *side.keys.shape) for side in (seen.expected, seen.found))
        kept = by_turn(keys_of(subject.spec, layer, before, after, places, seen.heads))
    if kept.kind == "unexplained" and not kept.evidence:
        share = figures(float(apart(seen.expected.keys, seen.found.keys)[seen.tokens].max()), 2)
        words = f"keys of {_tokens(seen.tokens.tolist())} are read {share} of their length from those of one pass"
        kept = Diagnosis("unexplained", f"{words}, and neither a position nor a factor explains it")
    return replace(kept, part="keys")


def _values(seen: Parted) -> Diagnosis:
    share = figures(float(apart(seen.expected.values, seen.found.values)[seen.tokens].max()), 2)
    what = "values" if seen.part == "values" else "keys and values"
    words = f"{what} of {_tokens(seen.tokens.tolist())} are read {share} of their length from those of one pass"
    return Diagnosis("unexplained", words, part="values" if seen.part == "values" else "cache")


def _logits(group: LayerGroup | None, seen: Parted) -> Diagnosis:
    """Equal queries and keys: another factor before them, or another bias."""
    both = seen.expected.visible & seen.found.visible
    expected, found, products = (
        level(one.double(), both)[both] for one in (seen.expected.logits, seen.found.logits, seen.expected.products())
    )
    for parts, words in (
        (expected, "its logits are {:.4g} times those of one pass"),
        (
            products,
            "what queries and keys give together is scaled otherwise there, before a bias is added",
        ),
    ):
        further = float(((found - expected) * parts).sum() / parts.square().sum().clamp(min=1e-30))
        if float((found - expected - further * parts).norm()) <= _LEFT_OVER * float((found - expected).norm()):
            return Diagnosis("unexplained", words.format(1 + further), {"further": further}, "attention")
    if group is not None and isinstance(group.encoding, Bias):
        return Diagnosis("bias_offset", f"{group.scheme} adds another bias there", part="attention")
    apart = figures(float((found - expected).abs().max()), 2)
    return Diagnosis(
        "unexplained", f"its logits differ by up to {apart} where queries and keys do not", part="attention"
    )
