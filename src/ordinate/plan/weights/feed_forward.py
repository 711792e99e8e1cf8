"""Weights of feed-forward layers: dense, or experts beside a router."""

from ordinate.plan.values import Values
from ordinate.plan.weights.family import Family, holds
from ordinate.plan.weights.part import Part

_COUNTS = ("n_routed_experts", "num_local_experts", "num_experts")
# Qwen's configurations of both sizes have both keys.
_WIDTHS = ("moe_intermediate_size", "intermediate_size")


def feed_forward(values: Values, layer: int, hidden: int, family: Family) -> list[Part]:
    """The feed-forward part of one layer."""
    count = values.optional(*_COUNTS) if family.experts else None
    if count is not None and _has_experts(values, layer, count):
        return _experts(values, layer, hidden, family, count)
    width = _width(values, hidden, family)
    return [_matrices("feed-forward", layer, hidden, width, family, holds(values, family.mlp_bias))]


def _width(values: Values, hidden: int, family: Family) -> int:
    if values.model_type == "llama4_text":
        return values.whole("intermediate_size_mlp")
    found = values.optional(*family.width) if family.width else None
    if found is not None:
        return found
    if family.width == ("intermediate_size",):
        return values.whole("intermediate_size")
    ratio = values.optional("expansion_ratio") or 4
    return ratio * hidden


def _matrices(name: str, layer: int, hidden: int, width: int, family: Family, bias: bool = False) -> Part:
    numbers = (3 if family.gated else 2) * hidden * width
    if bias:
        numbers += width * (2 if family.gated else 1) + hidden
    return Part(name, numbers, layer, "even")


def _has_experts(values: Values, layer: int, count: int) -> bool:
    """Whether a layer has experts, by the architecture's own keys."""
    if values.model_type == "jamba":
        period = values.whole("expert_layer_period", default=2)
        return count > 1 and layer % period == values.zero("expert_layer_offset", default=1)
    if values.model_type == "llama4_text":
        listed = values.raw("moe_layers")
        step = values.whole("interleave_moe_layer_step", default=1)
        return layer in listed if isinstance(listed, list) else (layer + 1) % step == 0
    only = values.raw("mlp_only_layers")
    if isinstance(only, list) and layer in only:
        return False
    if values.raw("decoder_sparse_step") is not None and (layer + 1) % values.whole("decoder_sparse_step"):
        return False
    step = values.optional("moe_layer_freq") if isinstance(values.raw("moe_layer_freq"), int) else None
    return layer >= values.zero("first_k_dense_replace") and (step is None or layer % step == 0)


def _experts(values: Values, layer: int, hidden: int, family: Family, count: int) -> list[Part]:
    width = values.whole(*_WIDTHS)
    found = [
        Part("router", count * hidden + (count if family.expert_bias else 0), layer, "whole"),
        Part("experts", count * 3 * hidden * width, layer, "even"),
    ]
    if family.expert_bias:
        found.append(Part("biases of experts", count * (2 * width + hidden), layer, "even"))
    shared = values.optional("shared_expert_intermediate_size")
    if values.model_type == "llama4_text":
        shared = width
    elif shared is None and values.raw("n_shared_experts"):
        shared = width * values.whole("n_shared_experts")
    if shared is not None:
        found.append(_matrices("shared expert", layer, hidden, shared, family, holds(values, family.mlp_bias)))
        if family.shared_gate:
            found.append(Part("shared expert's gate", hidden, layer, "whole"))
    return found
