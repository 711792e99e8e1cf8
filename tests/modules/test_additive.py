"""`AdditiveEncoding`: the scheme's table in embeddings, with what is learned as parameters."""

import copy
import pickle

import numpy as np
import pytest
import torch
from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding

import ordinate
from ordinate.errors import InputError
from ordinate.schemes.learned import LearnedPositions
from ordinate.schemes.rope import Rope
from ordinate.schemes.sinusoidal import Sinusoidal
from ordinate.torch import AdditiveEncoding

SCHEMES = {
    name: ordinate.scheme(name).example() for name in ordinate.schemes() if ordinate.scheme(name).kind == "additive"
}
BY_NAME = pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)


def learned_in_numpy(module):
    return {name: value.detach().double().numpy() for name, value in module.learned.as_mapping().items()}


@BY_NAME
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_it_adds_the_schemes_table(scheme, dtype):
    module = AdditiveEncoding(scheme, dtype=torch.float64, seed=3)
    embeddings = torch.randn(2, 5, scheme.dim).to(dtype)
    positions = torch.tensor([5, 0, 3, 3, 20])
    table = scheme.table(positions.numpy(), learned_in_numpy(module))
    made = module(embeddings, positions)
    assert made.dtype == dtype
    wanted = embeddings.double().numpy() + table
    precision = {torch.float64: 1e-15, torch.float32: 2**-23, torch.bfloat16: 2**-7}[dtype]
    assert np.allclose(made.detach().double().numpy(), wanted, rtol=precision, atol=precision)


@BY_NAME
def test_rows_of_a_batch_have_positions_of_their_own(scheme):
    module, embeddings = AdditiveEncoding(scheme), torch.randn(2, 3, scheme.dim)
    positions = torch.tensor([[0, 1, 2], [7, 0, 9]])
    together = module(embeddings, positions)
    for row in range(2):
        assert torch.equal(together[row], module(embeddings[row], positions[row]))
    assert torch.equal(module(embeddings), module(embeddings, torch.arange(3)))
    assert not torch.equal(together[1], module(embeddings)[1])


@BY_NAME
def test_gradients_agree_with_differences(scheme):
    module = AdditiveEncoding(scheme, dtype=torch.float64)
    embeddings = torch.randn(2, 4, scheme.dim, dtype=torch.float64, requires_grad=True)
    positions = torch.tensor([1, 0, 3, 3])
    names = list(module.learned.as_mapping())

    def call(embeddings, *values):
        tensors = {f"learned.{name}": value for name, value in zip(names, values, strict=True)}
        return torch.func.functional_call(module, tensors, (embeddings, positions))

    values = [value.detach().clone().requires_grad_() for value in module.learned.parameters()]
    assert torch.autograd.gradcheck(call, (embeddings, *values), fast_mode=True)


@pytest.mark.parametrize("combine", ["add", "concat"])
@pytest.mark.parametrize("kind", [Sinusoidal, LearnedPositions])
def test_it_concatenates_where_the_scheme_says_so(kind, combine):
    module = AdditiveEncoding(kind(dim=6, combine=combine))
    embeddings = torch.randn(2, 4, 6)
    made, table = module(embeddings), module.table(torch.arange(4))
    wanted = embeddings + table if combine == "add" else torch.cat([embeddings, table.expand(2, 4, 6)], -1)
    assert torch.equal(made, wanted)


def test_a_learned_table_is_an_embedding_layer():
    module, layer = AdditiveEncoding(LearnedPositions(length=16, dim=4, offset=2)), torch.nn.Embedding(18, 4)
    module.load_state_dict({"learned.table": layer.weight})
    embeddings, positions = torch.randn(3, 16, 4), torch.randperm(16)
    assert torch.equal(module(embeddings, positions), embeddings + layer(positions + 2))
    module(embeddings, positions).sum().backward()
    wanted = torch.zeros(18, 4)
    wanted[2:] = 3
    assert torch.equal(module.learned["table"].grad, wanted)


def test_a_sinusoid_is_marians():
    theirs = MarianSinusoidalPositionalEmbedding(64, 32)
    theirs.weight.data.copy_(theirs.create_weight())
    ours = AdditiveEncoding(Sinusoidal(32, layout="concatenated"))
    assert torch.allclose(ours.table(torch.arange(64)), theirs(torch.Size([1, 64])), rtol=0, atol=1e-6)


