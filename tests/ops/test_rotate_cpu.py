"""The compiled kernels, in every instruction set: the bits of PyTorch's operations, whatever shapes and strides."""

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference_rotate import PAIRINGS, calls

from ordinate.errors import InputError
from ordinate.ops import rotate, rotate_
from ordinate.ops.backends import compiled

if compiled is None:
    pytest.skip("the compiled kernels are not part of this installation", allow_module_level=True)

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
INTEGERS = {4: torch.int32, 2: torch.int16}
REUSED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)


def to_tensors(call, dtype):
    made = {name: torch.from_numpy(value) if isinstance(value, np.ndarray) else value for name, value in call.items()}
    return made | {"q": made["q"].to(dtype), "k": made["k"].to(dtype)}


def restrided(x, way):
    """The same values in other memory: as a view between other values, or with its axes in another order."""
    if way == "apart":
        around = torch.full([size + 2 for size in x.shape[:-1]] + [x.shape[-1]], 7.0).to(x.dtype)
        view = around[tuple(slice(1, -1) for _ in x.shape[:-1])]
    elif way == "odd":
        view = torch.full([*x.shape[:-1], 2 * x.shape[-1] + 1], 7.0).to(x.dtype)[..., 1::2]
    elif way == "heads first":
        view = torch.full_like(x.transpose(-3, -2).contiguous(), 7.0).transpose(-3, -2)
    else:
        view = torch.full_like(x.transpose(-1, 0).contiguous(), 7.0).transpose(-1, 0)
    return view.copy_(x)


WAYS = ("apart", "odd", "heads first", "channels first")


def same(a, b):
    """Equal in every bit; a NaN is a NaN."""
    nan = torch.isnan(a) & torch.isnan(b)
    integers = INTEGERS[a.element_size()]
    return bool((nan | (a.contiguous().view(integers) == b.contiguous().view(integers))).all())


@given(call=calls(), dtypes=st.tuples(*[st.sampled_from(DTYPES)] * 2), ways=st.tuples(*[st.sampled_from(WAYS)] * 2))
@REUSED
def test_every_bit_is_that_of_pytorchs_operations(call, dtypes, ways, instruction_set):
    call = to_tensors(call, torch.float32)
    q, k = (restrided(call[name].to(dtype), way) for name, dtype, way in zip("qk", dtypes, ways, strict=True))
    call |= {"q": q, "k": k}
    wanted = rotate(**call, backend="eager")
    made = rotate(**call, backend="cpu")
    assert all(o.is_contiguous() and same(o, w) for o, w in zip(made, wanted, strict=True))
    rotate_(**call, backend="cpu")
    assert same(q, wanted[0])
    assert same(k, wanted[1])


@given(call=calls(), dtype=st.sampled_from(["float32", "float16"]))
@REUSED
def test_numpy_gets_the_same_bits(call, dtype, instruction_set):
    call |= {"q": call["q"].astype(dtype), "k": call["k"].astype(dtype)[..., ::-1]}
    tensors = {n: torch.from_numpy(v.copy()) if isinstance(v, np.ndarray) else v for n, v in call.items()}
    wanted = rotate(**tensors, backend="eager")
    made = rotate(**call, backend="cpu")
    assert all(same(torch.from_numpy(o), w) for o, w in zip(made, wanted, strict=True))
    rotate_(**call, backend="cpu")
    assert same(torch.from_numpy(call["k"].copy()), wanted[1])


