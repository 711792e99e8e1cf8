"""`RotaryEmbedding`: exact tables for the positions asked for, and the rotation by them."""

import math

import mpmath
import numpy as np
import pytest
import torch

from ordinate.errors import InputError
from ordinate.ops import rotate
from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.longrope import LongRope
from ordinate.schemes.alibi import Alibi
from ordinate.schemes.axial import Axial
from ordinate.schemes.multimodal import Multimodal
from ordinate.schemes.rope import Rope
from ordinate.schemes.xpos import Xpos
from ordinate.spec import LayerGroup
from ordinate.torch import RotaryEmbedding


def exact(position, frequency):
    """cos and sin of position * frequency as 50 decimals give them."""
    with mpmath.workdps(50):
        angle = position * mpmath.mpf(frequency)
        return float(mpmath.cos(angle)), float(mpmath.sin(angle))


def test_every_entry_is_right_at_any_position():
    positions = [0, 1, 4095, 131071, 2**20 - 1, 2**23 + 1]
    cos, sin = RotaryEmbedding(Rope(16, base=5e5)).table(torch.tensor(positions))
    for row, position in enumerate(positions):
        for pair in range(8):
            with mpmath.workdps(50):
                frequency = mpmath.mpf(500000) ** (-mpmath.mpf(pair) / 8)
            for made, wanted in zip((cos[row, pair], sin[row, pair]), exact(position, frequency), strict=True):
                assert abs(float(made) - wanted) <= max(4e-9, float(np.spacing(np.float32(abs(wanted)))))


def test_tables_are_those_of_the_group(group):
    for positions in (torch.arange(3000), torch.tensor([[5, 0, 3], [9, 9, 1000]]), torch.tensor([70000, 2])):
        cos, sin = RotaryEmbedding(group).table(positions)
        wanted = group.table(positions.flatten().numpy(), int(positions.max()) + 1)
        for made, table in zip((cos, sin), wanted, strict=True):
            assert made.dtype == torch.float32
            assert np.array_equal(made.numpy(), table.reshape(*positions.shape, 32))


def test_what_was_asked_before_changes_nothing(group):
    asked = [torch.tensor(p) for p in ([3, 2], [5000, 1], [7], [40000, 0], [-4, 2], [3, 2], [2047], [2048])]
    module = RotaryEmbedding(group)
    for positions in (*asked, *reversed(asked)):
        for used, fresh in zip(module.table(positions), RotaryEmbedding(group).table(positions), strict=True):
            assert torch.equal(used, fresh)


