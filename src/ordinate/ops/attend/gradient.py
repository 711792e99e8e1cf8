"""The kernels of `attend` for torch tensors, with their gradient: probabilities are computed again, tile by tile."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ordinate.ops.attend import cpu
from ordinate.ops.attend.arguments import Call
from ordinate.ops.backends import compiled
from ordinate.ops.rotate import gradient as rotation

TERMS: tuple[str, ...] = ("slopes", "by_distance", "sink_logits")
LEARNED = ("q", "k", "v", *TERMS)
"""What the kernels give a gradient to."""


def obstacle(call: Call, arrays: Mapping[str, Tensor]) -> str | None:
    """Why the kernels may not take these tensors, or None where they may."""
    assert compiled is not None  # noqa: S101 - `choose` has seen to it
    if not compiled.plain_tensors(*arrays.values()):
        return "cpu takes plain tensors outside of transforms, dispatch modes and tracing"
    if any(tensor.is_neg() for tensor in arrays.values()):
        return "cpu takes no negated views"
    return obstacle_to_gradients(call, arrays)


def obstacle_to_gradients(call: Call, arrays: Mapping[str, Tensor]) -> str | None:
    """Why the kernels may not take tensors that need these gradients, or None where they may."""
    if torch.is_grad_enabled():
        wanted = [name for name, tensor in arrays.items() if tensor.requires_grad]
        if call.paged and wanted:
            return "cpu gives no gradient through a paged cache"
        for name in wanted:
            if name not in LEARNED:
                return f"cpu gives no gradient to {name}"
    return None


def attend_call(call: Call) -> tuple[Tensor, Tensor | None]:
    """`cpu.attend_call` for tensors; differentiable once."""
    arrays = cpu.arrays_of(call)
    options = cpu.options_of(call)
    if not (torch.is_grad_enabled() and any(arrays[name].requires_grad for name in LEARNED if name in arrays)):
        out, lse = new(arrays, keep_lse=call.return_lse)
        cpu.into(arrays, options, out, lse)
        return out, lse
    made = Attention.apply(tuple(arrays), options, wide(arrays), *arrays.values())
    assert isinstance(made, tuple)  # noqa: S101 - `apply` says nothing of its type
    out, lse = made
    return out.to(call.q.dtype), lse if call.return_lse else None


def wide(arrays: Mapping[str, Tensor]) -> bool:
    """Whether the output is kept in float32 for the gradient.

    Terms of the logits get sums of P (dP - dO O) over keys, and an O rounded to 16 bits leaves every summand off by as
    much: times distance, for slopes.
    """
    return any(name in arrays and arrays[name].requires_grad for name in TERMS)


def new(arrays: Mapping[str, Tensor], *, keep_lse: bool, wide: bool = False) -> tuple[Tensor, Tensor | None]:
    q, v = arrays["q"], arrays["v"]
    batch, queries, heads, _ = q.shape
    lse = q.new_empty(batch, heads, queries, dtype=torch.float32) if keep_lse else None
    return q.new_empty(batch, queries, heads, v.shape[3], dtype=torch.float32 if wide else q.dtype), lse


class Attention(torch.autograd.Function):
    """Forward keeps the output and the logarithms of the denominators; backward recomputes all else from them."""

    @staticmethod
    def forward(
        ctx: Any, names: tuple[str, ...], options: dict[str, Any], wide: bool, *tensors: Tensor
    ) -> tuple[Tensor, Tensor]:
        """`names` are those of the tensors."""
        arrays = dict(zip(names, tensors, strict=True))
        out, lse = new(arrays, keep_lse=True, wide=wide)
        assert lse is not None  # noqa: S101 - it was asked for
        cpu.into(arrays, options, out, lse)
        ctx.names, ctx.options = names, options
        ctx.save_for_backward(out, lse, *tensors)
        return out, lse

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Gradients of q, k, v, slopes, by_distance and sink_logits, from those of the output and of lse."""
        grad_out, grad_lse = upstream
        out, lse, *tensors = ctx.saved_tensors
        wanted = dict(zip(ctx.names, ctx.needs_input_grad[3:], strict=True))
        arrays = dict(zip(ctx.names, tensors, strict=True))
        with torch.no_grad():
            grads = gradients(arrays, ctx.options, out, lse, grad_out, grad_lse, wanted)
        grads = {name: grads[name] for name in ctx.names if wanted[name]}
        if torch.is_grad_enabled():  # asked for a graph of the gradient
            made = Once.apply(len(grads), *grads.values(), grad_out, grad_lse, *tensors)
            grads = dict(zip(grads, made, strict=True))
        return (None, None, None, *[grads.get(name) for name in ctx.names])


class Once(torch.autograd.Function):
    """Gradients as they are; theirs is an error, not silently nothing."""

    @staticmethod
    def forward(ctx: Any, count: int, *tensors: Tensor) -> tuple[Tensor, ...]:  # noqa: ARG004 - torch's name
        """The first `count` tensors; the others are what they depend on."""
        return tuple(tensor.view_as(tensor) for tensor in tensors[:count])

    @staticmethod
    def backward(ctx: Any, *_upstream: Any) -> Any:  # noqa: ARG004 - torch's name
        """Refused."""
        raise RuntimeError("attend is differentiable once: its gradient has none")


def gradients(
    arrays: Mapping[str, Tensor],
    options: Mapping[str, Any],
    out: Tensor,
    lse: Tensor,
    grad_out: Tensor,
    grad_lse: Tensor | None,
    wanted: Mapping[str, bool],
) -> dict[str, Tensor]:
    """Gradients by name: of q, k and v, and of what is `wanted` of slopes, by_distance and sink_logits.

    Args:
        arrays: of the call, by name
        options: of the call, as `cpu.options_of` makes them
        out, lse: what forward gave
        grad_out, grad_lse: their gradients; None for zero
        wanted: by the names of `arrays`
    """
    assert compiled is not None  # noqa: S101 - forward has run
    # Autograd may hand over a view whose numbers are the negatives of those in memory.
    grad_out = grad_out.resolve_neg().to(arrays["q"].dtype)
    grad_lse = None if grad_lse is None else grad_lse.resolve_neg()
    if wanted.get("slopes"):  # a place in memory for the gradient of each
        arrays = {**arrays, "slopes": arrays["slopes"].contiguous()}
    q, k, v = (arrays[name] for name in ("q", "k", "v"))
    # Where no query reads a key its gradient is 0, and nothing is written there.
    like = torch.zeros_like if {"cu_seqlens_q", "key_lengths"} & arrays.keys() else torch.empty_like
    grads = {
        name: like(tensor, memory_format=torch.contiguous_format) for name, tensor in zip("qkv", (q, k, v), strict=True)
    }
    for name in TERMS:
        if wanted.get(name):
            grads[name] = torch.zeros_like(arrays[name], memory_format=torch.contiguous_format)
    rest = {name: array for name, array in arrays.items() if name not in ("q", "k", "v")}
    compiled.attend_backward(
        q,
        k,
        v,
        out,
        lse,
        grad_out,
        grad_lse,
        grads["q"],
        grads["k"],
        grads["v"],
        grads.get("slopes"),
        grads.get("by_distance"),
        grads.get("sink_logits"),
        **rest,
        **options,
    )
    return grads


rotation.register()