@pytest.mark.parametrize("pairing", PAIRINGS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_extreme_numbers_go_through_as_in_pytorch(pairing, dtype, instruction_set):
    odd = torch.tensor([float("inf"), -float("inf"), float("nan"), 0.0, -0.0, 1e-40, -3e38, 3e38, 6e-8, 65504.0, 1.0])
    q = odd[torch.randint(len(odd), (3, 40, 2, 72), generator=torch.manual_seed(5))].to(dtype)
    cos, sin = (odd[torch.randint(len(odd), (40, 36))] for _ in range(2))
    made, _ = rotate(q, None, cos, sin, pairing=pairing, backend="cpu")
    assert same(made, rotate(q, None, cos, sin, pairing=pairing, backend="eager")[0])


@pytest.mark.parametrize("bits", [0x7FFFFFFF, 0xFFFFFFFF - 2**32, 0x7F800001])
def test_a_nan_of_the_table_stays_one_whatever_its_payload(bits, instruction_set):
    cos = torch.full((1, 40), bits, dtype=torch.int32).view(torch.float32)
    x = torch.ones(1, 1, 80, dtype=torch.bfloat16)
    for pairing in PAIRINGS:
        assert rotate(x, None, cos, torch.zeros(1, 40), pairing=pairing, backend="cpu")[0].isnan().all()
        assert rotate(x, None, torch.zeros(1, 40), cos, pairing=pairing, backend="cpu")[0].isnan().all()


@pytest.mark.parametrize("pairing", PAIRINGS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(2, 700, 9, 128), (1100, 5, 96), (3, 401, 7, 160)])
def test_large_calls_use_streams_and_threads_and_change_nothing(pairing, dtype, shape, instruction_set, nan_memory):
    q, positions = torch.randn(shape).to(dtype), torch.randint(5000, shape[-3:-2])
    angles = torch.rand(5000, 40)
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        for x in (q, q.transpose(-3, -2).contiguous().transpose(-3, -2)):
            wanted, _ = rotate(x, None, angles.cos(), angles.sin(), positions, pairing, part="last", backend="eager")
            made, _ = rotate(x, None, angles.cos(), angles.sin(), positions, pairing, part="last", backend="cpu")
            assert same(made, wanted)
            rotate_(x, None, angles.cos(), angles.sin(), positions, pairing, part="last", backend="cpu")
            assert same(x, wanted)
    finally:
        torch.set_num_threads(threads)


def test_tables_may_have_any_strides(instruction_set):
    angles = torch.rand(18, 9)
    for cos, sin in (
        (angles.cos().T, angles.sin().T),
        (angles.T.cos()[:, ::2], angles.T.sin()[:, 1::2]),
        (angles[:1].cos().expand(4, 9), angles[:1].sin().expand(4, 9)),
    ):
        q = torch.randn(4, 2, 2 * cos.shape[1])
        wanted = rotate(q, None, cos, sin, backend="eager")[0]
        assert same(rotate(q, None, cos, sin, backend="cpu")[0], wanted)


@pytest.mark.parametrize("highest", [4096, 2**17, 2**20])
def test_far_rows_of_a_large_table_are_found(highest):
    # One row, seen as many: a table of 2^20 rows without its memory.
    cos, sin = torch.rand(1, 8).expand(highest, 8), torch.rand(1, 8).expand(highest, 8)
    q = torch.randn(3, 2, 16)
    positions = torch.tensor([0, highest // 2, highest - 1])
    assert same(rotate(q, None, cos, sin, positions, backend="cpu")[0], rotate(q, None, cos, sin)[0])
    for backend in ("cpu", "eager", "auto"):
        for wrong in (positions + 1, positions - 1, positions.int() - highest):
            with pytest.raises(InputError, match=f"positions must lie in the table, 0 to {highest - 1}, got"):
                rotate(q, None, cos, sin, wrong, backend=backend)


@pytest.mark.parametrize("batched", [False, True])
def test_nothing_is_written_where_a_position_is_outside(batched):
    q, k = torch.randn(2, 5, 3, 8), torch.randn(2, 5, 1, 8)
    before = q.clone(), k.clone()
    cos = sin = torch.ones(6, 4)
    wrong = torch.tensor([[0, 1, 2, 3, 4], [0, 1, 2, 3, 6]]) if batched else torch.tensor([0, 1, 2, 3, -1])
    for backend in ("cpu", "eager"):
        with pytest.raises(InputError, match="positions must lie in the table"):
            rotate_(q, k, cos, sin, wrong, backend=backend)
    assert torch.equal(q, before[0])
    assert torch.equal(k, before[1])


def test_raw_kernels_refuse_what_does_not_fit():
    q, cos = torch.zeros(2, 5, 3, 8), torch.zeros(6, 4)
    rest = (None, 1.0, "half", "first", False)
    for change in (
        {"to": torch.zeros(2, 5, 3, 7)},
        {"to": torch.zeros(2, 5, 3, 8).half()},
        {"to": None},
        {"cos": torch.zeros(6, 5)},
        {"cos": cos.double()},
        {"cos": torch.zeros(4, 4), "sin": torch.zeros(4, 4)},
        {"positions": torch.arange(2, 7)},
        {"positions": torch.arange(4)},
        {"positions": torch.arange(5.0)},
    ):
        given = {"q": q, "to": q, "cos": cos, "sin": cos, "positions": None} | change
        with pytest.raises(ValueError):  # noqa: PT011 - what each says is for developers
            compiled.rotate_into(
                given["q"], None, given["to"], None, given["cos"], given["sin"], given["positions"], *rest
            )
