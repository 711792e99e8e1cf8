"""`rotate` inside torch.compile and torch.export."""

import pytest
import torch
from reference_rotate import PAIRINGS
from torch._dynamo.testing import CompileCounter

from ordinate.errors import InputError, Unavailable
from ordinate.ops import rotate, rotate_
from ordinate.ops.backends import compiled

needs_kernels = pytest.mark.skipif(compiled is None, reason="the compiled kernels are not part of this installation")


def given(tokens, dtype=torch.float32, gradient=False):
    torch.manual_seed(tokens)
    angles = torch.rand(64, 4)
    q, k = torch.randn(2, tokens, 3, 8).to(dtype), torch.randn(2, tokens, 1, 8).to(dtype)
    return q.requires_grad_(gradient), k.requires_grad_(gradient), angles.cos(), angles.sin(), torch.arange(tokens)


def both(q, k, cos, sin, positions):
    a, b = rotate(q, k, cos, sin, positions)
    q, k = q * 2, k * 2
    rotate_(q, k, cos, sin, positions, "interleaved", part="last")
    c, _ = rotate(q, None, cos, sin, pairing="interleaved-in-half-out")
    _, d = rotate_(None, k, cos, sin, inverse=True)
    return a, b, c, d


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_a_compiled_graph_has_no_breaks_and_is_compiled_once_as_length_grows(dtype):
    torch._dynamo.reset()
    counter = CompileCounter()
    run = torch.compile(both, fullgraph=True, dynamic=True, backend=counter)
    for tokens in (6, 5, 17, 64):
        arguments = given(tokens, dtype)
        for made, wanted in zip(run(*arguments), both(*arguments), strict=True):
            assert torch.equal(made, wanted)
    assert counter.frame_count == 1


@pytest.mark.parametrize("gradient", [False, True])
def test_the_whole_compiler_keeps_values_and_gradients(gradient):
    torch._dynamo.reset()
    results = []
    for run in (torch.compile(both, fullgraph=True, backend="aot_eager"), both):
        arguments = given(6, gradient=gradient)
        out = run(*arguments)
        if gradient:
            sum(o.pow(3).sum() for o in out).backward()
            out = (*out, arguments[0].grad, arguments[1].grad)
        results.append(out)
    for made, wanted in zip(*results, strict=True):
        assert torch.allclose(made, wanted, rtol=1e-5)


@pytest.mark.parametrize("backend", ["auto", "eager"])
def test_a_compiled_graph_refuses_what_does_not_fit(backend):
    torch._dynamo.reset()
    run = torch.compile(lambda *a: rotate(*a, backend=backend), fullgraph=True, backend="aot_eager")
    q, k, cos, sin, positions = given(6)
    run(q, k, cos, sin, positions)
    with pytest.raises((InputError, RuntimeError), match="positions must lie in the table, 0 to 63"):
        run(q, k, cos, sin, positions + 60)
    with pytest.raises((InputError, RuntimeError), match="positions must lie in the table, 0 to 63"):
        run(q, k, cos, sin, positions - 1)
    with pytest.raises(Exception, match="cos must be float32"):
        run(q, k, cos.double(), sin, positions)


def test_frequencies_and_packed_sequences_compile():
    torch._dynamo.reset()

    def packed(q, frequencies, ends):
        return rotate(q, None, frequencies=frequencies, magnitude=1.5, cu_seqlens=ends)[0]

    arguments = torch.randn(7, 2, 8), torch.rand(4, dtype=torch.float64), torch.tensor([0, 3, 7])
    made = torch.compile(packed, fullgraph=True, backend="aot_eager")(*arguments)
    assert torch.allclose(made, packed(*arguments), atol=1e-6)


@needs_kernels
def test_float64_in_a_graph_is_no_business_of_the_kernels():
    torch._dynamo.reset()
    with pytest.raises(Exception, match="backend 'cpu' cannot serve this graph") as caught:
        torch.compile(lambda *a: rotate(*a, backend="cpu"), fullgraph=True, backend="eager")(*given(3, torch.float64))
    assert isinstance(caught.value, Unavailable) or "Unavailable" in str(caught.value)


@needs_kernels
@pytest.mark.parametrize("pairing", PAIRINGS)
@pytest.mark.parametrize(
    "name, plain",
    [
        ("rotate", False),
        ("rotate_pair", False),
        ("rotate_into", True),
        ("rotate_pair_into", True),
        ("rotate_", True),
        ("rotate_pair_", True),
    ],
)
def test_the_operators_pass_opcheck(pairing, name, plain):
    q, k, cos, sin, positions = given(5, gradient=not plain)
    rotate(q, k, cos, sin)
    import ordinate.ops.rotate.operators  # noqa: F401 - it defines them

    arguments = (q, k) if "pair" in name else (q,)
    if "into" in name:
        arguments += tuple(torch.zeros_like(x) for x in arguments)
    operator = getattr(torch.ops.ordinate, name).default
    torch.library.opcheck(operator, (*arguments, cos, sin, positions, pairing, "first", False))
    torch.library.opcheck(operator, (*arguments, cos, sin, None, pairing, "last", True))


@needs_kernels
def test_the_operators_refuse_what_the_functions_refuse():
    import ordinate.ops.rotate.operators  # noqa: F401 - it defines them

    q, _, cos, sin, positions = given(5)
    before = q.clone()
    for operator in (torch.ops.ordinate.rotate, torch.ops.ordinate.rotate_):
        with pytest.raises(InputError, match="positions must lie in the table"):
            operator(q, cos, sin, positions + 60, "half", "first", False)
        with pytest.raises(InputError, match="pairing must be one of"):
            operator(q, cos, sin, positions, "neox", "first", False)
    with pytest.raises(InputError, match="its elements share memory"):
        torch.ops.ordinate.rotate_(q[:, :1].expand(2, 5, 3, 8), cos, sin, positions, "half", "first", False)
    assert torch.equal(q, before)


class Layer(torch.nn.Module):
    """A layer that turns q and k, as a model to export has it."""

    def forward(self, q, k, cos, sin, positions):
        q, k = rotate(q * 2, k, cos, sin, positions)
        return q, rotate_(k + 1, None, cos, sin, positions, "interleaved")[0]


@pytest.mark.parametrize("strict", [False, True])
def test_an_exported_graph_has_standard_operators_and_any_length(strict):
    length = torch.export.Dim("length", min=2, max=64)
    shapes = ({1: length}, {1: length}, None, None, {0: length})
    program = torch.export.export(Layer(), given(5), dynamic_shapes=shapes, strict=strict)
    for node in program.graph.nodes:
        assert "ordinate" not in str(node.target)
    for tokens in (2, 23, 64):
        arguments = given(tokens)
        for made, wanted in zip(program.module()(*arguments), Layer()(*arguments), strict=True):
            assert torch.equal(made, wanted)
    q, k, cos, sin, positions = given(4)
    for wrong in (positions - 1, positions + 61):
        with pytest.raises(RuntimeError, match="positions must lie in the table, 0 to 63"):
            program.module()(q, k, cos, sin, wrong)
