"""Calls of `rotate` drawn at random, and what they give by multiplication of complex numbers."""

import numpy as np
import torch
from hypothesis import strategies as st

PAIRINGS = ("half", "interleaved", "interleaved-in-half-out")
TORCH_DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


def to_complex(x, layout):
    """Each pair as one number, by slices and splits."""
    first, second = np.split(x, 2, axis=-1) if layout == "half" else (x[..., ::2], x[..., 1::2])
    return first + 1j * second


def from_complex(z, layout):
    if layout == "half":
        return np.concatenate([z.real, z.imag], -1)
    return np.stack([z.real, z.imag], -1).reshape(*z.shape[:-1], 2 * z.shape[-1])


def expected(x, cos, sin, positions, pairing, part, inverse):
    """x rotated by multiplication with cos + i sin, and the length of each channel's pair (0 where nothing turns)."""
    width, dim = 2 * cos.shape[1], x.shape[-1]
    turning = slice(dim - width, dim) if part == "last" else slice(0, width)
    read, write = ("interleaved", "half") if pairing == "interleaved-in-half-out" else (pairing, pairing)
    turn = cos.astype(np.float64) + 1j * sin.astype(np.float64)
    if inverse:
        read, write, turn = write, read, turn.conj()
    turn = turn[np.arange(x.shape[-3]) if positions is None else positions]
    z = to_complex(x[..., turning], read) * turn[..., None, :]
    out, lengths = x.copy(), np.zeros_like(x)
    out[..., turning] = from_complex(z, write)
    lengths[..., turning] = from_complex(np.abs(z) * (1 + 1j), write)
    return out, lengths


@st.composite
def calls(draw):
    """Arguments of one call: empty and odd shapes, packed and batched, every option."""
    pairs, rest = draw(st.sampled_from([1, 2, 3, 8, 36, 96, 128])), draw(st.sampled_from([0, 1, 2, 5]))
    tokens = draw(st.integers(0, 7))
    lead = draw(st.sampled_from([(tokens,), (draw(st.integers(0, 3)), tokens)]))
    rows = draw(st.integers(max(tokens, 1), 20))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = draw(st.sampled_from([None, lead[-1:], lead]))
    angles = random.uniform(-np.pi, np.pi, (rows, pairs))
    return {
        "q": random.standard_normal((*lead, draw(st.integers(1, 4)), 2 * pairs + rest)),
        "k": random.standard_normal((*lead, draw(st.integers(1, 3)), 2 * pairs + rest)),
        "cos": np.cos(angles).astype(np.float32),
        "sin": np.sin(angles).astype(np.float32),
        "positions": shape and random.integers(0, rows, shape).astype(draw(st.sampled_from(["int32", "int64"]))),
        "pairing": draw(st.sampled_from(PAIRINGS)),
        "part": draw(st.sampled_from(["first", "last"])),
        "inverse": draw(st.booleans()),
    }
