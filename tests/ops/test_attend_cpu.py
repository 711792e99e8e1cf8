"""The compiled kernels of attend, in every instruction set, over several blocks of queries and keys."""

import pytest
import torch
from attend_calls import calls, to_torch, tolerance
from hypothesis import HealthCheck, given, reject, settings

from ordinate.errors import Unavailable
from ordinate.ops import attend
from ordinate.ops.backends import compiled

if compiled is None:
    pytest.skip("the compiled kernels are not part of this installation", allow_module_level=True)

REUSED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)


def within(ours, exact, near):
    largest = max(1.0, float(exact.abs().max())) if exact.numel() else 1.0
    return torch.allclose(ours.double(), exact, rtol=0, atol=largest * near)


def drawn(queries, keys, heads=6, kv_heads=2, dim=24, v_dim=40, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shapes = ((2, queries, heads, dim), (2, keys, kv_heads, dim), (2, keys, kv_heads, v_dim))
    return [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]


def terms(keys, heads=6, dim=24, seed=1):
    """Everything at once: rotation, slopes, a table, sinks, a window, a cap."""
    generator = torch.Generator().manual_seed(seed)
    angles = 6.3 * torch.rand(keys, dim // 2, generator=generator)
    return {
        "causal": True,
        "cos": angles.cos(),
        "sin": angles.sin(),
        "pairing": "interleaved",
        "slopes": 0.05 * torch.rand(heads, generator=generator),
        "by_distance": torch.randn(heads, 2 * 30 + 1, generator=generator),
        "reach": 30,
        "sink_logits": torch.randn(heads, generator=generator),
        "window": (400, None),
        "keep_first": 3,
        "softcap": 4.0,
    }


def widened(options):
    """The same numbers in float64, where eager takes them so."""
    names = ("slopes", "by_distance", "sink_logits")
    return options | {name: options[name].double() for name in names}


@REUSED
@given(call=calls("float32"))
def test_random_calls_are_the_reference(instruction_set, call):
    right, logarithms = attend(**call, return_lse=True, backend="reference")
    try:
        out, lse = attend(**to_torch(call), return_lse=True, backend="cpu")
    except Unavailable:
        reject()
    assert within(out, torch.from_numpy(right).double(), tolerance(torch.float32, call)[0])
    assert torch.allclose(lse, torch.from_numpy(logarithms), rtol=4e-6, atol=4e-6)


# 1 and 4 queries read the keys once; 300 are packed.
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("queries", [1, 4, 300])
def test_every_term_at_once_over_many_blocks(instruction_set, queries, dtype, nan_memory):
    q, k, v = drawn(queries, 700, dtype=dtype)
    options = terms(700)
    exact, logarithms = attend(q.double(), k.double(), v.double(), **widened(options), return_lse=True, backend="eager")
    out, lse = attend(q, k, v, **options, return_lse=True, backend="cpu")
    assert out.dtype == dtype
    near, near_lse = tolerance(dtype, options)
    assert within(out, exact, near)
    assert torch.allclose(lse.double(), logarithms, rtol=4e-6, atol=max(near_lse, 1e-5))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("queries", [1, 150])
def test_gradients_are_those_of_float64(instruction_set, queries, threads, nan_memory):
    torch.manual_seed(queries)
    arrays, options = drawn(queries, 230), terms(230)
    learned = ("slopes", "by_distance", "sink_logits")
    upstream, upstream_lse = torch.randn(2, queries, 6, 40), torch.randn(2, 6, queries)

    def gradients(backend, dtype):
        leaves = [x.to(dtype).clone().requires_grad_() for x in (*arrays, *(options[name] for name in learned))]
        q, k, v, *rest = leaves
        given_options = options | dict(zip(learned, rest, strict=True))
        out, lse = attend(q, k, v, **given_options, return_lse=True, backend=backend)
        return torch.autograd.grad((out, lse), leaves, (upstream.to(dtype), upstream_lse.to(dtype)))

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        ours = gradients("cpu", torch.float32)
    finally:
        torch.set_num_threads(before)
    for mine, exact in zip(ours, gradients("eager", torch.float64), strict=True):
        assert torch.allclose(mine.double(), exact, rtol=1e-5, atol=4e-6 * float(exact.abs().max()))


def test_threads_change_nothing(instruction_set):
    q, k, v = drawn(300, 700)
    options = terms(700)
    before = torch.get_num_threads()
    made = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            made.append(attend(q, k, v, **options, backend="cpu"))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(made[0], made[1])
    assert torch.equal(made[0], made[2])


def test_a_nan_of_a_query_stays_in_its_row(instruction_set):
    q, k, v = drawn(300, 300)
    clean = attend(q, k, v, causal=True, backend="cpu")
    q[1, 7, 2, 3] = torch.nan
    out = attend(q, k, v, causal=True, backend="cpu")
    assert out[1, 7, 2].isnan().all()
    out[1, 7, 2] = clean[1, 7, 2]
    assert torch.equal(out, clean)


def test_other_users_of_the_matrix_registers_are_not_disturbed(instruction_set):
    """torch's own products in bfloat16 set these registers up once and rely on them."""
    torch.manual_seed(0)
    left, right = torch.randn(64, 256).bfloat16(), torch.randn(256, 96).bfloat16()
    q, k, v = drawn(130, 130, dim=32, v_dim=32, dtype=torch.bfloat16)
    before = left @ right
    first = attend(q, k, v, causal=True, backend="cpu")
    for _ in range(3):
        assert torch.equal(left @ right, before)
        assert torch.equal(attend(q, k, v, causal=True, backend="cpu"), first)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_infinities_and_nan_are_those_of_the_definition(instruction_set, dtype):
    """An infinite value reaches who gives it weight; a key that scores -inf has none."""
    q, k, v = drawn(40, 40, dim=32, v_dim=32, dtype=dtype)
    q[0, :, :3, 3] = q[0, :, :3, 3].abs() + 1  # those who read the key head below
    k[0, 5, 0, 3] = -torch.inf
    v[0, 9, 1, 4], v[1, 20, 0, 7] = torch.inf, -torch.inf
    v[1, 30, 1, 2] = torch.nan
    out, lse = attend(q, k, v, return_lse=True, backend="cpu")
    exact, logarithms = attend(q.double(), k.double(), v.double(), return_lse=True, backend="eager")
    near = tolerance(dtype, {})[0] * 4
    seen = exact.isfinite()
    assert torch.allclose(out.double()[seen], exact[seen], rtol=0, atol=near)
    assert torch.allclose(lse.double(), logarithms, rtol=4e-6, atol=1e-5, equal_nan=True)
    assert torch.equal(out.isposinf(), exact.isposinf())
    assert torch.equal(out.isneginf(), exact.isneginf())
    assert torch.equal(out.isnan(), exact.isnan())
