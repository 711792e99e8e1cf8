"""Multi-head latent attention (MLA): a cache of one latent and one rotary key a token, for all heads."""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from ordinate.errors import InputError, got, one_of, positive_integer
from ordinate.ops.attend import attend

Projection = Literal["plain", "absorbed"]
"""Whether keys and values are made from the latent for each head, or queries meet the latent itself."""


@dataclass(frozen=True)
class Expansion:
    """How each head's keys and values come from the latent: W_UK and W_UV.

    Args:
        key: [heads, nope_dim, latent_dim]
        value: [heads, value_dim, latent_dim]

    Raises:
        InputError: shapes or dtypes that do not fit each other
    """

    key: Tensor
    value: Tensor

    def __post_init__(self) -> None:
        key, value = self.key, self.value
        if key.ndim != 3 or value.ndim != 3 or (key.shape[0], key.shape[2]) != (value.shape[0], value.shape[2]):
            raise InputError(
                f"key and value must be [heads, channels, latent_dim], alike but for channels, got {[*key.shape]} and "
                f"{[*value.shape]}"
            )
        if key.dtype != value.dtype:
            raise InputError(f"key and value must have one dtype, got {key.dtype} and {value.dtype}")

    @classmethod
    def of(cls, kv_b: Tensor, nope_dim: int, value_dim: int) -> "Expansion":
        """The two parts of a checkpoint's `kv_b_proj.weight`, as views.

        Args:
            kv_b: [heads * (nope_dim + value_dim), latent_dim]: of each head first its key, then its value
            nope_dim: channels of a head's key that do not turn
            value_dim: channels of a head's value
        """
        width = positive_integer("nope_dim", nope_dim) + positive_integer("value_dim", value_dim)
        if kv_b.ndim != 2 or kv_b.shape[0] % width:
            raise InputError(f"kv_b must be [heads * {width}, latent_dim], got {[*kv_b.shape]}")
        heads = kv_b.view(-1, width, kv_b.shape[1])
        return cls(heads[:, :nope_dim], heads[:, nope_dim:])

    @property
    def heads(self) -> int:
        return self.key.shape[0]

    @property
    def nope_dim(self) -> int:
        """Channels of a head's key that do not turn."""
        return self.key.shape[1]

    @property
    def value_dim(self) -> int:
        return self.value.shape[1]

    @property
    def latent_dim(self) -> int:
        return self.key.shape[2]


def attend_latent(
    q: Tensor,
    latent: Tensor,
    k_pe: Tensor,
    expansion: Expansion,
    *,
    softmax_scale: float | None = None,
    projection: Projection = "absorbed",
    **options: Any,
) -> Tensor:
    """Attention of queries to latents, by either projection: the same up to rounding.

    plain:    logits = softmax_scale * (q_nope . (W_UK latent) + q_pe . k_pe)      out = sum weights * (W_UV latent)
    absorbed: logits = softmax_scale * ((W_UK^T q_nope) . latent + q_pe . k_pe)    out = W_UV (sum weights * latent)

    Absorbed, all heads read one key [latent | k_pe], of which the latent is the value as well: nothing is made for each
    key, and each pair of query and key costs (2 latent_dim + rotary_dim) products a head in place of (nope_dim +
    rotary_dim + value_dim). It is the cheaper for few queries, plain for many.

    The latent must not be turned. W_UK would have to come before a rotation that differs from key to key, and then no
    query can absorb it: W_UK^T R != R' W_UK^T. Were the latent turned itself, values would depend on where they stand.

    Args:
        q: [batch, query, heads, nope_dim + rotary_dim], the last `rotary_dim` channels turned, or to be by `cos` and
            `sin`
        latent: [batch, key, 1, latent_dim], normalised
        k_pe: [batch, key, 1, rotary_dim], turned as q is
        expansion: W_UK and W_UV, of the dtype of q
        softmax_scale: 1 / sqrt(nope_dim + rotary_dim) where None, whichever the projection, [1]
        projection: "plain" or "absorbed"
        options: as for `ordinate.ops.attend`: causal, positions, mask, and cos, sin and pairing where q and k_pe are
            not turned yet

    Returns:
        [batch, query, heads, value_dim], of the dtype of q

    Raises:
        InputError: shapes or dtypes that do not fit, and as `attend`

    Source: DeepSeek-AI 2024, arXiv:2405.04434, sections 2.1.2 and 2.1.3, appendix C.
    Differs from the paper: nothing.
    """
    one_of("projection", projection, ("plain", "absorbed"))
    _check(q, latent, k_pe, expansion)
    nope, rotary = expansion.nope_dim, k_pe.shape[-1]
    if "part" in options:
        raise InputError(f"the last channels of MLA turn: part must not be given, got {got(options['part'])}")
    options |= {"part": "last", "softmax_scale": (nope + rotary) ** -0.5 if softmax_scale is None else softmax_scale}
    q_nope, q_pe = q[..., :nope], q[..., nope:]
    if projection == "plain":
        k_nope = torch.einsum("btxc,hnc->bthn", latent, expansion.key)
        k = torch.cat([k_nope, k_pe.expand(-1, -1, expansion.heads, -1)], -1)
        return attend(q, k, torch.einsum("btxc,hvc->bthv", latent, expansion.value), **options)
    absorbed = torch.cat([torch.einsum("bqhn,hnc->bqhc", q_nope, expansion.key), q_pe], -1)
    k = torch.cat([latent, k_pe], -1)
    mixed = attend(absorbed, k, k[..., : expansion.latent_dim], **options)
    return torch.einsum("bqhc,hvc->bqhv", mixed, expansion.value)


def _check(q: Tensor, latent: Tensor, k_pe: Tensor, expansion: Expansion) -> None:
    """Raise `InputError` unless these are the queries and keys of one layer."""
    rotary = k_pe.shape[-1]
    wanted = {
        "q": (q, ("batch", "query", expansion.heads, expansion.nope_dim + rotary)),
        "latent": (latent, (q.shape[0], k_pe.shape[1] if k_pe.ndim > 1 else "key", 1, expansion.latent_dim)),
        "k_pe": (k_pe, (q.shape[0], "key", 1, rotary)),
    }
    for name, (x, shape) in wanted.items():
        fits = x.ndim == 4 and all(
            want in (have, "batch", "query", "key") for want, have in zip(shape, x.shape, strict=True)
        )
        if not fits:
            raise InputError(f"{name} must be [{', '.join(map(str, shape))}], got {[*x.shape]}")
        if x.dtype != expansion.key.dtype:
            raise InputError(f"{name} must have the dtype of the expansion, {expansion.key.dtype}, got {x.dtype}")
