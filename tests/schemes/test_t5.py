"""T5's buckets and bias against the code of T5 and MPNet in transformers, integer for integer."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import T5Config
from transformers.models.mpnet.modeling_mpnet import MPNetEncoder
from transformers.models.t5.modeling_t5 import T5Attention

import ordinate
from ordinate.errors import InputError

T5 = ordinate.scheme("t5")
EVERY = np.arange(-300_000, 300_001)


def theirs(relative, *, buckets, max_distance, bidirectional):
    return T5Attention._relative_position_bucket(
        torch.from_numpy(relative), bidirectional, buckets, max_distance
    ).numpy()


# (20, 320), (40, 640), (72, 100), (9, 128) and (19, 25) are settings where a float64 logarithm, or NumPy's
# own float32 one, puts a boundary elsewhere.
@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(
    ("buckets", "max_distance"),
    [(32, 128), (32, 256), (64, 128), (32, 800), (320, 800), (20, 320), (40, 640), (72, 100), (4, 16), (256, 20_000)],
)
def test_every_bucket_is_transformers(buckets, max_distance, bidirectional):
    settings = {"buckets": buckets, "max_distance": max_distance, "bidirectional": bidirectional}
    ours = T5(**settings).bucket(EVERY)
    assert ours.dtype == np.int64
    np.testing.assert_array_equal(ours, theirs(EVERY, **settings))


@pytest.mark.parametrize(("buckets", "max_distance"), [(9, 128), (9, 4096), (17, 27), (19, 25), (65, 108), (2, 5)])
def test_decoder_buckets_are_transformers_at_awkward_boundaries_too(buckets, max_distance):
    settings = {"buckets": buckets, "max_distance": max_distance, "bidirectional": False}
    near = np.arange(-10_000, 100)
    np.testing.assert_array_equal(T5(**settings).bucket(near), theirs(near, **settings))


@given(half=st.integers(2, 200), bidirectional=st.booleans(), more=st.integers(1, 5000), data=st.data())
def test_buckets_of_any_setting_are_transformers(half, bidirectional, more, data):
    side = half if bidirectional else 2 * half
    settings = {"buckets": 2 * half, "max_distance": side // 2 + more, "bidirectional": bidirectional}
    distances = data.draw(st.lists(st.integers(-(2**31), 2**31), min_size=1, max_size=30))
    relative = np.array([*distances, side // 2, -side // 2, settings["max_distance"], -settings["max_distance"]])
    np.testing.assert_array_equal(T5(**settings).bucket(relative), theirs(relative, **settings))


def test_mpnet_has_the_same_buckets():
    mpnet = MPNetEncoder.relative_position_bucket(torch.from_numpy(EVERY)).numpy()
    np.testing.assert_array_equal(T5().bucket(EVERY), mpnet)


def test_buckets_by_hand():
    encoder, decoder = T5(), T5(bidirectional=False)
    # a bucket each up to 7, then eight a factor of 16, so 16 and 32 end their second and fourth
    assert encoder.bucket([0, -1, -7, -8, -15, -16, -31, -32]).tolist() == [0, 1, 7, 8, 9, 10, 11, 12]
    assert encoder.bucket([1, 7, 8, 127, 128, 10**9]).tolist() == [17, 23, 24, 31, 31, 31]
    assert decoder.bucket([5, 1, 0, -1, -15, -16, -128, -(10**9)]).tolist() == [0, 0, 0, 1, 15, 16, 31, 31]


def test_keys_after_a_decoders_query_share_bucket_zero():
    assert (T5(bidirectional=False).bucket(np.arange(1, 1000)) == 0).all()


@pytest.mark.parametrize("decoder", [False, True])
def test_bias_is_t5_attentions_with_the_same_table(decoder):
    config = T5Config(
        d_model=16, d_kv=4, num_heads=4, relative_attention_num_buckets=12, relative_attention_max_distance=20
    )
    config.is_decoder = decoder
    attention = T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
    table = attention.relative_attention_bias.weight.detach().numpy()
    scheme = T5(buckets=12, max_distance=20, bidirectional=not decoder, heads=4)
    with torch.no_grad():
        whole = attention.compute_bias(30, 30)[0].numpy()
        step = attention.compute_bias(2, 30, past_seen_tokens=28)[0].numpy()
    np.testing.assert_array_equal(scheme.bias(range(30), range(30), learned={"table": table}), whole)
    np.testing.assert_array_equal(scheme.bias([28, 29], range(30), learned={"table": table}), step)


def test_by_distance_takes_query_minus_key():
    scheme = T5(heads=2)
    learned = scheme.initial()
    by_distance = scheme.by_distance([3, -3], learned)
    np.testing.assert_array_equal(by_distance[:, 0], learned["table"][3])
    np.testing.assert_array_equal(by_distance[:, 1], learned["table"][16 + 3])
    np.testing.assert_array_equal(by_distance, scheme.bias([5], [2, 8], learned=learned)[:, 0])


def test_a_bucket_learns_from_every_logit_it_reaches():
    scheme = T5(buckets=8, max_distance=6, heads=2)
    table = torch.tensor(scheme.initial()["table"], requires_grad=True)
    scheme.bias(range(7), range(9), learned={"table": table}, xp=torch).sum().backward()
    reached = np.bincount(scheme.bucket(np.arange(9)[None, :] - np.arange(7)[:, None]).ravel(), minlength=8)
    assert table.grad is not None
    np.testing.assert_array_equal(table.grad.numpy(), np.stack([reached, reached], -1))


def test_numpy_and_torch_agree_and_half_precision_is_widened():
    scheme = T5(heads=3)
    learned = scheme.initial(1)
    expected = scheme.bias(range(5), range(50), learned=learned)
    given_torch = {"table": torch.tensor(learned["table"])}
    np.testing.assert_array_equal(scheme.bias(range(5), range(50), learned=given_torch, xp=torch).numpy(), expected)
    half = scheme.bias(range(5), range(50), learned={"table": given_torch["table"].bfloat16()}, xp=torch)
    assert half.dtype == torch.float32


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"buckets": 31}, "even"),
        ({"buckets": 32.0}, "buckets must be an integer"),
        ({"buckets": 2}, "buckets must be >= 4"),
        ({"buckets": 1, "bidirectional": False}, "buckets must be >= 2"),
        ({"max_distance": 8}, "max_distance must be > 8"),
        ({"max_distance": 16, "bidirectional": False}, "max_distance must be > 16"),
        ({"heads": 0}, "heads"),
        ({"bidirectional": None}, "bidirectional"),
        ({"max_distance": math.inf}, "max_distance"),
    ],
)
def test_a_wrong_argument_is_named(arguments, words):
    with pytest.raises(InputError, match=words):
        T5(**arguments)


def test_the_smallest_settings_are_allowed():
    assert T5(buckets=4, max_distance=2).bucket([-1, 0, 1]).tolist() == [1, 0, 3]
    assert T5(max_distance=9).bucket([-9]).tolist() == [15]


def test_a_wrong_table_is_named():
    with pytest.raises(InputError, match="t5 learns table"):
        T5().bias([0], [0])
    with pytest.raises(InputError, match=r"must have shape \(32, 8\)"):
        T5().bias([0], [0], learned={"table": np.zeros((8, 32))})
    with pytest.raises(InputError, match="key_minus_query must be integers"):
        T5().bucket([0.0])


def test_it_starts_near_zero():
    assert T5(buckets=256, heads=64).initial()["table"].std() == pytest.approx(0.05, rel=0.02)


def test_parameters_are_the_table():
    cost = T5(buckets=32, heads=12).cost(100)
    assert (cost.parameters, cost.table_bytes, cost.operations) == (384, 0, 12 * 100 * 100)
