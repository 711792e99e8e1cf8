"""DeBERTa's terms against transformers' code of versions 1 and 2, and its buckets integer for integer."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import DebertaConfig, DebertaV2Config
from transformers.models.deberta import modeling_deberta
from transformers.models.deberta_v2 import modeling_deberta_v2
from transformers.models.deberta_v2.modeling_deberta_v2 import build_relative_position, make_log_bucket_position

import ordinate
from ordinate.errors import InputError

Deberta = ordinate.scheme("deberta")


@pytest.mark.parametrize(
    ("buckets", "max_distance"), [(256, 512), (32, 128), (4, 4), (18, 26), (50, 37), (128, 126), (74, 1000), (512, 600)]
)
def test_every_bucket_is_transformers(buckets, max_distance):
    relative = np.arange(-300_000, 300_001)
    theirs = make_log_bucket_position(torch.from_numpy(relative), buckets, max_distance).long().numpy()
    ours = Deberta(heads=1, head_dim=1, buckets=buckets, max_distance=max_distance).bucket(relative)
    assert ours.dtype == np.int64
    np.testing.assert_array_equal(ours, theirs)


@given(
    half=st.integers(2, 300), more=st.integers(2, 4000), distances=st.lists(st.integers(-(10**6), 10**6), min_size=1)
)
def test_buckets_of_any_setting_are_transformers(half, more, distances):
    relative = np.array([*distances, half, -half, half + 1, half + more - 1, half + more])
    theirs = make_log_bucket_position(torch.from_numpy(relative), 2 * half, half + more).long().numpy()
    scheme = Deberta(heads=1, head_dim=1, buckets=2 * half, max_distance=half + more)
    np.testing.assert_array_equal(scheme.bucket(relative), theirs)


def test_the_buckets_of_version_three_are_those_of_a_whole_sequence():
    sequence = torch.zeros(1, 600, 1)
    theirs = build_relative_position(sequence, sequence, 256, 512)[0].numpy()
    distance = np.arange(600)[:, None] - np.arange(600)[None, :]
    np.testing.assert_array_equal(Deberta(heads=1, head_dim=1, buckets=256).bucket(distance), theirs)


def test_without_buckets_a_distance_is_its_own():
    assert Deberta(heads=1, head_dim=1).bucket([-900, 0, 7]).tolist() == [-900, 0, 7]


def with_bias(projection, heads, head_dim):
    """A linear layer's weight, and its bias as one more input channel: [dim + 1, heads, head_dim]."""
    weight = projection.weight.detach().double().numpy().T
    bias = np.zeros(weight.shape[1]) if projection.bias is None else projection.bias.detach().double().numpy()
    return np.concatenate([weight, bias[None]]).reshape(-1, heads, head_dim)


TERMS = [("c2p", "p2c"), ("c2p",), ("p2c",)]


def ours(scheme, q, k, embeddings, key_layer, query_layer):
    positions = np.concatenate([embeddings.detach().double().numpy(), np.ones((len(embeddings), 1))], -1)
    learned = {"positions": positions}
    if scheme.content_to_position:
        learned["key_projection"] = with_bias(key_layer, scheme.heads, scheme.head_dim)
    if scheme.position_to_content:
        learned["query_projection"] = with_bias(query_layer, scheme.heads, scheme.head_dim)
    tokens = range(q.shape[-2])
    q, k = (x.detach().double().numpy().swapaxes(-3, -2) for x in (q, k))
    return scheme.bias(tokens, tokens, q=q, k=k, learned=learned)


@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.parametrize("buckets", [-1, 8])
def test_bias_is_version_twos(terms, buckets):
    torch.manual_seed(0)
    config = DebertaV2Config(
        hidden_size=12,
        num_attention_heads=3,
        relative_attention=True,
        position_buckets=buckets,
        max_relative_positions=11,
        pos_att_type=list(terms),
        hidden_dropout_prob=0.0,
    )
    attention = modeling_deberta_v2.DisentangledSelfAttention(config).eval()
    q, k = torch.randn(2, 3, 17, 4), torch.randn(2, 3, 17, 4)
    embeddings = torch.randn(2 * attention.pos_ebd_size, 12)
    with torch.no_grad():
        theirs = attention.disentangled_attention_bias(
            q.reshape(6, 17, 4), k.reshape(6, 17, 4), None, embeddings, 1 + len(terms)
        )
    scheme = Deberta(
        heads=3,
        head_dim=4,
        dim=13,
        max_distance=11,
        buckets=max(buckets, 0),
        content_to_position="c2p" in terms,
        position_to_content="p2c" in terms,
    )
    layers = (getattr(attention, name, None) for name in ("pos_key_proj", "pos_query_proj"))
    bias = ours(scheme, q, k, embeddings, *layers)
    np.testing.assert_allclose(bias, theirs.reshape(2, 3, 17, 17).numpy(), atol=2e-6)


