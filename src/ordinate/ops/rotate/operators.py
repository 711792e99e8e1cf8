"""The operators of the library "ordinate": what a compiled graph calls to rotate."""

from typing import Any

import torch
from torch import Tensor

from ordinate.ops.backends import compiled
from ordinate.ops.rotate import cpu
from ordinate.ops.rotate.arguments import Angles, Norms, Turn, check_arguments
from ordinate.ops.rotate.gradient import new
from ordinate.ops.rotate.memory import check_writable

_SCHEMA = "Tensor cos, Tensor sin, Tensor? positions, str pairing, str part, bool inverse, Tensor? axis_of_pair=None"
_LIBRARY = torch.library.Library("ordinate", "FRAGMENT")
_LIBRARY.define(f"rotate(Tensor x, {_SCHEMA}) -> Tensor")
_LIBRARY.define(f"rotate_pair(Tensor q, Tensor k, {_SCHEMA}) -> (Tensor, Tensor)")
_LIBRARY.define(f"rotate_into(Tensor x, Tensor(a!) to, {_SCHEMA}) -> ()")
_LIBRARY.define(f"rotate_pair_into(Tensor q, Tensor k, Tensor(a!) to_q, Tensor(b!) to_k, {_SCHEMA}) -> ()")
_LIBRARY.define(f"rotate_(Tensor(a!) x, {_SCHEMA}) -> ()")
_LIBRARY.define(f"rotate_pair_(Tensor(a!) q, Tensor(b!) k, {_SCHEMA}) -> ()")
_LIBRARY.define(
    "rotate_into_cache_(Tensor(a!)? q, Tensor k, Tensor? v, Tensor(b!) k_cache, Tensor(c!)? v_cache, Tensor slots, "
    "Tensor? cos, Tensor? sin, Tensor? positions, str pairing, str part, Tensor? cu_seqlens, Tensor? frequencies, "
    "float magnitude, Tensor? axis_of_pair, Tensor? q_norm, Tensor? k_norm, float norm_eps, str backend) -> ()"
)


def _run(q: Any, k: Any, cos: Tensor, sin: Tensor, positions: Any, *rest: Any) -> Any:
    assert compiled is not None  # noqa: S101 - the operator is called only where it is
    words, axis_of_pair = rest[:3], rest[3] if len(rest) > 3 else None
    made = None
    if axis_of_pair is None:
        made = compiled.rotate_to_new(q, k, cos, sin, positions, *words, "cpu")
    if made is None:  # unusual, or wrong: then this says what
        angles, turn = Angles(cos, sin, positions, axis_of_pair=axis_of_pair), Turn(*words)
        check_arguments(q, k, angles, turn, Norms())
        made = new(q, k, angles, turn, Norms())
    return made


def _run_(q: Any, k: Any, cos: Tensor, sin: Tensor, positions: Any, *rest: Any) -> None:
    assert compiled is not None  # noqa: S101 - the operator is called only where it is
    words, axis_of_pair = rest[:3], rest[3] if len(rest) > 3 else None
    if axis_of_pair is None and compiled.rotate_in_place(q, k, cos, sin, positions, *words, "cpu"):
        return
    angles, turn = Angles(cos, sin, positions, axis_of_pair=axis_of_pair), Turn(*words)
    check_arguments(q, k, angles, turn, Norms())
    check_writable(q, k)
    cpu.into(q, k, q, k, angles, turn, Norms())
    torch.autograd.graph.increment_version([x for x in (q, k) if x is not None])


def _into(q: Any, k: Any, to_q: Any, to_k: Any, cos: Tensor, sin: Tensor, positions: Any, *rest: Any) -> None:
    assert compiled is not None  # noqa: S101 - the operator is called only where it is
    words, axis_of_pair = rest[:3], rest[3] if len(rest) > 3 else None
    try:
        compiled.rotate_into(q, k, to_q, to_k, cos, sin, positions, None, 1.0, *words, axis_of_pair)
    except ValueError:
        check_arguments(
            q, k, Angles(cos, sin, positions, axis_of_pair=axis_of_pair), Turn(*words), Norms()
        )  # says it better
        raise
    torch.autograd.graph.increment_version([x for x in (to_q, to_k) if x is not None])


