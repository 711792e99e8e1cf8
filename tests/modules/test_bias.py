"""`PositionBias`: the scheme's bias in PyTorch, with what is learned as parameters."""

import copy
import pickle

import numpy as np
import pytest
import torch
from transformers import BloomConfig, T5Config
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.t5.modeling_t5 import T5Attention

import ordinate
from ordinate.errors import InputError
from ordinate.schemes.alibi import Alibi
from ordinate.schemes.sinusoidal import Sinusoidal
from ordinate.schemes.t5 import T5
from ordinate.torch import PositionBias

SCHEMES = {name: ordinate.scheme(name).example() for name in ordinate.schemes() if ordinate.scheme(name).kind == "bias"}
BY_NAME = pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
QUERY, KEY = torch.tensor([9, 2, 70]), torch.tensor([0, 1, 2, 30, 4])


def content(scheme, batch=(), dtype=torch.float64):
    """q and k where the scheme needs them."""
    if scheme.needs != "content":
        return {}
    torch.manual_seed(0)
    shape = (scheme.heads, scheme.head_dim)
    return {"q": torch.randn(*batch, 3, *shape, dtype=dtype), "k": torch.randn(*batch, 5, *shape, dtype=dtype)}


def perturbed(scheme, dtype=torch.float64):
    """A module whose parameters are nothing special: several schemes start from zeros."""
    module = PositionBias(scheme, dtype=dtype)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for value in module.parameters():
            value.add_(torch.rand(value.shape, generator=generator, dtype=dtype) / 4)
    return module


def reference(module, query, key, given):
    learned = {name: value.detach().double().numpy() for name, value in module.learned.as_mapping().items()}
    arrays = {name: value.double().numpy() for name, value in given.items()}
    return module.scheme.bias(query.numpy(), key.numpy(), learned=learned, **arrays)


@BY_NAME
def test_it_is_the_schemes_bias(scheme):
    module, given = perturbed(scheme), content(scheme)
    made, wanted = module(QUERY, KEY, **given), reference(module, QUERY, KEY, given)
    assert made.shape == wanted.shape == (scheme.heads, 3, 5)
    assert made.dtype == (torch.float64 if scheme.parameters() else torch.float32)
    assert np.allclose(made.detach(), wanted, rtol=1e-12 if scheme.parameters() else 2**-24, atol=1e-12)


@BY_NAME
def test_rows_of_a_batch_have_positions_and_content_of_their_own(scheme):
    module, given = perturbed(scheme), content(scheme, (2,))
    query, key = torch.stack([QUERY, QUERY + 3]), torch.stack([KEY, KEY.flip(0)])
    made = module(query, key, **given)
    assert made.shape == (2, scheme.heads, 3, 5)
    for row in range(2):
        alone = {name: value[row] for name, value in given.items()}
        assert np.allclose(made[row].detach(), reference(module, query[row], key[row], alone), rtol=1e-6, atol=1e-7)


@BY_NAME
def test_gradients_agree_with_differences(scheme):
    module, given = perturbed(scheme), content(scheme)
    names = list(module.learned.as_mapping())
    if not names:
        assert not module(QUERY, KEY, **given).requires_grad
        return

    def call(*values):
        tensors = {f"learned.{name}": value for name, value in zip(names, values, strict=False)}
        inner = dict(zip(given, values[len(names) :], strict=True))
        return torch.func.functional_call(module, tensors, (QUERY, KEY), inner)

    values = [value.detach().clone().requires_grad_() for value in (*module.learned.parameters(), *given.values())]
    assert torch.autograd.gradcheck(call, values, fast_mode=True)


@BY_NAME
def test_no_parameter_is_without_a_gradient(scheme):
    module = perturbed(scheme)
    module(QUERY, KEY, **content(scheme)).square().sum().backward() if scheme.parameters() else None
    assert all(value.grad is not None and value.grad.abs().sum() > 0 for value in module.parameters())


@BY_NAME
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_computes_in_float32(scheme, dtype):
    module, given = perturbed(scheme).to(dtype), content(scheme, dtype=dtype)
    query, key = QUERY + 4000, KEY + 4000
    made = module(query, key, **given)
    assert made.dtype == torch.float32
    assert np.allclose(made.detach(), reference(module, query, key, given), rtol=1e-4, atol=1e-4)


@BY_NAME
def test_state_dicts_hold_what_is_learned_and_nothing_else(scheme):
    module, given = perturbed(scheme), content(scheme)
    state = module.state_dict()
    assert set(state) == {f"learned.{name}" for name in scheme.parameters()}
    other = PositionBias(scheme, seed=1, dtype=torch.float64)
    other.load_state_dict(state, strict=True)
    for same in (other, copy.deepcopy(module), pickle.loads(pickle.dumps(module))):  # noqa: S301
        assert torch.equal(same(QUERY, KEY, **given), module(QUERY, KEY, **given))


