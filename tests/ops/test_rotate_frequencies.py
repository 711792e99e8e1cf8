"""Angles computed as they are needed, and packed sequences that count from 0."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from ordinate.errors import InputError
from ordinate.ops import rotate, rotate_
from ordinate.ops.backends import compiled
from ordinate.schemes.rope import Rope

BACKENDS = ("eager", "cpu") if compiled is not None else ("eager",)
NUMPY = ("reference", "cpu") if compiled is not None else ("reference",)
INSTRUCTION_SETS = compiled.instruction_sets() if compiled is not None else []
SPREAD = [0, 1, 2, 3, 4095, 4096, 2**17 - 1, 2**17, 2**20, 2**20 + 1, 2**23 - 1]


def cos_and_sin(positions, frequencies, magnitude, backend):
    """What a backend makes of the angles, read off by rotating (1, 0)."""
    pairs = len(frequencies)
    q = np.zeros((len(positions), 1, 2 * pairs), np.float32)
    q[..., :pairs] = 1
    arrays = (q, None, None, None, np.array(positions))
    if backend == "eager":
        arrays = tuple(None if a is None else torch.from_numpy(a) for a in arrays)
        frequencies = torch.from_numpy(frequencies)
    out, _ = rotate(*arrays, frequencies=frequencies, magnitude=magnitude, backend=backend)
    return np.split(np.asarray(out, np.float64)[:, 0], 2, axis=-1)


def allowed(exact):
    return np.maximum(np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64), 4e-9)


@pytest.mark.parametrize("backend", ["reference", *BACKENDS])
@pytest.mark.parametrize("base, dim", [(1e4, 6), (1e5, 64), (5e5, 128), (1.0, 50)])
@pytest.mark.parametrize("magnitude", [1.0, 1.2079])
def test_they_are_within_one_unit_in_the_last_place(backend, base, dim, magnitude):
    frequencies = base ** (-np.arange(0, dim, 2) / dim)
    positions = [*SPREAD, *np.random.default_rng(1).integers(0, 2**23, 200).tolist()]
    made = cos_and_sin(positions, frequencies, magnitude, backend)
    # Twice the precision: the angle of a position below 2^23 is within 2^-30 in float64.
    angles = np.array(positions, np.longdouble)[:, None] * frequencies
    for found, exact in zip(made, (magnitude * np.cos(angles), magnitude * np.sin(angles)), strict=True):
        exact = exact.astype(np.float64)
        assert (np.abs(found - exact) <= allowed(exact)).all()


@pytest.mark.parametrize("name", INSTRUCTION_SETS)
def test_every_instruction_set_computes_them(name):
    frequencies = 1e4 ** (-np.arange(37) / 37)
    best = compiled.instruction_set()
    compiled.use_instruction_set(name)
    try:
        made = cos_and_sin(SPREAD, frequencies, 0.7, "cpu")
    finally:
        compiled.use_instruction_set(best)
    angles = np.array(SPREAD, np.float64)[:, None] * frequencies
    for found, exact in zip(made, (0.7 * np.cos(angles), 0.7 * np.sin(angles)), strict=True):
        assert (np.abs(found - exact) <= allowed(exact)).all()


@pytest.mark.parametrize("backend", ["reference", *BACKENDS])
def test_positions_may_be_negative_or_far(backend):
    frequencies = np.array([1.0, 0.1, 1e-12])
    positions = [-1, -(2**20), 2**40, -(2**53), 2**53]
    made = cos_and_sin(positions, frequencies, 1.0, backend)
    angles = np.array(positions, np.float64)[:, None] * frequencies
    for found, exact in zip(made, (np.cos(angles), np.sin(angles)), strict=True):
        assert (np.abs(found - exact) <= allowed(exact)).all()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_they_turn_as_a_table_of_theirs_does(backend, dtype):
    rope = Rope(20)
    positions = torch.tensor([[5, 0, 9, 700], [3, 3, 1, 0]])
    angles = torch.from_numpy(rope.angles(np.arange(701)))
    cos, sin = (1.1 * angles.cos()).float(), (1.1 * angles.sin()).float()
    q, k = torch.randn(2, 4, 3, 24).to(dtype), torch.randn(2, 4, 1, 20).to(dtype)
    options = {"pairing": "interleaved", "inverse": True, "backend": backend}
    frequencies = torch.from_numpy(rope.plain())
    wanted = rotate(q, k, cos, sin, positions, **options)
    made = rotate(q, k, None, None, positions, **options, frequencies=frequencies, magnitude=1.1)
    assert all(
        torch.allclose(m, w, atol=2**-7 if dtype != torch.float32 else 1e-6) for m, w in zip(made, wanted, strict=True)
    )
    assert rotate_(q, k, positions=positions, **options, frequencies=frequencies, magnitude=1.1)[0] is q
    assert torch.equal(q, made[0])
    assert torch.equal(k, made[1])


def test_gradients_flow_to_frequencies_and_to_q():
    q = torch.randn(3, 1, 4, dtype=torch.float64, requires_grad=True)
    frequencies = torch.tensor([0.5, 0.25], dtype=torch.float64, requires_grad=True)
    out, _ = rotate(q, None, frequencies=frequencies)
    upstream = torch.randn(3, 1, 4, dtype=torch.float64)
    out.backward(upstream)
    turned, still = frequencies.detach().clone().requires_grad_(), q.detach().clone().requires_grad_()
    angle = torch.arange(3).double()[:, None] * turned
    a, b = still[:, 0].chunk(2, -1)
    wanted = torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)
    wanted.backward(upstream[:, 0])
    assert torch.allclose(q.grad, still.grad, atol=1e-6)
    assert torch.allclose(frequencies.grad, turned.grad, atol=1e-6)


@pytest.mark.parametrize("ends", [[0, 3, 3, 9], [0, 9], [0, 1, 2, 9, 9]])
@pytest.mark.parametrize("integer", [np.int32, np.int64])
def test_packed_sequences_turn_as_they_do_alone(ends, integer):
    q, k = torch.randn(9, 2, 8), torch.randn(9, 1, 8)
    angles = torch.rand(9, 4)
    cos, sin = angles.cos(), angles.sin()
    cu_seqlens = np.array(ends, integer)
    made = rotate(q, k, cos, sin, cu_seqlens=torch.from_numpy(cu_seqlens))
    alone = [rotate(q[a:b], k[a:b], cos, sin) for a, b in pairwise(ends)]
    for i in range(2):
        assert torch.equal(made[i], torch.cat([pair[i] for pair in alone]))
    arrays = rotate(q.numpy(), None, cos.numpy(), sin.numpy(), cu_seqlens=cu_seqlens)[0]
    assert np.allclose(arrays, made[0], atol=1e-6)
    frequencies = torch.rand(4, dtype=torch.float64)
    made, _ = rotate(q, None, frequencies=frequencies, cu_seqlens=torch.from_numpy(cu_seqlens))
    alone = [rotate(q[a:b], None, frequencies=frequencies)[0] for a, b in pairwise(ends)]
    assert torch.equal(made, torch.cat(alone))


Q, COS, FREQUENCIES = torch.zeros(5, 2, 8), torch.ones(5, 4), torch.ones(4, dtype=torch.float64)
ENDS = torch.tensor([0, 5])


@pytest.mark.parametrize(
    "change, message",
    [
        ({"cos": COS, "sin": COS, "frequencies": FREQUENCIES}, "cos and sin, or frequencies, got both"),
        ({"cos": COS, "frequencies": FREQUENCIES}, "cos and sin, or frequencies, got both"),
        ({"cos": COS, "sin": COS, "magnitude": 2.0}, "magnitude belongs to frequencies"),
        ({"frequencies": FREQUENCIES.float()}, "frequencies must be float64, got float32"),
        ({"frequencies": FREQUENCIES[None]}, r"frequencies must have shape \[pairs\], got \[1, 4\]"),
        ({"frequencies": FREQUENCIES[:0]}, r"frequencies must have shape \[pairs\], got \[0\]"),
        ({"frequencies": FREQUENCIES.numpy()}, "NumPy arrays only or torch tensors only"),
        ({"frequencies": torch.ones(5, dtype=torch.float64)}, "q must have at least 10 channels for 5 pairs, got 8"),
        ({"frequencies": FREQUENCIES, "magnitude": float("nan")}, "magnitude must be a finite number, got nan"),
        (
            {"frequencies": FREQUENCIES, "positions": torch.full((5,), 2**53 + 1)},
            "within 2.53 of 0, got 9007199254740993",
        ),
        ({"cos": COS, "sin": COS, "cu_seqlens": ENDS, "positions": torch.arange(5)}, "or cu_seqlens, got both"),
        ({"cos": COS, "sin": COS, "cu_seqlens": ENDS.float()}, "cu_seqlens must be int32 or int64, got float32"),
        ({"cos": COS, "sin": COS, "cu_seqlens": ENDS[None]}, r"cu_seqlens must have shape \[sequences \+ 1\]"),
        ({"cos": COS, "sin": COS, "cu_seqlens": torch.tensor([1, 5])}, r"must rise from 0 to 5, got \[1, 5\]"),
        ({"cos": COS, "sin": COS, "cu_seqlens": torch.tensor([0, 4])}, r"must rise from 0 to 5, got \[0, 4\]"),
        ({"cos": COS, "sin": COS, "cu_seqlens": torch.tensor([0, 3, 2, 5])}, "must rise from 0 to 5"),
        (
            {"q": Q[None], "cos": COS, "sin": COS, "cu_seqlens": ENDS},
            r"cu_seqlens needs packed q and k.* \[1, 5, 2, 8\]",
        ),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    for operation in (rotate, rotate_):
        with pytest.raises(InputError, match=message):
            operation(**{"q": Q.clone(), "k": None} | change)