def _into_cache_(
    q: Any,
    k: Tensor,
    v: Any,
    k_cache: Tensor,
    v_cache: Any,
    slots: Tensor,
    cos: Any,
    sin: Any,
    positions: Any,
    pairing: Any,
    part: Any,
    cu_seqlens: Any,
    frequencies: Any,
    magnitude: float,
    axis_of_pair: Any,
    q_norm: Any,
    k_norm: Any,
    norm_eps: float,
    backend: str,
) -> None:
    from ordinate.ops.rotate.cache import rotate_into_cache_

    rotate_into_cache_(
        q,
        k,
        v,
        k_cache,
        v_cache,
        slots,
        cos,
        sin,
        positions,
        pairing,
        part=part,
        cu_seqlens=cu_seqlens,
        frequencies=frequencies,
        magnitude=magnitude,
        axis_of_pair=axis_of_pair,
        q_norm=q_norm,
        k_norm=k_norm,
        norm_eps=norm_eps,
        backend=backend,
    )


def _rotate_into(x: Tensor, to: Tensor, *options: Any) -> None:
    _into(x, None, to, None, *options)


def _rotate(x: Tensor, *options: Any) -> Tensor:
    return _run(x, None, *options)[0]


def _rotate_(x: Tensor, *options: Any) -> None:
    _run_(x, None, *options)


def _fake(x: Tensor, *_options: Any) -> Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _fake_pair(q: Tensor, k: Tensor, *_options: Any) -> tuple[Tensor, Tensor]:
    return _fake(q), _fake(k)


def _fake_nothing(*_arguments: Any) -> None:
    return


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:  # noqa: ARG001 - torch's names
    *_, cos, sin, positions, pairing, part, inverse, axis_of_pair = inputs
    ctx.save_for_backward(cos, sin, positions, axis_of_pair)
    ctx.turn = (pairing, part, inverse)


def _turn_back(ctx: Any) -> tuple[Any, ...]:
    cos, sin, positions, axis_of_pair = ctx.saved_tensors
    pairing, part, inverse = ctx.turn
    return cos, sin, positions, pairing, part, not inverse, axis_of_pair


def _back(ctx: Any, gradient: Tensor) -> Any:
    return (torch.ops.ordinate.rotate(gradient, *_turn_back(ctx)), *[None] * 7)


def _back_pair(ctx: Any, q: Tensor | None, k: Tensor | None) -> Any:
    options = _turn_back(ctx)
    if q is not None and k is not None:
        q, k = torch.ops.ordinate.rotate_pair(q, k, *options)
    elif q is not None:
        q = torch.ops.ordinate.rotate(q, *options)
    elif k is not None:
        k = torch.ops.ordinate.rotate(k, *options)
    return (q, k, *[None] * 7)


_LIBRARY.impl("rotate", _rotate, "CPU")
_LIBRARY.impl("rotate_pair", _run, "CPU")
_LIBRARY.impl("rotate_into", _rotate_into, "CPU")
_LIBRARY.impl("rotate_pair_into", _into, "CPU")
_LIBRARY.impl("rotate_", _rotate_, "CPU")
_LIBRARY.impl("rotate_pair_", _run_, "CPU")
_LIBRARY.impl("rotate_into_cache_", _into_cache_, "CompositeExplicitAutograd")
torch.library.register_fake("ordinate::rotate_into_cache_", _fake_nothing, lib=_LIBRARY)
torch.library.register_fake("ordinate::rotate", _fake, lib=_LIBRARY)
torch.library.register_fake("ordinate::rotate_pair", _fake_pair, lib=_LIBRARY)
torch.library.register_fake("ordinate::rotate_into", _fake_nothing, lib=_LIBRARY)
torch.library.register_fake("ordinate::rotate_pair_into", _fake_nothing, lib=_LIBRARY)
torch.library.register_fake("ordinate::rotate_", _fake_nothing, lib=_LIBRARY)
torch.library.register_fake("ordinate::rotate_pair_", _fake_nothing, lib=_LIBRARY)
torch.library.register_autograd("ordinate::rotate", _back, setup_context=_keep, lib=_LIBRARY)
torch.library.register_autograd("ordinate::rotate_pair", _back_pair, setup_context=_keep, lib=_LIBRARY)
