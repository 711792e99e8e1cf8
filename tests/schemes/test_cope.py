"""CoPE against its definition, one gate at a time, and its gradients through the counts."""

import math

import numpy as np
import pytest
import torch

import ordinate
from ordinate.errors import InputError

Cope = ordinate.scheme("cope")


def content(seed, *lead, queries, keys, heads=2, head_dim=4):
    generator = np.random.default_rng(seed)
    q = generator.normal(size=(*lead, queries, heads, head_dim))
    return 2 * q, 2 * generator.normal(size=(*lead, keys, heads, head_dim))


def random_positions(scheme, seed=0):
    shape = (scheme.positions, scheme.head_dim)
    return {"positions": np.random.default_rng(seed).normal(size=shape)}


def by_definition(scheme, table, queries, keys, q, k):
    """Gates, their sum from key to query, the two nearest embeddings, the product with q: in plain loops."""
    bias = np.zeros((scheme.heads, len(queries), len(keys)))
    for h in range(scheme.heads):
        for i, place in enumerate(queries):
            for j, other in enumerate(keys):
                count = 0.0
                for t, between in enumerate(keys):
                    if other <= between <= place:
                        count += 1 / (1 + math.exp(-scheme.softmax_scale * (q[i, h] @ k[t, h])))
                count = min(count, scheme.positions - 1)
                low, high = math.floor(count), math.ceil(count)
                e = (count - low) * table[high] + (1 - count + low) * table[low]
                bias[h, i, j] = scheme.softmax_scale * (q[i, h] @ e)
    return bias


@pytest.mark.parametrize("positions", [2, 4, 40])
def test_bias_is_the_papers_definition(positions):
    scheme = Cope(heads=2, head_dim=4, positions=positions)
    learned = random_positions(scheme)
    queries, keys = [4, 9, 5], [0, 2, 3, 4, 5, 8, 12]
    q, k = content(1, queries=3, keys=7)
    expected = by_definition(scheme, learned["positions"], queries, keys, q, k)
    np.testing.assert_allclose(scheme.bias(queries, keys, q=q, k=k, learned=learned), expected, rtol=1e-11, atol=1e-13)


def test_open_gates_count_tokens():
    scheme = Cope(heads=1, head_dim=1, positions=5)
    learned = {"positions": np.array([0.0, 10, 20, 30, 40])[:, None]}
    q, k = np.full((6, 1, 1), 10.0), np.full((6, 1, 1), 10.0)
    bias = scheme.bias(range(6), range(6), q=q, k=k, learned=learned)[0]
    expected = 10 * np.minimum(np.arange(6)[:, None] - np.arange(6)[None, :] + 1, 4) * 10.0
    np.testing.assert_allclose(np.tril(bias), np.tril(expected), rtol=1e-12)
    assert (np.triu(bias, 1) == 0).all()


def test_closed_gates_count_nothing_and_do_not_overflow():
    scheme = Cope(heads=1, head_dim=1, positions=3)
    learned = {"positions": np.array([1.0, 50.0, 90.0])[:, None]}
    q, k = np.full((2, 1, 1), 1e3), np.full((2, 1, 1), -1e3)
    np.testing.assert_array_equal(scheme.bias([0, 1], [0, 1], q=q, k=k, learned=learned), [[[1e3, 1e3], [1e3, 1e3]]])
    tq, tk = (torch.tensor(x, requires_grad=True) for x in (q, k))
    tensors = {"positions": torch.tensor(learned["positions"], requires_grad=True)}
    scheme.bias([0, 1], [0, 1], q=tq, k=tk, learned=tensors, xp=torch).sum().backward()
    for tensor in (tq, tk, tensors["positions"]):
        assert tensor.grad is not None
        assert tensor.grad.isfinite().all()


