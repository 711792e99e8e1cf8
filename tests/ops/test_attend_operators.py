"""`attend` in a compiled graph by the kernels: one operator, one graph for every length, the same gradients."""

import pytest
import torch
from attend_calls import TOLERANCE
from torch._dynamo.testing import CompileCounterWithBackend
from torch.export import Dim, export

from ordinate.errors import InputError, Unavailable
from ordinate.ops import attend
from ordinate.ops.backends import compiled
from ordinate.schemes.fire import Fire

if compiled is None:
    pytest.skip("the compiled kernels are not part of this installation", allow_module_level=True)


@pytest.fixture(autouse=True)
def nothing_compiled_yet():
    torch._dynamo.reset()


def randn(*shape, seed=0, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def batch(queries, keys, dtype=torch.float32, seed=0):
    shapes = ((2, queries, 4, 8), (2, keys, 2, 8), (2, keys, 2, 6))
    return [randn(*shape, seed=seed + number, dtype=dtype) for number, shape in enumerate(shapes)]


ANGLES = randn(64, 4, seed=7)
LEARNED = {"slopes": randn(4, seed=8).abs(), "by_distance": randn(4, 9, seed=9), "sink_logits": randn(4, seed=10)}
# A graph takes seconds to make, so that one call has all that does not exclude each other.
OPTIONS = {
    "nothing": {},
    "everything": {
        **LEARNED,
        "causal": True,
        "reach": 4,
        "cos": ANGLES.cos(),
        "sin": ANGLES.sin(),
        "pairing": "interleaved",
        "part": "last",
        "window": (3, None),
        "keep_first": 1,
        "softcap": 3.0,
        "softmax_scale": 0.5,
        "bias": randn(4, 1, 1, seed=11),
        "mask": torch.tensor([True, True]).view(2, 1, 1, 1),
        "key_lengths": torch.tensor([4, 0]),
    },
}


def places(queries, keys):
    """Where queries stand that are the last of the keys, whatever the lengths of sequences."""
    return torch.arange(keys - queries, keys)


def exact(q, k, v, **options):
    """In float64, by PyTorch's operators, of the same numbers."""
    names = ("slopes", "by_distance", "sink_logits", "bias", "query_scale")
    wide = {name: x.double() if name in names else x for name, x in options.items()}
    return attend(q.double(), k.double(), v.double(), **wide, backend="eager")


def near(ours, right, dtype=torch.float32):
    pairs = zip(ours, right, strict=True) if isinstance(ours, (tuple, list)) else [(ours, right)]
    return all(
        torch.allclose(
            a.detach().double(), b.detach(), rtol=4e-6, atol=TOLERANCE[dtype] * max(1.0, float(b.detach().abs().max()))
        )
        for a, b in pairs
    )


def operators_of(graph):
    return [str(node.target) for node in graph.graph.nodes if "ordinate" in str(node.target)]


class Graphs:
    """A compiler that keeps what it is given and changes nothing."""

    def __init__(self):
        self.operators = []

    def __call__(self, graph, _inputs):
        self.operators.append(operators_of(graph))
        return graph


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", OPTIONS)
def test_one_graph_of_one_operator_serves_every_length(name, dtype):
    def function(q, k, v, query_positions):
        return attend(q, k, v, **OPTIONS[name], query_positions=query_positions, return_lse=True)

    graphs = Graphs()
    run = torch.compile(function, fullgraph=True, dynamic=True, backend=graphs)
    for queries, keys in ((3, 5), (6, 9), (4, 31)):
        given, at = batch(queries, keys, dtype), places(queries, keys)
        out, lse = run(*given, at)
        right, logarithms = exact(*given, **OPTIONS[name], query_positions=at, return_lse=True)
        assert out.dtype == dtype
        assert near(out, right, dtype)
        assert near(lse, logarithms)
    assert graphs.operators == [["ordinate.attend_into"]]


def test_decoding_needs_one_graph_however_long_the_cache():
    counter = CompileCounterWithBackend("eager")
    run = torch.compile(lambda q, k, v: attend(q, k, v, causal=True), fullgraph=True, dynamic=True, backend=counter)
    for keys in (5, 9, 31):
        given = batch(1, keys)
        assert near(run(*given), exact(*given, causal=True))
    assert counter.frame_count == 1


def test_packed_and_paged_calls_are_one_operator_too():
    def packed(q, k, v, borders):
        return attend(q, k, v, causal=True, cu_seqlens_q=borders, cu_seqlens_k=borders, return_lse=True)

    def paged(q, k, v, pages, lengths):
        return attend(q, k, v, causal=True, block_table=pages, key_lengths=lengths)

    graphs = Graphs()
    borders = torch.tensor([0, 2, 2, 5])
    rows = randn(5, 4, 8), randn(5, 2, 8), randn(5, 2, 6)
    made = torch.compile(packed, fullgraph=True, backend=graphs)(*rows, borders)
    assert near(made, exact(*rows, causal=True, cu_seqlens_q=borders, cu_seqlens_k=borders, return_lse=True))
    cache = randn(2, 3, 4, 8), randn(6, 4, 2, 8), randn(6, 4, 2, 6)
    pages, lengths = torch.tensor([[5, 1, -9], [0, 3, 2]]), torch.tensor([7, 12])
    made = torch.compile(paged, fullgraph=True, backend=graphs)(*cache, pages, lengths)
    assert near(made, exact(*cache, causal=True, block_table=pages, key_lengths=lengths))
    assert graphs.operators == [["ordinate.attend_into"]] * 2


def test_gradients_are_those_of_float64():
    """Of everything that is learned; the whole compiler is at work but for its code generator."""
    fixed = {name: value for name, value in OPTIONS["everything"].items() if name not in LEARNED}

    def function(q, k, v, slopes, by_distance, sink_logits, backend="auto"):
        learned = {"slopes": slopes, "by_distance": by_distance, "sink_logits": sink_logits}
        call = {**fixed, **learned, "key_lengths": torch.tensor([7, 4]), "query_positions": places(5, 7)}
        if backend == "eager":
            call["bias"] = call["bias"].double()
        return attend(q, k, v, **call, return_lse=True, backend=backend)

    def gradients(function, dtype, **more):
        leaves = [x.to(dtype).clone().requires_grad_() for x in (*batch(5, 7), *LEARNED.values())]
        out, lse = function(*leaves, **more)
        return torch.autograd.grad(out.square().sum() + lse.sin().sum(), leaves)

    ours = gradients(torch.compile(function, fullgraph=True, backend="aot_eager"), torch.float32)
    right = gradients(function, torch.float64, backend="eager")
    for mine, wanted in zip(ours, right, strict=True):
        assert torch.allclose(mine.double(), wanted, rtol=1e-5, atol=4e-6 * max(1.0, float(wanted.abs().max())))


@pytest.mark.parametrize("number", [0, 1])
def test_an_output_alone_has_its_gradient(number):
    leaves = [x.requires_grad_() for x in batch(3, 5)]
    made = torch.ops.ordinate.attend(*call_of("plain", *leaves))[number]
    right = attend(*leaves, causal=True, softmax_scale=0.5, return_lse=True, backend="eager")[number]
    found = [torch.autograd.grad(x.square().sum(), leaves, materialize_grads=True) for x in (made, right)]
    for ours, wanted in zip(*found, strict=True):
        assert torch.allclose(ours, wanted, atol=1e-5)


@pytest.mark.filterwarnings(
    "ignore:.torch.jit.script_method. is deprecated:DeprecationWarning"
)  # torch's own use of it
def test_generated_code_calls_the_operator_with_views_as_they_are():
    def model(qkv, table):
        q, k, v = (qkv * 1.5).unbind(2)
        return attend(q, k, v, causal=True, by_distance=table, reach=4).flatten(2).tanh()

    qkv, table = randn(2, 6, 3, 4, 8).requires_grad_(), randn(4, 9, seed=1).requires_grad_()
    found = []
    for run in (torch.compile(model, fullgraph=True), model):
        out = run(qkv, table)
        found.append((out, *torch.autograd.grad(out.square().sum(), (qkv, table))))
    for ours, right in zip(*found, strict=True):
        assert torch.allclose(ours, right, atol=1e-5)


def call_of(name, *given):
    """The arguments of the operator: every array in its place, then the options."""
    from ordinate.ops.attend import cpu, operators  # noqa: F401 - the second defines it

    arrays = dict.fromkeys(cpu.ARRAYS)
    q, k, v = given or [x.requires_grad_() for x in batch(3, 5)]
    options = [True, 0.5, None, None, None, 0, "half", "first", False]
    if name == "learned":
        arrays |= {name: x.clone().requires_grad_() for name, x in LEARNED.items()}
        arrays["slopes"] = arrays["slopes"].detach()[None].requires_grad_()
        arrays |= {"cos": ANGLES.cos(), "sin": ANGLES.sin(), "query_scale": randn(2, 3).abs()}
        arrays["query_positions"], arrays["key_positions"] = torch.arange(3)[None], torch.arange(5)[None].int()
        options = [False, 0.5, 2.0, 2, 1, 1, "interleaved", "last", True]
    if name == "lengths":
        arrays |= {"key_lengths": torch.tensor([4, 0]), "mask": torch.ones(1, 1, 1, 5, dtype=torch.bool)}
        arrays["bias"] = randn(1, 4, 3, 5)
    if name == "packed":
        q, k, v = (x.detach()[:1].requires_grad_() for x in (q, k, v))
        arrays |= {"cu_seqlens_q": torch.tensor([0, 1, 3]), "cu_seqlens_k": torch.tensor([0, 4, 5])}
    if name == "paged":
        q, k, v = (x.detach() for x in (q, k, v))
        arrays |= {"block_table": torch.tensor([[1], [0]]), "key_lengths": torch.tensor([5, 2])}
    return [*(arrays | {"q": q, "k": k, "v": v}).values(), *options]


@pytest.mark.parametrize("name", ["plain", "learned", "lengths", "packed", "paged"])
def test_the_operators_pass_opcheck(name):
    arguments = call_of(name)
    torch.library.opcheck(torch.ops.ordinate.attend.default, arguments)
    fixed = [x.detach() if isinstance(x, torch.Tensor) else x for x in arguments]
    out, lse = torch.ops.ordinate.attend(*fixed)
    for keeps in (None, torch.zeros_like(lse)):
        torch.library.opcheck(torch.ops.ordinate.attend_into.default, [*fixed, torch.zeros_like(out), keeps])
    if name == "paged":
        return
    wanted = [name == "learned"] * 3
    torch.library.opcheck(
        torch.ops.ordinate.attend_backward.default, [*fixed, out, lse, torch.ones_like(out), None, *wanted]
    )


def test_writing_into_memory_bumps_its_version():
    fixed = [x.detach() if isinstance(x, torch.Tensor) else x for x in call_of("plain")]
    out, lse = torch.ops.ordinate.attend(*fixed)
    again, logarithms = torch.zeros_like(out), torch.zeros_like(lse)
    versions = again._version, logarithms._version
    torch.ops.ordinate.attend_into(*fixed, again, logarithms)
    assert torch.equal(again, out)
    assert torch.equal(logarithms, lse)
    assert again._version > versions[0]
    assert logarithms._version > versions[1]


def test_a_second_derivative_is_refused():
    arguments = call_of("plain")
    out, _ = torch.ops.ordinate.attend(*arguments)
    (first,) = torch.autograd.grad(out.square().sum(), arguments[0], create_graph=True)
    with pytest.raises(RuntimeError, match="attend is differentiable once"):
        first.sum().backward()


def refused(message, **given):
    q, k, v = batch(3, 5)
    run = torch.compile(lambda q, k, v, given: attend(q, k, v, **given), fullgraph=True, backend="eager")
    with pytest.raises(InputError, match=message):
        run(q, k, v, given)


def test_numbers_that_do_not_fit_are_refused_when_the_graph_runs():
    table = {"cos": ANGLES.cos(), "sin": ANGLES.sin()}
    far = torch.tensor([0, 1, 2**30])
    refused("cpu takes query_positions within 2\\*\\*30 of 0 in a compiled graph", query_positions=far)
    refused("query positions must lie in the table, 0 to 63, got 64", query_positions=torch.arange(62, 65), **table)
    refused("key_lengths must lie in 0 to 5, got 6", key_lengths=torch.tensor([6, 1]))


def test_pages_and_borders_that_do_not_fit_are_refused_when_the_graph_runs():
    run = torch.compile(lambda arrays, given: attend(*arrays, **given), fullgraph=True, backend="eager")
    cache = randn(2, 3, 4, 8), randn(6, 4, 2, 8), randn(6, 4, 2, 6)
    pages, lengths = torch.tensor([[5, 6], [0, 3]]), torch.tensor([7, 8])
    with pytest.raises(InputError, match="block_table must name pages 0 to 5, got 6"):
        run(cache, {"block_table": pages, "key_lengths": lengths})
    rows, borders = (randn(5, 4, 8), randn(5, 2, 8), randn(5, 2, 6)), torch.tensor([0, 3, 2, 5])
    with pytest.raises(InputError, match="cu_seqlens_q must not fall"):
        run(rows, {"cu_seqlens_q": borders, "cu_seqlens_k": borders})


LEFT = {
    "float64": ({}, torch.float64, "float16, bfloat16, float32 on the cpu"),
    "a bias in half precision": ({"bias": randn(4, 1, 1).half()}, torch.float32, "a float32 bias"),
    "a gradient of a bias": ({"bias": randn(4, 1, 1).requires_grad_()}, torch.float32, "no gradient to bias"),
    "a gradient of a table": (
        {"cos": ANGLES.cos().requires_grad_(), "sin": ANGLES.sin()},
        torch.float32,
        "no gradient to cos",
    ),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_the_kernels_leave_is_compiled_in_standard_operators(name):
    options, dtype, reason = LEFT[name]

    def function(q, k, v, backend):
        return attend(q, k, v, causal=True, **options, backend=backend)

    graphs, given = Graphs(), batch(3, 5, dtype)
    made = torch.compile(function, fullgraph=True, backend=graphs)(*given, "auto")
    assert near(made, attend(*given, causal=True, **options, backend="eager").double())
    assert graphs.operators == [[]]
    with pytest.raises(Exception, match=f"backend 'cpu' cannot serve this graph: cpu .*{reason}") as caught:
        torch.compile(function, fullgraph=True, backend="eager")(*given, "cpu")
    assert isinstance(caught.value, Unavailable) or "Unavailable" in str(caught.value)


def test_a_scheme_is_refused_by_the_name_of_the_kernels():
    scheme = Fire(heads=4)
    learned = {name: torch.from_numpy(value) for name, value in scheme.initial().items()}
    given = batch(3, 5)
    with pytest.raises(Unavailable, match="cpu takes no scheme"):
        torch.compile(lambda: attend(*given, scheme=scheme, learned=learned, backend="cpu"), backend="eager")()


class Attention(torch.nn.Module):
    def __init__(self, backend):
        super().__init__()
        self.backend = backend

    def forward(self, q, k, v):
        return attend(q, k, v, causal=True, slopes=LEARNED["slopes"], backend=self.backend)


@pytest.mark.parametrize("strict", [False, True])
def test_an_exported_graph_has_standard_operators_and_any_length(strict):
    tokens, keys = Dim("tokens", min=2, max=64), Dim("keys", min=2, max=64)
    shapes = ({1: tokens}, {1: keys}, {1: keys})
    program = export(Attention("auto"), tuple(batch(3, 5)), dynamic_shapes=shapes, strict=strict)
    assert operators_of(program) == []
    given = batch(6, 9)
    assert near(program.module()(*given), exact(*given, causal=True, slopes=LEARNED["slopes"]))
    with pytest.raises(Exception, match="an exported graph has standard operators only"):
        export(Attention("cpu"), tuple(batch(3, 5)), strict=strict)


def test_without_kernels_a_graph_has_standard_operators(monkeypatch):
    from ordinate.ops.attend import operators

    monkeypatch.setattr(operators, "compiled", None)
    graphs, given = Graphs(), batch(3, 5)
    torch.compile(lambda *x: attend(*x, causal=True), fullgraph=True, backend=graphs)(*given)
    assert graphs.operators == [[]]
    with pytest.raises(Unavailable, match="install a C\\+\\+17 compiler"):
        torch.compile(lambda *x: attend(*x, backend="cpu"), backend=graphs)(*given)
