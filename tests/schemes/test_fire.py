"""FIRE against its network built from torch's own layers, and its gradients."""

import numpy as np
import pytest
import torch

import ordinate
from ordinate.errors import InputError

Fire = ordinate.scheme("fire")


def from_layers(scheme, learned, queries, keys):
    """psi(i - j) / psi(max(L, i)) through Linear, ReLU, Linear, as the paper's listing has it."""
    network = torch.nn.Sequential(
        torch.nn.Linear(1, scheme.width), torch.nn.ReLU(), torch.nn.Linear(scheme.width, scheme.heads)
    ).double()
    with torch.no_grad():
        network[0].weight.copy_(torch.tensor(learned["hidden_weight"][:, None]))
        network[0].bias.copy_(torch.tensor(learned["hidden_bias"]))
        network[2].weight.copy_(torch.tensor(learned["output_weight"]))
        network[2].bias.copy_(torch.tensor(learned["output_bias"]))
        c, threshold = learned["c"].item(), abs(learned["multiplier"].item() * scheme.threshold)
        i, j = torch.tensor(queries).double()[:, None], torch.tensor(keys).double()[None, :]
        distance = torch.log(torch.abs(c * (i - j)) + 1)
        normaliser = torch.log(torch.abs(c * torch.clamp(i, min=threshold)) + 1)
        return network((distance / (normaliser + scheme.epsilon))[..., None]).permute(2, 0, 1).numpy()


@pytest.mark.parametrize(("c", "multiplier"), [(0.1, 1.0), (-2.0, -0.5), (30.0, 0.0)])
def test_bias_is_the_papers_network_of_the_share(c, multiplier):
    scheme = Fire(heads=4, threshold=20.0)
    learned = {**scheme.initial(1), "c": np.array([c]), "multiplier": np.array([multiplier])}
    queries, keys = [1, 7, 19, 20, 21, 5000], [0, 1, 6, 19, 5000]
    expected = from_layers(scheme, learned, queries, keys)
    np.testing.assert_allclose(scheme.bias(queries, keys, learned=learned), expected, rtol=1e-12, atol=1e-14)


def test_past_the_threshold_the_first_key_has_the_same_bias_for_every_query():
    scheme = Fire(heads=2, threshold=8.0)
    learned = scheme.initial()
    bias = scheme.bias([9, 100, 10**6], [0], learned=learned)
    np.testing.assert_allclose(bias, np.broadcast_to(bias[:, :1], bias.shape), atol=1e-5)


def test_the_same_distance_counts_more_for_an_earlier_query():
    scheme = Fire(heads=1, width=1, threshold=1.0)
    learned = {
        **scheme.initial(),
        "hidden_weight": np.ones(1),
        "hidden_bias": np.zeros(1),
        "output_weight": -np.ones((1, 1)),
        "output_bias": np.zeros(1),
    }
    near, far = scheme.bias([10], [5], learned=learned).item(), scheme.bias([1000], [995], learned=learned).item()
    assert near < far < 0
    # psi(5) / psi(10), with psi(x) = log(0.1 x + 1)
    assert near == pytest.approx(-np.log(1.5) / np.log(2.0), rel=1e-5)
    assert "shift_invariant" not in scheme.traits


def test_the_first_query_has_a_bias_even_without_a_threshold():
    scheme = Fire(heads=2)
    learned = {**scheme.initial(), "multiplier": np.zeros(1)}
    assert np.isfinite(scheme.bias([0], [0, 1], learned=learned)).all()


def test_torch_agrees_and_its_gradient_is_the_finite_difference():
    scheme = Fire(heads=2, width=5, threshold=8.0)
    learned = scheme.initial(4)
    queries, keys = [2, 7, 40], [0, 3, 7, 38]
    weights = np.random.default_rng(0).normal(size=(2, 3, 4))
    tensors = {name: torch.tensor(value, requires_grad=True) for name, value in learned.items()}
    bias = scheme.bias(queries, keys, learned=tensors, xp=torch)
    np.testing.assert_allclose(bias.detach().numpy(), scheme.bias(queries, keys, learned=learned), atol=1e-12)
    (bias * torch.tensor(weights)).sum().backward()
    for name, value in learned.items():
        for place in np.ndindex(value.shape):
            sides = []
            for step in (1e-6, -1e-6):
                moved = value.copy()
                moved[place] += step
                sides.append((scheme.bias(queries, keys, learned={**learned, name: moved}) * weights).sum())
            expected = (sides[0] - sides[1]) / 2e-6
            assert tensors[name].grad[place].item() == pytest.approx(expected, rel=1e-5, abs=1e-8), (name, place)


def test_it_starts_as_torchs_layers_and_the_paper_do():
    learned = Fire(heads=3000, width=64).initial()
    assert (learned["c"].item(), learned["multiplier"].item()) == (0.1, 1.0)
    for name, reach in (("hidden_weight", 1), ("hidden_bias", 1), ("output_weight", 1 / 8), ("output_bias", 1 / 8)):
        assert -reach <= learned[name].min() < -0.9 * reach
        assert 0.9 * reach < learned[name].max() <= reach
    assert (Fire(heads=1).width, Fire(heads=1).threshold) == (32, 512.0)


def test_cost_counts_the_network():
    cost = Fire(heads=12, width=32).cost(10)
    assert cost.parameters == 2 + 32 + 32 + 12 * 32 + 12
    assert cost.table_bytes == 0
    assert cost.operations == 100 * (4 + 3 * 32 + 2 * 32 * 12 + 2 * 12)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"heads": 0}, "heads"),
        ({"width": 0}, "width"),
        ({"threshold": 0.0}, "threshold"),
        ({"epsilon": 0.0}, "epsilon"),
    ],
)
def test_a_wrong_argument_is_named(arguments, word):
    with pytest.raises(InputError, match=word):
        Fire(**{"heads": 2, **arguments})


def test_a_wrong_input_is_named():
    scheme = Fire(heads=2)
    with pytest.raises(InputError, match="does not use q or k"):
        scheme.bias([0], [0], k=np.zeros((1, 2, 4)), learned=scheme.initial())
    with pytest.raises(InputError, match="fire learns c, multiplier"):
        scheme.bias([0], [0])
    with pytest.raises(InputError, match="key_positions must be integers"):
        scheme.bias([0], [0.5], learned=scheme.initial())
