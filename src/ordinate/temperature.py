"""Query temperature: queries scaled up with their position, so that attention stays sharp far out."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ordinate.errors import finite, one_of, positive
from ordinate.schemes._integers import integer_positions


@dataclass(frozen=True)
class QueryTemperature:
    """Multiply each query by a number that grows with its position.

    form "llama4":     1 + scale * ln(1 + floor((position + 1) / interval))    on layers without RoPE
    form "ministral3": 1 + scale * ln(1 + floor(position / interval))          on every layer

    Args:
        form: whose formula
        scale: `attn_scale`, or `llama_4_scaling_beta`, [1]
        interval: `floor_scale`, or `original_max_position_embeddings`, [token]

    Source: transformers 5.24, models llama4 and ministral3; Nakanishi 2025, arXiv:2501.19399, has the idea.
    Differs from the paper: steps by whole intervals instead of ln(position).

    >>> QueryTemperature("ministral3", scale=0.1, interval=16384).factors([0, 16383, 16384]).round(4)
    array([1.    , 1.    , 1.0693])
    """

    form: Literal["llama4", "ministral3"]
    scale: float
    interval: float

    def __post_init__(self) -> None:
        one_of("form", self.form, ("llama4", "ministral3"))
        finite("scale", self.scale)
        positive("interval", self.interval)

    def factors(self, positions: Any) -> np.ndarray:
        """What multiplies each query: [tokens], float64, [1]."""
        first = 1 if self.form == "llama4" else 0
        steps = np.floor((integer_positions("positions", positions) + first) / self.interval)
        return 1 + self.scale * np.log1p(steps)
