"""`QueryTemperature`: queries scaled by their position, as transformers scales them."""

import numpy as np
import pytest
import torch
from transformers.models.ministral3.modeling_ministral3 import get_llama_4_attn_scale

from ordinate import temperature
from ordinate.errors import InputError
from ordinate.schemes.none import NoPosition
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup
from ordinate.torch import QueryTemperature

LLAMA4 = temperature.QueryTemperature("llama4", scale=0.1, interval=8192)
MINISTRAL3 = temperature.QueryTemperature("ministral3", scale=0.1, interval=16384)
POSITIONS = torch.tensor([[0, 8190, 8191, 16384], [5, 16383, 49152, 1000000]])


def test_it_is_ministrals():
    q = torch.randn(2, 4, 3, 8)
    scale = get_llama_4_attn_scale(POSITIONS, 0.1, 16384)
    wanted = (q.transpose(1, 2) * scale).transpose(1, 2)
    assert torch.allclose(QueryTemperature(MINISTRAL3)(q, POSITIONS), wanted, rtol=1e-6)


def test_it_is_llama4s_by_hand():
    q = torch.ones(4, 1, 2, dtype=torch.float64)
    made = QueryTemperature(LLAMA4)(q, POSITIONS[0])[:, 0, 0]
    assert np.allclose(made, [1, 1, 1 + 0.1 * np.log(2), 1 + 0.1 * np.log(3)], rtol=1e-15)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_it_multiplies_in_float32_and_rounds_once(dtype):
    q = torch.randn(2, 4, 3, 8).to(dtype)
    factors = torch.from_numpy(LLAMA4.factors(POSITIONS.flatten().numpy())).float().view(2, 4, 1, 1)
    made = QueryTemperature(LLAMA4)(q, POSITIONS)
    assert made.dtype == dtype
    assert torch.equal(made, (q.float() * factors).to(dtype))


def test_gradients_and_defaults():
    q = torch.randn(1, 4, 3, 8, dtype=torch.float64, requires_grad=True)
    small = QueryTemperature(temperature.QueryTemperature("llama4", scale=0.5, interval=2))
    assert torch.autograd.gradcheck(small, (q,))
    assert torch.equal(small(q), small(q, torch.arange(4)))
    assert not torch.equal(small(q), q)
    assert not small.state_dict()


def test_a_group_may_be_given():
    group = LayerGroup("full_attention", NoPosition(), temperature=LLAMA4)
    q = torch.randn(2, 4, 3, 8)
    assert torch.equal(QueryTemperature(group)(q, POSITIONS), QueryTemperature(LLAMA4)(q, POSITIONS))
    with pytest.raises(InputError, match="a query temperature, or a group with one, is needed"):
        QueryTemperature(LayerGroup("full_attention", Rope(8)))


@pytest.mark.parametrize("positions", [torch.arange(3), torch.arange(4)[None], torch.arange(4.0)])
def test_other_positions_are_refused(positions):
    with pytest.raises(InputError, match="positions must"):
        QueryTemperature(LLAMA4)(torch.zeros(2, 4, 3, 8), positions)
