"""`attend` while torch compiles a graph: operators of the library "ordinate", with the shapes that a graph needs.

torch.compile cannot look into compiled code. torch.export gets PyTorch's standard operators, which every runtime has.
"""

from typing import Any

import torch
from torch import Tensor

from ordinate.errors import InputError, Unavailable
from ordinate.ops.attend import cpu, gradient
from ordinate.ops.attend.arguments import Call
from ordinate.ops.attend.values import check_integers
from ordinate.ops.backends import KERNEL_DTYPES, NOT_COMPILED, compiled
from ordinate.ops.rotate.arguments import Turn, dtype_name


def serves(call: Call, backend: str) -> bool:
    """Whether the graph gets the operator: found out from types, devices and gradients, never from numbers.

    Raises:
        Unavailable: the backend asked for by name cannot be in this graph
    """
    if backend not in ("auto", "eager", "cpu"):
        raise Unavailable(f"backend {backend!r} cannot be compiled into a graph: use 'cpu' or 'eager'")
    if backend == "eager":
        return False
    reason = _obstacle(call)
    if reason is not None and backend == "cpu":
        raise Unavailable(f"backend 'cpu' cannot serve this graph: {reason}")
    return reason is None


def _obstacle(call: Call) -> str | None:
    if compiled is None:
        return NOT_COMPILED
    if torch.compiler.is_exporting():
        return "an exported graph has standard operators only"
    if call.q.device.type != "cpu" or dtype_name(call.q) not in KERNEL_DTYPES:
        return f"cpu takes {', '.join(KERNEL_DTYPES)} on the cpu"
    return cpu.obstacle(call) or gradient.obstacle_to_gradients(call, cpu.arrays_of(call))


def attend_call(call: Call) -> tuple[Tensor, Tensor | None]:
    """`cpu.attend_call` as one operator of the graph; numbers are checked when it runs."""
    arrays = [getattr(call, name) for name in cpu.ARRAYS]
    options = (
        call.causal,
        call.softmax_scale,
        call.softcap,
        call.left,
        call.right,
        call.keep_first,
        call.turn.pairing,
        call.turn.part,
        gradient.wide(cpu.arrays_of(call)),
    )
    if torch.is_grad_enabled() and any(array is not None and array.requires_grad for array in arrays):
        out, lse = torch.ops.ordinate.attend(*arrays, *options)
        return out.to(call.q.dtype), lse if call.return_lse else None
    # An operator that writes costs half of one with a gradient, and the compiler places new memory better.
    out, lse = gradient.new(cpu.arrays_of(call), keep_lse=call.return_lse)
    torch.ops.ordinate.attend_into(*arrays, *options, out, lse)
    return out, lse


_ARRAYS = ", ".join(f"Tensor{'' if name in ('q', 'k', 'v') else '?'} {name}" for name in cpu.ARRAYS)
_OPTIONS = (
    "bool causal, float softmax_scale, float? softcap, SymInt? left, SymInt? right, SymInt keep_first, "
    "str pairing, str part, bool wide"
)
_LIBRARY = torch.library.Library("ordinate", "FRAGMENT")
_LIBRARY.define(f"attend({_ARRAYS}, {_OPTIONS}) -> (Tensor, Tensor)")
_LIBRARY.define(f"attend_into({_ARRAYS}, {_OPTIONS}, Tensor(a!) out, Tensor(b!)? lse) -> ()")
# Gradients of q, k, v and of what may be learned: empty where none is wanted.
_LIBRARY.define(
    f"attend_backward({_ARRAYS}, {_OPTIONS}, Tensor out, Tensor lse, Tensor grad_out, Tensor? grad_lse, "
    f"{', '.join(f'bool of_{name}' for name in gradient.TERMS)}) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)"
)
_COUNT = len(cpu.ARRAYS)
_INPUTS = _COUNT + 9
"""How many arrays an operator has, and how many arguments with the options behind them."""


