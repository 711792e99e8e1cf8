"""The compiled kernels as PyTorch's autograd knows an operation."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ordinate.ops.backends import compiled
from ordinate.ops.rotate import cpu
from ordinate.ops.rotate.arguments import Angles, Turn


def register() -> None:
    """Tell the compiled module of torch's class, its exchange of memory and its modes."""
    if compiled is not None:
        exchange = getattr(Tensor, "__dlpack_c_exchange_api__", None)
        compiled.register_torch(Tensor, torch.nn.Parameter, exchange)
        compiled.register_torch_mode(torch)


def obstacle(tensors: Sequence[Tensor]) -> str | None:
    """Why a kernel may not write to these tensors' memory, or None where it may."""
    assert compiled is not None  # noqa: S101 - `choose` has seen to it
    if not compiled.plain_tensors(*tensors):
        return "cpu takes plain tensors outside of transforms, dispatch modes and tracing"
    if any(t.is_neg() for t in tensors):
        return "cpu takes no negated views"
    tables = tensors[1:]
    if torch.is_grad_enabled() and any(t.requires_grad for t in tables):
        return "cpu gives no gradient to a table or to frequencies"
    return None


class Rotation(torch.autograd.Function):
    """`rotate` of one tensor, with the rotation by the negative angle as its gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Any, sin: Any, positions: Any, frequencies: Any, *rest: Any) -> Tensor:
        """Rotate into new memory; `rest` is the magnitude and the turn."""
        ctx.save_for_backward(cos, sin, positions, frequencies)
        ctx.rest = rest
        magnitude, turn = rest
        return new(x, Angles(cos, sin, positions, frequencies, magnitude), turn)

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> Any:
        """The gradient of `x`, differentiable again."""
        cos, sin, positions, frequencies = ctx.saved_tensors
        magnitude, turn = ctx.rest
        (gradient,) = upstream
        from ordinate.ops.rotate import rotate

        back, _ = rotate(
            gradient,
            None,
            cos,
            sin,
            positions,
            turn.pairing,
            part=turn.part,
            inverse=not turn.inverse,
            frequencies=frequencies,
            magnitude=magnitude,
        )
        return (back, *[None] * 6)


def rotate_one(x: Tensor, angles: Angles, turn: Turn) -> Tensor:
    """Rotate one tensor into new memory; the arguments are checked already."""
    if torch.is_grad_enabled() and x.requires_grad:
        a = angles
        made = Rotation.apply(x, a.cos, a.sin, a.positions, a.frequencies, a.magnitude, turn)
        assert isinstance(made, Tensor)  # noqa: S101 - `apply` says nothing of its type
        return made
    return new(x, angles, turn)


def rotate_one_(x: Tensor, angles: Angles, turn: Turn) -> None:
    """`rotate_one`, written into `x`."""
    if torch.is_grad_enabled() and x.requires_grad:
        x.copy_(rotate_one(x, angles, turn))
        return
    cpu.into(x, x, angles, turn)
    torch.autograd.graph.increment_version(x)


def new(x: Tensor, angles: Angles, turn: Turn) -> Tensor:
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    cpu.into(x, out, angles, turn)
    return out


register()