def test_a_length_can_be_given_instead_of_the_highest_position():
    group = LayerGroup("full_attention", Rope(64), DynamicNtk(4.0, window=2048))
    module, positions = RotaryEmbedding(group), torch.tensor([1, 5])
    assert not torch.equal(module.table(positions, 8192)[0], module.table(positions)[0])
    assert torch.equal(module.table(torch.tensor([1, 5, 8191]))[0][:2], module.table(positions, 8192)[0])
    with pytest.raises(InputError, match="length must be an integer >= 1, got 0"):
        module.table(positions, 0)
    with pytest.raises(InputError, match="length must be an integer >= 1, got 0"):
        RotaryEmbedding(Rope(64)).table(positions, 0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("duplicate", ["half", "interleaved"])
def test_forward_returns_transformers_shapes(plain, dtype, duplicate):
    positions = torch.tensor([[5, 0, 3]])
    cos, sin = RotaryEmbedding(plain, duplicate=duplicate)(torch.zeros(1, dtype=dtype), positions)
    for made, table in zip((cos, sin), plain.table([5, 0, 3]), strict=True):
        wanted = np.tile(table, 2) if duplicate == "half" else np.repeat(table, 2, axis=-1)
        assert torch.equal(made, torch.from_numpy(wanted)[None].to(dtype))


@pytest.mark.parametrize("float32_angles", [False, True])
def test_forward_leaves_a_reversed_direction_to_the_rotation(float32_angles):
    x, positions = torch.zeros(1), torch.arange(9)[None]
    modules = [RotaryEmbedding(Rope(8, direction=d), float32_angles=float32_angles) for d in (-1, 1)]
    ours, theirs = (module(x, positions) for module in modules)
    assert theirs[1][0, 1, 0].item() == pytest.approx(math.sin(1.0), abs=1e-6)
    assert torch.equal(ours[0], theirs[0])
    assert torch.equal(ours[1], theirs[1])
    _, sin = modules[0].table(positions)
    assert torch.equal(sin[..., 0], -theirs[1][..., 0])


@pytest.mark.parametrize("shape", [(2, 6), (6,)])
@pytest.mark.parametrize("pairing", [None, "interleaved", "interleaved-in-half-out"])
@pytest.mark.parametrize("part, rotary_dim", [("first", 8), ("last", 8), ("proportional", 8), ("first", 16)])
def test_rotation_is_the_operation_with_the_groups_table(shape, pairing, part, rotary_dim):
    group = LayerGroup("full_attention", Rope(16, rotary_dim=rotary_dim, part=part), pairing="half")
    q, k = torch.randn(*shape, 3, 16), torch.randn(*shape, 1, 16)
    positions = torch.tensor([5, 0, 3, 40000, 1, 2])
    found = np.unique(positions.numpy())
    cos, sin = (torch.from_numpy(t) for t in group.table(found))
    rows = torch.from_numpy(np.searchsorted(found, positions.numpy()))
    for inverse in (False, True):
        wanted = rotate(q, k, cos, sin, rows, pairing or "half", part=part, inverse=inverse)
        made = RotaryEmbedding(group, pairing=pairing).rotate(q, k, positions, inverse=inverse)
        assert all(torch.equal(a, b) for a, b in zip(made, wanted, strict=True))


def test_positions_default_to_the_first_tokens(plain):
    q, module = torch.randn(2, 5, 3, 64), RotaryEmbedding(plain)
    assert torch.equal(module.rotate(q, None)[0], module.rotate(q, None, torch.arange(5))[0])
    assert torch.equal(module.rotate(None, q)[1], module.rotate(q, None)[0])


def test_the_groups_pairing_comes_before_the_schemes():
    group = LayerGroup("full_attention", Rope(8, pairing="half"), pairing="interleaved")
    q = torch.randn(4, 1, 8)
    assert torch.equal(
        RotaryEmbedding(group).rotate(q, None)[0], RotaryEmbedding(Rope(8, pairing="interleaved")).rotate(q, None)[0]
    )


def test_an_unknown_pairing_has_tables_but_no_rotation():
    module = RotaryEmbedding(LayerGroup("full_attention", Rope(8), pairing="unknown"))
    assert module.table(torch.arange(3))[0].shape == (3, 4)
    with pytest.raises(InputError, match="the files do not say how channels pair: give RotaryEmbedding a pairing"):
        module.rotate(torch.zeros(3, 1, 8), None)


def test_gradients_are_the_operations(plain):
    q = torch.randn(1, 3, 2, 64, dtype=torch.float64, requires_grad=True)
    module, positions = RotaryEmbedding(plain), torch.tensor([[5, 0, 3]])
    out, _ = module.rotate(q, None, positions)
    upstream = torch.randn_like(out)
    out.backward(upstream)
    assert torch.allclose(q.grad, module.rotate(upstream, None, positions, inverse=True)[0], atol=1e-14)


@pytest.mark.parametrize("scheme", [Axial(16), Multimodal(16, sections=(2, 3, 3)), Axial(24, axes=3)])
def test_several_axes_have_a_position_each(scheme):
    module = RotaryEmbedding(scheme)
    positions = torch.randint(0, 500, (scheme.axes, 2, 7))
    cos, sin = module.table(positions)
    group = LayerGroup("full_attention", scheme)
    for row in range(2):
        wanted = group.table(positions[:, row].numpy())
        assert np.array_equal(cos[row].numpy(), wanted[0])
        assert np.array_equal(sin[row].numpy(), wanted[1])
        assert torch.equal(module.table(positions[:, row])[0], cos[row])
    q = torch.randn(2, 7, 3, scheme.head_dim)
    made, _ = module.rotate(q, None, positions)
    rows = torch.arange(14).view(2, 7)
    assert torch.equal(made, rotate(q, None, cos.flatten(0, 1), sin.flatten(0, 1), rows)[0])
    with pytest.raises(InputError, match="needs positions"):
        module.rotate(q, None)


def test_xpos_scales_q_and_k_apart_so_that_scores_fall_with_distance():
    scheme = Xpos(16, centre=50)
    module, plain = RotaryEmbedding(scheme), RotaryEmbedding(Rope(16))
    q, k = torch.randn(8, 1, 16, dtype=torch.float64), torch.randn(8, 1, 16, dtype=torch.float64)
    positions = torch.arange(40, 48)
    scaled, straight = module.rotate(q, k, positions), plain.rotate(q, k, positions)
    for m, n in ((7, 0), (3, 3), (1, 6)):
        by_pair = [(a[m, 0] * b[n, 0]).view(2, 8).sum(0) for a, b in (scaled, straight)]
        assert torch.allclose(by_pair[0], by_pair[1] * torch.from_numpy(scheme.decay([m - n])[0]), rtol=1e-5)
    with pytest.raises(InputError, match="xpos scales q and k apart"):
        module.table(positions)


@pytest.mark.parametrize(
    "positions, message",
    [
        ([0, 1], "positions must be a torch tensor, got list"),
        (torch.arange(3.0), "positions must be int32 or int64, got float32"),
        (torch.tensor(3), r"positions must have shape \[tokens\] or \[batch, tokens\], got \[\]"),
        (torch.zeros(2, 2, 2, dtype=torch.int64), r"got \[2, 2, 2\]"),
    ],
)
def test_other_positions_are_refused(plain, positions, message):
    with pytest.raises(InputError, match=message):
        RotaryEmbedding(plain).table(positions)
    with pytest.raises(InputError, match=message):
        RotaryEmbedding(plain, float32_angles=True)(torch.zeros(1), positions)


def test_axes_must_be_the_schemes():
    with pytest.raises(
        InputError, match=r"positions must have shape \[2, tokens\] or \[2, batch, tokens\], got \[3, 4\]"
    ):
        RotaryEmbedding(Axial(16)).table(torch.zeros(3, 4, dtype=torch.int64))


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"group": LayerGroup("full_attention", Alibi(heads=4))}, "has no rotary frequencies: its scheme is alibi"),
        ({"group": "rope"}, "group must be a LayerGroup or a rotary scheme, got 'rope'"),
        ({"group": Rope(8), "pairing": "neox"}, "pairing must be one of"),
        ({"group": Rope(8), "duplicate": "both"}, "duplicate must be one of half, interleaved, none, got 'both'"),
        ({"group": Rope(8), "held": 0}, "held must be an integer >= 1, got 0"),
    ],
)
def test_other_groups_and_words_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        RotaryEmbedding(**arguments)


