"""What differs where attention first gives something else: its queries, its mask, what it reads, or its logits."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ordinate.audit.attention import Reading, attention_read
from ordinate.audit.base import Refusal, Where
from ordinate.audit.localiser import indices
from ordinate.audit.noise import FACTOR, apart
from ordinate.audit.runs import Run
from ordinate.errors import InputError

if TYPE_CHECKING:
    from ordinate.audit.subject import Subject

# Queries of one pass that are looked at, from the first that differs on.
_MOST = 16


@dataclass(frozen=True)
class Attended:
    """What the queries of one pass and row read, token by token.

    Args:
        tokens: [queries], which tokens of the row they are
        queries: [queries, heads, head_dim]
        keys, values: [row's tokens, key heads, dim], as they are read; what is not there is 0
        logits: [queries, heads, row's tokens], float32
        visible: [queries, heads, row's tokens], bool
        padding: [queries, heads], bool: whether a slot before the row's first token is seen
        result: [queries, heads, value_dim]
    """

    tokens: Tensor
    queries: Tensor
    keys: Tensor
    values: Tensor
    logits: Tensor
    visible: Tensor
    padding: Tensor
    result: Tensor

    def products(self) -> Tensor:
        """Of each query with each key, [queries, heads, row's tokens], float32."""
        wide = self.keys.float().repeat_interleave(self.queries.shape[1] // self.keys.shape[1], 1)
        return torch.einsum("qhd,thd->qht", self.queries.float(), wide)


@dataclass(frozen=True)
class Parted:
    """Where two runs part in attention.

    Args:
        part: "queries", "mask", "keys", "values", "cache" where it is both, "logits", "result", or "behind" where
            all of these are equal
        heads: that differ; None for all, or where it does not matter
        expected, found: what the reference's queries and the run's read
        seen: [queries, heads, row's tokens], bool: which tokens are seen in one and hidden in the other
        tokens: [tokens], of the row: whose keys or values differ
    """

    part: str
    heads: tuple[int, ...] | None
    expected: Attended
    found: Attended
    seen: Tensor
    tokens: Tensor


def parted(subject: "Subject", run: Run, where: Where, again: Callable[[], Run]) -> Parted | None:
    """Run both again, watched, and compare what one layer's attention reads; None where that cannot be seen.

    Args:
        subject: the model
        run: what differs from one pass
        where: it differs first
        again: computes the run anew
    """
    found, expected = attended(subject, run, where, again)
    if found is None or expected is None:
        return None
    # Key heads are read once by each query head in some paths and repeated for them in others.
    heads = min(found.keys.shape[1], expected.keys.shape[1])
    found, expected = _of_heads(found, heads), _of_heads(expected, heads)
    keys_threshold, values_threshold = subject.noise.layer_thresholds(where.layer or 0)
    both = found.visible & expected.visible
    apart_queries = apart(expected.queries, found.queries) > keys_threshold
    nothing = torch.zeros(0, dtype=torch.int64)
    seen = found.visible != expected.visible
    if apart_queries.any():
        return Parted("queries", indices(apart_queries.any(0)), expected, found, seen, nothing)
    if seen.any() or (found.padding != expected.padding).any():
        heads = (seen.any(-1) | (found.padding != expected.padding)).any(0)
        return Parted("mask", indices(heads), expected, found, seen, nothing)
    read = both.any(0).any(0)
    keys, values = (
        (apart(a, b) > threshold) & read[:, None]
        for a, b, threshold in (
            (expected.keys, found.keys, keys_threshold),
            (expected.values, found.values, values_threshold),
        )
    )
    if keys.any() or values.any():
        part = "cache" if keys.any() and values.any() else "keys" if keys.any() else "values"
        differs = keys | values
        return Parted(part, indices(differs.any(0)), expected, found, seen, differs.any(-1).nonzero()[:, 0])
    differs = _logits_differ(expected, found, both, subject.noise.epsilon)
    if differs.any():
        return Parted("logits", indices(differs.any(-1).any(0)), expected, found, seen, nothing)
    differs = apart(expected.result, found.result) > values_threshold
    return Parted("result" if differs.any() else "behind", None, expected, found, seen, nothing)


def _logits_differ(expected: Attended, found: Attended, both: Tensor, epsilon: float) -> Tensor:
    """Which logits differ by more than their rounding and that of queries and keys make of them."""
    logits, products = level(expected.logits, both), expected.products()
    scale = (logits * products)[both].sum().abs() / products[both].square().sum().clamp(min=1e-30)
    carried = scale * (found.products() - products)[both].abs().max()
    rounded = epsilon * expected.logits[both].abs().max().clamp(min=1.0)
    return (level(found.logits - expected.logits, both).abs() > FACTOR * (carried + rounded)) & both


def level(logits: Tensor, which: Tensor) -> Tensor:
    """Logits less the mean of each query's over these: a softmax does not see what is added to all of them."""
    chosen = torch.where(which, logits, 0.0)
    return logits - chosen.sum(-1, keepdim=True) / which.sum(-1, keepdim=True).clamp(min=1)


def attended(
    subject: "Subject", run: Run, where: Where, again: Callable[[], Run]
) -> tuple[Attended | None, Attended | None]:
    """What the row that differs first reads in the run, and in one pass over the row alone."""
    layer, row, token = where.layer, where.row, where.token
    if layer is None or row is None or token is None or row >= len(run.before):
        return None, None
    keeping = [number for number, held in enumerate(run.layers) if held is not None]
    if layer not in keeping:
        return None, None
    words = subject.ids[run.words_row(row), : run.tokens]
    starts = run.starts[row]
    place = keeping.index(layer), len(keeping)
    try:
        with attention_read(subject.model, *place) as passes:
            again()
        found, moved = _of_pass(passes, words, run, row, token, starts) or (None, 0)
        positions = (moved + torch.arange(len(words)))[None] if moved else None
        with attention_read(subject.model, *place) as alone:
            whole = subject.whole(words[None], positions=positions)
    except (Refusal, InputError):
        return None, None
    if found is None or not alone:
        return None, None
    return found, _of_row(alone[-1], 0, whole.tokens, int(found.tokens[0]), len(found.tokens), 0, whole.tokens)


def _of_pass(
    passes: list[Reading], words: Tensor, run: Run, row: int, token: int, starts: Tensor
) -> tuple[Attended, int] | None:
    """The last pass that read this token of this row, and how far from its place in the row it was said to stand."""
    before, start = run.before[row], int(starts[token])
    # The first pass begins with the padding.
    first_place = 0 if start == 0 else start + before
    for reading in reversed(passes):
        rows, tokens = reading.ids.shape
        if rows not in (1, run.rows) or reading.past != first_place:
            continue
        of = row if rows == run.rows else 0
        own = reading.ids[of].cpu()
        offset = first_place - before  # The row's token that stands first in the pass; below 0 in padding.
        last = min(offset + tokens, len(words))
        if not offset <= token < last:
            continue
        begin = max(offset, 0)
        if torch.equal(own[begin - offset : last - offset], words[begin:last]):
            count, end = min(_MOST, last - token), first_place + tokens
            said = reading.positions
            moved = 0 if said is None else int(said.expand(rows, -1)[of, token - offset]) - token
            return _of_row(reading, of, len(words), token, count, first_place, end, before), moved
    return None


def _of_row(
    reading: Reading, row: int, length: int, token: int, count: int, first_place: int, end: int, before: int = 0
) -> Attended:
    """What some queries of a row read, by token."""
    index = slice(token + before - first_place, token + before - first_place + count)
    slots = reading.keys.shape[2]
    # A sliding layer is given the last tokens only; a static one has room behind them.
    tokens = torch.arange(slots) + max(end - slots, 0) - before
    within = (tokens >= 0) & (tokens < length)
    visible = reading.visible()[row, :, index].transpose(0, 1).cpu()
    logits = reading.logits[row, :, index].transpose(0, 1).cpu()

    def by_token(tensor: Tensor, axis: int) -> Tensor:
        shape = [*tensor.shape]
        shape[axis] = length
        out = tensor.new_zeros(shape)
        picked = tensor.index_select(axis, within.nonzero()[:, 0])
        return out.index_copy(axis, tokens[within], picked)

    return Attended(
        tokens=token + torch.arange(count),
        queries=reading.queries[row, :, index].transpose(0, 1).cpu(),
        keys=by_token(reading.keys[row].transpose(0, 1).cpu(), 0),
        values=by_token(reading.values[row].transpose(0, 1).cpu(), 0),
        logits=by_token(logits, 2),
        visible=by_token(visible, 2),
        padding=(visible & (tokens < 0)).any(-1),
        result=reading.result[row, :, index].transpose(0, 1).cpu(),
    )


def _of_heads(read: Attended, heads: int) -> Attended:
    step = read.keys.shape[1] // heads
    return replace(read, keys=read.keys[:, ::step], values=read.values[:, ::step])