@BY_NAME
def test_a_module_built_on_meta_is_right_once_reset(scheme):
    with torch.device("meta"):
        module = PositionBias(scheme, seed=5)
    module.to_empty(device="cpu")
    module.reset_parameters()
    for name, value in scheme.initial(5).items():
        assert np.array_equal(module.learned[name].detach().numpy(), value.astype(np.float32))


def test_a_seed_gives_the_same_start_each_time():
    one, same, other = (PositionBias(T5(heads=4), seed=seed).learned["table"] for seed in (0, 0, 1))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


@pytest.mark.parametrize("decoder", [True, False])
def test_t5_is_transformers_t5(decoder):
    config = T5Config(d_model=32, num_heads=4, d_kv=8, is_decoder=decoder)
    theirs = T5Attention(config, has_relative_attention_bias=True)
    module = PositionBias(T5(heads=4, bidirectional=not decoder))
    module.load_state_dict({"learned.table": theirs.relative_attention_bias.weight})
    wanted = theirs.compute_bias(300, 300)[0]
    made = module(torch.arange(300), torch.arange(300))
    if decoder:
        past = torch.ones(300, 300).tril().bool()
        made, wanted = made[:, past], wanted[:, past]
    assert torch.equal(made, wanted)


@pytest.mark.parametrize("heads", [4, 6, 12])
def test_alibi_is_blooms_but_for_a_constant_a_row(heads):
    mask = torch.ones(1, 20)
    config = BloomConfig(n_head=heads)
    theirs = build_alibi_tensor(mask, config.n_head, torch.float32).view(heads, 1, 20)
    made = PositionBias(Alibi(heads=heads))(torch.arange(20), torch.arange(20))
    past = torch.ones(20, 20).tril().bool()
    softmax = [torch.where(past, bias, -torch.inf).softmax(-1) for bias in (made, theirs.expand(heads, 20, 20))]
    assert torch.allclose(*softmax, atol=1e-6)


def test_a_fixed_bias_stays_float32_under_casts():
    wanted = torch.from_numpy(Alibi(heads=6).bias(range(300), range(300)).astype(np.float32))
    positions = torch.arange(300)
    for module in (PositionBias(Alibi(heads=6)), PositionBias(Alibi(heads=6)).half()):
        with torch.autocast("cpu", torch.bfloat16):
            assert torch.equal(module(positions, positions), wanted)


def test_distances_that_are_far_apart_cost_nothing():
    far = torch.tensor([0, 2**40])
    bias = PositionBias(T5(heads=1))(far, far)
    assert bias.shape == (1, 2, 2)
    assert bias[0, 0, 0] == bias[0, 1, 1]


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"key_positions": [0, 1]}, "key_positions must be a torch tensor, got list"),
        ({"query_positions": torch.arange(3.0)}, "query_positions must be int32 or int64, got float32"),
        ({"key_positions": KEY[None]}, r"got \[3\] and \[1, 5\]"),
        ({"query_positions": QUERY[None], "key_positions": KEY.expand(2, 5)}, r"got \[1, 3\] and \[2, 5\]"),
        ({"query_positions": torch.tensor(3)}, r"got \[\] and \[5\]"),
        ({"q": torch.zeros(3, 4, 8)}, "alibi does not use q or k, got q given, k missing"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        PositionBias(Alibi(heads=4))(**{"query_positions": QUERY, "key_positions": KEY} | arguments)


def test_content_is_asked_for_and_checked():
    module = PositionBias(SCHEMES["shaw"])
    with pytest.raises(InputError, match="shaw needs both q and k, got q missing, k missing"):
        module(QUERY, KEY)
    given = content(module.scheme, (1,))
    with pytest.raises(InputError, match=r"q must have shape \[2, tokens, heads, head_dim\], got \[1, 3, "):
        module(QUERY.expand(2, 3), KEY.expand(2, 5), **given)


def test_other_schemes_are_refused():
    with pytest.raises(InputError, match="scheme must be a bias, got Sinusoidal"):
        PositionBias(Sinusoidal(8))


@BY_NAME
def test_empty_batches_stay_empty(scheme):
    given = {name: value[:0] for name, value in content(scheme, (1,)).items()}
    assert PositionBias(scheme)(QUERY.expand(0, 3), KEY.expand(0, 5), **given).shape == (0, scheme.heads, 3, 5)


@pytest.mark.parametrize("name", ["fire", "cope", "shaw", "deberta", "transformer_xl", "kerple"])
def test_autocast_does_not_reach_the_formula_of_a_bias(name):
    scheme = ordinate.scheme(name).example()
    module = PositionBias(scheme, seed=1)
    generator = torch.Generator().manual_seed(0)
    content = {}
    if scheme.needs == "content":
        for part, tokens in (("q", 4), ("k", 9)):
            content[part] = torch.randn(tokens, scheme.heads, scheme.head_dim, generator=generator)
    positions = torch.arange(5, 9), torch.arange(9)
    expected = module(*positions, **content)
    with torch.autocast("cpu", torch.bfloat16):
        found = module(*positions, **content)
    assert found.dtype == torch.float32
    assert torch.equal(found, expected)
