"""Several positions a token: axial and multimodal rotation in one call."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_rotate import PAIRINGS, TORCH_DTYPES, expected
from transformers.models.qwen2_vl import modeling_qwen2_vl
from transformers.models.qwen3_vl import modeling_qwen3_vl

from ordinate.errors import InputError
from ordinate.ops import rotate, rotate_
from ordinate.ops.backends import compiled
from ordinate.schemes.axial import Axial
from ordinate.schemes.multimodal import Multimodal
from ordinate.spec import LayerGroup
from ordinate.torch import RotaryEmbedding

BACKENDS = ("eager", "cpu") if compiled is not None else ("eager",)
NUMPY = ("reference", "cpu") if compiled is not None else ("reference",)
SCHEMES = [
    Axial(32),
    Axial(24, axes=3, layout="alternating"),
    Axial(40, rotary_dim=32, spectrum="split", pairing="interleaved"),
    Multimodal(16, (2, 3, 3)),
    Multimodal(128, (24, 20, 20), layout="interleaved"),
    Multimodal(128, (20, 22, 22), layout="time-last", pairing="interleaved"),
]


def one_axis_table(scheme, rows=30):
    """cos and sin of every pair at each position, whatever axis it follows."""
    same = np.tile(np.arange(rows), (scheme.axes, 1))
    return LayerGroup("full_attention", scheme).table(same)


@st.composite
def calls(draw):
    """Arguments of one call with axes, as float64 and NumPy."""
    pairs, rest, axes = (
        draw(st.sampled_from([1, 2, 5, 16, 33, 64])),
        draw(st.sampled_from([0, 3])),
        draw(st.integers(1, 4)),
    )
    tokens, rows = draw(st.integers(0, 6)), draw(st.integers(1, 20))
    lead = draw(st.sampled_from([(tokens,), (draw(st.integers(0, 3)), tokens)]))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    angles = random.uniform(-np.pi, np.pi, (rows, pairs))
    shape = (axes, *draw(st.sampled_from([lead[-1:], lead])))
    return {
        "q": random.standard_normal((*lead, draw(st.integers(1, 4)), 2 * pairs + rest)),
        "k": random.standard_normal((*lead, draw(st.integers(1, 3)), 2 * pairs + rest)),
        "cos": np.cos(angles).astype(np.float32),
        "sin": np.sin(angles).astype(np.float32),
        "positions": random.integers(0, rows, shape).astype(draw(st.sampled_from(["int32", "int64"]))),
        "axis_of_pair": random.integers(0, axes, pairs).astype(draw(st.sampled_from(["int32", "int64"]))),
        "pairing": draw(st.sampled_from(PAIRINGS)),
        "part": draw(st.sampled_from(["first", "last"])),
        "inverse": draw(st.booleans()),
    }


def per_token(call):
    """The same call with a row of the table for each token, entries already chosen, one position each."""
    positions, axis = call["positions"], call["axis_of_pair"]
    pairs = np.arange(len(axis))
    chosen = np.stack([positions[a] for a in axis], axis=-1)
    rows = {name: call[name][chosen, pairs].reshape(-1, len(axis)) for name in ("cos", "sin")}
    count = np.arange(positions[0].size).reshape(positions.shape[1:])
    return rows | {"positions": count} | {name: call[name] for name in ("pairing", "part", "inverse")}


def tensors(call, dtype):
    made = {name: torch.from_numpy(value) if isinstance(value, np.ndarray) else value for name, value in call.items()}
    return made | {"q": made["q"].to(dtype), "k": made["k"].to(dtype)}


@given(call=calls(), dtype=st.sampled_from(TORCH_DTYPES))
@settings(max_examples=150)
def test_each_pair_turns_by_the_position_of_its_axis(call, dtype, tolerance):
    given_torch = tensors(call, dtype)
    for backend in (*BACKENDS, "reference"):
        arrays = call if backend == "reference" else given_torch
        if backend == "cpu" and dtype == torch.float64:
            continue
        for name, made in zip("qk", rotate(**arrays, backend=backend), strict=True):
            wide = np.asarray(arrays[name].double() if backend != "reference" else arrays[name])
            exact, lengths = expected(wide, **per_token(call))
            allowed = tolerance["float64" if backend == "reference" else str(dtype)] * lengths
            smallest = 2**-25 if dtype == torch.float16 else 0
            result = np.asarray(made.double() if backend != "reference" else made)
            assert (np.abs(result - exact) <= allowed + smallest * (lengths > 0)).all()


@given(call=calls(), dtype=st.sampled_from(TORCH_DTYPES[1:]))
@settings(max_examples=100)
@pytest.mark.skipif(compiled is None, reason="the compiled kernels are not part of this installation")
def test_kernels_give_pytorchs_bits_in_new_memory_and_in_place(call, dtype):
    arguments = tensors(call, dtype)
    best = compiled.instruction_set()
    wanted = rotate(**arguments, backend="eager")
    try:
        for name in compiled.instruction_sets():
            compiled.use_instruction_set(name)
            made = rotate(**arguments, backend="cpu")
            copies = arguments | {"q": arguments["q"].clone(), "k": arguments["k"].clone()}
            rotate_(**copies, backend="cpu")
            for m, w, c in zip(made, wanted, (copies["q"], copies["k"]), strict=True):
                assert torch.equal(m, w)
                assert torch.equal(c, w)
    finally:
        compiled.use_instruction_set(best)


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda s: f"{s.name}-{s.layout}")
@pytest.mark.parametrize("backend", ["reference", *BACKENDS])
def test_a_schemes_own_angles_are_met(scheme, backend):
    random = np.random.default_rng(2)
    positions = random.integers(0, 30, (scheme.axes, 9))
    cos, sin = one_axis_table(scheme)
    q = random.standard_normal((9, 2, scheme.head_dim))
    angles = scheme.angles(positions)
    exact, _ = expected(q, np.cos(angles), np.sin(angles), None, scheme.pairing, "first", False)
    arrays = (q, None, cos, sin, positions)
    axis = scheme.axis_of_pair
    if backend != "reference":
        q = torch.from_numpy(q)
        arrays = (q.float() if backend == "cpu" else q, None, *map(torch.from_numpy, arrays[2:]))
        axis = torch.from_numpy(axis)
    made, _ = rotate(*arrays, scheme.pairing, axis_of_pair=axis, backend=backend)
    assert np.allclose(made, exact, rtol=0, atol=2e-6)


@pytest.mark.parametrize("backend", ["reference", *BACKENDS])
def test_frequencies_follow_the_axes_too(backend):
    scheme = Multimodal(32, (6, 5, 5), layout="interleaved")
    positions = np.random.default_rng(3).integers(-5000, 2**20, (3, 2, 7))
    q = np.random.default_rng(4).standard_normal((2, 7, 2, 32))
    angles = positions[scheme.axis_of_pair].transpose(1, 2, 0) * scheme.plain()
    rows = [table.reshape(14, 16) for table in (np.cos(angles), np.sin(angles))]
    exact, _ = expected(q, *rows, np.arange(14).reshape(2, 7), "half", "first", False)
    given_arrays = {"positions": positions, "frequencies": scheme.plain(), "axis_of_pair": scheme.axis_of_pair}
    if backend != "reference":
        given_arrays = {name: torch.from_numpy(value) for name, value in given_arrays.items()}
        q = torch.from_numpy(q).to(torch.float32 if backend == "cpu" else torch.float64)
    made, _ = rotate(q, None, **given_arrays, backend=backend)
    assert np.allclose(made, exact, rtol=0, atol=2e-6)


@pytest.mark.parametrize(
    "layout, module, config",
    [
        ("chunked", modeling_qwen2_vl.Qwen2VLRotaryEmbedding, modeling_qwen2_vl.Qwen2VLTextConfig),
        ("interleaved", modeling_qwen3_vl.Qwen3VLTextRotaryEmbedding, modeling_qwen3_vl.Qwen3VLTextConfig),
    ],
)
def test_sections_are_those_of_qwen(layout, module, config):
    scheme = Multimodal(32, (6, 5, 5), layout=layout)
    rope = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [6, 5, 5]}
    sizes = {"hidden_size": 128, "num_attention_heads": 4, "head_dim": 32}
    cos, sin = map(torch.from_numpy, one_axis_table(scheme))
    positions = torch.randint(30, (3, 2, 7))
    q, k = torch.randn(2, 7, 4, 32), torch.randn(2, 7, 2, 32)
    wide = module(config(**sizes, rope_parameters=rope))(q, positions)
    theirs = modeling_qwen2_vl.apply_rotary_pos_emb(q, k, *wide, unsqueeze_dim=2)
    ours = rotate(q, k, cos, sin, positions, axis_of_pair=torch.from_numpy(scheme.axis_of_pair))
    for made, wanted in zip(ours, theirs, strict=True):
        assert torch.allclose(made, wanted, rtol=0, atol=2e-5)


def test_equal_positions_on_all_axes_are_plain_rotation():
    angles = torch.rand(30, 8)
    q, k, positions = torch.randn(2, 7, 3, 16), torch.randn(2, 7, 1, 16), torch.randint(30, (2, 7))
    plain = rotate(q, k, angles.cos(), angles.sin(), positions)
    axis = torch.tensor([0, 1, 2, 0, 1, 2, 2, 0])
    several = rotate(q, k, angles.cos(), angles.sin(), positions.expand(3, 2, 7), axis_of_pair=axis)
    assert all(torch.equal(a, b) for a, b in zip(plain, several, strict=True))


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_turn_back(backend):
    angles = torch.rand(30, 5)
    axis, positions = torch.tensor([1, 0, 1, 1, 0]), torch.randint(30, (2, 3, 4))
    q, k = (torch.randn(3, 4, heads, 12, requires_grad=True) for heads in (2, 1))
    options = {"cos": angles.cos(), "sin": angles.sin(), "positions": positions, "axis_of_pair": axis}
    upstream = [torch.randn(x.shape) for x in (q, k)]
    torch.autograd.backward(rotate(q, k, **options, backend=backend), upstream)
    numpy = {name: value.numpy() for name, value in options.items()}
    wanted = rotate(*(u.double().numpy() for u in upstream), **numpy, inverse=True, backend="reference")
    for x, w in zip((q, k), wanted, strict=True):
        assert np.allclose(x.grad, w, atol=1e-6)
    double = torch.randn(4, 2, 12, dtype=torch.float64, requires_grad=True)
    options["positions"] = positions[:, 0]
    assert torch.autograd.gradcheck(lambda x: rotate(x, None, **options)[0], double)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_large_call_on_two_threads_changes_nothing(backend, nan_memory):
    scheme = Multimodal(64, (12, 10, 10), layout="interleaved")
    cos, sin = map(torch.from_numpy, one_axis_table(scheme, 300))
    axis = torch.from_numpy(scheme.axis_of_pair)
    q = torch.randn(2, 700, 9, 64).bfloat16()
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        for shape in ((3, 700), (3, 2, 700)):
            positions = torch.randint(300, shape)
            made, _ = rotate(q, None, cos, sin, positions, axis_of_pair=axis, backend=backend)
            alone, _ = rotate(q[1, 600:], None, cos, sin, positions.view(3, -1, 700)[:, -1, 600:], axis_of_pair=axis)
            assert torch.equal(made[1, 600:], alone)
            assert not made.isnan().any()
    finally:
        torch.set_num_threads(threads)


def test_strided_tables_are_read_by_their_strides():
    angles = torch.rand(8, 40)
    axis, positions = torch.randint(2, (8,)), torch.randint(40, (2, 5))
    q = torch.randn(5, 2, 16)
    strided = rotate(q, None, angles.cos().T, angles.sin().T, positions, axis_of_pair=axis)[0]
    plain = rotate(q, None, angles.T.contiguous().cos(), angles.T.contiguous().sin(), positions, axis_of_pair=axis)[0]
    assert torch.equal(strided, plain)


@pytest.mark.parametrize("scheme", SCHEMES[:4], ids=lambda s: f"{s.name}-{s.layout}")
def test_a_module_turns_alike_from_kept_rows_and_from_rows_of_its_own(scheme):
    q, k = torch.randn(2, 9, 3, scheme.head_dim), torch.randn(2, 9, 1, scheme.head_dim)
    positions = torch.randint(50, (scheme.axes, 2, 9))
    kept, made = (RotaryEmbedding(scheme, held=held).rotate(q, k, positions) for held in (1000, 1))
    assert all(torch.equal(a, b) for a, b in zip(kept, made, strict=True))
    cos, sin = RotaryEmbedding(scheme).table(positions)
    rows = torch.arange(18).view(2, 9)
    wanted = rotate(q, k, cos.flatten(0, 1), sin.flatten(0, 1), rows, scheme.pairing)
    assert all(torch.equal(a, b) for a, b in zip(kept, wanted, strict=True))


def test_graphs_take_axes():
    torch._dynamo.reset()
    angles = torch.rand(30, 4)
    axis = torch.tensor([0, 1, 1, 0])

    def both(q, k, positions):
        a, b = rotate(q, k, angles.cos(), angles.sin(), positions, axis_of_pair=axis)
        return a, rotate_(b * 2, None, angles.cos(), angles.sin(), positions, axis_of_pair=axis)[0]

    run = torch.compile(both, fullgraph=True, dynamic=True, backend="aot_eager")
    for tokens in (3, 8):
        q, k = torch.randn(2, tokens, 3, 8, requires_grad=True), torch.randn(2, tokens, 1, 8, requires_grad=True)
        positions = torch.randint(30, (2, 2, tokens))
        made, wanted = (f(q, k, positions) for f in (run, both))
        grads = [torch.autograd.grad(sum(o.pow(3).sum() for o in out), (q, k)) for out in (made, wanted)]
        assert all(torch.equal(a, b) for a, b in zip(made, wanted, strict=True))
        assert all(torch.allclose(a, b, rtol=1e-5) for a, b in zip(*grads, strict=True))
        with torch.no_grad():
            assert all(torch.equal(a, b) for a, b in zip(run(q, k, positions), wanted, strict=True))


@pytest.mark.skipif(compiled is None, reason="the compiled kernels are not part of this installation")
@pytest.mark.parametrize("name", ["rotate", "rotate_pair", "rotate_into", "rotate_"])
def test_the_operators_pass_opcheck_with_axes(name):
    import ordinate.ops.rotate.operators  # noqa: F401 - it defines them

    gradient = name in ("rotate", "rotate_pair")
    q, k = (torch.randn(2, 5, heads, 8, requires_grad=gradient) for heads in (3, 1))
    arrays = {"rotate": (q,), "rotate_pair": (q, k), "rotate_into": (q, torch.zeros_like(q)), "rotate_": (q,)}[name]
    angles, axis, positions = torch.rand(30, 4), torch.tensor([0, 1, 1, 0]), torch.randint(30, (2, 5))
    rest = (angles.cos(), angles.sin(), positions, "half", "first", False, axis)
    torch.library.opcheck(getattr(torch.ops.ordinate, name).default, (*arrays, *rest))


COS, Q = torch.ones(6, 4), torch.zeros(2, 5, 3, 8)
POSITIONS, AXIS = torch.zeros(2, 5, dtype=torch.int64), torch.tensor([0, 1, 0, 1])
WRONG = {
    "beyond": (
        {"axis_of_pair": AXIS + 1},
        r"axis_of_pair must lie in 0 to 1, the axes of positions, got \[1, 2, 1, 2\]",
    ),
    "negative": ({"axis_of_pair": AXIS - 1}, "axis_of_pair must lie in 0 to 1"),
    "no axes": ({"positions": POSITIONS[:0]}, "axis_of_pair must lie in 0 to -1"),
    "short": ({"axis_of_pair": AXIS[:3]}, r"axis_of_pair must have shape \[4\], got \[3\]"),
    "square": ({"axis_of_pair": AXIS[None]}, r"axis_of_pair must have shape \[4\], got \[1, 4\]"),
    "floats": ({"axis_of_pair": AXIS.float()}, "axis_of_pair must be int32 or int64, got float32"),
    "array": ({"axis_of_pair": AXIS.tolist()}, "axis_of_pair list"),
    "no positions": ({"positions": None}, r"axis_of_pair needs positions, \[axes, ...\], got None"),
    "one axis": ({"positions": POSITIONS[0]}, r"must have shape \[axes, 5\] or \[axes, 2, 5\], got \[5\]"),
    "no axis": (
        {"axis_of_pair": None, "positions": POSITIONS[None]},
        r"must have shape \[5\] or \[2, 5\], got \[1, 2, 5\]",
    ),
    "tokens": ({"positions": POSITIONS[:, :4]}, r"must have shape \[axes, 5\] or \[axes, 2, 5\], got \[2, 4\]"),
    "past": ({"positions": POSITIONS + 6}, "positions must lie in the table, 0 to 5, got 6"),
    "packed": (
        {"q": Q[0], "positions": None, "cu_seqlens": torch.tensor([0, 5])},
        r"axis_of_pair needs positions, \[axes, ...\], got cu_seqlens",
    ),
}


@pytest.mark.parametrize("change, message", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("backend", ["auto", *BACKENDS])
def test_what_does_not_fit_is_refused(change, message, backend):
    call = {"q": Q, "k": None, "cos": COS, "sin": COS, "positions": POSITIONS, "axis_of_pair": AXIS, "backend": backend}
    for operation in (rotate, rotate_):
        before = Q.clone()
        with pytest.raises(InputError, match=message):
            operation(**call | change)
        assert torch.equal(Q, before)


@pytest.mark.skipif(compiled is None, reason="the compiled kernels are not part of this installation")
def test_raw_kernels_refuse_axes_that_do_not_fit():
    q = torch.zeros(2, 5, 3, 8)
    call = [q, None, q, None, COS, COS, POSITIONS, None, 1.0, "half", "first", False, AXIS]
    compiled.rotate_into(*call)
    for place, wrong in ((12, AXIS + 1), (12, AXIS - 1), (12, AXIS[:3]), (12, AXIS.float()), (6, None)):
        with pytest.raises(ValueError):  # noqa: PT011 - what each says is for developers
            compiled.rotate_into(*call[:place], wrong, *call[place + 1 :])
    for wrong in (POSITIONS[0], POSITIONS[:, :4], POSITIONS + 6, POSITIONS[:, None].expand(2, 3, 5)):
        with pytest.raises(ValueError):  # noqa: PT011
            compiled.rotate_into(*call[:6], wrong, *call[7:])
