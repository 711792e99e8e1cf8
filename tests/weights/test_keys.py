"""Cached keys in the other pair layout."""

import numpy as np
import pytest

from ordinate.errors import InputError
from ordinate.weights import convert_keys


def turned(keys, positions, frequencies, pairing):
    """Keys turned by complex numbers; [positions, heads, channels]. No code of the package."""
    width = 2 * len(frequencies)
    turning, rest = keys[..., :width], keys[..., width:]
    split = (turning[..., ::2], turning[..., 1::2]) if pairing == "interleaved" else np.split(turning, 2, axis=-1)
    pairs = (split[0] + 1j * split[1]) * np.exp(1j * positions[:, None, None] * frequencies)
    if pairing == "interleaved":
        out = np.stack([pairs.real, pairs.imag], axis=-1).reshape(turning.shape)
    else:
        out = np.concatenate([pairs.real, pairs.imag], axis=-1)
    return np.concatenate([out, rest], axis=-1)


@pytest.mark.parametrize("rotary_dim", [6, 4, 2])
def test_a_turned_key_is_the_key_turned_in_the_other_layout(rotary_dim):
    keys = np.random.default_rng(0).normal(size=(3, 2, 6))
    positions, frequencies = np.array([0, 65, 4000]), np.array([1.0, 0.1, 0.01])[: rotary_dim // 2]
    half = turned(keys, positions, frequencies, "half")
    other = turned(convert_keys(keys, "interleaved", rotary_dim=rotary_dim), positions, frequencies, "interleaved")
    assert np.allclose(convert_keys(half, "interleaved", rotary_dim=rotary_dim), other, rtol=0, atol=1e-12)
    assert np.array_equal(convert_keys(convert_keys(half, "interleaved"), "half"), half)
    if rotary_dim > 2:
        assert not np.allclose(half, other, atol=1e-3)


def test_the_last_channels_turn_in_mla():
    assert convert_keys(np.arange(8), "half", rotary_dim=6, part="last").tolist() == [0, 1, 2, 4, 6, 3, 5, 7]
    assert convert_keys(np.arange(8), "interleaved", rotary_dim=6, part="last").tolist() == [0, 1, 2, 5, 3, 6, 4, 7]


def test_the_keys_are_left_alone_and_their_type_is_kept():
    keys = np.arange(8, dtype=np.float16)[None, None]
    convert_keys(keys, "half")[:] = 0
    assert keys.reshape(-1).tolist() == list(range(8))
    assert convert_keys(keys, "half").dtype == np.float16


@pytest.mark.parametrize(
    "keys, to, options, message",
    [
        (np.zeros(4), "sideways", {}, "to must be one of half, interleaved"),
        (np.zeros(()), "half", {}, "got a single number"),
        (np.zeros(5), "half", {}, "must be even"),
        (np.zeros(4), "half", {"rotary_dim": 6}, "must be <= head_dim 4"),
        (np.zeros(4), "half", {"part": "middle"}, "part must be one of"),
    ],
)
def test_what_does_not_fit_is_refused(keys, to, options, message):
    with pytest.raises(InputError, match=message):
        convert_keys(keys, to, **options)
