"""Tables of cos and sin in the forms of other libraries, and back."""

from typing import Literal

import torch
from torch import Tensor

from ordinate.errors import InputError, got, one_of
from ordinate.ops.rotate import rotate
from ordinate.ops.rotate.arguments import Pairing

Duplicate = Literal["half", "interleaved"]


def from_duplicated(cos: Tensor, sin: Tensor, duplicate: Duplicate = "half") -> tuple[Tensor, Tensor]:
    """Half-width tables from full-width ones, in which transformers holds each entry twice.

    Args:
        cos, sin: [..., 2 * pairs], any float
        duplicate: "half" where the table is repeated behind itself (Llama), "interleaved" where each entry is behind
            itself (Cohere)

    Returns:
        cos, sin: [..., pairs], float32

    Raises:
        InputError: an odd width, or entries that are not there twice

    >>> from_duplicated(torch.tensor([1.0, 2.0, 1.0, 2.0]), torch.zeros(4))[0]
    tensor([1., 2.])
    """
    one_of("duplicate", duplicate, ("half", "interleaved"))
    made = []
    for name, table in (("cos", cos), ("sin", sin)):
        if table.shape[-1] % 2:
            raise InputError(f"{name} must have each entry twice, got a width of {table.shape[-1]}")
        first, second = table.chunk(2, -1) if duplicate == "half" else (table[..., 0::2], table[..., 1::2])
        if not torch.equal(first, second):
            raise InputError(f"{name} must have each entry twice ({duplicate}), got two that differ")
        made.append(first.float())
    return made[0], made[1]


def to_duplicated(
    cos: Tensor, sin: Tensor, duplicate: Duplicate = "half", dtype: torch.dtype | None = None
) -> tuple[Tensor, Tensor]:
    """Full-width tables as transformers' rotary modules return them.

    Args:
        cos, sin: [..., pairs]
        duplicate: as for `from_duplicated`
        dtype: of the result; as given where None. Transformers rounds to the model's

    Returns:
        cos, sin: [..., 2 * pairs]
    """
    one_of("duplicate", duplicate, ("half", "interleaved"))
    wide = [
        torch.cat((table, table), -1) if duplicate == "half" else table.repeat_interleave(2, -1) for table in (cos, sin)
    ]
    return wide[0].to(dtype or cos.dtype), wide[1].to(dtype or sin.dtype)


def from_packed(cache: Tensor) -> tuple[Tensor, Tensor]:
    """Half-width tables from vLLM's `cos_sin_cache`, which has cos and sin beside one another.

    Args:
        cache: [positions, rotary_dim], any float

    Returns:
        cos, sin: [positions, rotary_dim / 2], float32; views of a float32 cache

    Raises:
        InputError: an odd width
    """
    if cache.shape[-1] % 2:
        raise InputError(f"cache must have cos and sin of one width, got a width of {cache.shape[-1]}")
    cos, sin = cache.chunk(2, -1)
    return cos.float(), sin.float()


def to_packed(cos: Tensor, sin: Tensor) -> Tensor:
    """vLLM's `cos_sin_cache`: [positions, 2 * pairs], cos before sin."""
    return torch.cat((cos, sin), -1)


def from_complex(freqs_cis: Tensor) -> tuple[Tensor, Tensor]:
    """Half-width tables from Meta's `freqs_cis`, which has each turn as one number.

    Args:
        freqs_cis: [positions, pairs], complex

    Returns:
        cos, sin: [positions, pairs], float32

    Raises:
        InputError: not complex
    """
    if not freqs_cis.is_complex():
        raise InputError(f"freqs_cis must be complex, got {str(freqs_cis.dtype).removeprefix('torch.')}")
    return freqs_cis.real.float().contiguous(), freqs_cis.imag.float().contiguous()


def to_complex(cos: Tensor, sin: Tensor) -> Tensor:
    """Meta's `freqs_cis`: [positions, pairs], complex64 of float32 tables. Meta's pairing is "interleaved"."""
    return torch.complex(cos, sin)


