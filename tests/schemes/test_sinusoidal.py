"""Sinusoids by hand, by mpmath, and against the three layouts in transformers."""

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.models.distilbert.modeling_distilbert import create_sinusoidal_embeddings
from transformers.models.fsmt.modeling_fsmt import SinusoidalPositionalEmbedding
from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding

import ordinate
from ordinate.errors import InputError

Sinusoidal = ordinate.scheme("sinusoidal")
LAYOUTS = ("interleaved", "concatenated", "tensor2tensor")


def test_four_channels_by_hand():
    expected = [[0.8414709848, 0.5403023059, 0.0099998333, 0.9999500004]]
    np.testing.assert_allclose(Sinusoidal(dim=4).table([1]), expected, atol=1e-10)
    concatenated = Sinusoidal(dim=4, layout="concatenated").table([1])
    np.testing.assert_allclose(concatenated, np.array(expected)[:, [0, 2, 1, 3]], atol=1e-10)
    t2t = Sinusoidal(dim=4, layout="tensor2tensor").table([1])
    np.testing.assert_allclose(t2t, [[0.8414709848, 1e-4, 0.5403023059, 1.0]], atol=1e-8)


def test_position_zero_is_zeros_and_ones():
    np.testing.assert_array_equal(Sinusoidal(dim=6).table([0]), [[0, 1, 0, 1, 0, 1]])
    for layout in LAYOUTS[1:]:
        np.testing.assert_array_equal(Sinusoidal(dim=6, layout=layout).table([0]), [[0, 0, 0, 1, 1, 1]])


def test_five_channels_have_three_sines_and_two_cosines():
    turns = [1.0, 10000 ** (-2 / 5), 10000 ** (-4 / 5)]
    sines, cosines = np.sin(turns), np.cos(turns)
    expected = [sines[0], cosines[0], sines[1], cosines[1], sines[2]]
    np.testing.assert_allclose(Sinusoidal(dim=5).table([1])[0], expected, rtol=1e-14)
    concatenated = Sinusoidal(dim=5, layout="concatenated").table([1])[0]
    np.testing.assert_allclose(concatenated, [*sines, *cosines[:2]], rtol=1e-14)
    t2t = Sinusoidal(dim=5, layout="tensor2tensor").table([1])[0]
    np.testing.assert_allclose(t2t, [np.sin(1), np.sin(1e-4), np.cos(1), np.cos(1e-4), 0], rtol=1e-14)
    assert Sinusoidal(dim=1).table([2]).tolist() == [[np.sin(2.0)]]


@pytest.mark.parametrize("dim", [2, 5, 8, 63, 64])
def test_interleaved_is_distilberts(dim):
    out = torch.zeros(40, dim)
    create_sinusoidal_embeddings(40, dim, out)
    np.testing.assert_allclose(Sinusoidal(dim=dim).table(range(40)), out.numpy(), atol=1e-7)


@pytest.mark.parametrize("dim", [2, 5, 8, 63, 64])
def test_concatenated_is_marians(dim):
    marian = MarianSinusoidalPositionalEmbedding(40, dim).create_weight()
    np.testing.assert_allclose(Sinusoidal(dim=dim, layout="concatenated").table(range(40)), marian.numpy(), atol=1e-7)


@pytest.mark.parametrize("dim", [4, 5, 8, 63, 64])
def test_tensor2tensor_is_fairseqs(dim):
    fairseq = SinusoidalPositionalEmbedding.get_embedding(40, dim, None)
    table = Sinusoidal(dim=dim, layout="tensor2tensor").table(range(40))
    np.testing.assert_allclose(table, fairseq.numpy(), atol=2e-5)


def test_tensor2tensor_of_one_pair_does_not_divide_by_zero():
    table = Sinusoidal(dim=2, layout="tensor2tensor").table([3])
    np.testing.assert_array_equal(table, [[np.sin(3.0), np.cos(3.0)]])


@pytest.mark.parametrize("position", [1, 4095, 131_071, 2**20 - 1, 2**23 + 1])
def test_far_positions_keep_their_digits(position):
    scheme = Sinusoidal(dim=32, base=5e5)
    row = scheme.table([position])[0]
    with mpmath.workdps(40):
        for i in range(16):
            angle = position * mpmath.mpf(500_000) ** (mpmath.mpf(-2 * i) / 32)
            assert abs(row[2 * i] - mpmath.sin(angle)) < 4e-9
            assert abs(row[2 * i + 1] - mpmath.cos(angle)) < 4e-9


