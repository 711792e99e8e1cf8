"""What transformers' own functions make of a rope type: computed live, in float32."""

import numpy as np
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS


def scaled(rope_type, *, head_dim, base, window=4096, length=None, **settings):
    """Frequencies, [pairs], and attention factor of one setting.

    Args:
        rope_type: its name in `rope_parameters`
        head_dim, base: of the rope
        window: `max_position_embeddings`
        length: `seq_len`
        settings: the other keys of `rope_parameters`
    """
    config = LlamaConfig(
        hidden_size=head_dim,
        num_attention_heads=1,
        head_dim=head_dim,
        max_position_embeddings=window,
        rope_parameters={"rope_type": rope_type, "rope_theta": base, **settings},
    )
    frequencies, attention_factor = ROPE_INIT_FUNCTIONS[rope_type](config, device="cpu", seq_len=length)
    return frequencies.numpy().astype(np.float64), float(attention_factor)
