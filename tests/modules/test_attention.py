"""`PositionAttention`: against the softmax written out over the modules' own rotation and bias; and exported."""

import numpy as np
import pytest
import torch
from torch.export import Dim, export

import ordinate
from ordinate.errors import InputError
from ordinate.schemes.alibi import Alibi
from ordinate.schemes.none import NoPosition
from ordinate.schemes.rope import Rope
from ordinate.schemes.t5 import T5
from ordinate.spec import LayerGroup
from ordinate.temperature import QueryTemperature
from ordinate.torch import PositionAttention, PositionBias, RotaryEmbedding

BIASES = {name: ordinate.scheme(name).example() for name in ordinate.schemes() if ordinate.scheme(name).kind == "bias"}
ROTARIES = {"rope": Rope(8), "interleaved": Rope(8, pairing="interleaved"), "partial": Rope(8, rotary_dim=4)}


def drawn(heads, shared, queries, keys, dim, dtype=torch.float64, batch=2):
    generator = torch.Generator().manual_seed(0)
    shapes = ((queries, heads), (keys, shared), (keys, shared))
    return tuple(torch.randn(batch, *shape, dim, generator=generator, dtype=dtype) for shape in shapes)


def perturbed(module):
    """Several schemes start from zeros."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for value in module.parameters():
            value.add_(torch.rand(value.shape, generator=generator, dtype=value.dtype) / 4)
    return module


def softmax(q, k, v, query, key, *, scale=None, bias=0.0, causal=True, window=None):
    groups = q.shape[2] // k.shape[2]
    k, v = k.repeat_interleave(groups, 2), v.repeat_interleave(groups, 2)
    logits = torch.einsum("bqhd,bkhd->bhqk", q, k) * (q.shape[-1] ** -0.5 if scale is None else scale) + bias
    away = query[:, None] - key[None, :]
    seen = away >= 0 if causal else torch.ones_like(away, dtype=torch.bool)
    if window is not None:
        seen = seen & (away.abs() < window)
    return torch.einsum("bhqk,bkhd->bqhd", logits.masked_fill(~seen, -torch.inf).softmax(-1), v)


@pytest.mark.parametrize("scheme", BIASES.values(), ids=BIASES)
@pytest.mark.parametrize("causal", [True, False])
def test_a_bias_is_in_the_logits_and_learns(scheme, causal):
    module = perturbed(PositionAttention(scheme, causal=causal, dtype=torch.float64))
    dim = getattr(scheme, "head_dim", 8)
    q, k, v = drawn(scheme.heads, scheme.heads, 4, 7, dim)
    query, key = torch.arange(3, 7), torch.arange(7)
    content = {"q": q, "k": k} if scheme.needs == "content" else {}
    rows = [module.bias(query, key, **{name: x[row] for name, x in content.items()}) for row in range(2)]
    expected = softmax(q, k, v, query, key, bias=torch.stack(rows), causal=causal)
    found = module(q, k, v)
    # A fixed bias of the module is float32.
    assert torch.allclose(found, expected, rtol=0, atol=1e-9 if scheme.parameters() else 1e-5)
    parameters = list(module.parameters())
    if parameters:
        ours = torch.autograd.grad(found.square().sum(), parameters, allow_unused=True, materialize_grads=True)
        theirs = torch.autograd.grad(expected.square().sum(), parameters, allow_unused=True, materialize_grads=True)
        assert all(torch.allclose(a, b, rtol=1e-6, atol=1e-9) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("scheme", ROTARIES.values(), ids=ROTARIES)
def test_a_rotation_is_that_of_the_rotary_module(scheme):
    module, rotary = PositionAttention(scheme), RotaryEmbedding(scheme)
    q, k, v = drawn(4, 2, 3, 7, 8)
    for query, key in ((torch.arange(4, 7), torch.arange(7)), (torch.tensor([900, 12, 6]), torch.arange(7) * 100)):
        turned, _ = rotary.rotate(q, None, query)
        _, turned_key = rotary.rotate(None, k, key)
        expected = softmax(turned, turned_key, v, query, key)
        assert torch.allclose(module(q, k, v, query, key), expected, rtol=0, atol=1e-9)
    # Without positions the last query stands where the last key does.
    assert torch.allclose(module(q, k, v), module(q, k, v, torch.arange(4, 7), torch.arange(7)), rtol=0, atol=1e-12)


def test_window_scale_and_temperature_of_the_group_count():
    temperature = QueryTemperature("ministral3", scale=0.5, interval=2)
    group = LayerGroup("sliding_attention", NoPosition(), sliding_window=3, softmax_scale=0.7, temperature=temperature)
    q, k, v = drawn(4, 2, 5, 7, 8)
    query, key = torch.arange(2, 7), torch.arange(7)
    factors = torch.from_numpy(temperature.factors(np.arange(2, 7)).astype(np.float32))
    for causal in (True, False):
        expected = softmax(q * factors[:, None, None], k, v, query, key, scale=0.7, causal=causal, window=3)
        assert torch.allclose(PositionAttention(group, causal=causal)(q, k, v), expected, rtol=0, atol=1e-7)


def test_a_mask_hides_keys():
    q, k, v = drawn(4, 2, 5, 7, 8)
    there = torch.ones(2, 1, 1, 7, dtype=torch.bool)
    there[1, ..., :2] = False
    found = PositionAttention(NoPosition())(q, k, v, mask=there)
    assert torch.allclose(found[1:], PositionAttention(NoPosition())(q[1:], k[1:, 2:], v[1:, 2:]), rtol=0, atol=1e-12)


def test_a_table_of_a_bias_is_the_bias_up_to_its_reach():
    for scheme in (Alibi(4), T5(heads=4)):
        module = perturbed(PositionBias(scheme, dtype=torch.float64))
        given = module.attend_arguments(reach=9)
        wanted = module(torch.tensor([9]), torch.arange(19))[:, 0].float()
        assert torch.equal(given["by_distance"], wanted)
        assert given["reach"] == 9


DEEP = (torch.arange(29) + 100, torch.arange(29) + 100)
EXPORTED = {
    "rope": PositionAttention(Rope(8)),
    "alibi": PositionAttention(Alibi(4), reach=64),
    "t5": PositionAttention(T5(heads=4), reach=128),
    "none": PositionAttention(LayerGroup("sliding_attention", NoPosition(), sliding_window=5)),
}


@pytest.mark.parametrize("name", EXPORTED)
def test_an_exported_graph_has_standard_operators_and_any_length(name):
    module, tokens = EXPORTED[name], Dim("tokens", min=2, max=4096)
    of_tokens, of_positions = {1: tokens}, {0: tokens}
    shapes = (of_tokens, of_tokens, of_tokens, of_positions, of_positions)
    graph = export(module, (*drawn(4, 2, 12, 12, 8, torch.float32, 1), *[torch.arange(12)] * 2), dynamic_shapes=shapes)
    assert not any("ordinate" in str(node.target) for node in graph.graph.nodes)
    given = (*drawn(4, 2, 29, 29, 8, torch.float32, 1), *DEEP)
    assert torch.allclose(graph.module()(*given), module(*given), rtol=0, atol=2e-6)


@pytest.mark.parametrize("float32_angles", [False, True])
def test_exported_tables_are_the_modules(group, float32_angles):
    module = RotaryEmbedding(group, float32_angles=float32_angles)
    depends = group.stretch is not None and "static" not in group.stretch.traits
    shapes = (None, {1: Dim("tokens", min=2, max=4096)})
    given = (torch.zeros(1), torch.arange(5)[None])
    if depends:
        with pytest.raises(InputError, match="depends on the length: an exported graph needs length, got None"):
            export(module, given, dynamic_shapes=shapes)
        return
    graph = export(module, given, dynamic_shapes=shapes).module()
    far = torch.arange(2000, 2100)[None]
    for made, wanted in zip(graph(torch.zeros(1), far), module(torch.zeros(1), far), strict=True):
        # NumPy and PyTorch may differ in the last bit of a float64 cos.
        assert torch.allclose(made, wanted, rtol=0, atol=1e-7)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", EXPORTED)
def test_onnx_computes_the_graph(tmp_path, name):
    pytest.importorskip("onnxscript")
    onnxruntime = pytest.importorskip("onnxruntime")
    tokens = Dim("tokens", min=2, max=4096)
    shapes = ({1: tokens}, {1: tokens}, {1: tokens}, {0: tokens}, {0: tokens})
    given = (*drawn(4, 2, 12, 12, 8, torch.float32, 1), *[torch.arange(12)] * 2)
    file = tmp_path / "attention.onnx"
    torch.onnx.export(EXPORTED[name], given, file, dynamo=True, dynamic_shapes=shapes, verbose=False)
    session = onnxruntime.InferenceSession(file)
    longer = (*drawn(4, 2, 29, 29, 8, torch.float32, 1), *DEEP)
    feeds = {to.name: x.numpy() for to, x in zip(session.get_inputs(), longer, strict=True)}
    (found,) = session.run(None, feeds)
    assert np.allclose(found, EXPORTED[name](*longer).detach().numpy(), rtol=0, atol=1e-5)


def test_what_does_not_fit_is_refused():
    for arguments, message in (
        ({"group": 3}, "group must be a LayerGroup or a scheme, got 3"),
        ({"group": Rope(8), "reach": 4}, "reach belongs to a bias by distance, got 4 for rope"),
        ({"group": BIASES["cope"], "reach": 4}, "is no function of distance, got 4"),
        ({"group": Alibi(4), "reach": -1}, "reach must be an integer >= 0, got -1"),
        ({"group": Rope(8), "causal": 1}, "causal must be True or False, got 1"),
    ):
        with pytest.raises(InputError, match=message):
            PositionAttention(**arguments)
    with pytest.raises(InputError, match="key_positions needs query_positions, got None"):
        PositionAttention(NoPosition())(*drawn(4, 2, 5, 7, 8), key_positions=torch.arange(7))