@given(
    dim=st.integers(2, 24),
    layout=st.sampled_from(LAYOUTS),
    positions=st.lists(st.integers(-5000, 5000), min_size=1, max_size=5),
    shift=st.integers(-3000, 3000),
)
def test_one_matrix_shifts_every_position(dim, layout, positions, shift):
    scheme = Sinusoidal(dim=dim, layout=layout)
    if dim % 2 and layout != "tensor2tensor":
        with pytest.raises(InputError, match=f"no matrix shifts dim {dim}"):
            scheme.matrix(shift)
        assert "linear_in_shift" not in scheme.traits
        return
    assert "linear_in_shift" in scheme.traits
    matrix = scheme.matrix(shift)
    shifted = scheme.table(np.array(positions) + shift)
    np.testing.assert_allclose(scheme.table(positions) @ matrix.T, shifted, atol=1e-11)
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(dim), atol=1e-14)


def test_matrices_of_shifts_multiply_like_shifts_add():
    scheme = Sinusoidal(dim=12)
    np.testing.assert_array_equal(scheme.matrix(0), np.eye(12))
    np.testing.assert_allclose(scheme.matrix(7) @ scheme.matrix(-19), scheme.matrix(-12), atol=1e-14)


def test_it_is_added_or_put_beside():
    embeddings = np.random.default_rng(0).normal(size=(2, 3, 8))
    added = Sinusoidal(dim=8).apply(embeddings, [0, 1, 2])
    np.testing.assert_allclose(added - embeddings, [Sinusoidal(dim=8).table([0, 1, 2])] * 2, atol=1e-15)
    beside = Sinusoidal(dim=4, combine="concat").apply(embeddings, [5, 6, 7])
    np.testing.assert_array_equal(beside[..., :8], embeddings)
    np.testing.assert_array_equal(beside[..., 8:], [Sinusoidal(dim=4).table([5, 6, 7])] * 2)


@pytest.mark.parametrize("combine", ["add", "concat"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_torch_embeddings_keep_their_dtype(combine, dtype):
    scheme = Sinusoidal(dim=8, combine=combine)
    embeddings = torch.randn(2, 3, 8, generator=torch.Generator().manual_seed(0)).to(dtype).requires_grad_()
    result = scheme.apply(embeddings, [4, 5, 6], xp=torch)
    assert result.dtype == dtype
    result.float().sum().backward()
    assert embeddings.grad is not None
    assert (embeddings.grad == 1).all()
    expected = scheme.apply(embeddings.detach().double().numpy(), [4, 5, 6])
    np.testing.assert_allclose(result.detach().double().numpy(), expected, atol=2e-2 if dtype.itemsize == 2 else 1e-6)


def test_no_positions_are_an_empty_table():
    assert Sinusoidal(dim=6).table([]).shape == (0, 6)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"dim": 0}, "dim"),
        ({"dim": 8, "base": -1}, "base"),
        ({"dim": 8, "base": float("nan")}, "base"),
        ({"dim": 8, "layout": "halves"}, "layout"),
        ({"dim": 8, "combine": "multiply"}, "combine"),
        ({"dim": 1, "layout": "tensor2tensor"}, "dim >= 2"),
    ],
)
def test_a_wrong_argument_is_named(arguments, word):
    with pytest.raises(InputError, match=word):
        Sinusoidal(**arguments)


def test_a_wrong_input_is_named():
    with pytest.raises(InputError, match="positions must be integers"):
        Sinusoidal(dim=4).table([0.5])
    with pytest.raises(InputError, match="shift must be integers"):
        Sinusoidal(dim=4).matrix(0.5)
    with pytest.raises(InputError, match="sinusoidal learns nothing"):
        Sinusoidal(dim=4).table([0], {"table": np.zeros((1, 4))})
    with pytest.raises(InputError, match="embeddings must be 4 wide"):
        Sinusoidal(dim=4).apply(np.zeros((3, 5)), [0, 1, 2])
    with pytest.raises(InputError, match="one entry a token"):
        Sinusoidal(dim=4).apply(np.zeros((3, 4)), [0, 1])


def test_a_table_of_512_positions_costs_its_bytes_and_additions():
    cost = Sinusoidal(dim=768).cost(512)
    assert (cost.parameters, cost.table_bytes, cost.operations) == (0, 4 * 512 * 768, 512 * 768)
    assert Sinusoidal(dim=768, combine="concat").cost(512).operations == 0


def test_each_sequence_of_a_batch_is_joined_to_its_own_encoding():
    scheme = Sinusoidal(dim=4, combine="concat")
    embeddings = np.arange(2 * 3 * 2, dtype=np.float64).reshape(2, 3, 2)
    encodings = np.stack([scheme.table(np.arange(3)), scheme.table(np.arange(10, 13))])
    joined = scheme.combined(embeddings, encodings)
    assert joined.shape == (2, 3, 6)
    assert np.array_equal(joined[1, 2, :2], embeddings[1, 2])
    assert np.array_equal(joined[1, 2, 2:], scheme.table(np.array([12]))[0])
