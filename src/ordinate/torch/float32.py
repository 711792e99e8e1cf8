"""Transformers' float32 arithmetic, operation by operation, kept apart from the exact tables.

Transformers computes frequencies, angles, cos and sin in float32, which leaves its angles some 5e-4 rad off near
position 8192 and 7e-2 rad at 2**20; a model run by it has these errors in every logit. Parity needs the same
operations in the same order, so these are ordered as in `transformers.modeling_rope_utils` 5.24; everywhere else the
float64 formulas of `ordinate.schemes` and `ordinate.scaling` hold.
"""

import math

import torch
from torch import Tensor

from ordinate.errors import InputError
from ordinate.scaling.abf import Abf
from ordinate.scaling.base import ntk_base
from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.linear import Linear
from ordinate.scaling.llama3 import Llama3
from ordinate.scaling.longrope import LongRope
from ordinate.scaling.ntk import Ntk
from ordinate.scaling.proportional import Proportional
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.multimodal import Multimodal
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup


def reproducible(group: LayerGroup) -> Rope | Multimodal:
    """The group's rope, or an `InputError` where transformers has nothing that `float32_angles` could reproduce."""
    rope, stretch = group.rope, group.stretch
    if not isinstance(rope, (Rope, Multimodal)):
        raise InputError(f"float32_angles reproduces transformers for rope and multimodal, got {group.scheme}")
    if isinstance(stretch, Yarn) and stretch.ramp != "index":
        raise InputError(f"float32_angles: transformers has YaRN's ramp over the index only, got {stretch.ramp!r}")
    if isinstance(stretch, DynamicNtk) and stretch.form != "offset":
        raise InputError(f"float32_angles: transformers has Dynamic NTK's offset form only, got {stretch.form!r}")
    if _is_proportional(rope):
        if stretch is not None and not isinstance(stretch, Proportional):
            raise InputError(f"float32_angles: transformers does not stretch proportional RoPE by {group.scaling}")
    elif isinstance(stretch, Proportional):
        raise InputError("float32_angles: transformers divides by the type 'proportional' in proportional RoPE only")
    return rope


