"""Tables and biases of other libraries: what they run with them is what `rotate` and `attend` compute."""

import warnings

import numpy as np
import pytest
import torch
from torch.nn.attention.flex_attention import flex_attention
from transformers.models.cohere import modeling_cohere
from transformers.models.llama import modeling_llama

import ordinate
from ordinate.errors import InputError
from ordinate.ops import adapters, attend, rotate
from ordinate.schemes.alibi import Alibi
from ordinate.schemes.rope import Rope
from ordinate.schemes.t5 import T5
from ordinate.spec import LayerGroup

COS, SIN = (torch.from_numpy(t) for t in LayerGroup("full_attention", Rope(16)).table(range(20)))
Q, K = (torch.randn(2, 9, heads, 16, generator=torch.Generator().manual_seed(1)) for heads in (4, 2))
POSITIONS = torch.tensor([list(range(9)), list(range(11, 20))])


@pytest.mark.parametrize("duplicate", ["half", "interleaved"])
def test_full_width_tables_and_back(duplicate):
    wide = adapters.to_duplicated(COS, SIN, duplicate)
    assert wide[0].shape == (20, 16)
    assert torch.equal(wide[0][:, 8 if duplicate == "half" else 1], COS[:, 0])
    back = adapters.from_duplicated(*wide, duplicate)
    assert torch.equal(back[0], COS)
    assert torch.equal(back[1], SIN)
    assert adapters.to_duplicated(COS, SIN, duplicate, torch.bfloat16)[1].dtype == torch.bfloat16
    assert adapters.from_duplicated(*(t.half() for t in wide), duplicate)[0].dtype == torch.float32


def test_packed_tables_are_vllms():
    cache = adapters.to_packed(COS, SIN)
    # As vLLM reads it: cos, sin = cache[positions].chunk(2, dim=-1).
    cos, sin = cache[POSITIONS].chunk(2, dim=-1)
    first, second = Q.chunk(2, dim=-1)
    cos, sin = cos[:, :, None], sin[:, :, None]
    theirs = torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
    assert torch.allclose(rotate(Q, None, *adapters.from_packed(cache), POSITIONS)[0], theirs, atol=1e-6)
    assert all(torch.equal(a, b) for a, b in zip(adapters.from_packed(cache), (COS, SIN), strict=True))


def test_complex_tables_are_metas():
    freqs_cis = adapters.to_complex(COS, SIN)
    assert freqs_cis.dtype == torch.complex64
    # As Meta's Llama applies it.
    pairs = torch.view_as_complex(Q.reshape(*Q.shape[:-1], -1, 2))
    theirs = torch.view_as_real(pairs * freqs_cis[POSITIONS][:, :, None]).flatten(3)
    ours, _ = rotate(Q, None, *adapters.from_complex(freqs_cis), POSITIONS, "interleaved")
    assert torch.allclose(ours, theirs, atol=1e-6)


@pytest.mark.parametrize("duplicate", ["half", "interleaved"])
def test_angles_are_transformer_engines(duplicate):
    angles = adapters.to_angles(COS, SIN, duplicate)
    assert angles.shape == (20, 1, 1, 16)
    # As TransformerEngine makes and applies them, [tokens, batch, heads, dim], unfused.
    x = Q.transpose(0, 1)
    turns = angles[:9]
    if duplicate == "half":
        first, second = x.chunk(2, dim=-1)
        turned = torch.cat((-second, first), dim=-1)
    else:
        turned = torch.stack((-x[..., 1::2], x[..., 0::2]), dim=-1).flatten(-2)
    theirs = (x * turns.cos() + turned * turns.sin()).transpose(0, 1)
    ours, _ = rotate(Q, None, *adapters.from_angles(angles, duplicate), pairing=duplicate)
    assert torch.allclose(ours, theirs, atol=1e-6)
    made = torch.outer(torch.arange(20.0), torch.tensor([1.0, 0.1]))
    two = torch.cat((made, made), -1) if duplicate == "half" else made.repeat_interleave(2, -1)
    cos, sin = adapters.from_angles(two, duplicate)
    assert torch.allclose(cos, made.double().cos().float(), rtol=0, atol=1e-7)
    assert torch.allclose(sin, made.double().sin().float(), rtol=0, atol=1e-7)


@pytest.mark.parametrize("unsqueeze_dim", [1, 2])
def test_the_call_of_transformers_is_llamas(unsqueeze_dim):
    q, k = (x.transpose(1, 2) if unsqueeze_dim == 1 else x for x in (Q, K))
    wide = adapters.to_duplicated(COS[POSITIONS], SIN[POSITIONS])
    theirs = modeling_llama.apply_rotary_pos_emb(q, k, *wide, unsqueeze_dim=unsqueeze_dim)
    ours = adapters.apply_rotary_pos_emb(q, k, *wide, unsqueeze_dim)
    assert all(torch.allclose(a, b, rtol=0, atol=1e-6) for a, b in zip(ours, theirs, strict=True))
    one = adapters.apply_rotary_pos_emb(q[:1], k[:1], wide[0][:1], wide[1][:1], unsqueeze_dim)
    assert torch.equal(one[0], ours[0][:1])
    shared = adapters.apply_rotary_pos_emb(q, k, wide[0][:1], wide[1][:1], unsqueeze_dim)
    theirs = modeling_llama.apply_rotary_pos_emb(q, k, wide[0][:1], wide[1][:1], unsqueeze_dim=unsqueeze_dim)
    assert torch.allclose(shared[1], theirs[1], rtol=0, atol=1e-6)


