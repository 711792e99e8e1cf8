"""Weights on their way from one container to another: pairing of rotary channels, and how files are written."""

from ordinate.weights.convert import Converted, convert
from ordinate.weights.keys import convert_keys
from ordinate.weights.pairing import half_order, half_to_interleaved, interleaved_to_half

__all__ = ["Converted", "convert", "convert_keys", "half_order", "half_to_interleaved", "interleaved_to_half"]
