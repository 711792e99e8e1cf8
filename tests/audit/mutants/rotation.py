"""Rotation by transformers' own frequencies: angles in float64, q and k in float32."""

import torch
from torch import nn
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS


def frequencies_of(config, length=None):
    """[pairs], float64, and the magnitude, for sequences of this length."""
    settings = config.rope_parameters
    if settings["rope_type"] == "default":
        exponents = torch.arange(0, config.head_dim, 2, dtype=torch.float64) / config.head_dim
        return settings["rope_theta"] ** -exponents, 1.0
    inv_freq, magnitude = ROPE_INIT_FUNCTIONS[settings["rope_type"]](config, device="cpu", seq_len=length)
    return inv_freq.double(), float(magnitude)


class RotaryEmbedding(nn.Module):
    """cos and sin of positions, with a fault of the tables where one is planted.

    "bf16_frequencies" and "bf16_tables" round them; "cast_with_module" keeps the frequencies in a buffer that
    follows the module's dtype, "lost_on_meta" in one that nothing fills again, "autocast_angles" multiplies in the
    dtype of autocast.
    """

    def __init__(self, config, fault=None):
        super().__init__()
        self.config = config
        self.fault = fault
        if fault in ("cast_with_module", "lost_on_meta"):
            self.register_buffer("inv_freq", frequencies_of(config)[0].float(), persistent=False)

    def forward(self, x, position_ids, length=None, wrong=True):
        """[rows, tokens, head_dim] each, float32, pairs in halves; `wrong` False spares the fault."""
        fault = self.fault if wrong else None
        frequencies, magnitude = frequencies_of(self.config, length)
        frequencies = frequencies.to(x.device)
        if fault in ("cast_with_module", "lost_on_meta"):
            frequencies = self.inv_freq.double()
        if fault == "bf16_frequencies":
            frequencies = frequencies.bfloat16().double()
        angles = position_ids[..., None].double() * frequencies
        if fault == "autocast_angles" and torch.is_autocast_enabled(x.device.type):
            rounded = torch.get_autocast_dtype(x.device.type)
            angles = (position_ids[..., None].to(rounded) * frequencies.to(rounded)).double()
        cos, sin = ((turn * magnitude).float() for turn in (angles.cos(), angles.sin()))
        if fault == "bf16_tables":
            cos, sin = cos.bfloat16().float(), sin.bfloat16().float()
        return torch.cat([cos, cos], -1), torch.cat([sin, sin], -1)


def rotate(x, cos, sin, interleaved=False):
    """x [rows, heads, tokens, head_dim] by tables [rows, tokens, head_dim]; the dtype of x."""
    wide, (cos, sin) = x.float(), (table[:, None] for table in (cos, sin))
    if interleaved:
        pairs = cos.shape[-1] // 2
        cos, sin = (table[..., :pairs].repeat_interleave(2, -1) for table in (cos, sin))
        turned = torch.stack([-wide[..., 1::2], wide[..., ::2]], -1).flatten(-2)
    else:
        low, high = wide.chunk(2, -1)
        turned = torch.cat([-high, low], -1)
    return (wide * cos + turned * sin).to(x.dtype)