@pytest.mark.parametrize("terms", TERMS)
def test_bias_is_version_ones(terms):
    torch.manual_seed(1)
    config = DebertaConfig(
        hidden_size=12,
        num_attention_heads=3,
        relative_attention=True,
        max_relative_positions=11,
        pos_att_type=list(terms),
        hidden_dropout_prob=0.0,
    )
    attention = modeling_deberta.DisentangledSelfAttention(config).eval()
    q, k = torch.randn(2, 3, 17, 4), torch.randn(2, 3, 17, 4)
    embeddings = torch.randn(22, 12)
    scale = ((1 + len(terms)) * 4) ** 0.5
    with torch.no_grad():
        relative = modeling_deberta.build_relative_position(q, k)
        theirs = attention.disentangled_att_bias(q / scale, k, relative, embeddings, 1 + len(terms))
    scheme = Deberta(
        heads=3,
        head_dim=4,
        dim=13,
        max_distance=11,
        content_to_position="c2p" in terms,
        position_to_content="p2c" in terms,
    )
    assert scheme.softmax_scale == pytest.approx(1 / scale)
    layers = (getattr(attention, name, None) for name in ("pos_proj", "pos_q_proj"))
    np.testing.assert_allclose(ours(scheme, q, k, embeddings, *layers), theirs.numpy(), atol=2e-6)


def test_bias_is_the_sum_of_its_terms_one_logit_at_a_time():
    scheme = Deberta(heads=2, head_dim=4, dim=5, max_distance=3)
    learned = scheme.initial(1)
    generator = np.random.default_rng(0)
    queries, keys = [2, 9], [0, 2, 3, 9, 30]
    q, k = generator.normal(size=(2, 2, 4)), generator.normal(size=(5, 2, 4))
    bias = scheme.bias(queries, keys, q=q, k=k, learned=learned)
    for h in range(2):
        for i, place in enumerate(queries):
            for j, other in enumerate(keys):
                row = learned["positions"][min(max(place - other + 3, 0), 5)]
                key_row, query_row = row @ learned["key_projection"][:, h], row @ learned["query_projection"][:, h]
                expected = (q[i, h] @ key_row + k[j, h] @ query_row) / np.sqrt(3 * 4)
                assert bias[h, i, j] == pytest.approx(expected, rel=1e-12)


def test_numpy_and_torch_agree_and_gradients_reach_everything():
    scheme = Deberta.example()
    learned = scheme.initial(2)
    generator = np.random.default_rng(0)
    q, k = generator.normal(size=(3, 4, 2, 8)), generator.normal(size=(3, 7, 2, 8))
    expected = scheme.bias(range(3, 7), range(7), q=q, k=k, learned=learned)
    tensors = {name: torch.tensor(value, requires_grad=True) for name, value in learned.items()}
    tq, tk = torch.tensor(q, requires_grad=True), torch.tensor(k, requires_grad=True)
    bias = scheme.bias(range(3, 7), range(7), q=tq, k=tk, learned=tensors, xp=torch)
    np.testing.assert_allclose(bias.detach().numpy(), expected, atol=1e-12)
    bias.square().sum().backward()
    for tensor in (tq, tk, *tensors.values()):
        assert tensor.grad is not None
        assert tensor.grad.abs().sum() > 0


def test_cost_counts_the_positions_and_both_projections():
    cost = Deberta(heads=12, head_dim=64, buckets=256).cost(100)
    assert cost.parameters == 512 * 768 + 2 * 768 * 768
    assert cost.operations == 2 * (2 * 512 * 768 * 768 + 2 * 100 * 512 * 768 + 12 * 100 * 100)
    one = Deberta(heads=12, head_dim=64, buckets=256, position_to_content=False)
    assert one.cost(100).operations == cost.operations // 2
    assert set(one.parameters()) == {"positions", "key_projection"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"content_to_position": False, "position_to_content": False}, "got neither"),
        ({"content_to_position": 1}, "content_to_position"),
        ({"position_to_content": None}, "position_to_content"),
        ({"buckets": 7}, "buckets must be even"),
        ({"buckets": 2}, "buckets must be even and >= 4"),
        ({"buckets": -1}, "buckets"),
        ({"buckets": 8.0}, "buckets must be an integer"),
        ({"buckets": 8, "max_distance": 5}, "max_distance must be > 5"),
        ({"max_distance": 0}, "max_distance"),
        ({"dim": -3}, "dim"),
        ({"heads": 0}, "heads"),
    ],
)
def test_a_wrong_argument_is_named(arguments, words):
    with pytest.raises(InputError, match=words):
        Deberta(**{"heads": 2, "head_dim": 4, **arguments})


def test_a_wrong_distance_is_named():
    with pytest.raises(InputError, match="distance must be integers"):
        Deberta(heads=2, head_dim=4).bucket([0.5])
