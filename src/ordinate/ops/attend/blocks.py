"""Attention by blocks of queries: a block's logits are made, used and forgotten, forward and backward."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ordinate.ops.attend.terms import Rules, add_biases, of_block, visible

LOGITS = 2**20
"""How many logits a block has: enough for fast products, few enough for a processor's cache."""

LEAST_ROWS = 16
"""Queries a block has at least: with it a block is no larger than a few times the keys."""


def full_precision(device: str) -> AbstractContextManager[Any]:
    """Where autocast does not take products in half precision."""
    # Entering it where nothing is to be changed would leave a trace in exported graphs.
    on = torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)
    return torch.autocast(device, enabled=False) if on else nullcontext()


def by_blocks(rules: Rules, tensors: Mapping[str, Tensor]) -> tuple[Tensor, Tensor | None]:
    """Attention of dense sequences.

    Args:
        rules: of the call
        tensors: what gradients may flow to, by name:
            "q": [batch, heads, query, dim], scaled and rotated; "k": [batch, kv_heads, key, dim], rotated;
            "v": [batch, kv_heads, key, v_dim]; and, where there are such,
            "bias": [batch or 1, heads or 1, query or 1, key or 1]; "slopes": [batch or 1, heads, 1 or query];
            "by_distance": [heads, 2 * reach + 1]; "sink_logits": [heads];
            "content q" and "content k": [batch, tokens, heads, dim]; "learned <name>"

    Returns:
        out: [batch, query, heads, v_dim], of the dtype of q
        lse: [batch, heads, query], where it is asked for
    """
    return _ByBlocks.apply(rules, tuple(tensors), *tensors.values())  # pyright: ignore[reportReturnType]


def whole(rules: Rules, tensors: Mapping[str, Tensor]) -> tuple[Tensor, Tensor | None]:
    """The same as one block, in operators that torch can trace."""
    rows, keys = slice(0, tensors["q"].shape[2]), slice(0, tensors["k"].shape[2])
    shared = tensors["q"].shape[1] // tensors["k"].shape[1]
    if shared > 1:
        # Heads and queries as one axis would tie the graph to lengths for which that is a view.
        tensors = {**tensors, **{name: tensors[name].repeat_interleave(shared, 1) for name in ("k", "v")}}
    out, lse = _block(rules, tensors, rows, keys)
    return out.transpose(1, 2), lse


class _ByBlocks(torch.autograd.Function):
    """Forward keeps nothing of a block; backward makes each again."""

    @staticmethod
    def forward(ctx: Any, rules: Rules, names: tuple[str, ...], *tensors: Tensor) -> tuple[Tensor, Tensor | None]:
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(False)
        ctx.rules, ctx.names = rules, names
        given = dict(zip(names, tensors, strict=True))
        q, v = given["q"], given["v"]
        batch, heads, queries, _ = q.shape
        out = q.new_empty(batch, queries, heads, v.shape[3])
        lse = q.new_empty(batch, heads, queries) if rules.return_lse else None
        for rows, keys in _blocks(rules, given):
            part, logarithms = _block(rules, _cut(given, rows, keys), rows, keys)
            out[:, rows] = part.transpose(1, 2)
            if lse is not None and logarithms is not None:
                lse[:, :, rows] = logarithms
        return out, lse

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, *grad_outputs: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        of_out, of_lse = grad_outputs
        rules, given = ctx.rules, dict(zip(ctx.names, ctx.saved_tensors, strict=True))
        wanted = [name for name, needed in zip(ctx.names, ctx.needs_input_grad[2:], strict=True) if needed]
        totals = {name: _zeros(name, given[name], given["q"].dtype) for name in wanted}
        with full_precision(given["q"].device.type):
            for rows, keys in _blocks(rules, given):
                parts = {name: part.detach() for name, part in _cut(given, rows, keys).items()}
                with torch.enable_grad():
                    leaves = [parts[name].requires_grad_() for name in wanted]
                    out, lse = _block(rules, parts, rows, keys)
                pairs = [] if of_out is None else [(out, of_out[:, rows].transpose(1, 2))]
                pairs += [] if of_lse is None or lse is None else [(lse, of_lse[:, :, rows])]
                pairs = [pair for pair in pairs if pair[0].requires_grad]
                if not pairs:
                    continue
                outputs, upstream = zip(*pairs, strict=True)
                made = torch.autograd.grad(outputs, leaves, upstream, allow_unused=True)
                sums = _cut(totals, rows, keys)
                for name, gradient in zip(wanted, made, strict=True):
                    if gradient is not None:
                        sums[name].add_(gradient)
        gradients = (totals[name].to(given[name].dtype) if name in totals else None for name in ctx.names)
        return None, None, *gradients


def _zeros(name: str, like: Tensor, arithmetic: torch.dtype) -> Tensor:
    """Where the gradients of blocks are summed: in full precision, but for a bias that no two blocks share."""
    apart = name == "bias" and like.shape[2] > 1
    return torch.zeros_like(like, dtype=like.dtype if apart else arithmetic)


