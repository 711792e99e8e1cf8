"""Ordinate's rotary embedding in the place of a transformers model's own."""

import inspect
import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from ordinate.errors import InputError
from ordinate.spec import LayerGroup
from ordinate.torch import RotaryEmbedding
from ordinate.torch.adapters import Duplicate
from ordinate.torch.float32 import settle_functions

# At these positions float32 angles are still good to 1e-5, so that two layouts cannot be mistaken for each other.
_COMPARED = 64
# float32 angles below that position are within 64 rad * 2 ulp.
_TOLERANCE = 1e-5


class DecoderRotary(nn.Module):
    """A decoder's rotary module, called as transformers calls its own, with a group of layers for each layer type.

    Args:
        groups: the groups that rotate, by layer type
        float32_angles: compute in float32 as transformers does, to the bit
        duplicate: how the width is filled: "half" as Llama's module, "interleaved" as Cohere's, "none" as gpt-oss's

    Attributes:
        length: what methods that depend on the length are to assume, [token]; None for the highest position of each
            call + 1, as transformers has it
    """

    def __init__(
        self, groups: Mapping[str, LayerGroup], *, float32_angles: bool = False, duplicate: Duplicate = "half"
    ) -> None:
        super().__init__()
        modules = {
            name: _AtLength(group, float32_angles=float32_angles, duplicate=duplicate) for name, group in groups.items()
        }
        self.by_layer_type = nn.ModuleDict(modules)
        self._by_layer_type = modules
        stretches = [group.stretch for group in groups.values() if group.stretch is not None]
        self.depends_on_length = any("static" not in stretch.traits for stretch in stretches)

    @property
    def length(self) -> int | None:
        return next(iter(self._by_layer_type.values())).length

    @length.setter
    def length(self, value: int | None) -> None:
        for module in self._by_layer_type.values():
            module.length = value

    def forward(self, x: Tensor, position_ids: Tensor, layer_type: str | None = None) -> tuple[Tensor, Tensor]:
        """The cos and sin of each token.

        Args:
            x: any tensor of the dtype and on the device wanted
            position_ids: [batch, tokens], integer
            layer_type: which layers are meant, where there are several groups

        Returns:
            cos, sin: [batch, tokens, rotary_dim], of the dtype of `x`; half of it for "none"
        """
        if layer_type is None and len(self._by_layer_type) == 1:
            layer_type = next(iter(self._by_layer_type))
        if layer_type is None or layer_type not in self._by_layer_type:
            raise InputError(f"layer_type must be one of {', '.join(self._by_layer_type)}, got {layer_type!r}")
        return self._by_layer_type[layer_type](x, position_ids)


class _AtLength(RotaryEmbedding):
    """Tables for a length that is set from outside."""

    length: int | None = None

    def table(self, positions: Tensor, length: int | None = None) -> tuple[Tensor, Tensor]:
        return super().table(positions, self.length if length is None else length)


def replacement(own: nn.Module, groups: Mapping[str, LayerGroup], *, float32_angles: bool) -> DecoderRotary:
    """Ordinate's module for a model, compared with the model's own on the first positions.

    Args:
        own: the rotary module that the model was made with
        groups: the groups that rotate, by layer type
        float32_angles: compute in float32 as transformers does, to the bit

    Raises:
        InputError: the two do not agree, because this architecture's module returns something else
    """
    settle_functions()
    asked = inspect.signature(own.forward).parameters.get("layer_type")
    if asked is None:
        groups = _as_one(groups, type(own).__name__)
    named = asked is not None and (len(groups) > 1 or asked.default is inspect.Parameter.empty)
    positions = torch.arange(_COMPARED)[None]
    like = torch.zeros((), dtype=torch.float32)
    layer_types = list(groups) if named else [None]
    layouts: tuple[Duplicate, ...] = ("half", "interleaved", "none")
    apart = math.inf
    for duplicate in layouts:
        rotary = DecoderRotary(groups, float32_angles=float32_angles, duplicate=duplicate)
        furthest = 0.0
        for layer_type in layer_types:
            options = {} if layer_type is None else {"layer_type": layer_type}
            with torch.inference_mode():
                expected, found = own(like, positions, **options), rotary(like, positions, **options)
            furthest = max(furthest, *(_difference(a, b) for a, b in zip(expected, found, strict=True)))
        if furthest <= (0 if float32_angles else _TOLERANCE):
            return rotary
        apart = min(apart, furthest)
    raise InputError(
        f"{type(own).__name__} returns other tables than its configuration says (up to {apart:.3g} apart at positions "
        f"below {_COMPARED}), so it is not replaced"
    )


def _as_one(groups: Mapping[str, LayerGroup], name: str) -> dict[str, LayerGroup]:
    """The one group that a module serves which is not told the layer type."""
    first, *others = groups.values()
    if any((group.encoding, group.stretch) != (first.encoding, first.stretch) for group in others):
        raise InputError(f"{name} serves all layers alike, and the configuration has {', '.join(groups)} apart")
    return {first.layer_type: first}


def _difference(expected: Tensor, found: Tensor) -> float:
    """The largest difference of an entry; infinite where shapes differ or an entry is not a number."""
    if expected.shape != found.shape:
        return math.inf
    difference = float((expected.double() - found.double()).abs().max())
    return difference if difference == difference else math.inf
