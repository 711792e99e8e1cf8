"""Shaw's relative keys and values, term by term, and Wav2Vec2-BERT's relative key in transformers."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from transformers.models.wav2vec2_bert.modeling_wav2vec2_bert import _apply_relative_key_position_encoding

import ordinate
from ordinate.errors import InputError

Shaw = ordinate.scheme("shaw")


def content(seed, *lead, queries, keys, heads, head_dim):
    generator = np.random.default_rng(seed)
    return generator.normal(size=(*lead, queries, heads, head_dim)), generator.normal(
        size=(*lead, keys, heads, head_dim)
    )


def test_bias_is_the_papers_second_term():
    scheme = Shaw(heads=2, head_dim=4, left=3)
    learned = scheme.initial(1)
    queries, keys = [0, 5, 6], [0, 1, 4, 6, 11]
    q, k = content(0, queries=3, keys=5, heads=2, head_dim=4)
    bias = scheme.bias(queries, keys, q=q, k=k, learned=learned)
    assert bias.shape == (2, 3, 5)
    for h in range(2):
        for i, place in enumerate(queries):
            for j, other in enumerate(keys):
                w = learned["keys"][max(-3, min(3, other - place)) + 3]
                assert bias[h, i, j] == pytest.approx(q[i, h] @ w / np.sqrt(4), rel=1e-13)


def test_bias_is_wav2vec2_berts_with_its_left_and_right():
    module = SimpleNamespace(
        left_max_position_embeddings=5,
        right_max_position_embeddings=2,
        distance_embedding=torch.nn.Embedding(8, 4),
        scaling=4**-0.5,
    )
    scheme = Shaw(heads=3, head_dim=4, left=5, right=2)
    q, k = content(0, 2, queries=9, keys=9, heads=3, head_dim=4)
    with torch.no_grad():
        query, key = (torch.tensor(x, dtype=torch.float32).transpose(1, 2) for x in (q, k))
        theirs = _apply_relative_key_position_encoding(module, query, key)[1]
    learned = {"keys": module.distance_embedding.weight.detach().numpy()}
    ours = scheme.bias(range(9), range(9), q=q, k=k, learned=learned)
    np.testing.assert_allclose(ours, theirs.numpy(), atol=1e-6)


def test_attended_is_the_papers_relative_value():
    scheme = Shaw(heads=2, head_dim=4, left=2, values=True)
    learned = scheme.initial(1)
    queries, keys = [4, 5], [1, 4, 5]
    weights = np.random.default_rng(0).dirichlet(np.ones(3), size=(2, 2))
    attended = scheme.attended(weights, queries, keys, learned)
    assert attended.shape == (2, 2, 4)
    for i, place in enumerate(queries):
        for h in range(2):
            rows = [learned["values"][max(-2, min(2, other - place)) + 2] for other in keys]
            np.testing.assert_allclose(attended[i, h], weights[h, i] @ np.array(rows), rtol=1e-13)


def test_relative_values_must_be_asked_for():
    scheme = Shaw(heads=2, head_dim=4)
    assert set(scheme.parameters()) == {"keys"}
    with pytest.raises(InputError, match="values=True"):
        scheme.attended(np.ones((2, 1, 1)), [0], [0], scheme.initial())


def test_numpy_and_torch_agree_and_gradients_reach_q_and_the_table():
    scheme = Shaw(heads=2, head_dim=4, left=3, values=True)
    learned = scheme.initial(2)
    q, k = content(3, 2, queries=3, keys=5, heads=2, head_dim=4)
    expected = scheme.bias([7, 8, 9], range(5, 10), q=q, k=k, learned=learned)
    tensors = {name: torch.tensor(value, requires_grad=True) for name, value in learned.items()}
    tq, tk = torch.tensor(q, requires_grad=True), torch.tensor(k)
    bias = scheme.bias([7, 8, 9], range(5, 10), q=tq, k=tk, learned=tensors, xp=torch)
    np.testing.assert_allclose(bias.detach().numpy(), expected, atol=1e-12)
    weights = torch.softmax(bias, -1)
    scheme.attended(weights, [7, 8, 9], range(5, 10), tensors, torch).square().sum().backward()
    for tensor in (tq, *tensors.values()):
        assert tensor.grad is not None
        assert tensor.grad.abs().sum() > 0


def test_a_scale_of_ones_own_takes_the_place_of_the_usual():
    q, k = content(0, queries=1, keys=2, heads=1, head_dim=4)
    usual, own = Shaw(heads=1, head_dim=4), Shaw(heads=1, head_dim=4, softmax_scale=3.0)
    assert usual.softmax_scale == 0.5
    learned = usual.initial()
    np.testing.assert_allclose(
        own.bias([1], [0, 1], q=q, k=k, learned=learned), 6 * usual.bias([1], [0, 1], q=q, k=k, learned=learned)
    )


def test_parameters_are_one_table_for_all_heads():
    assert Shaw(heads=8, head_dim=64, left=16).cost(10).parameters == 33 * 64
    both = Shaw(heads=8, head_dim=64, left=16, right=4, values=True)
    assert both.cost(10).parameters == 2 * 21 * 64
    assert both.cost(10).operations == 8 * (2 * 10 * 21 * 64 + 100 + 2 * 100 * 64)
    assert Shaw(heads=8, head_dim=64).cost(10).operations == 8 * (2 * 10 * 33 * 64 + 100)


def test_it_starts_with_the_deviation_of_a_linear_layer():
    assert Shaw(heads=1, head_dim=64, left=500).initial()["keys"].std() == pytest.approx(1 / 8, rel=0.02)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"heads": 0}, "heads"),
        ({"head_dim": 0}, "head_dim"),
        ({"left": 0}, "left"),
        ({"right": -1}, "right"),
        ({"values": 1}, "values"),
        ({"softmax_scale": -1.0}, "softmax_scale"),
    ],
)
def test_a_wrong_argument_is_named(arguments, word):
    with pytest.raises(InputError, match=word):
        Shaw(**{"heads": 2, "head_dim": 4, **arguments})


def test_a_wrong_input_is_named():
    scheme = Shaw(heads=2, head_dim=4)
    q, k = content(0, queries=2, keys=3, heads=2, head_dim=4)
    learned = scheme.initial()
    with pytest.raises(InputError, match="shaw needs both q and k, got q given, k missing"):
        scheme.bias([0, 1], [0, 1, 2], q=q, learned=learned)
    with pytest.raises(InputError, match=r"q must have shape \[..., 1, 2, 4\]"):
        scheme.bias([0], [0, 1, 2], q=q, k=k, learned=learned)
    with pytest.raises(InputError, match=r"k must have shape \[..., 3, 2, 4\].*got \[3, 1, 4\]"):
        scheme.bias([0, 1], [0, 1, 2], q=q, k=k[:, :1], learned=learned)
    with pytest.raises(InputError, match="shaw learns keys"):
        scheme.bias([0, 1], [0, 1, 2], q=q, k=k)