def frequencies(group: LayerGroup, length: Tensor | None = None) -> Tensor:
    """The frequencies that transformers holds.

    Args:
        group: of rope or multimodal rope
        length: tokens seen so far, [], int64; None for what transformers holds at construction

    Returns:
        [pairs], float32, [rad/token], on the device of `length`, or on the CPU

    Source: transformers 5.24, modeling_rope_utils.py, and `compute_default_rope_parameters` of its Llama.
    """
    rope, stretch = reproducible(group), group.stretch
    device = torch.device("cpu") if length is None else length.device
    group.frequencies(None if length is None else max(int(length), 1))  # refuses what cannot be computed
    if isinstance(stretch, DynamicNtk):
        return _dynamic_ntk(rope, stretch, length, device)
    if isinstance(stretch, Yarn):
        return _yarn(rope, stretch, device)
    if isinstance(stretch, Llama3):
        return _llama3(rope, stretch, device)
    if isinstance(stretch, LongRope):
        past = length is not None and int(length) > stretch.original_max_position_embeddings
        divisors = stretch.long_factor if past else stretch.short_factor
        divided = torch.tensor(divisors, dtype=torch.float32, device=device)
        return 1.0 / (divided * _powers(rope.base, rope.rotary_dim, device))
    if _is_proportional(rope):
        turning = 1.0 / _powers(rope.base, rope.head_dim, device)[: rope.rotary_dim // 2]
        still = torch.zeros(rope.pairs - len(turning), dtype=torch.float32, device=device)
        return torch.cat((turning, still)).div_(stretch.factor if isinstance(stretch, Proportional) else 1.0)
    # Transformers spells `abf` and `ntk` as the default type with the base that they amount to.
    base = rope.base
    if isinstance(stretch, Abf):
        base = float(stretch.base)
    elif isinstance(stretch, Ntk):
        base = ntk_base(rope.base, rope.spectrum_dim, stretch.factor)
    plain = 1.0 / _powers(base, rope.rotary_dim, device)
    return plain.div_(stretch.factor) if isinstance(stretch, Linear) else plain


def table(group: LayerGroup, positions: Tensor, turns: Tensor, length: int | None = None) -> tuple[Tensor, Tensor]:
    """The cos and sin that transformers' rotary modules compute, half width and before the cast to the model's dtype.

    Args:
        group: of rope or multimodal rope
        positions: [..., tokens], integer, or [axes, ..., tokens] for multimodal rope, [token]
        turns: as `frequencies` gives them
        length: tokens seen so far, which a method's magnitude may depend on

    Returns:
        cos, sin: [..., tokens, pairs], float32, on the device of `positions`
    """
    settle_functions()
    turns = turns.to(positions.device)
    if isinstance(group.rope, Multimodal):
        axis = torch.as_tensor(group.rope.axis_of_pair, device=positions.device)
        by_pair = positions.movedim(0, -1)[..., axis]
    else:
        by_pair = positions[..., None]
    angles = by_pair.to(torch.float32) * turns
    factor = group.attention_factor(length)
    return angles.cos() * factor, angles.sin() * factor


def settle_functions() -> None:
    """Let the first cos and sin of a process run on one thread.

    MKL 2024.2, which PyTorch's CPU builds hold, picks each function's code at its first call, and threads that make
    that call at once may get a faster and coarser one: a table then comes out wrong in its third digit, seldom and
    only on a busy machine. NumPy, which makes Ordinate's exact tables, does not use it.

    Source: pytorch/pytorch#188792.
    """
    one = torch.ones(1)
    one.cos()
    one.sin()


def _is_proportional(rope: object) -> bool:
    return isinstance(rope, Rope) and rope.part == "proportional"


def _powers(base: float | Tensor, dim: int, device: torch.device) -> Tensor:
    """base ** (2 i / dim): [dim / 2], float32."""
    return base ** (torch.arange(0, dim, 2, dtype=torch.float32, device=device) / dim)


def _dynamic_ntk(rope: Rope | Multimodal, stretch: DynamicNtk, length: Tensor | None, device: torch.device) -> Tensor:
    dim, factor, window = rope.rotary_dim, stretch.factor, stretch.window
    # Past the window the base becomes a float32 tensor, as it does there: a Python number would be more precise.
    seen = window if length is None or int(length) <= window else length.to(torch.float32)
    growth = factor * seen / window - (factor - 1)
    return 1.0 / _powers(rope.base * growth ** (dim / (dim - 2)), dim, device)


def _yarn(rope: Rope | Multimodal, stretch: Yarn, device: torch.device) -> Tensor:
    powers = _powers(rope.base, rope.rotary_dim, device)
    kept, interpolated = 1.0 / powers, 1.0 / (stretch.factor * powers)
    low, high = stretch.ramp_ends(rope)
    ramp = (torch.arange(rope.rotary_dim // 2, dtype=torch.float32, device="cpu") - low) / (high - low)
    share = 1 - ramp.clamp(0, 1).to(powers.device)
    return interpolated * (1 - share) + kept * share


def _llama3(rope: Rope | Multimodal, stretch: Llama3, device: torch.device) -> Tensor:
    low, high = stretch.low_freq_factor, stretch.high_freq_factor
    trained, factor = stretch.original_max_position_embeddings, stretch.factor
    plain = 1.0 / _powers(rope.base, rope.rotary_dim, device)
    wavelengths = 2 * math.pi / plain
    slow, fast = wavelengths > trained / low, wavelengths < trained / high
    divided = torch.where(slow, plain / factor, plain)
    # With equal factors there is no band, and the quotient below is read nowhere.
    share = (trained / wavelengths - low) / (high - low) if high != low else torch.zeros_like(plain)
    blend = (1 - share) * divided / factor + share * divided
    return torch.where(~slow & ~fast, blend, divided)
