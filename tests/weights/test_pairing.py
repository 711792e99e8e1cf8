"""Rows of projections, from one pairing to the other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordinate.errors import InputError
from ordinate.weights.pairing import half_order, half_to_interleaved, interleaved_to_half

SHAPES = st.tuples(st.integers(1, 4), st.integers(1, 6), st.integers(0, 5), st.sampled_from(["first", "last"]))


def rotated_scores(q, k, positions, frequencies, pairing):
    """Scores of one head by complex numbers: pair (x, y) turned is (x + iy) e^(i angle). No code of the package."""

    def turned(x):
        rotary = 2 * len(frequencies)
        turning, rest = x[:, :rotary], x[:, rotary:]
        first, second = (
            (turning[:, ::2], turning[:, 1::2])
            if pairing == "interleaved"
            else (turning[:, : rotary // 2], turning[:, rotary // 2 :])
        )
        pairs = (first + 1j * second) * np.exp(1j * positions[:, None] * frequencies)
        return np.concatenate([pairs.real, pairs.imag, rest], axis=1)

    return turned(q) @ turned(k).T


def test_meta_rows_of_two_key_heads_come_in_hugging_face_order():
    # ggml-org/llama.cpp issue 2376: grouped key-value heads permuted as if there were query heads.
    expected = [0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15]
    assert interleaved_to_half(np.arange(16), heads=2, head_dim=8).tolist() == expected


def test_a_bias_moves_with_its_rows():
    # ggml-org/llama.cpp pull request 7481: Llama-architecture models with biases.
    assert interleaved_to_half(np.arange(8), heads=1, head_dim=8).tolist() == [0, 2, 4, 6, 1, 3, 5, 7]


def test_the_order_is_llama_cpp_s_own_undone():
    # Its converter brings Hugging Face's rows to GGUF's by this reshape; written out here from its definition.
    rows = np.random.default_rng(0).normal(size=(3 * 16, 5))
    gguf = rows.reshape(3, 2, 8, 5).swapaxes(1, 2).reshape(rows.shape)
    assert np.array_equal(interleaved_to_half(gguf, heads=3, head_dim=16), rows)
    assert np.array_equal(half_to_interleaved(rows, heads=3, head_dim=16), gguf)


@given(SHAPES)
def test_there_and_back_changes_nothing(shape):
    heads, pairs, still, part = shape
    head_dim = 2 * pairs + still
    rows = np.random.default_rng(1).normal(size=(heads * head_dim, 3)).astype(np.float32)
    form = (heads, head_dim, 2 * pairs, part)
    assert interleaved_to_half(rows, *form).dtype == rows.dtype
    assert np.array_equal(half_to_interleaved(interleaved_to_half(rows, *form), *form), rows)
    assert np.array_equal(interleaved_to_half(half_to_interleaved(rows, *form), *form), rows)


@given(SHAPES)
def test_channels_that_do_not_turn_stay(shape):
    _, pairs, still, part = shape
    order = half_order(2 * pairs + still, 2 * pairs, part)
    kept = order[2 * pairs :] if part == "first" else order[:still]
    start = 2 * pairs if part == "first" else 0
    assert kept.tolist() == list(range(start, start + still))


def test_scores_at_far_positions_stay_what_they_were():
    # At positions 0 and 1 both pairings are nearly the identity: faults show further out.
    generator = np.random.default_rng(2)
    heads, head_dim, rotary = 2, 12, 8
    frequencies = 10000.0 ** (-np.arange(rotary // 2) / (rotary // 2))
    positions = np.array([0, 1, 64, 4095])
    states = generator.normal(size=(4, 7))
    weight_q, weight_k = generator.normal(size=(2, heads * head_dim, 7))
    bias_q, bias_k = generator.normal(size=(2, heads * head_dim))

    def scores(weights, pairing):
        q, k = (states @ weight.T + bias for weight, bias in weights)
        return [
            rotated_scores(q[:, part], k[:, part], positions, frequencies, pairing)
            for part in (slice(0, head_dim), slice(head_dim, 2 * head_dim))
        ]

    def moved(rows):
        return interleaved_to_half(rows, heads, head_dim, rotary)

    before = scores([(weight_q, bias_q), (weight_k, bias_k)], "interleaved")
    after = scores([(moved(weight_q), moved(bias_q)), (moved(weight_k), moved(bias_k))], "half")
    assert np.allclose(before, after, rtol=0, atol=1e-12)
    wrong = scores([(moved(weight_q), moved(bias_q)), (moved(weight_k), bias_k)], "half")
    assert not np.allclose(before, wrong, atol=1e-3)


def test_the_input_is_left_alone():
    rows = np.arange(8)
    interleaved_to_half(rows, heads=1, head_dim=8)[:] = 0
    assert rows.tolist() == list(range(8))


@pytest.mark.parametrize(
    "rows, heads, head_dim, rotary_dim, part, message",
    [
        (15, 2, 8, None, "first", "2 heads x 8 channels = 16"),
        (16, 0, 8, None, "first", "heads must be an integer >= 1"),
        (14, 2, 7, None, "first", "rotary_dim must be even"),
        (16, 2, 8, 3, "first", "rotary_dim must be even"),
        (16, 2, 8, 10, "first", "rotary_dim must be <= head_dim 8"),
        (16, 2, 8, 4, "middle", "part must be one of first, last"),
    ],
)
def test_what_does_not_fit_is_refused(rows, heads, head_dim, rotary_dim, part, message):
    for convert in (interleaved_to_half, half_to_interleaved):
        with pytest.raises(InputError, match=message):
            convert(np.zeros(rows), heads, head_dim, rotary_dim, part)
