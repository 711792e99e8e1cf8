"""The compiled kernels under autograd and in torch's other modes: no gradient and no transform is lost in silence."""

import pytest
import torch
from reference_rotate import PAIRINGS
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad
from torch.utils._python_dispatch import TorchDispatchMode

from ordinate.errors import Unavailable
from ordinate.ops import rotate, rotate_
from ordinate.ops.backends import compiled

if compiled is None:
    pytest.skip("the compiled kernels are not part of this installation", allow_module_level=True)

DTYPES = (torch.float32, torch.bfloat16, torch.float16)


@pytest.fixture
def tables():
    angles = torch.rand(6, 4, generator=torch.manual_seed(3))
    return angles.cos(), angles.sin()


def gradients(backend, q, k, tables, upstream, in_place=False, **options):
    q, k = q.clone().requires_grad_(), k.clone().requires_grad_()
    if in_place:
        out = rotate_(q * 1, k * 1, *tables, backend=backend, **options)
    else:
        out = rotate(q, k, *tables, backend=backend, **options)
    torch.autograd.backward(out, upstream)
    return q.grad, k.grad


@pytest.mark.parametrize("pairing", PAIRINGS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("in_place", [False, True])
def test_gradients_are_those_of_eager_to_the_bit(pairing, dtype, in_place, tables):
    q, k = torch.randn(2, 5, 3, 11).to(dtype), torch.randn(2, 5, 1, 11).to(dtype)
    upstream = [torch.randn(x.shape).to(dtype) for x in (q, k)]
    for part in ("first", "last"):
        options = {"pairing": pairing, "part": part, "positions": torch.tensor([5, 0, 0, 1, 3]), "in_place": in_place}
        made, wanted = (gradients(b, q, k, tables, upstream, **options) for b in ("cpu", "eager"))
        assert all(m.dtype == dtype and torch.equal(m, w) for m, w in zip(made, wanted, strict=True))


def test_second_derivatives_are_right(tables):
    q = torch.randn(5, 2, 8, requires_grad=True)
    grads = []
    for backend in ("cpu", "eager"):
        out, _ = rotate(q, None, *tables, backend=backend)
        (first,) = torch.autograd.grad(out.pow(3).sum(), q, create_graph=True)
        grads.append(torch.autograd.grad(first.square().sum(), q)[0])
    assert torch.allclose(*grads, rtol=1e-5)


def test_a_gradient_to_the_table_comes_from_eager(tables):
    cos, sin = (t.requires_grad_() for t in tables)
    q = torch.randn(5, 2, 8)
    rotate(q, None, cos, sin)[0].sum().backward()
    assert cos.grad.abs().sum() > 0
    with pytest.raises(Unavailable, match="cpu gives no gradient to a table"):
        rotate(q, None, cos, sin, backend="cpu")
    with torch.no_grad():
        assert not rotate(q, None, cos, sin, backend="cpu")[0].requires_grad


def test_a_change_of_a_saved_table_is_noticed(tables):
    cos, sin = tables
    q = torch.randn(5, 2, 8, requires_grad=True)
    out, _ = rotate(q, None, cos, sin, backend="cpu")
    cos.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


@pytest.mark.parametrize("recording", [True, False])
def test_writing_in_place_is_told_to_autograd(recording, tables):
    q, k = torch.randn(5, 2, 8), torch.randn(5, 1, 8)
    with torch.set_grad_enabled(recording):
        for backend in ("auto", "cpu"):
            for positions in (None, torch.arange(5)):
                before = q._version, k._version
                rotate_(q, k, *tables, positions, backend=backend)
                assert q._version > before[0]
                assert k._version > before[1]
        before = q._version
        rotate_(q, None, *tables)
        assert q._version > before
    weight = torch.randn(5, 2, 8, requires_grad=True)
    product = (weight * q).sum()
    with torch.no_grad():
        rotate_(q, k, *tables)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


def test_in_place_changes_of_a_view_reach_the_gradient_of_its_base(tables):
    base = torch.randn(5, 4, 8, requires_grad=True)
    grads = []
    for backend in ("cpu", "eager"):
        fused = base * 1
        rotate_(fused[:, :2], fused[:, 2:3], *tables, backend=backend)
        (grad,) = torch.autograd.grad(fused.pow(2).sum() + fused[:, 0].pow(3).sum(), base)
        grads.append(grad)
    assert torch.allclose(*grads, rtol=1e-5)


def test_inference_tensors_are_turned(tables):
    with torch.inference_mode():
        q = torch.randn(5, 2, 8)
        wanted, _ = rotate(q, None, *tables, backend="eager")
        assert torch.equal(rotate(q, None, *tables)[0], wanted)
        rotate_(q, None, *tables)
    assert torch.equal(q, wanted)
    assert rotate(q, None, *tables)[0].is_inference() is False


class Double(torch.Tensor):
    """A subclass whose operations count."""

    seen = 0

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        Double.seen += 1
        return super().__torch_function__(function, types, args, kwargs or {})


def test_a_subclass_sees_every_operation(tables):
    q = torch.randn(5, 2, 8).as_subclass(Double)
    Double.seen = 0
    out, _ = rotate(q, None, *tables)
    assert type(out) is Double
    assert Double.seen > 3
    assert torch.equal(out.as_subclass(torch.Tensor), rotate(q.as_subclass(torch.Tensor), None, *tables)[0])
    with pytest.raises(Unavailable, match="cpu takes plain tensors"):
        rotate(q, None, *tables, backend="cpu")


def test_a_parameter_is_a_plain_tensor(tables):
    weight = torch.nn.Parameter(torch.randn(5, 2, 8))
    rotate(weight, None, *tables, backend="cpu")[0].sum().backward()
    assert weight.grad is not None


class Listing(TorchDispatchMode):
    """A mode that lists what runs."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.append(function.overloadpacket.__name__)
        return function(*args, **kwargs or {})


def test_a_dispatch_mode_sees_every_operation(tables):
    q = torch.randn(5, 2, 8)
    with Listing() as mode:
        rotate(q, None, *tables)
        rotate_(q, None, *tables)
    assert "mul" in mode.names
    assert "copy_" in mode.names


def test_fake_tensors_have_shapes_only(tables):
    with FakeTensorMode() as mode:
        q, (cos, sin) = torch.randn(5, 2, 8).bfloat16(), (mode.from_tensor(t) for t in tables)
        out, _ = rotate(q, None, cos, sin)
    assert out.shape == q.shape
    assert out.dtype == torch.bfloat16


def test_vmap_and_functional_gradients_are_served(tables):
    q = torch.randn(3, 5, 2, 8)
    wanted, _ = rotate(q, None, *tables)
    assert torch.allclose(torch.vmap(lambda x: rotate(x, None, *tables)[0])(q), wanted, atol=1e-6)
    grad = torch.func.grad(lambda x: rotate(x, None, *tables)[0].pow(3).sum())(q)
    x = q.clone().requires_grad_()
    rotate(x, None, *tables)[0].pow(3).sum().backward()
    assert torch.allclose(grad, x.grad, rtol=1e-5)


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_forward_derivatives_are_served(tables):
    q, direction = torch.randn(5, 2, 8), torch.randn(5, 2, 8)
    with forward_ad.dual_level():
        out, _ = rotate(forward_ad.make_dual(q, direction), None, *tables)
        tangent = forward_ad.unpack_dual(out).tangent
    assert torch.allclose(tangent, rotate(direction, None, *tables)[0], atol=1e-6)


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning", "ignore::torch.jit.TracerWarning")
def test_a_traced_function_turns_new_inputs(tables):
    traced = torch.jit.trace(lambda q: rotate(q, None, *tables)[0], torch.randn(5, 2, 8))
    q = torch.randn(5, 2, 8)
    assert torch.allclose(traced(q), rotate(q, None, *tables)[0], atol=1e-6)


def test_a_negated_view_is_turned_by_its_values(tables):
    z = torch.randn(5, 2, 8, dtype=torch.complex64)
    negated = z.conj().imag
    assert negated.is_neg()
    wanted, _ = rotate(-z.imag.contiguous(), None, *tables)
    assert torch.equal(rotate(negated, None, *tables)[0], wanted)
    rotate_(negated, None, *tables)
    assert torch.equal(negated, wanted)
    assert torch.equal(-z.imag, wanted)


def test_parts_of_one_projection_are_turned_and_overlapping_ones_refused(tables):
    fused = torch.randn(2, 5, 6 * 8)
    q, k = fused[..., :32].view(2, 5, 4, 8), fused[..., 32:40].view(2, 5, 1, 8)
    wanted = rotate(q, k, *tables)
    assert compiled.rotate_in_place(q, k, *tables, None, "half", "first", False, "auto")
    assert torch.equal(q, wanted[0])
    assert torch.equal(k, wanted[1])
    overlapping = fused[..., 24:32].view(2, 5, 1, 8)
    before = fused.clone()
    for backend in ("auto", "cpu", "eager"):
        with pytest.raises(ValueError, match="would turn twice"):
            rotate_(q, overlapping, *tables, backend=backend)
        with pytest.raises(ValueError, match="its elements share memory"):
            rotate_(fused[0].as_strided((5, 3, 8), (48, 4, 1)), None, *tables, backend=backend)
    assert torch.equal(fused, before)
    rotate_(fused.view(2, 5, 6, 8)[:, :, ::2], fused.view(2, 5, 6, 8)[:, :, 1::2], *tables)
    assert torch.equal(fused.view(2, 5, 6, 8), rotate(before.view(2, 5, 6, 8), None, *tables)[0])
