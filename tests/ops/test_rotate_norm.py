"""The norm of q and k before their rotation."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_rotate import PAIRINGS, calls, expected
from transformers.models.gemma3 import modeling_gemma3
from transformers.models.qwen3 import modeling_qwen3

from ordinate.errors import InputError
from ordinate.ops import rotate, rotate_
from ordinate.ops.backends import compiled

BACKENDS = ("eager", "cpu") if compiled is not None else ("eager",)
DTYPES = (torch.float32, torch.bfloat16, torch.float16)
# Of a channel, as a share of its pair's length after the norm: float32 arithmetic and one rounding.
ALLOWED = {torch.float64: 2**-49, torch.float32: 2**-20, torch.bfloat16: 2**-8 + 2**-20, torch.float16: 2**-11 + 2**-20}


def normalised(x, weight, epsilon):
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + epsilon) * weight


def weights_of(call, seed=0):
    random = np.random.default_rng(seed)
    return {f"{name}_norm": 1 + random.standard_normal(call[name].shape[-1]) / 4 for name in "qk"}


@given(call=calls(), dtype=st.sampled_from(list(ALLOWED)), narrow=st.booleans())
@settings(max_examples=150)
def test_it_is_the_norm_and_then_the_rotation_rounded_once(call, dtype, narrow):
    weights, options = weights_of(call), {name: call[name] for name in ("positions", "pairing", "part", "inverse")}
    tensors = {n: torch.from_numpy(v) if isinstance(v, np.ndarray) else v for n, v in call.items()}
    tensors |= {name: tensors[name].to(dtype) for name in "qk"}
    tensors |= {name: torch.from_numpy(w).to(dtype if narrow else torch.float32) for name, w in weights.items()}
    for backend in ("auto", *BACKENDS):
        if backend == "cpu" and dtype == torch.float64:
            continue
        copies = tensors | {name: tensors[name].clone() for name in "qk"}
        rotate_(**copies, norm_eps=1e-5, backend=backend)
        for name, made in zip("qk", rotate(**tensors, norm_eps=1e-5, backend=backend), strict=True):
            wide = normalised(tensors[name].double().numpy(), tensors[f"{name}_norm"].double().numpy(), 1e-5)
            exact, lengths = expected(wide, call["cos"], call["sin"], **options)
            allowed = ALLOWED[dtype] * np.where(lengths > 0, lengths, np.abs(wide)) + 2**-25 * (dtype == torch.float16)
            assert made.dtype == dtype
            assert (np.abs(made.double().numpy() - exact) <= allowed).all()
            assert torch.equal(copies[name], made)


@given(call=calls(), dtype=st.sampled_from(["float64", "float32", "float16"]))
def test_numpy_has_it_too(call, dtype):
    weights, options = weights_of(call), {name: call[name] for name in ("positions", "pairing", "part", "inverse")}
    given_arrays = call | {name: call[name].astype(dtype) for name in "qk"} | weights
    made = rotate(**given_arrays)
    given_arrays |= {name: given_arrays[name].copy() for name in "qk"}
    for name, out in zip("qk", made, strict=True):
        exact, _ = expected(
            normalised(given_arrays[name].astype(float), weights[f"{name}_norm"], 1e-6),
            call["cos"],
            call["sin"],
            **options,
        )
        tolerance = {"float64": 1e-13, "float32": 1e-6, "float16": 1e-3}[dtype]
        assert np.allclose(out, exact, rtol=tolerance, atol=8 * tolerance)
    rotate_(**given_arrays)
    assert np.array_equal(given_arrays["q"], made[0])


@pytest.mark.parametrize("pairing", PAIRINGS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_kernels_of_every_instruction_set_agree(pairing, dtype, instruction_set, nan_memory):
    generator = torch.manual_seed(1)
    angles, weight = torch.rand(40, 36), torch.rand(83)
    q = torch.randn(3, 40, 5, 83, generator=generator).to(dtype)
    views = (
        q,
        q.transpose(1, 2).contiguous().transpose(1, 2),
        torch.stack((q, q), -1)[..., 1],
        q[:, :, :1].expand(3, 40, 5, 83),
    )
    for view in views:
        made, _ = rotate(
            view, None, angles.cos(), angles.sin(), pairing=pairing, part="last", q_norm=weight, backend="cpu"
        )
        wanted, _ = rotate(
            view.double(), None, angles.cos(), angles.sin(), pairing=pairing, part="last", q_norm=weight.double()
        )
        assert torch.allclose(made.double(), wanted, rtol=2 * ALLOWED[dtype], atol=4 * ALLOWED[dtype])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("backend", BACKENDS)
def test_one_of_the_two_may_be_normalised(dtype, backend):
    angles, weight = torch.rand(7, 4), torch.rand(8)
    q, k = torch.randn(7, 3, 8).to(dtype), torch.randn(7, 1, 8).to(dtype)
    table = angles.cos(), angles.sin()
    plain, both = rotate(q, k, *table), rotate(q, k, *table, q_norm=weight, k_norm=weight, backend=backend)
    made = rotate(q, k, *table, k_norm=weight, backend=backend)
    assert torch.equal(made[0], plain[0])
    assert torch.equal(made[1], both[1])
    made = rotate(q, k, *table, q_norm=weight, backend=backend)
    assert torch.equal(made[0], both[0])
    assert torch.equal(made[1], plain[1])


@pytest.mark.parametrize("backend", BACKENDS)
def test_it_is_qwen3s_and_gemma3s_in_float32(backend):
    angles = torch.rand(7, 8)
    q, k = torch.randn(2, 7, 4, 16), torch.randn(2, 7, 2, 16)
    wide = (torch.cat((t, t), -1)[None] for t in (angles.cos(), angles.sin()))
    norm, other = modeling_qwen3.Qwen3RMSNorm(16, eps=1e-6), modeling_gemma3.Gemma3RMSNorm(16, eps=1e-6)
    with torch.no_grad():
        norm.weight.uniform_(0.5, 2)
        other.weight.uniform_(-0.5, 1)
        theirs = modeling_qwen3.apply_rotary_pos_emb(norm(q), other(k), *wide, unsqueeze_dim=2)
        ours = rotate(
            q,
            k,
            angles.cos(),
            angles.sin(),
            q_norm=norm.weight,
            k_norm=1 + other.weight,
            norm_eps=1e-6,
            backend=backend,
        )
    assert all(torch.allclose(a, b, rtol=0, atol=4e-6) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_gradients_agree_with_differences(pairing):
    angles = torch.rand(3, 2, dtype=torch.float64).float()
    q, k = (torch.randn(2, 3, n, 5, dtype=torch.float64, requires_grad=True) for n in (2, 1))
    weights = [torch.rand(5, dtype=torch.float64, requires_grad=True) for _ in range(2)]
    table = angles.cos(), angles.sin()

    def turned(q, k, a, b):
        return rotate(q, k, *table, pairing=pairing, q_norm=a, k_norm=b)

    assert torch.autograd.gradcheck(turned, (q, k, *weights))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.skipif(compiled is None, reason="the compiled kernels are not part of this installation")
def test_the_kernels_gradients_are_eagers(dtype, in_place):
    angles, generator = torch.rand(7, 4), torch.manual_seed(2)
    draw = [torch.randn(shape, generator=generator).to(dtype) for shape in ((7, 3, 11), (7, 1, 11), (11,))]
    upstream = [torch.randn(x.shape, generator=generator).to(dtype) for x in draw[:2]]
    grads = []
    for backend in ("cpu", "eager"):
        q, k, weight = leaves = [x.clone().requires_grad_() for x in draw]
        options = {"q_norm": weight, "k_norm": weight, "backend": backend, "part": "last"}
        if in_place:
            out = rotate_(q * 1, k * 1, angles.cos(), angles.sin(), **options)
        else:
            out = rotate(q, k, angles.cos(), angles.sin(), **options)
        torch.autograd.backward(out, upstream)
        grads.append([x.grad for x in leaves])
    for made, wanted in zip(*grads, strict=True):
        assert made.dtype == dtype
        assert torch.allclose(made, wanted, rtol=2 * ALLOWED[dtype], atol=8 * ALLOWED[dtype])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_norms_weight_alone_may_want_a_gradient(backend):
    angles, weight = torch.rand(7, 4), torch.rand(8, requires_grad=True)
    q, k = torch.randn(7, 3, 8), torch.randn(7, 1, 8)
    q, k = rotate(q, k, angles.cos(), angles.sin(), q_norm=weight, backend=backend)
    assert q.requires_grad
    assert not k.requires_grad
    q.sum().backward()
    assert weight.grad.abs().sum() > 0


def test_graphs_take_norms():
    torch._dynamo.reset()
    angles = torch.rand(30, 4)

    def both(q, k, a, b):
        q, k = rotate(q, k, angles.cos(), angles.sin(), q_norm=a, k_norm=b, norm_eps=1e-5)
        return q, rotate_(k * 2, None, angles.cos(), angles.sin(), q_norm=a)[0]

    run = torch.compile(both, fullgraph=True, dynamic=True, backend="aot_eager")
    for tokens, dtype in ((3, torch.float32), (8, torch.bfloat16)):
        leaves = [torch.randn(s).to(dtype).requires_grad_() for s in ((2, tokens, 3, 8), (2, tokens, 1, 8), (8,), (8,))]
        made, wanted = run(*leaves), both(*leaves)
        grads = [torch.autograd.grad(sum(o.pow(3).sum() for o in out), leaves) for out in (made, wanted)]
        for a, b in zip((*made, *grads[0]), (*wanted, *grads[1]), strict=True):
            assert torch.allclose(a, b, rtol=8 * ALLOWED[dtype], atol=16 * ALLOWED[dtype])


def test_extreme_numbers_stay_what_they_are():
    cos, sin = torch.ones(1, 20), torch.zeros(1, 20)
    for backend in BACKENDS:
        for value in (float("nan"), float("inf")):
            q = torch.ones(1, 1, 40)
            q[..., 3] = value
            made, _ = rotate(q, None, cos, sin, q_norm=torch.ones(40), backend=backend)
            assert made[..., 3].isnan().all()
        zero, _ = rotate(torch.zeros(1, 1, 40), None, cos, sin, q_norm=torch.ones(40), backend=backend)
        assert torch.equal(zero, torch.zeros(1, 1, 40))
        large, _ = rotate(torch.full((1, 1, 40), 6e4).half(), None, cos, sin, q_norm=torch.ones(40), backend=backend)
        assert torch.equal(large, torch.ones(1, 1, 40).half())


COS, Q, K = torch.ones(6, 4), torch.zeros(2, 5, 3, 8), torch.zeros(2, 5, 1, 10)
ONES = torch.ones(8)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"q_norm": ONES[:7]}, r"q_norm must have shape \[8\], got \[7\]"),
        ({"q_norm": ONES[None]}, r"q_norm must have shape \[8\], got \[1, 8\]"),
        ({"k_norm": ONES}, r"k_norm must have shape \[10\], got \[8\]"),
        ({"q_norm": ONES.int()}, "q_norm must be of floating point, got int32"),
        ({"q": None, "q_norm": ONES}, "q_norm needs q, got None"),
        ({"k": None, "k_norm": ONES}, "k_norm needs k, got None"),
        ({"q_norm": ONES.numpy()}, "NumPy arrays only or torch tensors only"),
        ({"q_norm": ONES.to("meta")}, "one device"),
        ({"norm_eps": 1e-5}, "norm_eps belongs to q_norm and k_norm, got 1e-05"),
        ({"q_norm": ONES, "norm_eps": -1e-5}, "norm_eps must not be negative, got -1e-05"),
        ({"q_norm": ONES, "norm_eps": float("nan")}, "norm_eps must be a finite number, got nan"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    for operation in (rotate, rotate_):
        with pytest.raises(InputError, match=message):
            operation(**{"q": Q.clone(), "k": K.clone(), "cos": COS, "sin": COS} | change)


@pytest.mark.skipif(compiled is None, reason="the compiled kernels are not part of this installation")
def test_weights_of_float64_are_left_to_pytorch():
    from ordinate.errors import Unavailable

    with pytest.raises(Unavailable, match="cpu takes norms of float16, bfloat16, float32"):
        rotate(Q, None, COS, COS, q_norm=ONES.double(), backend="cpu")
    assert rotate(Q, None, COS, COS, q_norm=ONES.double())[0].dtype == torch.float32
