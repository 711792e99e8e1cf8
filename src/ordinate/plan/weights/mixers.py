"""Weights of what stands in the place of attention, or beside it."""

from ordinate.plan.recurrent import EVERY, STATES
from ordinate.plan.values import Values
from ordinate.plan.weights.part import Part


def mixer(values: Values, layer: int, hidden: int, *, attends: bool) -> list[Part]:
    """The recurrent part of one layer, or nothing.

    Args:
        values: of the configuration
        layer: its number
        hidden: width of the model
        attends: whether it has attention
    """
    kind = values.model_type
    if kind not in STATES or (attends and kind not in EVERY):
        return []
    if kind == "jamba":
        return _mamba(values, layer, hidden)
    if kind == "falcon_h1":
        return _mamba2(values, layer, hidden)
    if kind == "qwen3_next":
        return _gated_delta(values, layer, hidden)
    return _lightning(values, layer, hidden)


def _mamba(values: Values, layer: int, hidden: int) -> list[Part]:
    inner = values.whole("mamba_expand", default=2) * hidden
    state, kernel = values.whole("mamba_d_state", default=16), values.whole("mamba_d_conv", default=4)
    rank = values.raw("mamba_dt_rank")
    rank = values.whole("mamba_dt_rank") if isinstance(rank, int) else -(-hidden // 16)
    matrices = 2 * hidden * inner + inner * hidden + inner * (rank + 2 * state) + rank * inner
    rest = inner * kernel + inner + inner * state + inner
    rest += inner if values.flag("mamba_conv_bias", default=True) else 0
    rest += 2 * inner + hidden if values.flag("mamba_proj_bias", default=False) else 0
    return [Part("mamba", matrices + rest, layer, "even"), Part("mamba norms", rank + 2 * state, layer, "whole")]


def _mamba2(values: Values, layer: int, hidden: int) -> list[Part]:
    heads = values.whole("mamba_n_heads", default=128)
    inner = values.optional("mamba_d_ssm") or values.whole("mamba_expand", default=2) * hidden
    groups, state = values.whole("mamba_n_groups", default=1), values.whole("mamba_d_state", default=256)
    kernel = values.whole("mamba_d_conv", default=4)
    channels = inner + 2 * groups * state
    projected = inner + channels + heads
    numbers = hidden * projected + channels * kernel + 3 * heads + inner * hidden
    numbers += channels if values.flag("mamba_conv_bias", default=True) else 0
    numbers += projected if values.flag("mamba_proj_bias", default=False) else 0
    numbers += hidden if values.flag("projectors_bias", default=False) else 0
    found = [Part("mamba", numbers, layer, "even")]
    if values.flag("mamba_rms_norm", default=False):
        found.append(Part("mamba norm", inner, layer, "even"))
    return found


def _gated_delta(values: Values, layer: int, hidden: int) -> list[Part]:
    keys = values.whole("linear_num_key_heads", default=16) * values.whole("linear_key_head_dim", default=128)
    heads, width = (
        values.whole("linear_num_value_heads", default=32),
        values.whole("linear_value_head_dim", default=128),
    )
    kernel, inner = values.whole("linear_conv_kernel_dim", default=4), heads * width
    matrices = hidden * (2 * keys + 2 * inner) + hidden * 2 * heads + inner * hidden
    return [
        Part("linear attention", matrices + (2 * keys + inner) * kernel + 2 * heads, layer, "even"),
        Part("linear attention's norm", width, layer, "whole"),
    ]


def _lightning(values: Values, layer: int, hidden: int) -> list[Part]:
    heads = values.whole("num_attention_heads")
    inner = heads * (values.optional("head_dim") or hidden // heads)
    return [
        Part("lightning attention", hidden * inner * 4 + inner * hidden, layer, "even"),
        Part("lightning attention's norm", inner, layer, "whole"),
    ]