def _block(rules: Rules, given: Mapping[str, Tensor], rows: slice, keys: slice) -> tuple[Tensor, Tensor | None]:
    """One block: [batch, heads, query, v_dim] and [batch, heads, query]."""
    q, k, v = given["q"], given["k"], given["v"]
    batch, heads, queries, dim = q.shape
    kv_heads, count = k.shape[1], k.shape[2]
    if count == 0:
        return _of_nothing(given)
    # The heads that share keys are rows of one product.
    logits = q.reshape(batch, kv_heads, heads // kv_heads * queries, dim) @ k.transpose(2, 3)
    logits = logits.view(batch, heads, queries, count)
    if rules.softcap is not None:
        logits = rules.softcap * torch.tanh(logits / rules.softcap)
    logits = add_biases(logits, given, rules, rows, keys)
    seen, blind = visible(rules, rows, keys), None
    if seen is not None:
        blind = ~seen.any(-1)
        # A softmax needs something to see: what a blind query gets is thrown away below.
        hidden = torch.zeros_like(seen, dtype=logits.dtype).masked_fill_(~(seen | blind[..., None]), -torch.inf)
        # Adding is several times faster here than filling where a mask says so.
        logits = logits.add_(hidden)
    if "bias" in given:
        # A bias may hide all that a query would see.
        hidden_by_bias = (logits.detach() == -torch.inf).all(-1)
        blind = hidden_by_bias if blind is None else blind | hidden_by_bias
        logits = logits.masked_fill(hidden_by_bias[..., None], 0.0)
    weights = torch.softmax(logits, -1)
    if given.keys() & {"bias", "slopes", "by_distance"} or rules.scheme is not None:
        # Steep biases leave weights below the smallest normal number, with which products are several times slower.
        weights = torch.threshold(weights, torch.finfo(weights.dtype).tiny, 0.0)
    out = (weights.view(batch, kv_heads, heads // kv_heads * queries, count) @ v).view(*q.shape[:3], v.shape[3])
    lse = None
    if rules.return_lse or "sink_logits" in given:
        # weight = exp(logit - lse) at any key; at the largest nothing is lost.
        top = logits.detach().argmax(-1, keepdim=True)
        lse = (logits.gather(-1, top) - weights.gather(-1, top).log())[..., 0]
        lse = lse if blind is None else lse.masked_fill(blind, -torch.inf)
    if lse is not None and "sink_logits" in given:
        sinks = given["sink_logits"].to(lse.dtype)[:, None]
        out = out * torch.sigmoid(lse - sinks)[..., None]
        lse = torch.logaddexp(lse, sinks)
    return out if blind is None else out.masked_fill(blind[..., None], 0.0), lse


def _of_nothing(given: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    """A block that sees no key."""
    q, v = given["q"], given["v"]
    out, lse = q.new_zeros(*q.shape[:3], v.shape[3]), q.new_full(q.shape[:3], -torch.inf)
    if "sink_logits" in given:
        lse = given["sink_logits"].to(q.dtype)[:, None].expand_as(lse)
    return out, lse


def _cut(given: Mapping[str, Tensor], rows: slice, keys: slice) -> dict[str, Tensor]:
    """The part of each tensor that a block reads, as views."""
    cut = {
        "q": lambda x: x[:, :, rows],
        "k": lambda x: x[:, :, keys],
        "v": lambda x: x[:, :, keys],
        "bias": lambda x: of_block(x, rows, keys),
        "content q": lambda x: x[:, rows],
        "content k": lambda x: x[:, keys],
    }
    return {name: cut[name](tensor) if name in cut else tensor for name, tensor in given.items()}


def _blocks(rules: Rules, given: Mapping[str, Tensor]) -> Iterator[tuple[slice, slice]]:
    """The queries of each block, and the keys that any of them may see."""
    q, k = given["q"], given["k"]
    batch, heads, queries, _ = q.shape
    if batch == 0 or queries == 0:
        return
    width = batch * heads
    if rules.scheme is not None:
        # A scheme's own intermediates count too: FIRE has a hidden channel for each logit of all heads.
        width += batch * getattr(rules.scheme, "width", heads)
    size = max(LEAST_ROWS, LOGITS // max(width * k.shape[2], 1))
    for start in range(0, queries, size):
        rows = slice(start, min(start + size, queries))
        yield rows, _reachable(rules, rows, k.shape[2])


def _reachable(rules: Rules, rows: slice, count: int) -> slice:
    """From the first to the last key that causality and the window let any query of a block see."""
    places = rules.places
    # Elsewhere reading a number would make the processor wait for the device.
    if places.keys.device.type != "cpu" or not (rules.causal or rules.left is not None or rules.right is not None):
        return slice(0, count)
    query, key = places.queries[:, rows], places.keys
    low, high = query.amin(), query.amax()
    seen = torch.ones_like(key, dtype=torch.bool)
    if rules.left is not None:
        seen &= key >= low - rules.left
    if rules.right is not None:
        seen &= key <= high + rules.right
    seen |= key < rules.keep_first
    if rules.causal:
        seen &= key <= high
    column = seen.any(0).nonzero()
    return slice(int(column[0]), int(column[-1]) + 1) if len(column) else slice(0, 0)
