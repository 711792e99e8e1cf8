"""`rotate_`: written into q and k, and nowhere else."""

import numpy as np
import pytest
import torch

from ordinate.errors import InputError
from ordinate.ops import rotate, rotate_

PAIRINGS = ("half", "interleaved", "interleaved-in-half-out")


def random_tables(tokens=5, pairs=4):
    angles = torch.rand(tokens, pairs, dtype=torch.float64)
    return angles.cos().float(), angles.sin().float()


@pytest.mark.parametrize("pairing", PAIRINGS)
@pytest.mark.parametrize("part, dim", [("first", 11), ("last", 11), ("proportional", 8)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_in_place_equals_out_of_place(pairing, part, dim, dtype):
    q, k = torch.randn(2, 5, 3, dim).to(dtype), torch.randn(2, 5, 1, dim).to(dtype)
    cos, sin = random_tables()
    for inverse in (False, True):
        options = {"positions": torch.tensor([4, 0, 2, 2, 1]), "pairing": pairing, "part": part, "inverse": inverse}
        wanted = rotate(q, k, cos, sin, **options)
        made = rotate_(q, k, cos, sin, **options)
        assert made[0] is q
        assert made[1] is k
        assert torch.equal(q, wanted[0])
        assert torch.equal(k, wanted[1])


@pytest.mark.parametrize("library", ["torch", "numpy"])
def test_views_of_a_fused_projection_are_written_through(library):
    fused = torch.randn(2, 5, (3 + 1 + 1) * 8)
    before = fused.clone()
    q, k = fused[..., :24].view(2, 5, 3, 8), fused[..., 24:32].view(2, 5, 1, 8)
    cos, sin = random_tables()
    wanted = rotate(q, k, cos, sin)
    arrays = (q, k, cos, sin) if library == "torch" else tuple(t.numpy() for t in (q, k, cos, sin))
    rotate_(*arrays)
    assert torch.allclose(fused[..., :24].view(2, 5, 3, 8), wanted[0], atol=1e-6)
    assert torch.allclose(fused[..., 24:32].view(2, 5, 1, 8), wanted[1], atol=1e-6)
    assert torch.equal(fused[..., 32:], before[..., 32:])


def test_a_transposed_view_is_written_through():
    memory = torch.randn(2, 3, 5, 8)
    cos, sin = random_tables()
    wanted, _ = rotate(memory.transpose(1, 2), None, cos, sin)
    rotate_(memory.transpose(1, 2), None, cos, sin)
    assert torch.equal(memory.transpose(1, 2), wanted)


def test_every_second_head_is_written_alone():
    memory = torch.randn(5, 6, 8)
    before, (cos, sin) = memory.clone(), random_tables()
    rotate_(memory[:, ::2], None, cos, sin, pairing="interleaved")
    assert torch.equal(memory[:, 1::2], before[:, 1::2])
    assert torch.equal(memory[:, ::2], rotate(before[:, ::2], None, cos, sin, pairing="interleaved")[0])


def test_gradients_flow_through_it():
    source = torch.randn(5, 2, 8, dtype=torch.float64, requires_grad=True)
    cos, sin = random_tables()
    q = source * 2
    rotate_(q, None, cos, sin)
    q.square().sum().backward()
    # The rotation keeps lengths, so the sum is that of (2 source)^2 but for the rounding of the table.
    assert torch.allclose(source.grad, 8 * source, rtol=1e-6)


def test_a_value_saved_for_the_backward_pass_is_not_overwritten_in_silence():
    source = torch.randn(5, 2, 8, requires_grad=True)
    q = source.exp()
    rotate_(q, None, *random_tables())
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        q.sum().backward()


def test_a_leaf_that_requires_a_gradient_is_refused_unless_nothing_records():
    q, (cos, sin) = torch.randn(5, 2, 8, requires_grad=True), random_tables()
    with pytest.raises(InputError, match="q cannot be rotated in place: it is a leaf"):
        rotate_(q, None, cos, sin)
    wanted = rotate(q, None, cos, sin)[0].detach()
    with torch.no_grad():
        rotate_(q, None, cos, sin)
    assert torch.equal(q.detach(), wanted)


def test_expanded_memory_is_refused():
    cos, sin = random_tables()
    with pytest.raises(InputError, match="k cannot be rotated in place: it is expanded"):
        rotate_(torch.randn(5, 2, 8), torch.randn(5, 1, 8).expand(5, 2, 8), cos, sin)
    wide = np.broadcast_to(np.ones((5, 1, 8)), (5, 2, 8))
    with pytest.raises(InputError, match="q cannot be rotated in place: it is expanded"):
        rotate_(wide, None, cos.numpy(), sin.numpy())


def test_read_only_memory_is_refused():
    q = np.ones((5, 2, 8))
    q.flags.writeable = False
    cos, sin = (t.numpy() for t in random_tables())
    with pytest.raises(InputError, match="q cannot be rotated in place: it is read-only"):
        rotate_(q, None, cos, sin)


def test_the_same_memory_is_not_turned_twice():
    q, (cos, sin) = torch.randn(5, 2, 8), random_tables()
    before = q.clone()
    with pytest.raises(InputError, match="would turn twice"):
        rotate_(q, q[:, :1], cos, sin)
    with pytest.raises(InputError, match="would turn twice"):
        rotate_(q.numpy(), q.numpy(), cos.numpy(), sin.numpy())
    assert torch.equal(q, before)


def test_nothing_is_written_when_k_is_wrong():
    q, (cos, sin) = torch.randn(5, 2, 8), random_tables()
    before = q.clone()
    for k in (torch.randn(5, 2, 6), torch.randn(4, 2, 8), torch.randn(5, 2, 8, requires_grad=True)):
        with pytest.raises(InputError):
            rotate_(q, k, cos, sin)
        assert torch.equal(q, before)


def test_empty_arrays_are_fine():
    cos, sin = random_tables()
    for shape in ((0, 5, 2, 8), (2, 0, 2, 8), (0, 2, 8)):
        q, k = torch.zeros(shape), torch.zeros(shape)
        assert rotate_(q, k, cos, sin)[0] is q
        assert rotate_(q.numpy(), None, cos.numpy(), sin.numpy())[0].shape == shape


def test_meta_tensors_are_turned_in_shape_only():
    q, k = torch.empty(5, 2, 8, device="meta"), torch.empty(5, 1, 8, device="meta")
    cos, sin = (t.to("meta") for t in random_tables())
    made = rotate_(q, k, cos, sin)
    assert made[0] is q
    assert made[1] is k