def test_keys_may_lie_in_any_order():
    scheme = Cope.example()
    learned = random_positions(scheme)
    q, k = content(2, 3, queries=4, keys=6, head_dim=8)
    order = [3, 0, 5, 1, 4, 2]
    keys = np.arange(6)
    expected = scheme.bias(range(2, 6), keys, q=q, k=k, learned=learned)
    shuffled = scheme.bias(range(2, 6), keys[order], q=q, k=k[:, order], learned=learned)
    np.testing.assert_allclose(shuffled, expected[..., order], atol=1e-13)


def test_keys_after_the_query_change_nothing():
    scheme = Cope.example()
    learned = random_positions(scheme)
    q, k = content(2, queries=6, keys=6, head_dim=8)
    whole = scheme.bias(range(6), range(6), q=q, k=k, learned=learned)
    k[4:] += 1
    np.testing.assert_array_equal(
        scheme.bias([3], range(6), q=q[3:4], k=k, learned=learned)[..., :4], whole[:, 3:4, :4]
    )


def test_two_keys_at_one_position_are_refused():
    scheme = Cope.example()
    q, k = content(0, queries=1, keys=3, head_dim=8)
    with pytest.raises(InputError, match="key_positions must differ"):
        scheme.bias([2], [0, 1, 0], q=q, k=k, learned=scheme.initial())


def test_numpy_and_torch_agree_and_the_gradient_goes_through_the_counts():
    scheme = Cope(heads=2, head_dim=4, positions=4)
    generator = np.random.default_rng(3)
    q, k = content(3, 2, queries=3, keys=5)
    inputs = {"q": q, "k": k, "positions": generator.normal(size=(4, 4))}
    weights = generator.normal(size=(2, 2, 3, 5))

    def bias(values, xp):
        learned = {"positions": values["positions"]}
        return scheme.bias([2, 3, 4], range(5), q=values["q"], k=values["k"], learned=learned, xp=xp)

    tensors = {name: torch.tensor(value, requires_grad=True) for name, value in inputs.items()}
    result = bias(tensors, torch)
    np.testing.assert_allclose(result.detach().numpy(), bias(inputs, np), atol=1e-12)
    (result * torch.tensor(weights)).sum().backward()
    for name, value in inputs.items():
        for place in np.ndindex(value.shape):
            sides = []
            for step in (1e-7, -1e-7):
                moved = value.copy()
                moved[place] += step
                sides.append((bias({**inputs, name: moved}, np) * weights).sum())
            expected = (sides[0] - sides[1]) / 2e-7
            assert tensors[name].grad[place].item() == pytest.approx(expected, rel=1e-5, abs=1e-7), (name, place)


def test_it_starts_without_effect_and_learns_from_there():
    scheme = Cope.example()
    q, k = content(0, queries=3, keys=3, head_dim=8)
    assert (scheme.bias(range(3), range(3), q=q, k=k, learned=scheme.initial()) == 0).all()
    table = torch.zeros(6, 8, dtype=torch.float64, requires_grad=True)
    tq, tk = torch.tensor(q), torch.tensor(k)
    scheme.bias(range(3), range(3), q=tq, k=tk, learned={"positions": table}, xp=torch).sum().backward()
    assert table.grad is not None
    assert table.grad.abs().sum() > 0


def test_no_queries_or_no_keys_are_an_empty_bias():
    scheme = Cope.example()
    for queries, keys in ((0, 3), (2, 0)):
        q, k = content(0, queries=queries, keys=keys, head_dim=8)
        assert scheme.bias(range(queries), range(keys), q=q, k=k, learned=scheme.initial()).shape == (2, queries, keys)


def test_cost_counts_the_table():
    cost = Cope(heads=3, head_dim=16, positions=20).cost(10)
    assert (cost.parameters, cost.table_bytes) == (320, 0)
    assert cost.operations == 3 * (2 * 10 * 20 * 16 + 12 * 100)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [({"positions": 1}, "positions must be >= 2"), ({"positions": 0}, "positions"), ({"heads": 0}, "heads")],
)
def test_a_wrong_argument_is_named(arguments, words):
    with pytest.raises(InputError, match=words):
        Cope(**{"heads": 2, "head_dim": 4, **arguments})
