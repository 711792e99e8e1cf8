"""Sandwich against the sums of the paper, of attention-gym and of NeMo, written out."""

import math

import numpy as np
import pytest
import torch

import ordinate
from ordinate.errors import InputError

Sandwich = ordinate.scheme("sandwich")


def cosines(distance, dim, first=0):
    return math.fsum(math.cos(distance * 10000 ** (-2 * i / dim)) for i in range(first, first + dim // 2))


@pytest.mark.parametrize("first", [0, 1])
def test_bias_is_the_sum_of_cosines_less_its_greatest_value(first):
    scheme = Sandwich(heads=4, dim=16, first=first)
    queries, keys = [0, 5, 3000], [0, 2, 70_000]
    bias = scheme.bias(queries, keys)
    assert bias.shape == (4, 3, 3)
    for h in range(4):
        for i, q in enumerate(queries):
            for j, k in enumerate(keys):
                expected = (cosines(q - k, 16, first) - 8) / (8 * (h + 1) / 4)
                assert bias[h, i, j] == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_after_softmax_it_is_the_inner_product_of_sinusoids_over_the_ratio():
    heads, tokens, dim = 3, 20, 128
    angles = np.arange(tokens)[:, None] * 10000 ** (-2 * np.arange(dim // 2) / dim)
    sinusoids = np.concatenate([np.sin(angles), np.cos(angles)], -1)
    theirs = (sinusoids @ sinusoids.T)[None] / (np.arange(1, heads + 1) * 8 / heads)[:, None, None]
    ours = Sandwich(heads=heads).bias(range(tokens), range(tokens))
    np.testing.assert_allclose(softmax(ours), softmax(theirs), atol=1e-13)


def softmax(x):
    weights = np.exp(x - x.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def test_small_differences_keep_their_digits():
    # 1 - cos x = x ** 2 / 2 - x ** 4 / 24 + ...; 1 - np.cos(x) has no digit left here
    scheme = Sandwich(heads=8, dim=2, base=1e4, first=1)
    x = 1e-4
    np.testing.assert_allclose(scheme.by_distance([1])[0], [-(x**2) / 2 + x**4 / 24], rtol=1e-14)


def test_a_token_has_no_bias_towards_itself_and_none_is_above():
    bias = Sandwich(heads=4, dim=32).by_distance(np.arange(-300, 301))
    assert (bias[:, 300] == 0).all()
    assert not np.signbit(bias[:, 300]).any()
    assert (np.delete(bias, 300, axis=1) < 0).all()


def test_positions_far_apart_do_not_need_a_table_between_them():
    scheme = Sandwich(heads=2, dim=8)
    far = scheme.bias([10**12], [0, 10**12 - 3])
    np.testing.assert_allclose(far[:, 0, 1], scheme.by_distance([3])[:, 0])
    assert scheme.bias([], [1, 2]).shape == (2, 0, 2)


def test_torch_gets_the_same_numbers():
    bias = Sandwich(heads=2, dim=8).bias([3, 4], range(5), xp=torch)
    np.testing.assert_array_equal(bias.numpy(), Sandwich(heads=2, dim=8).bias([3, 4], range(5)))


def test_ratios_are_those_of_alibis_exponents():
    np.testing.assert_array_equal(2.0 ** -Sandwich(heads=8).ratios, ordinate.scheme("alibi")(heads=8).slopes)


def test_cost_counts_a_table_by_distance():
    cost = Sandwich(heads=4, dim=16).cost(10)
    assert (cost.parameters, cost.table_bytes) == (0, 4 * 4 * 19)
    assert cost.operations == 19 * (3 * 8 + 8) + 400


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"heads": 0}, "heads"),
        ({"heads": 2, "dim": 7}, "dim must be even"),
        ({"heads": 2, "dim": 0}, "dim"),
        ({"heads": 2, "base": 0}, "base"),
        ({"heads": 2, "first": 2}, "first must be 0 or 1"),
    ],
)
def test_a_wrong_argument_is_named(arguments, words):
    with pytest.raises(InputError, match=words):
        Sandwich(**arguments)