def _read(inputs: tuple[Any, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arrays that are given and the options of the kernels, once the numbers in them are checked."""
    arrays = {name: x for name, x in zip(cpu.ARRAYS, inputs[:_COUNT], strict=True) if x is not None}
    if not _NUMBERS.isdisjoint(arrays):
        call = _call(inputs)
        check_integers(call)
        reason = cpu.obstacle_in_positions(call)
        if reason is not None:
            # The graph is made: no other backend can take over.
            raise InputError(f"{reason} in a compiled graph: compile with backend='eager'")
        return arrays, cpu.options_of(call)
    causal, softmax_scale, softcap, left, right, keep_first, *_ = inputs[_COUNT:_INPUTS]
    options = {"causal": causal, "softmax_scale": softmax_scale, "keep_first": keep_first}
    for name, value in (("softcap", softcap), ("left", left), ("right", right)):
        if value is not None:
            options[name] = value
    return arrays, options


_NUMBERS = {"query_positions", "key_positions", "cu_seqlens_q", "key_lengths", "block_table", "cos"}
"""The arrays whose numbers, or the positions that they are for, must be checked."""


def _call(inputs: tuple[Any, ...]) -> Call:
    """The call that the arguments of an operator stand for."""
    arrays = dict(zip(cpu.ARRAYS, inputs[:_COUNT], strict=True))
    causal, softmax_scale, softcap, left, right, keep_first, pairing, part, _ = inputs[_COUNT:_INPUTS]
    table = arrays["by_distance"]
    return Call(
        **arrays,
        causal=causal,
        softmax_scale=softmax_scale,
        softcap=softcap,
        left=left,
        right=right,
        keep_first=keep_first,
        reach=0 if table is None else table.shape[1] // 2,
        turn=Turn(pairing, part, False),
        scheme=None,
        learned={},
        return_lse=True,
        library="torch",
    )


def _attend(*inputs: Any) -> tuple[Tensor, Tensor]:
    arrays, options = _read(inputs)
    out, lse = gradient.new(arrays, keep_lse=True, wide=inputs[_INPUTS - 1])
    assert lse is not None  # noqa: S101 - it was asked for
    cpu.into(arrays, options, out, lse)
    return out, lse


def _attend_into(*arguments: Any) -> None:
    arrays, options = _read(arguments)
    out, lse = arguments[_INPUTS:]
    cpu.into(arrays, options, out, lse)
    torch.autograd.graph.increment_version(out if lse is None else [out, lse])


def _fake_into(*_arguments: Any) -> None:
    return


def _fake(*inputs: Any) -> tuple[Tensor, Tensor]:
    out, lse = gradient.new({"q": inputs[0], "v": inputs[2]}, keep_lse=True, wide=inputs[_INPUTS - 1])
    assert lse is not None  # noqa: S101 - it was asked for
    return out, lse


def _attend_backward(*arguments: Any) -> tuple[Tensor, ...]:
    arrays, options = _read(arguments)
    out, lse, grad_out, grad_lse, *wanted = arguments[_INPUTS:]
    grads = gradient.gradients(
        arrays, options, out, lse, grad_out, grad_lse, dict(zip(gradient.TERMS, wanted, strict=True))
    )
    return tuple(grads[name] if name in grads else lse.new_empty(0) for name in ("q", "k", "v", *gradient.TERMS))


def _fake_backward(*arguments: Any) -> tuple[Tensor, ...]:
    arrays = dict(zip(cpu.ARRAYS, arguments[:_COUNT], strict=True))
    wanted = dict(zip(gradient.TERMS, arguments[_INPUTS + 4 :], strict=True))
    return tuple(
        torch.empty_like(arrays[name], memory_format=torch.contiguous_format)
        if wanted.get(name, True)
        else arrays["q"].new_empty(0, dtype=torch.float32)
        for name in ("q", "k", "v", *gradient.TERMS)
    )


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*inputs[:_COUNT], *output)
    ctx.options = inputs[_COUNT:]


def _back(ctx: Any, grad_out: Tensor | None, grad_lse: Tensor | None) -> Any:
    *arrays, out, lse = ctx.saved_tensors
    if grad_out is None:
        grad_out = torch.zeros_like(out)
    wanted = dict(zip(cpu.ARRAYS, ctx.needs_input_grad, strict=False))
    made = torch.ops.ordinate.attend_backward(
        *arrays, *ctx.options, out, lse, grad_out, grad_lse, *[wanted[name] for name in gradient.TERMS]
    )
    grads: dict[str, Tensor] = dict(zip(("q", "k", "v", *gradient.TERMS), made, strict=True))
    return (*[grads.get(name) if wanted[name] else None for name in cpu.ARRAYS], *[None] * len(ctx.options))


def _refuse(ctx: Any, *_gradients: Any) -> None:  # noqa: ARG001 - torch's names
    raise RuntimeError("attend is differentiable once: its gradient has none")


_LIBRARY.impl("attend", _attend, "CPU")
_LIBRARY.impl("attend_into", _attend_into, "CPU")
_LIBRARY.impl("attend_backward", _attend_backward, "CPU")
torch.library.register_fake("ordinate::attend", _fake, lib=_LIBRARY)
torch.library.register_fake("ordinate::attend_into", _fake_into, lib=_LIBRARY)
torch.library.register_fake("ordinate::attend_backward", _fake_backward, lib=_LIBRARY)
torch.library.register_autograd("ordinate::attend", _back, setup_context=_keep, lib=_LIBRARY)
torch.library.register_autograd("ordinate::attend_backward", _refuse, lib=_LIBRARY)
