"""Transformer-XL against the paper's four terms, XLNet's code, and the shift that others get wrong."""

import numpy as np
import pytest
import torch
from transformers import XLNetConfig, XLNetModel

import ordinate
from ordinate.errors import InputError

TransformerXL = ordinate.scheme("transformer_xl")


def sinusoid(distance, dim):
    turns = distance * 10000.0 ** (-2 * np.arange((dim + 1) // 2) / dim)
    return np.concatenate([np.sin(turns), np.cos(turns)[: dim // 2]])


@pytest.mark.parametrize("dim", [0, 5])
def test_bias_is_three_of_the_papers_four_terms(dim):
    scheme = TransformerXL(heads=2, head_dim=4, dim=dim)
    learned = scheme.initial(1)
    generator = np.random.default_rng(0)
    queries, keys = [3, 4, 900], [0, 3, 4, 7]
    q, k = generator.normal(size=(3, 2, 4)), generator.normal(size=(4, 2, 4))
    bias = scheme.bias(queries, keys, q=q, k=k, learned=learned)
    assert bias.shape == (2, 3, 4)
    for h in range(2):
        for i, place in enumerate(queries):
            for j, other in enumerate(keys):
                r = sinusoid(place - other, dim or 8) @ learned["key_projection"][:, h]
                b, c, d = q[i, h] @ r, learned["u"][h] @ k[j, h], learned["v"][h] @ r
                assert bias[h, i, j] == pytest.approx((b + c + d) / 2, rel=1e-11, abs=1e-13)


@pytest.mark.parametrize("memory", [0, 3])
def test_attention_is_xlnets(memory):
    torch.manual_seed(0)
    config = XLNetConfig(vocab_size=8, d_model=12, n_layer=1, n_head=3, d_inner=4, dropout=0.0)
    model = XLNetModel(config).eval()
    layer = model.layer[0].rel_attn
    queries, keys, heads, head_dim = 6, 6 + memory, 3, 4
    with torch.no_grad():
        for name in ("r_w_bias", "r_r_bias", "r", "k", "q", "v"):
            getattr(layer, name).normal_()
        q, k, v = (torch.randn(tokens, 2, heads, head_dim) for tokens in (queries, keys, keys))
        r = torch.einsum("ibh,hnd->ibnd", model.relative_positional_encoding(queries, keys, bsz=2), layer.r)
        theirs = layer.rel_attn_core(q, k, v, r, output_attentions=True)[1].permute(2, 3, 0, 1).numpy()
    scheme = TransformerXL(heads=heads, head_dim=head_dim)
    learned = {
        "u": layer.r_w_bias.detach().numpy(),
        "v": layer.r_r_bias.detach().numpy(),
        "key_projection": layer.r.detach().numpy(),
    }
    q, k = (x.transpose(0, 1).double().numpy() for x in (q, k))
    bias = scheme.bias(range(memory, memory + queries), range(keys), q=q, k=k, learned=learned)
    logits = np.einsum("bqhd,bkhd->bhqk", q, k) * scheme.softmax_scale + bias
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    np.testing.assert_allclose(weights / weights.sum(-1, keepdims=True), theirs, atol=2e-5)


def test_the_shift_puts_each_score_at_its_distance():
    # scores of query i with distances 2, 1, 0; the shift of the authors gives [3 0 4], [5 6 0], [7 8 9], and
    # the often copied faulty one [0 1 2], [3 0 4], [5 6 0]. What counts is on and below the diagonal.
    scores = np.array([[1.0, 2, 3], [4, 5, 6], [7, 8, 9]])
    scheme = TransformerXL(heads=1, head_dim=3, dim=4, softmax_scale=1.0)
    sinusoids = np.stack([sinusoid(n, 4) for n in (2, 1, 0)])
    learned = {
        "u": np.zeros((1, 3)),
        "v": np.zeros((1, 3)),
        "key_projection": (np.linalg.pinv(sinusoids) @ np.eye(3))[:, None, :],
    }
    bias = scheme.bias(range(3), range(3), q=scores[:, None], k=np.zeros((3, 1, 3)), learned=learned)[0]
    np.testing.assert_allclose(np.tril(bias), [[3, 0, 0], [5, 6, 0], [7, 8, 9]], atol=1e-10)


def test_memories_start_at_their_own_distance():
    # two memories and three queries: distances 2 1 0, 3 2 1 0, 4 3 2 1 0
    scheme = TransformerXL.example()
    learned = scheme.initial()
    generator = np.random.default_rng(0)
    q, k = generator.normal(size=(5, 2, 8)), generator.normal(size=(5, 2, 8))
    whole = scheme.bias(range(5), range(5), q=q, k=k, learned=learned)
    part = scheme.bias([2, 3, 4], range(5), q=q[2:], k=k, learned=learned)
    np.testing.assert_allclose(part, whole[:, 2:], atol=1e-15)


def test_distances_past_the_clamp_count_as_the_clamp():
    free, clamped = TransformerXL(heads=2, head_dim=4), TransformerXL(heads=2, head_dim=4, clamp_length=3)
    learned = free.initial()
    generator = np.random.default_rng(0)
    q, k = generator.normal(size=(1, 2, 4)), generator.normal(size=(1, 2, 4))
    for query, key, same in ((0, 9, (0, 3)), (9, 0, (3, 0)), (2, 0, (2, 0))):
        expected = free.bias([same[0]], [same[1]], q=q, k=k, learned=learned)
        np.testing.assert_array_equal(clamped.bias([query], [key], q=q, k=k, learned=learned), expected)


def test_numpy_and_torch_agree_and_the_gradient_is_the_finite_difference():
    scheme = TransformerXL(heads=2, head_dim=3, dim=4)
    learned = scheme.initial(3)
    generator = np.random.default_rng(0)
    inputs = {**learned, "q": generator.normal(size=(2, 2, 2, 3)), "k": generator.normal(size=(2, 4, 2, 3))}
    weights = generator.normal(size=(2, 2, 2, 4))

    def bias(values, xp):
        own = {name: values[name] for name in learned}
        return scheme.bias([5, 1], [0, 1, 5, 50], q=values["q"], k=values["k"], learned=own, xp=xp)

    tensors = {name: torch.tensor(value, requires_grad=True) for name, value in inputs.items()}
    result = bias(tensors, torch)
    np.testing.assert_allclose(result.detach().numpy(), bias(inputs, np), atol=1e-12)
    (result * torch.tensor(weights)).sum().backward()
    for name, value in inputs.items():
        for place in list(np.ndindex(value.shape))[::3]:
            sides = []
            for step in (1e-6, -1e-6):
                moved = value.copy()
                moved[place] += step
                sides.append((bias({**inputs, name: moved}, np) * weights).sum())
            expected = (sides[0] - sides[1]) / 2e-6
            assert tensors[name].grad[place].item() == pytest.approx(expected, rel=1e-5, abs=1e-8), (name, place)


def test_bfloat16_content_is_widened():
    scheme = TransformerXL.example()
    learned = {name: torch.tensor(value).bfloat16() for name, value in scheme.initial().items()}
    q = k = torch.randn(2, 2, 8, generator=torch.Generator().manual_seed(0)).bfloat16()
    assert scheme.bias([0, 1], [0, 1], q=q, k=k, learned=learned, xp=torch).dtype == torch.float32


def test_no_queries_or_no_keys_are_an_empty_bias():
    scheme = TransformerXL.example()
    for queries, keys in ((0, 3), (2, 0)):
        q, k = np.zeros((5, queries, 2, 8)), np.zeros((5, keys, 2, 8))
        assert scheme.bias(range(queries), range(keys), q=q, k=k, learned=scheme.initial()).shape == (
            5,
            2,
            queries,
            keys,
        )


def test_cost_counts_u_v_and_the_projection():
    cost = TransformerXL(heads=10, head_dim=41, dim=410).cost(100)
    assert cost.parameters == 2 * 410 + 410 * 410
    assert cost.table_bytes == 4 * 199 * 410
    products = 2 * 199 * 410 * 410 + 100 * 410 + 2 * 100 * 199 * 410 + 2 * 100 * 410
    assert cost.operations == products + 2 * 10 * 100 * 100


def test_it_starts_from_the_authors_deviation():
    learned = TransformerXL(heads=64, head_dim=64, dim=256).initial()
    assert learned["u"].std() == pytest.approx(0.02, rel=0.05)
    assert learned["v"].std() == pytest.approx(0.02, rel=0.05)
    assert learned["key_projection"].std() == pytest.approx(1 / 16, rel=0.02)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"heads": 0}, "heads"),
        ({"head_dim": 1.5}, "head_dim"),
        ({"dim": -1}, "dim"),
        ({"base": 0.0}, "base"),
        ({"clamp_length": -1}, "clamp_length"),
    ],
)
def test_a_wrong_argument_is_named(arguments, word):
    with pytest.raises(InputError, match=word):
        TransformerXL(**{"heads": 2, "head_dim": 4, **arguments})
