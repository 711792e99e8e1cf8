"""What recurrent and convolutional layers keep of a sequence: numbers that no token adds to.

Sizes are those that transformers 5.24 keeps, which a test holds them to: all `kernel` columns of a convolution, in the
model's floats, and the recurrence in float32, of lightning attention in the model's floats. Other engines keep
kernel - 1 columns, and may keep the recurrence in 16 bits.
"""

from collections.abc import Callable, Mapping

from ordinate.errors import InputError
from ordinate.plan.layers import State
from ordinate.plan.values import Values

States = Callable[[Values], tuple[State, ...]]


def mamba(values: Values) -> tuple[State, ...]:
    """Mamba: inner * kernel of the convolution, inner * state of the recurrence.

    Source: Gu and Dao 2023, arXiv:2312.00752, section 3.4.
    """
    inner = values.optional("intermediate_size") if values.model_type in ("mamba", "falcon_mamba") else None
    if inner is None:
        inner = values.whole("mamba_expand", "expand", default=2) * values.whole("hidden_size")
    state, kernel = (
        values.whole("mamba_d_state", "state_size", default=16),
        values.whole("mamba_d_conv", "conv_kernel", default=4),
    )
    return _states(inner * kernel, inner * state, inner)


def mamba2(values: Values) -> tuple[State, ...]:
    """Mamba-2: (inner + 2 * groups * state) * kernel of the convolution, heads * head_dim * state of the recurrence.

    Source: Dao and Gu 2024, arXiv:2405.21060, section 7.
    """
    default = _MAMBA2[values.model_type]
    heads = values.whole("mamba_num_heads", "mamba_n_heads", "n_mamba_heads", "num_heads", default=default["heads"])
    inner = values.optional("mamba_d_ssm") if values.model_type == "falcon_h1" else None
    width = (
        values.raw("mamba_head_dim")
        or values.raw("mamba_d_head")
        or values.raw("mamba_headdim")
        or (values.raw("head_dim") if values.model_type == "mamba2" else None)
    )
    if inner is None and isinstance(width, int):
        inner = heads * width
    if inner is None:
        inner = (
            heads * default["width"]
            if values.model_type in ("nemotron_h", "mamba2")
            else values.whole("mamba_expand", "expand", default=2) * values.whole("hidden_size")
        )
    groups = values.whole("mamba_n_groups", "n_groups", "mamba_ngroups", default=default["groups"])
    state = values.whole("ssm_state_size", "mamba_d_state", "state_size", default=default["state"])
    kernel = values.whole("mamba_d_conv", "conv_kernel", default=4)
    return (
        State("convolution", inner * kernel, heads),
        State("convolution of groups", 2 * groups * state * kernel, groups),
        State("recurrence", inner * state, heads, 4),
    )


_MAMBA2: Mapping[str, Mapping[str, int]] = {
    "falcon_h1": {"heads": 128, "width": 0, "groups": 1, "state": 256},
    "bamba": {"heads": 128, "width": 0, "groups": 1, "state": 256},
    "granitemoehybrid": {"heads": 128, "width": 0, "groups": 1, "state": 256},
    "nemotron_h": {"heads": 128, "width": 64, "groups": 8, "state": 128},
    "zamba2": {"heads": 8, "width": 0, "groups": 1, "state": 64},
    "mamba2": {"heads": 128, "width": 64, "groups": 8, "state": 128},
}


def gated_delta(values: Values) -> tuple[State, ...]:
    """Gated DeltaNet: (2 * keys + values) * kernel of the convolution, a matrix key_dim x value_dim a value head.

    Source: Yang et al. 2024, arXiv:2412.06464, section 3.
    """
    own = values.model_type == "olmo_hybrid"
    heads = values.whole("num_attention_heads") if own else None
    key_heads = values.whole("linear_num_key_heads", default=heads or 16)
    value_heads = values.whole("linear_num_value_heads", default=heads or 32)
    key = values.optional("linear_key_head_dim")
    if own and key is None:
        key = int(0.75 * values.whole("hidden_size") / key_heads)
    value = values.optional("linear_value_head_dim")
    key = 128 if key is None else key
    value = (2 * key if own else 128) if value is None else value
    kernel = values.whole("linear_conv_kernel_dim", default=4)
    return (
        State("convolution", (2 * key_heads * key + value_heads * value) * kernel, key_heads),
        State("recurrence", value_heads * key * value, value_heads, 4),
    )


def kimi_delta(values: Values) -> tuple[State, ...]:
    """Kimi Delta Attention: 3 * heads * head_dim * kernel of the convolutions, a matrix head_dim x head_dim a head.

    Source: Kimi team 2025, arXiv:2510.26692, section 3.
    """
    heads = values.whole("linear_attn_config.num_heads", "linear_num_heads", default=32)
    width = values.whole("linear_attn_config.head_dim", "linear_head_dim", default=128)
    kernel = values.whole("linear_attn_config.short_conv_kernel_size", "linear_conv_kernel_dim", default=4)
    return (
        State("convolution", 3 * heads * width * kernel, heads),
        State("recurrence", heads * width * width, heads, 4),
    )


def lightning(values: Values) -> tuple[State, ...]:
    """Lightning attention: a matrix head_dim x head_dim a head.

    Source: MiniMax 2025, arXiv:2501.08313, section 2.2.
    """
    heads = values.whole("num_attention_heads")
    width = values.optional("head_dim") or values.whole("hidden_size") // heads
    return (State("recurrence", heads * width * width, heads),)


def short_convolution(values: Values) -> tuple[State, ...]:
    """A gated short convolution (LFM2): hidden * kernel."""
    hidden = values.whole("hidden_size", "conv_dim")
    return (State("convolution", hidden * values.whole("conv_L_cache", default=3), hidden),)


def gated_linear_unit(values: Values) -> tuple[State, ...]:
    """RG-LRU: the width of its state in float32, and kernel - 1 columns of its convolution.

    Source: De et al. 2024, arXiv:2402.19427, section 2.4.
    """
    width = values.optional("lru_width") or values.whole("hidden_size", default=2560)
    kernel = values.whole("conv1d_width", default=4)
    return (
        State("convolution", width * (kernel - 1), width),
        State("recurrence", width, width, 4),
    )


def _states(convolution: int, recurrence: int, cuts: int) -> tuple[State, ...]:
    return (State("convolution", convolution, cuts), State("recurrence", recurrence, cuts, 4))


STATES: Mapping[str, States] = {
    "mamba": mamba,
    "falcon_mamba": mamba,
    "jamba": mamba,
    **dict.fromkeys(_MAMBA2, mamba2),
    **dict.fromkeys(("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text", "olmo_hybrid"), gated_delta),
    "kimi_linear": kimi_delta,
    **dict.fromkeys(("minimax", "minimax_text_01", "MiniMaxText01", "minimax_m1", "MiniMaxM1"), lightning),
    **dict.fromkeys(("lfm2", "lfm2_moe"), short_convolution),
    "recurrent_gemma": gated_linear_unit,
}
"""By model type."""

EVERY = frozenset({"falcon_h1", "zamba2"})
"""Every layer has a state, also beside attention."""

ONLY = frozenset({"mamba", "mamba2", "falcon_mamba"})
"""No layer has attention."""


def states_of(values: Values) -> tuple[State, ...]:
    """What one recurrent layer of this architecture keeps.

    Raises:
        InputError: it is not known here
    """
    if values.model_type not in STATES:
        raise InputError(
            f"{values.keys.name}: what the layers without attention of {values.model_type!r} keep is not known"
        )
    return STATES[values.model_type](values)
