"""`rotate` against the functions that transformers runs."""

import pytest
import torch
from transformers.models.cohere import modeling_cohere
from transformers.models.deepseek_v3 import modeling_deepseek_v3
from transformers.models.gptj import modeling_gptj
from transformers.models.llama import modeling_llama
from transformers.models.nanochat import modeling_nanochat

from ordinate.ops import rotate
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup

POSITIONS = torch.tensor([[0, 1, 17, 4095, 3], [70, 2, 9000, 5, 64]])


@pytest.fixture
def drawn():
    """q and k, [batch, tokens, heads, dim], and a table of the positions in use."""

    def make(dim, **options):
        torch.manual_seed(dim)
        cos, sin = LayerGroup("full_attention", Rope(dim, **options)).table(range(9001))
        q, k = torch.randn(2, 5, 3, dim), torch.randn(2, 5, 1, dim)
        return q, k, torch.from_numpy(cos), torch.from_numpy(sin)

    return make


def close(ours, theirs):
    return all(torch.allclose(a, b, rtol=0, atol=2e-6) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("dim", [8, 64, 80, 96])
def test_half_is_llama(dim, drawn):
    q, k, cos, sin = drawn(dim)
    wide = (torch.cat((t[POSITIONS],) * 2, -1) for t in (cos, sin))
    theirs = modeling_llama.apply_rotary_pos_emb(q, k, *wide, unsqueeze_dim=2)
    assert close(rotate(q, k, cos, sin, POSITIONS), theirs)


@pytest.mark.parametrize("dim", [8, 64, 80, 96])
def test_interleaved_is_cohere(dim, drawn):
    q, k, cos, sin = drawn(dim)
    wide = (t[POSITIONS].repeat_interleave(2, -1) for t in (cos, sin))
    theirs = modeling_cohere.apply_rotary_pos_emb(q, k, *wide, unsqueeze_dim=2)
    assert close(rotate(q, k, cos, sin, POSITIONS, "interleaved"), theirs)


def test_interleaved_over_the_first_channels_is_gpt_j(drawn):
    q, k, cos, sin = drawn(96, rotary_dim=64)
    theirs = [x.clone() for x in (q, k)]
    for x in theirs:
        x[..., :64] = modeling_gptj.apply_rotary_pos_emb(x[..., :64], sin[POSITIONS], cos[POSITIONS])
    assert close(rotate(q, k, cos, sin, POSITIONS, "interleaved"), theirs)


def test_interleaved_in_half_out_is_deepseek(drawn):
    q, k, cos, sin = drawn(64)
    wide = (torch.cat((t[POSITIONS],) * 2, -1) for t in (cos, sin))
    theirs = modeling_deepseek_v3.apply_rotary_pos_emb_interleave(q, k, *wide, unsqueeze_dim=2)
    assert close(rotate(q, k, cos, sin, POSITIONS, "interleaved-in-half-out"), theirs)


def test_a_reversed_direction_is_nanochat(drawn):
    q, k, cos, sin = drawn(64, direction=-1)
    _, _, _, forward = drawn(64)
    wide = (torch.cat((t[POSITIONS],) * 2, -1) for t in (cos, forward))
    theirs = modeling_nanochat.apply_rotary_pos_emb(q, k, *wide, unsqueeze_dim=2)
    assert close(rotate(q, k, cos, sin, POSITIONS), theirs)