def from_angles(angles: Tensor, duplicate: Duplicate = "half") -> tuple[Tensor, Tensor]:
    """Half-width tables from TransformerEngine's and Megatron's angles, each there twice.

    cos and sin are taken in float64 and rounded once; what the float32 angles lost before is lost.

    Args:
        angles: [positions, 1, 1, 2 * pairs] or [positions, 2 * pairs], any float, [rad]
        duplicate: "half", or "interleaved" (their `rotary_interleaved`)

    Returns:
        cos, sin: [positions, pairs], float32

    Raises:
        InputError: other shapes, or angles that are not there twice
    """
    if angles.ndim not in (2, 4) or (angles.ndim == 4 and tuple(angles.shape[1:3]) != (1, 1)):
        raise InputError(f"angles must have shape [positions, 1, 1, 2 * pairs], got {list(angles.shape)}")
    turns = angles.reshape(len(angles), angles.shape[-1]).double()
    cos, _ = from_duplicated(turns.cos(), torch.zeros_like(turns), duplicate)
    sin, _ = from_duplicated(turns.sin(), torch.zeros_like(turns), duplicate)
    return cos, sin


def to_angles(cos: Tensor, sin: Tensor, duplicate: Duplicate = "half") -> Tensor:
    """TransformerEngine's and Megatron's angles, of which they take cos and sin themselves.

    Args:
        cos, sin: [positions, pairs], of magnitude 1
        duplicate: as for `from_angles`

    Returns:
        [positions, 1, 1, 2 * pairs], float32, between -pi and pi: whole turns make no difference, [rad]

    Raises:
        InputError: a magnitude other than 1 (YaRN's attention factor), which angles cannot hold
    """
    length = torch.hypot(cos.double(), sin.double())
    if not torch.allclose(length, torch.ones_like(length), rtol=0, atol=1e-6):
        worst = float(length.flatten()[(length - 1).abs().argmax()])
        raise InputError(f"cos and sin must have magnitude 1, because angles hold none, got {worst:.6g}")
    turns = torch.atan2(sin.double(), cos.double()).float()
    return to_duplicated(turns, turns, duplicate)[0][:, None, None]


def apply_rotary_pos_emb(
    q: Tensor,
    k: Tensor,
    cos: Tensor,
    sin: Tensor,
    unsqueeze_dim: int = 1,
    *,
    pairing: Pairing = "half",
    duplicate: Duplicate = "half",
) -> tuple[Tensor, Tensor]:
    """`rotate`, called as transformers' function of this name is.

    Args:
        q, k: [batch, heads, tokens, dim] where `unsqueeze_dim` is 1, [batch, tokens, heads, dim] where it is 2
        cos, sin: [batch or 1, tokens, 2 * pairs], as transformers' rotary modules return them
        unsqueeze_dim: which axis the heads are
        pairing: as for `rotate`; "interleaved" for GPT-J, Cohere and their kin
        duplicate: how the tables have their entries twice

    Returns:
        q and k rotated in float32 arithmetic, in the order of axes that they came in

    Raises:
        InputError: as `rotate`, an `unsqueeze_dim` other than 1 and 2, or tables that are not duplicated

    Source: transformers 5.24, models/llama/modeling_llama.py.
    Differs from it: arithmetic is float32 in half precision too, and only channels of the table's width turn.
    """
    if unsqueeze_dim not in (1, 2):
        raise InputError(f"unsqueeze_dim must be 1 or 2, got {got(unsqueeze_dim)}")
    cos, sin = from_duplicated(cos, sin, duplicate)
    if cos.ndim != 3 or cos.shape != sin.shape:
        halves = f"{list(cos.shape)} and {list(sin.shape)}"
        raise InputError(f"cos and sin must have shape [batch, tokens, 2 * pairs], got halves of {halves}")
    # A row of the table is a token of the batch.
    rows = torch.arange(cos.shape[0] * cos.shape[1], device=cos.device).view(cos.shape[:2])
    positions = rows[0] if len(rows) == 1 else rows
    cos, sin = cos.flatten(0, 1), sin.flatten(0, 1)
    if unsqueeze_dim == 2:
        return rotate(q, k, cos, sin, positions, pairing)
    q, k = rotate(q.transpose(1, 2), k.transpose(1, 2), cos, sin, positions, pairing)
    return q.transpose(1, 2), k.transpose(1, 2)
