"""Positional schemes as PyTorch modules, which hold no formula: they call `ordinate.schemes` and `ordinate.ops`."""

from importlib.util import find_spec

from ordinate.errors import Unavailable

if find_spec("torch") is None:
    raise Unavailable("ordinate.torch needs PyTorch: install ordinate with its extra [torch]")

from ordinate.torch.additive import AdditiveEncoding
from ordinate.torch.attention import PositionAttention
from ordinate.torch.bias import PositionBias
from ordinate.torch.rotary import RotaryEmbedding
from ordinate.torch.temperature import QueryTemperature

__all__ = ["AdditiveEncoding", "PositionAttention", "PositionBias", "QueryTemperature", "RotaryEmbedding"]