def test_a_fixed_table_is_rounded_once_and_stays_float32_under_casts():
    scheme = Sinusoidal(32)
    positions = torch.tensor([0, 1, 8191, 8192, 131071])
    wanted = torch.from_numpy(scheme.table(positions.numpy()).astype(np.float32))
    for module in (AdditiveEncoding(scheme), AdditiveEncoding(scheme).half(), AdditiveEncoding(scheme).bfloat16()):
        assert torch.equal(module.table(positions), wanted)
        assert torch.equal(module.table(positions[:3]), wanted[:3])
        with torch.autocast("cpu", torch.bfloat16):
            assert torch.equal(module.table(positions), wanted)
    assert torch.equal(
        AdditiveEncoding(scheme)(torch.zeros(5, 32, dtype=torch.float64), positions),
        torch.from_numpy(scheme.table(positions.numpy())),
    )


@BY_NAME
def test_state_dicts_hold_what_is_learned_and_nothing_else(scheme):
    module = AdditiveEncoding(scheme)
    module(torch.zeros(3, scheme.dim))
    state = module.state_dict()
    assert set(state) == {f"learned.{name}" for name in scheme.parameters()}
    other = AdditiveEncoding(scheme, seed=1)
    other.load_state_dict(state, strict=True)
    embeddings = torch.randn(3, scheme.dim)
    for same in (other, copy.deepcopy(module), pickle.loads(pickle.dumps(module))):  # noqa: S301
        assert torch.equal(same(embeddings), module(embeddings))


@BY_NAME
def test_a_module_built_on_meta_is_right_once_reset(scheme):
    with torch.device("meta"):
        module = AdditiveEncoding(scheme, seed=5)
    assert all(value.is_meta for value in module.parameters())
    module.to_empty(device="cpu")
    module.reset_parameters()
    embeddings = torch.randn(3, scheme.dim)
    assert torch.equal(module(embeddings), AdditiveEncoding(scheme, seed=5)(embeddings))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_what_is_learned_takes_the_modules_dtype(dtype):
    module, embeddings = AdditiveEncoding(LearnedPositions(length=16, dim=4)), torch.randn(2, 5, 4)
    start = module.learned["table"].detach().clone()
    module.to(dtype)
    assert module.learned["table"].dtype == dtype
    assert torch.equal(module(embeddings.to(dtype)), embeddings.to(dtype) + start[:5].to(dtype))


def test_a_position_past_a_learned_table_is_refused():
    module = AdditiveEncoding(LearnedPositions(length=16, dim=4))
    with pytest.raises(InputError, match="position 16 is outside the learned table of 16 positions"):
        module(torch.zeros(17, 4))


@pytest.mark.parametrize(
    "shape, positions, message",
    [
        ((2, 3, 8), torch.arange(4), r"positions must have one entry a token, \[3\] or \[2, 3\], got \[4\]"),
        ((2, 3, 8), torch.arange(3)[None], r"got \[1, 3\]"),
        ((2, 3, 8), torch.arange(3.0), "positions must be int32 or int64, got float32"),
        ((2, 3, 6), torch.arange(3), "embeddings must be 8 wide to add sinusoidal, got 6"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(shape, positions, message):
    with pytest.raises(InputError, match=message):
        AdditiveEncoding(Sinusoidal(8))(torch.zeros(shape), positions)


def test_other_schemes_and_dtypes_are_refused():
    with pytest.raises(InputError, match="scheme must be an additive one, got Rope"):
        AdditiveEncoding(Rope(8))
    with pytest.raises(InputError, match=r"dtype must be float32 or float64, got torch\.float16"):
        AdditiveEncoding(Sinusoidal(8)).table(torch.arange(3), torch.float16)


@BY_NAME
def test_empty_batches_stay_empty(scheme):
    module = AdditiveEncoding(scheme)
    for shape in ((0, 4), (2, 0), (0,)):
        assert module(torch.zeros(*shape, scheme.dim)).shape == (*shape, scheme.dim)
