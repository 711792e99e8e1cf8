"""How the rows of a projection are cut into heads, and which of them turn."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ordinate.errors import InputError
from ordinate.schemes.multimodal import Multimodal
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup
from ordinate.weights.pairing import half_order

PairLayout = Literal["half", "interleaved"]
Holds = Literal["q", "k", "qk", "gain"]

# CodeGen's rows are in the order of the four devices that it was trained on.
_CODEGEN_DEVICES = 4


@dataclass(frozen=True)
class Form:
    """The numbers of a layer's attention that decide which rows turn.

    Args:
        query: query heads
        key_value: key and value heads
        head_dim: channels of a query or key head
        value_dim: channels of a value head
        rotary_dim: channels that turn
        offset: the first of them in a head
        latent: width of MLA's cached latent, 0 where attention is not MLA
    """

    query: int
    key_value: int
    head_dim: int
    value_dim: int
    rotary_dim: int
    offset: int
    latent: int = 0


@dataclass(frozen=True)
class Turning:
    """The rows of a tensor that turn: runs of equal width.

    Args:
        rows: how many rows the tensor must have
        starts: the first row of each run, [runs], in ascending order
        width: rows of a run, even
    """

    rows: int
    starts: np.ndarray
    width: int

    def order(self, to: PairLayout) -> np.ndarray:
        """Where each row of the converted tensor stands in the given one, [rows], int64.

        Args:
            to: the layout wanted; the tensor has the other one
        """
        order = np.arange(self.rows)
        run = half_order(self.width)
        run = run if to == "half" else np.argsort(run)
        order[self.starts[:, None] + np.arange(self.width)] = self.starts[:, None] + run
        return order


@dataclass(frozen=True)
class Cut:
    """What a tensor holds, and how its rows are cut.

    Args:
        holds: "q", "k", or both; "gain" where it scales channels after projection
        all_heads: from the form of attention to the rows that turn
    """

    holds: Holds
    all_heads: Callable[[Form], Turning]

    def turning(self, form: Form, found: int) -> Turning:
        """The rows that turn.

        Args:
            form: of the layer's attention
            found: rows of the tensor; a gain of as many as one head has is shared by all heads
        """
        if self.holds == "gain" and found == form.head_dim:
            return Turning(form.head_dim, np.array([form.offset]), form.rotary_dim)
        return self.all_heads(form)


def read_form(group: LayerGroup) -> Form:
    """The form of a group of layers that rotates.

    Raises:
        InputError: its scheme pairs channels in a way that no reordering of rows reaches, or its heads are unknown
    """
    rope, heads = group.rope, group.heads
    if not isinstance(rope, Rope | Multimodal):
        raise InputError(f"group {group.layer_type!r}: scheme {rope.name} is not converted, only rope and multimodal")
    if heads is None:
        raise InputError(f"group {group.layer_type!r}: the configuration has no single number of heads")
    part = rope.part if isinstance(rope, Rope) else "first"
    if part == "proportional":
        raise InputError(f"group {group.layer_type!r}: proportional rotation is not converted: it exists as half alone")
    if rope.rotary_dim > heads.head_dim:
        raise InputError(f"group {group.layer_type!r} turns {rope.rotary_dim} channels of heads of {heads.head_dim}")
    offset = heads.head_dim - rope.rotary_dim if part == "last" else 0
    return Form(
        heads.query,
        heads.key_value,
        heads.head_dim,
        heads.value_dim,
        rope.rotary_dim,
        offset,
        heads.latent_dim or 0,
    )


def _query(form: Form) -> Turning:
    return Turning(form.query * form.head_dim, np.arange(form.query) * form.head_dim + form.offset, form.rotary_dim)


def _key(form: Form) -> Turning:
    return Turning(
        form.key_value * form.head_dim, np.arange(form.key_value) * form.head_dim + form.offset, form.rotary_dim
    )


def _gated_query(form: Form) -> Turning:
    width = 2 * form.head_dim
    return Turning(form.query * width, np.arange(form.query) * width + form.offset, form.rotary_dim)


def _blocks(form: Form) -> Turning:
    turning = form.query + form.key_value
    total = turning * form.head_dim + form.key_value * form.value_dim
    return Turning(total, np.arange(turning) * form.head_dim + form.offset, form.rotary_dim)


def _groups(form: Form) -> Turning:
    queries = form.query // form.key_value
    width = (queries + 1) * form.head_dim + form.value_dim
    heads = np.arange(form.key_value)[:, None] * width + np.arange(queries + 1) * form.head_dim
    return Turning(form.key_value * width, heads.reshape(-1) + form.offset, form.rotary_dim)


def _codegen(form: Form) -> Turning:
    if form.query % _CODEGEN_DEVICES:
        raise InputError(f"CodeGen must have a multiple of {_CODEGEN_DEVICES} heads, got {form.query}")
    local = form.query // _CODEGEN_DEVICES
    # On each device: queries, values, keys.
    within = np.concatenate([np.arange(local), 2 * local + np.arange(local)])
    heads = np.arange(_CODEGEN_DEVICES)[:, None] * 3 * local + within
    return Turning(3 * form.query * form.head_dim, heads.reshape(-1) * form.head_dim + form.offset, form.rotary_dim)


def _latent_key(form: Form) -> Turning:
    return Turning(form.latent + form.rotary_dim, np.array([form.latent]), form.rotary_dim)


QUERY = Cut("q", _query)
"""Query heads one after another."""
KEY = Cut("k", _key)
"""Key heads one after another."""
GATED_QUERY = Cut("q", _gated_query)
"""Of each query head its channels, then as many of a gate."""
BLOCKS = Cut("qk", _blocks)
"""All query heads, then all key heads, then all value heads (Phi-3, DBRX, ModernBERT)."""
GROUPS = Cut("qk", _groups)
"""Of each key-value head its query heads, then key, then value (Falcon; GPT-NeoX, which has one query head each)."""
CODEGEN = Cut("qk", _codegen)
"""In four parts, of each the query, value and key heads."""
LATENT_KEY = Cut("k", _latent_key)
"""MLA's latent, then the one rotary key that all heads share."""
QUERY_GAIN = Cut("gain", _query)
"""A gain of query channels: one head that all share, or a head each."""
KEY_GAIN = Cut("gain", _key)
"""A gain of key channels: one head that all share, or a head each."""