def test_empty_batches_have_empty_tables(group):
    for shape in ((0,), (0, 5), (2, 0)):
        empty = torch.zeros(shape, dtype=torch.int64)
        for angles in (False, True):
            module = RotaryEmbedding(group, float32_angles=angles)
            assert module(torch.zeros(1), empty)[0].shape == (*shape, 64)
    assert RotaryEmbedding(Rope(8)).rotate(torch.zeros(2, 0, 3, 8), None)[0].shape == (2, 0, 3, 8)


@pytest.fixture
def computed(monkeypatch):
    """How many rows are computed, call by call."""
    counts = []
    table = LayerGroup.table

    def counted(self, positions, length=None):
        counts.append(np.asarray(positions).shape[-1])
        return table(self, positions, length)

    monkeypatch.setattr(LayerGroup, "table", counted)
    return counts


def test_decoding_computes_each_row_once(plain, computed):
    module = RotaryEmbedding(plain)
    module.table(torch.arange(100))
    for position in range(100, 3000):
        module.table(torch.tensor([[position]]))
    assert sum(computed) <= 2 * 3000
    assert len(computed) < 10


def test_decoding_under_a_dynamic_method_computes_the_new_token_alone(computed):
    module = RotaryEmbedding(LayerGroup("full_attention", Rope(64), DynamicNtk(4.0, window=64)))
    module.table(torch.arange(100))
    for position in range(100, 120):
        module.table(torch.tensor([[position]]))
    assert computed == [100] + [1] * 20


def test_far_positions_are_computed_alone(plain, computed):
    module = RotaryEmbedding(plain, held=1000)
    module.table(torch.tensor([[10**6, 3], [10**6, 4]]))
    module.table(torch.tensor([999]))
    assert computed == [3, 1000]
    with_negative = module.table(torch.tensor([-1, 1]))
    assert torch.equal(with_negative[1][0], -with_negative[1][1])


def test_a_row_of_a_longrope_batch_can_be_kept_from_its_neighbours():
    group = LayerGroup("full_attention", Rope(8), LongRope((1.0,) * 4, (2.0,) * 4, 4.0, 16))
    module = RotaryEmbedding(group)
    together = module.table(torch.tensor([[1, 2], [20, 21]]))[0][0]
    alone = module.table(torch.tensor([1, 2]))[0]
    assert not torch.equal(together, alone)
    assert torch.equal(module.table(torch.tensor([[1, 2], [20, 21]]), length=3)[0][0], alone)