def test_the_call_of_transformers_is_coheres():
    q, k = Q.transpose(1, 2), K.transpose(1, 2)
    wide = adapters.to_duplicated(COS[POSITIONS], SIN[POSITIONS], "interleaved")
    theirs = modeling_cohere.apply_rotary_pos_emb(q, k, *wide)
    ours = adapters.apply_rotary_pos_emb(q, k, *wide, pairing="interleaved", duplicate="interleaved")
    assert all(torch.allclose(a, b, rtol=0, atol=1e-6) for a, b in zip(ours, theirs, strict=True))


def test_the_call_of_transformers_keeps_gradients():
    q, k = (x.transpose(1, 2).clone().requires_grad_() for x in (Q, K))
    wide = adapters.to_duplicated(COS[POSITIONS], SIN[POSITIONS])
    gradients = []
    for function in (modeling_llama.apply_rotary_pos_emb, adapters.apply_rotary_pos_emb):
        out = function(q, k, *wide)
        gradients.append(torch.autograd.grad(out[0].square().sum() + out[1].sum(), (q, k)))
    assert all(torch.allclose(a, b, rtol=0, atol=1e-5) for a, b in zip(*gradients, strict=True))


def flex(q, k, v, score_mod):
    """FlexAttention's own arithmetic, every logit at once."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="flex_attention called without torch.compile")
        return flex_attention(*(x.transpose(1, 2) for x in (q, k, v)), score_mod, enable_gqa=True).transpose(1, 2)


def long_and_short():
    torch.manual_seed(2)
    return torch.randn(2, 17, 4, 16), torch.randn(2, 30, 2, 16), torch.randn(2, 30, 2, 16)


def test_the_score_mod_of_slopes_is_attends():
    slopes = adapters.alibi_slopes(Alibi(heads=4))
    assert slopes.tolist() == [0.25, 0.0625, 0.015625, 0.00390625]
    given = long_and_short()
    theirs = flex(*given, adapters.slopes_score_mod(slopes, offset=13))
    assert torch.allclose(attend(*given, slopes=slopes), theirs, rtol=0, atol=2e-6)


def test_the_score_mod_of_a_table_is_attends():
    given, table = long_and_short(), torch.randn(4, 11)
    theirs = flex(*given, adapters.by_distance_score_mod(table, 5, offset=13))
    assert torch.allclose(attend(*given, by_distance=table, reach=5), theirs, rtol=0, atol=2e-6)


@pytest.mark.parametrize("name", ["t5", "kerple", "sandwich", "alibi"])
def test_the_score_mod_of_a_scheme_is_attends(name):
    scheme = T5(heads=4) if name == "t5" else ordinate.scheme(name)(heads=4)
    learned = {key: torch.from_numpy(value).float() + 0.1 for key, value in scheme.initial().items()} or None
    given = long_and_short()
    theirs = flex(*given, adapters.scheme_score_mod(scheme, 30, learned, offset=13))
    assert torch.allclose(attend(*given, scheme=scheme, learned=learned), theirs, rtol=0, atol=2e-6)


WIDE = adapters.to_duplicated(COS, SIN)
WRONG = {
    "odd": (
        lambda: adapters.from_duplicated(COS[:, :7], SIN[:, :7]),
        "cos must have each entry twice, got a width of 7",
    ),
    "once": (lambda: adapters.from_duplicated(WIDE[0], SIN), r"sin must have each entry twice \(half\), got two"),
    "kind": (lambda: adapters.from_duplicated(*WIDE, "interleaved"), r"must have each entry twice \(interleaved\)"),
    "word": (lambda: adapters.to_duplicated(COS, SIN, "twice"), "duplicate must be one of half, interleaved"),
    "packed": (lambda: adapters.from_packed(COS[:, :7]), "cache must have cos and sin of one width, got a width of 7"),
    "complex": (lambda: adapters.from_complex(COS), "freqs_cis must be complex, got float32"),
    "angles": (lambda: adapters.from_angles(COS[None]), r"angles must have shape .* got \[1, 20, 8\]"),
    "magnitude": (lambda: adapters.to_angles(1.2 * COS, 1.2 * SIN), "magnitude 1, because angles hold none, got 1.2"),
    "unsqueeze": (lambda: adapters.apply_rotary_pos_emb(Q, K, *WIDE, 3), "unsqueeze_dim must be 1 or 2, got 3"),
    "axes": (lambda: adapters.apply_rotary_pos_emb(Q, K, *WIDE, 2), r"shape \[batch, tokens, 2 \* pairs\], got"),
    "not alibi": (lambda: adapters.alibi_slopes(T5()), "scheme must be ALiBi to have slopes, got T5"),
    "one-sided": (lambda: adapters.alibi_slopes(Alibi(4, symmetric=False)), "symmetric, because slopes lower keys"),
    "slopes": (lambda: adapters.slopes_score_mod(COS), r"slopes must have 1 axis, got shape \[20, 8\]"),
    "offset": (lambda: adapters.slopes_score_mod(COS[0], -1), "offset must be an integer >= 0, got -1"),
    "table": (lambda: adapters.by_distance_score_mod(COS, 4), r"by_distance must have shape \[heads, 9\], got"),
    "scheme": (lambda: adapters.scheme_score_mod(Rope(8), 4), "scheme must be a bias of distance alone, got Rope"),
}


@pytest.mark.parametrize("call, message", WRONG.values(), ids=WRONG)
def test_it_is_refused_in_one_line(call, message):
    with pytest.raises(InputError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_numbers_come_in_float32_from_every_dtype():
    assert adapters.from_complex(adapters.to_complex(COS.double(), SIN.double()))[0].dtype == torch.float32
    assert adapters.from_packed(adapters.to_packed(COS, SIN).bfloat16())[1].dtype == torch.float32
    assert np.isclose(float(adapters.from_angles(torch.full((1, 2), np.pi / 2).half())[1]), 1.0)
