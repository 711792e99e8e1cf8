"""`attend` of "eager" under torch.compile and torch.export: one graph for every length, of standard operators."""

import pytest
import torch
from torch._dynamo.testing import CompileCounter
from torch.export import Dim, export

from ordinate.errors import Unavailable
from ordinate.ops import attend
from ordinate.schemes.fire import Fire


def batch(queries, keys):
    torch.manual_seed(queries)
    q, k, v = torch.randn(2, queries, 4, 8), torch.randn(2, keys, 2, 8), torch.randn(2, keys, 2, 6)
    return q, k, v, torch.arange(queries) + keys - queries, torch.arange(keys)


TABLE, SLOPES, SINKS = torch.linspace(-1, 1, 36).view(4, 9), torch.linspace(0.1, 1, 4), torch.zeros(4)
ANGLES = torch.linspace(-1, 1, 256).view(64, 4)
# Dynamo takes seconds a graph, so that one call has all that does not exclude each other.
OPTIONS = {
    "everything": {
        "slopes": SLOPES,
        "by_distance": TABLE,
        "reach": 4,
        "bias": torch.ones(4, 1, 1),
        "window": (3, None),
        "keep_first": 1,
        "sink_logits": SINKS,
        "softcap": 3.0,
        "key_lengths": torch.tensor([4, 0]),
        "return_lse": True,
    },
    "rotation": {"cos": ANGLES.cos(), "sin": ANGLES.sin()},
}


def call(name):
    def function(q, k, v, query_positions, key_positions):
        places = {"query_positions": query_positions, "key_positions": key_positions}
        return attend(q, k, v, causal=True, **places, **OPTIONS[name], backend="eager")

    return function


def equal(one, other):
    pairs = zip(one, other, strict=True) if isinstance(one, tuple) else [(one, other)]
    return all(torch.allclose(a, b, rtol=0, atol=2e-6) for a, b in pairs)


@pytest.mark.parametrize("name", OPTIONS)
def test_it_compiles_into_one_graph_for_every_length(name):
    torch._dynamo.reset()
    counter = CompileCounter()
    compiled = torch.compile(call(name), fullgraph=True, backend=counter, dynamic=True)
    for queries, keys in ((3, 5), (6, 9), (4, 31)):
        assert equal(compiled(*batch(queries, keys)), call(name)(*batch(queries, keys)))
    assert counter.frame_count == 1


def test_packed_sequences_compile_into_one_graph():
    torch._dynamo.reset()
    counter = CompileCounter()

    def function(q, k, borders, slopes):
        packed = {"cu_seqlens_q": borders, "cu_seqlens_k": borders, "return_lse": True}
        return attend(q, k, k, causal=True, slopes=slopes, **packed, backend="eager")

    compiled = torch.compile(function, fullgraph=True, backend=counter, dynamic=True)
    for sizes in ((2, 0, 3), (4, 1, 6)):
        tokens = sum(sizes)
        borders = torch.tensor([0, *sizes]).cumsum(0)
        given = torch.randn(tokens, 2, 8), torch.randn(tokens, 1, 8), borders, torch.rand(3, 2)
        assert equal(compiled(*given), function(*given))
    assert counter.frame_count == 1


def test_gradients_of_a_graph_are_those_of_blocks():
    torch._dynamo.reset()
    compiled = torch.compile(call("everything"), fullgraph=True, backend="aot_eager", dynamic=False)
    made = []
    for function in (compiled, call("everything")):
        q, k, v, *places = batch(5, 7)
        floats = [x.requires_grad_() for x in (q, k, v)]
        out, lse = function(*floats, *places)
        made.append(torch.autograd.grad(out.square().sum() + lse.exp().sum(), floats))
    assert equal(*made)


@pytest.mark.parametrize("name", OPTIONS)
def test_it_exports_with_lengths_left_open(name):
    class Attention(torch.nn.Module):
        def forward(self, *arguments):
            return call(name)(*arguments)

    open_ = Dim.DYNAMIC
    shapes = (({1: open_}, {1: open_}, {1: open_}, {0: open_}, {0: open_}),)
    program = export(Attention(), batch(3, 5), dynamic_shapes=shapes)
    assert equal(program.module()(*batch(6, 9)), call(name)(*batch(6, 9)))
    targets = {node.target for node in program.graph.nodes if node.op == "call_function"}
    assert all(getattr(target, "namespace", "aten") == "aten" for target in targets)


def test_what_no_graph_can_hold_says_so():
    q, k, v, *_ = batch(3, 5)
    scheme = Fire(heads=4)
    learned = {name: torch.from_numpy(value) for name, value in scheme.initial().items()}
    for options, message in (
        ({"scheme": scheme, "learned": learned}, "a scheme is evaluated in NumPy and cannot be compiled"),
        ({"backend": "reference"}, "backend 'reference' cannot be compiled into a graph"),
    ):
        torch._dynamo.reset()
        with pytest.raises(Unavailable, match=message):
            torch.compile(lambda given: attend(q, k, v, **given), backend="eager", dynamic=False)(options)
