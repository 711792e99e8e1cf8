"""ALiBi against Press's rule by hand, and against the code of BLOOM, MPT and Falcon."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.falcon.modeling_falcon import build_alibi_tensor as build_falcon_alibi_tensor
from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor

import ordinate
from ordinate.errors import InputError

Alibi = ordinate.scheme("alibi")


def test_slopes_of_eight_heads_are_the_papers():
    assert Alibi(heads=8).slopes.tolist() == [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]


def test_heads_left_over_take_every_second_slope_of_twice_as_many():
    expected = [2.0**-k for k in range(1, 9)] + [2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5]
    np.testing.assert_allclose(Alibi(heads=12).slopes, expected, rtol=1e-15)


def test_slopes_of_other_numbers_of_heads_are_not_a_plain_geometric_series():
    plain = 2.0 ** (-8 * np.arange(1, 13) / 12)
    assert (np.maximum(Alibi(heads=12).slopes, plain) / np.minimum(Alibi(heads=12).slopes, plain)).max() > 5


@pytest.mark.parametrize("heads", [*range(1, 41), 48, 56, 63, 64, 65, 71, 112, 128, 129])
def test_slopes_are_blooms(heads):
    bloom = build_alibi_tensor(torch.ones(1, 2), heads, torch.float32)[:, 0, 1]
    np.testing.assert_allclose(Alibi(heads=heads).slopes, bloom.numpy(), rtol=2e-6)


@pytest.mark.parametrize("bias_max", [8, 4.0, 16])
@pytest.mark.parametrize("heads", [1, 2, 3, 5, 6, 7, 12, 16, 20, 24, 31, 33, 71])
def test_slopes_and_their_order_are_mpts(heads, bias_max):
    mpt = build_mpt_alibi_tensor(heads, 6, bias_max)[:, 0]
    ours = Alibi(heads=heads, bias_max=bias_max).bias([5], range(6))[:, 0]
    np.testing.assert_allclose(ours, mpt.numpy(), rtol=2e-6)


def test_falcon_scales_the_bias_like_the_logits():
    assert Alibi(heads=8, scale=64**-0.5).bias([5], [0])[0, 0, 0] == -0.3125
    falcon = build_falcon_alibi_tensor(torch.ones(1, 2), 8, torch.float32)[:, 0, 1] / math.sqrt(64)
    np.testing.assert_array_equal(Alibi(heads=8, scale=64**-0.5).slopes, falcon.numpy())


@given(
    heads=st.integers(1, 20),
    queries=st.lists(st.integers(-1000, 10**6), max_size=5),
    keys=st.lists(st.integers(-1000, 10**6), max_size=5),
)
def test_bias_is_minus_slope_times_distance(heads, queries, keys):
    scheme, causal = Alibi(heads=heads), Alibi(heads=heads, symmetric=False)
    bias, past = scheme.bias(queries, keys), causal.bias(queries, keys)
    assert bias.shape == past.shape == (heads, len(queries), len(keys))
    assert bias.dtype == np.float64
    for h, slope in enumerate(scheme.slopes):
        for i, q in enumerate(queries):
            for j, k in enumerate(keys):
                assert bias[h, i, j] == -slope * abs(q - k)
                assert past[h, i, j] == -slope * max(q - k, 0)


def test_a_token_has_no_bias_towards_itself():
    bias = Alibi(heads=3).bias([7], [7])
    assert (bias == 0).all()
    assert not np.signbit(bias).any()


def test_older_keys_are_lower():
    assert (np.diff(Alibi(heads=5).bias([9], range(10))[:, 0]) > 0).all()


@pytest.mark.parametrize("symmetric", [True, False])
def test_under_a_causal_mask_the_matrix_is_blooms_row_after_softmax(symmetric):
    heads, tokens = 6, 40
    scores = np.random.default_rng(0).normal(size=(heads, tokens, tokens))
    mask = np.where(np.tri(tokens, dtype=bool), 0.0, -np.inf)
    row = build_alibi_tensor(torch.ones(1, tokens), heads, torch.float32).numpy()
    matrix = Alibi(heads=heads, symmetric=symmetric).bias(range(tokens), range(tokens))
    np.testing.assert_allclose(softmax(scores + matrix + mask), softmax(scores + row + mask), atol=1e-6)


def softmax(x):
    weights = np.exp(x - x.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def test_a_cached_step_and_a_shard_are_rows_of_the_whole():
    whole = Alibi(heads=4).bias(range(12), range(12))
    np.testing.assert_array_equal(Alibi(heads=4).bias([9, 10, 11], range(12)), whole[:, 9:])
    np.testing.assert_array_equal(
        Alibi(heads=4).bias([0, 1, 10, 11], [2, 3, 8, 9]), whole[:, [0, 1, 10, 11]][:, :, [2, 3, 8, 9]]
    )


def test_bias_by_distance_is_the_bias_as_a_table():
    table = Alibi(heads=3).by_distance(np.arange(-4, 5).reshape(3, 3))
    assert table.shape == (3, 3, 3)
    np.testing.assert_array_equal(table.reshape(3, 9)[:, 4:], Alibi(heads=3).bias([4], range(4, -1, -1))[:, 0])
    np.testing.assert_array_equal(table.reshape(3, 9), table.reshape(3, 9)[:, ::-1])


def test_torch_gets_the_same_numbers():
    bias = Alibi(heads=3).bias([3, 4], range(5), xp=torch)
    assert bias.dtype == torch.float64
    np.testing.assert_array_equal(bias.numpy(), Alibi(heads=3).bias([3, 4], range(5)))


def test_only_the_symmetric_form_is_symmetric():
    assert "symmetric" in Alibi.traits
    assert "symmetric" in Alibi(heads=2).traits
    assert Alibi(heads=2, symmetric=False).traits == Alibi.traits - {"symmetric"}


def test_thirty_two_heads_need_128_bytes_and_not_64_gibibytes():
    cost = Alibi(heads=32).cost(32768)
    assert (cost.parameters, cost.table_bytes) == (0, 128)
    assert cost.operations == 2 * 32 * 32768**2


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"heads": 0}, "heads"),
        ({"heads": 2.5}, "heads"),
        ({"heads": True}, "heads"),
        ({"heads": 4, "bias_max": 0}, "bias_max"),
        ({"heads": 4, "bias_max": math.inf}, "bias_max"),
        ({"heads": 4, "scale": -1.0}, "scale"),
        ({"heads": 4, "symmetric": 1}, "symmetric"),
    ],
)
def test_a_wrong_argument_is_named(arguments, word):
    with pytest.raises(InputError, match=word):
        Alibi(**arguments)


def test_a_wrong_input_is_named():
    scheme = Alibi(heads=2)
    with pytest.raises(InputError, match="query_positions must be integers"):
        scheme.bias([0.5], [0])
    with pytest.raises(InputError, match="key_positions must have shape"):
        scheme.bias([0], [[0]])
    with pytest.raises(InputError, match="distance must be integers"):
        scheme.by_distance([1.5])
    with pytest.raises(InputError, match="does not use q or k"):
        scheme.bias([0], [0], q=np.zeros((1, 2, 4)))
    with pytest.raises(InputError, match="alibi learns nothing"):
        scheme.bias([0], [0], learned={"slopes": np.ones(2)})
