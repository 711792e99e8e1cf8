"""Every bias of the registry inside `attend`: values, gradients of what is learned, and positions of every kind."""

import numpy as np
import pytest
import torch
from attend_calls import small_blocks

import ordinate
from ordinate.errors import InputError
from ordinate.ops import attend
from ordinate.schemes.alibi import Alibi
from ordinate.schemes.base import DistanceBias
from ordinate.schemes.t5 import T5

SCHEMES = {name: ordinate.scheme(name).example() for name in ordinate.schemes() if ordinate.scheme(name).kind == "bias"}
BY_NAME = pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)

PLACES = {
    "default": {},
    "batch": {
        "query_positions": torch.tensor([[5, 6, 7], [2, 3, 40]]),
        "key_positions": torch.tensor([[0, 1, 2, 3, 5, 6, 7], [4, 2, 40, 1, 0, 3, 7]]),
    },
    "ring": {"query_positions": torch.tensor([7, 8, 9]), "key_positions": torch.tensor([7, 8, 9, -1, -1, 5, 6])},
    "far apart": {
        "query_positions": torch.tensor([10**6, 10**6 + 5, 12]),
        "key_positions": torch.tensor([0, 3, 10**6, 10**6 + 1, 7, 9, 11]),
    },
    "lengths": {"key_lengths": torch.tensor([7, 4])},
}


def inputs(scheme, dtype=torch.float64, kv_heads=1):
    """q, k and v of one key head for all, and learned values that are nothing special."""
    generator = torch.Generator().manual_seed(0)
    dim = getattr(scheme, "head_dim", 4)
    shapes = ((2, 3, scheme.heads, dim), (2, 7, kv_heads, dim), (2, 7, kv_heads, 3))
    floats = [torch.randn(shape, generator=generator, dtype=dtype) for shape in shapes]
    learned = {
        name: torch.from_numpy(value).to(dtype) + torch.rand(value.shape, generator=generator, dtype=dtype) / 4
        for name, value in scheme.initial().items()
    }
    return floats, learned


def arrays(values):
    return {name: value.numpy() for name, value in values.items()}


@BY_NAME
@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("causal", [True, False])
def test_eager_by_blocks_is_the_reference(scheme, places, causal):
    (q, k, v), learned = inputs(scheme)
    options = {"scheme": scheme, "causal": causal, "return_lse": True}
    right, logarithms = attend(
        q.numpy(), k.numpy(), v.numpy(), learned=arrays(learned) or None, **options, **arrays(places)
    )
    with small_blocks():
        out, lse = attend(q, k, v, learned=learned or None, **options, **places, backend="eager")
    assert np.allclose(out, right, rtol=0, atol=1e-12)
    assert np.allclose(lse, logarithms, rtol=0, atol=1e-12)


@BY_NAME
def test_the_reference_adds_the_schemes_bias(scheme):
    (q, k, v), learned = inputs(scheme)
    content = {"q": q.numpy(), "k": k.expand(2, 7, scheme.heads, -1).numpy()} if scheme.needs == "content" else {}
    learned = arrays(learned) or None
    bias = scheme.bias(np.arange(4, 7), np.arange(7), learned=learned, **content)
    right = attend(q.numpy(), k.numpy(), v.numpy(), bias=bias, causal=True)
    out = attend(q.numpy(), k.numpy(), v.numpy(), scheme=scheme, learned=learned, causal=True)
    assert np.allclose(out, right, rtol=0, atol=1e-14)
    assert not np.allclose(out, attend(q.numpy(), k.numpy(), v.numpy(), causal=True))


@BY_NAME
@pytest.mark.parametrize("places", ["ring", "far apart"])
def test_gradients_reach_what_is_learned(scheme, places):
    floats, learned = inputs(scheme)
    leaves = [x.requires_grad_() for x in (*floats, *learned.values())]

    def function(q, k, v, *values):
        own = dict(zip(learned, values, strict=True)) or None
        return attend(q, k, v, scheme=scheme, learned=own, causal=True, **PLACES[places], backend="eager")

    with small_blocks():
        assert torch.autograd.gradcheck(function, leaves, fast_mode=True)


@BY_NAME
def test_packed_sequences_do_not_see_each_other(scheme):
    (q, k, v), learned = inputs(scheme)
    borders = {"cu_seqlens_q": torch.tensor([0, 3, 6]), "cu_seqlens_k": torch.tensor([0, 7, 14])}
    options = {"scheme": scheme, "learned": learned or None, "causal": True}
    packed = attend(*(x.flatten(0, 1) for x in (q, k, v)), **borders, **options, backend="eager")
    assert torch.allclose(packed.view(2, 3, scheme.heads, 3), attend(q, k, v, **options), rtol=0, atol=1e-12)


