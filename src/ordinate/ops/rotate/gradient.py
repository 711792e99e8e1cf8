"""The compiled kernels as PyTorch's autograd knows an operation."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ordinate.ops.backends import compiled
from ordinate.ops.rotate import cpu, eager
from ordinate.ops.rotate.arguments import Angles, Norms, Turn


def register() -> None:
    """Tell the compiled module of torch's class, its exchange of memory and its modes."""
    if compiled is not None:
        exchange = getattr(Tensor, "__dlpack_c_exchange_api__", None)
        compiled.register_torch(Tensor, torch.nn.Parameter, exchange)
        compiled.register_torch_mode(torch)


def obstacle(tensors: Sequence[Tensor], tables: Sequence[Tensor]) -> str | None:
    """Why a kernel may not read and write these tensors' memory, the tables' among them; None where it may."""
    assert compiled is not None  # noqa: S101 - `choose` has seen to it
    if not compiled.plain_tensors(*tensors):
        return "cpu takes plain tensors outside of transforms, dispatch modes and tracing"
    if any(t.is_neg() for t in tensors):
        return "cpu takes no negated views"
    if needs_gradient(*tables):
        return "cpu gives no gradient to a table or to frequencies"
    return None


def needs_gradient(*tensors: Tensor | None) -> bool:
    """Whether what is done to any of these is recorded."""
    return torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors)


class Rotation(torch.autograd.Function):
    """`rotate` of q and k in one call, with the rotation by the negative angle as its gradient."""

    @staticmethod
    def forward(ctx: Any, q: Any, k: Any, *rest: Any) -> tuple[Any, Any]:
        """Rotate into new memory; `rest` is cos, sin, positions, frequencies, axis_of_pair, magnitude and turn."""
        cos, sin, positions, frequencies, axis_of_pair, magnitude, turn = rest
        ctx.save_for_backward(cos, sin, positions, frequencies, axis_of_pair)
        ctx.rest = magnitude, turn
        ctx.set_materialize_grads(False)
        made = new(q, k, Angles(cos, sin, positions, frequencies, magnitude, axis_of_pair), turn, Norms())
        still = [x for x, wanted in zip(made, ctx.needs_input_grad, strict=False) if x is not None and not wanted]
        ctx.mark_non_differentiable(*still)
        return made

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> Any:
        """The gradients of q and k, differentiable again."""
        cos, sin, positions, frequencies, axis_of_pair = ctx.saved_tensors
        magnitude, turn = ctx.rest
        q, k = upstream
        if q is not None or k is not None:
            from ordinate.ops.rotate import rotate

            q, k = rotate(
                q,
                k,
                cos,
                sin,
                positions,
                turn.pairing,
                part=turn.part,
                inverse=not turn.inverse,
                frequencies=frequencies,
                magnitude=magnitude,
                axis_of_pair=axis_of_pair,
            )
        return (q, k, *[None] * 7)


def rotate_both(q: Any, k: Any, angles: Angles, turn: Turn, norms: Norms) -> tuple[Any, Any]:
    """Rotate q and k into new memory, None for None; the arguments are checked already."""
    if not needs_gradient(q, k, norms.q, norms.k):
        return new(q, k, angles, turn, norms)
    # PyTorch differentiates the norm: the rotation then reads what it left in float32.
    wide = [
        x if weight is None else eager.normalised(x, weight, norms.epsilon)
        for x, weight in ((q, norms.q), (k, norms.k))
    ]
    a = angles
    made = Rotation.apply(*wide, a.cos, a.sin, a.positions, a.frequencies, a.axis_of_pair, a.magnitude, turn)
    assert isinstance(made, tuple)  # noqa: S101 - `apply` says nothing of its type
    q, k = (None if x is None else out.to(x.dtype) for x, out in zip((q, k), made, strict=True))
    return q, k


def rotate_both_(q: Any, k: Any, angles: Angles, turn: Turn, norms: Norms) -> None:
    """`rotate_both`, written into q and k."""
    given = [x for x in (q, k) if x is not None]
    if needs_gradient(*given, norms.q, norms.k):
        before = eager.kept(q, norms.q), eager.kept(k, norms.k)
        for x, made in zip((q, k), rotate_both(*before, angles, turn, norms), strict=True):
            if x is not None:
                x.copy_(made)
        return
    cpu.into(q, k, q, k, angles, turn, norms)
    torch.autograd.graph.increment_version(given)


def new(q: Any, k: Any, angles: Angles, turn: Turn, norms: Norms) -> tuple[Any, Any]:
    """q and k rotated into new memory by one call of the kernels, unrecorded."""
    to_q, to_k = (None if x is None else torch.empty_like(x, memory_format=torch.contiguous_format) for x in (q, k))
    cpu.into(q, k, to_q, to_k, angles, turn, norms)
    return to_q, to_k


register()
