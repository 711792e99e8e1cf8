"""KERPLE against the authors' two kernels, written out; and its gradients."""

import math

import numpy as np
import pytest
import torch

import ordinate
from ordinate.errors import InputError

Kerple = ordinate.scheme("kerple")


def authors_kernel(variant, r1, r2, distance):
    if variant == "log":
        return -r1 * math.log(1 + r2 * distance)
    return -r1 * distance**r2


@pytest.mark.parametrize("variant", ["log", "power"])
def test_bias_is_the_papers_kernel_of_distance(variant):
    scheme = Kerple(heads=5, variant=variant)
    learned = scheme.initial(2)
    bias = scheme.bias([0, 3, 100], [0, 3, 7, 100_000], learned=learned)
    assert bias.shape == (5, 3, 4)
    for h in range(5):
        for i, q in enumerate([0, 3, 100]):
            for j, k in enumerate([0, 3, 7, 100_000]):
                expected = authors_kernel(variant, learned["r1"][h], learned["r2"][h], abs(q - k))
                assert bias[h, i, j] == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("variant", ["log", "power"])
def test_a_token_has_no_bias_towards_itself(variant):
    scheme = Kerple(heads=3, variant=variant)
    assert (scheme.by_distance([0], scheme.initial()) == 0).all()


def test_power_one_is_alibi_and_power_never_passes_two():
    distances = np.arange(-9, 10)
    learned = {"r1": ordinate.scheme("alibi")(heads=4).slopes, "r2": np.ones(4)}
    linear = Kerple(heads=4, variant="power").by_distance(distances, learned)
    np.testing.assert_array_equal(linear, ordinate.scheme("alibi")(heads=4).by_distance(distances))
    steep = Kerple(heads=1, variant="power").by_distance([3], {"r1": np.array([1.0]), "r2": np.array([2.5])})
    assert steep.item() == -9.0


@pytest.mark.parametrize("variant", ["log", "power"])
def test_a_negative_parameter_counts_as_its_size(variant):
    scheme = Kerple(heads=2, variant=variant)
    learned = scheme.initial()
    opposite = {name: -value for name, value in learned.items()}
    np.testing.assert_array_equal(scheme.by_distance([1, 8], learned), scheme.by_distance([1, 8], opposite))


@pytest.mark.parametrize("variant", ["log", "power"])
def test_it_starts_where_the_authors_start(variant):
    scheme = Kerple(heads=4000, variant=variant)
    learned = scheme.initial()
    highs = {"r1": 2, "r2": 1} if variant == "log" else {"r1": 1, "r2": 2}
    for name, high in highs.items():
        assert learned[name].shape == (4000,)
        assert 0.01 <= learned[name].min() < 0.02
        assert high - 0.02 < learned[name].max() <= high


@pytest.mark.parametrize("variant", ["log", "power"])
def test_torch_agrees_and_its_gradient_is_the_finite_difference(variant):
    scheme = Kerple(heads=2, variant=variant)
    learned = scheme.initial(5)
    learned["r1"][0] *= -1
    queries, keys = [0, 4, 9], [0, 2, 9, 30]
    tensors = {name: torch.tensor(value, requires_grad=True) for name, value in learned.items()}
    weights = np.random.default_rng(0).normal(size=(2, 3, 4))
    bias = scheme.bias(queries, keys, learned=tensors, xp=torch)
    np.testing.assert_allclose(bias.detach().numpy(), scheme.bias(queries, keys, learned=learned), rtol=1e-12)
    (bias * torch.tensor(weights)).sum().backward()
    for name, value in learned.items():
        for h in range(2):
            sides = []
            for step in (1e-6, -1e-6):
                moved = {**learned, name: value + step * (np.arange(2) == h)}
                sides.append((scheme.bias(queries, keys, learned=moved) * weights).sum())
            assert tensors[name].grad[h].item() == pytest.approx((sides[0] - sides[1]) / 2e-6, rel=1e-6)


def test_bfloat16_parameters_still_tell_position_2049_from_2048():
    scheme = Kerple(heads=1)
    learned = {"r1": torch.ones(1, dtype=torch.bfloat16), "r2": torch.ones(1, dtype=torch.bfloat16)}
    bias = scheme.by_distance([2048, 2049], learned, xp=torch)
    assert bias.dtype == torch.float32
    assert bias[0, 0] > bias[0, 1]


def test_float32_parameters_give_a_float64_bias_in_numpy():
    scheme = Kerple(heads=2)
    learned = {name: value.astype(np.float32) for name, value in scheme.initial().items()}
    assert scheme.bias([1], [0], learned=learned).dtype == np.float64


def test_cost_counts_two_numbers_a_head():
    assert Kerple(heads=12).cost(10).parameters == 24
    assert Kerple(heads=12).cost(10).operations == 12 * (4 * 19 + 100)
    assert Kerple(heads=12, variant="power").cost(10).operations == 12 * (2 * 19 + 100)


def test_a_wrong_argument_is_named():
    with pytest.raises(InputError, match="variant must be one of log, power"):
        Kerple(heads=2, variant="linear")
    with pytest.raises(InputError, match="heads"):
        Kerple(heads=0)
    with pytest.raises(InputError, match="kerple learns r1, r2"):
        Kerple(heads=2).bias([0], [0], learned={"r1": np.ones(2)})