@BY_NAME
def test_float32_and_half_precision_are_close(scheme):
    (q, k, v), learned = inputs(scheme)
    right = attend(q, k, v, scheme=scheme, learned=learned or None, causal=True)
    own = {name: value.float() for name, value in learned.items()} or None
    for dtype, near in ((torch.float32, 4e-6), (torch.bfloat16, 0.03)):
        out = attend(*(x.to(dtype) for x in (q, k, v)), scheme=scheme, learned=own, causal=True)
        assert out.dtype == dtype
        assert torch.allclose(out.double(), right, rtol=0, atol=near)


def test_alibi_is_its_slopes_and_its_table():
    q, k, v = torch.randn(1, 9, 6, 8), torch.randn(1, 12, 6, 8), torch.randn(1, 12, 6, 8)
    scheme = Alibi(heads=6)
    slopes = torch.from_numpy(scheme.slopes).float()
    table = torch.from_numpy(scheme.by_distance(np.arange(12, -13, -1))).float()
    for causal in (True, False):
        right = attend(q, k, v, causal=causal, slopes=slopes)
        assert torch.equal(attend(q, k, v, causal=causal, scheme=scheme), right)
        assert torch.allclose(attend(q, k, v, causal=causal, by_distance=table, reach=12), right, rtol=0, atol=1e-6)


def test_an_alibi_of_the_past_alone_is_no_slope_where_the_future_is_seen():
    q, k, v = (torch.randn(1, 5, 2, 8) for _ in range(3))
    one_sided, both = Alibi(heads=2, symmetric=False), Alibi(heads=2)
    assert torch.equal(attend(q, k, v, causal=True, scheme=one_sided), attend(q, k, v, causal=True, scheme=both))
    assert not torch.allclose(attend(q, k, v, scheme=one_sided), attend(q, k, v, scheme=both))


@pytest.mark.parametrize("bidirectional", [True, False])
def test_a_t5_table_over_distance_is_the_scheme(bidirectional):
    scheme = T5(heads=4, buckets=8, max_distance=20, bidirectional=bidirectional)
    learned = {"table": torch.randn(8, 4, requires_grad=True)}
    q, k, v = torch.randn(1, 40, 4, 8), torch.randn(1, 40, 4, 8), torch.randn(1, 40, 4, 8)
    out = attend(q, k, v, softmax_scale=1.0, scheme=scheme, learned=learned)
    # From max_distance on all distances are one bucket.
    table = scheme.by_distance(np.arange(20, -21, -1), learned, torch)
    other = attend(q, k, v, softmax_scale=1.0, by_distance=table, reach=20)
    assert torch.allclose(out, other, rtol=0, atol=1e-6)
    gradients = [torch.autograd.grad(made.square().sum(), learned["table"])[0] for made in (out, other)]
    assert torch.allclose(*gradients, rtol=1e-5, atol=1e-5)


def test_a_table_and_a_scheme_of_distance_add_up():
    q, k, v = (torch.randn(1, 5, 2, 8, dtype=torch.float64) for _ in range(3))
    scheme = ordinate.scheme("sandwich")(heads=2, dim=8)
    assert isinstance(scheme, DistanceBias)
    table = torch.randn(2, 9, dtype=torch.float64)
    own = torch.from_numpy(scheme.by_distance(np.arange(4, -5, -1)))
    out = attend(q, k, v, scheme=scheme, by_distance=table, reach=4)
    assert torch.allclose(out, attend(q, k, v, by_distance=table + own, reach=4), rtol=0, atol=1e-12)


def test_content_is_read_as_it_is_given_whatever_rotates():
    scheme = ordinate.scheme("shaw").example()
    (q, k, v), learned = inputs(scheme)
    angles = torch.rand(7, 2)
    rotation = {"cos": angles.cos(), "sin": angles.sin()}
    bias = torch.stack(
        [
            scheme.bias(
                np.arange(4, 7), np.arange(7), q=q[b], k=k[b].expand(7, scheme.heads, -1), learned=learned, xp=torch
            )
            for b in range(2)
        ]
    )
    out = attend(q, k, v, scheme=scheme, learned=learned, **rotation)
    assert torch.allclose(out, attend(q, k, v, bias=bias, **rotation), rtol=0, atol=1e-12)


def test_cope_refuses_two_keys_at_one_position():
    scheme = ordinate.scheme("cope").example()
    (q, k, v), learned = inputs(scheme)
    twice = {"query_positions": torch.arange(3), "key_positions": torch.zeros(7, dtype=torch.int64)}
    with pytest.raises(InputError, match="two at one position"):
        attend(q, k, v, scheme=scheme, learned=learned, **twice)
