"""`generate` under `use_cache`, in every mode that transformers has: against the same without a cache."""

import copy

import pytest
import torch
from reference_rows import row_wise
from tiny_models import WINDOW, tiny
from transformers import DynamicCache, StaticCache

from ordinate.errors import InputError
from ordinate.transformers import PositionCache, use_cache

REGIMES = {"per_row": {}, "frozen": {"regime": "frozen", "length": 60}, "recompute": {"regime": "recompute"}}
# The longer row crosses the window at once, the shorter one on its way.
IDS = torch.randint(3, 100, (2, WINDOW - 2), generator=torch.Generator().manual_seed(2))
PADDED = 7
NEW = 10
MODELS = {"Llama": "dynamic", "Phi3": "longrope", "Gemma3Text": "dynamic"}
MODES = {
    "greedy": {},
    "sampling": {"do_sample": True},
    "beams": {"num_beams": 3},
    "sampled beams": {"num_beams": 3, "do_sample": True, "num_return_sequences": 2},
    "several sequences": {"do_sample": True, "num_return_sequences": 3},
}
WAYS = {
    "dynamic": {},
    "static": {"cache_implementation": "static"},
    "chunked prefill": {"prefill_chunk_size": 11},
    "chunked prefill, static": {"prefill_chunk_size": 11, "cache_implementation": "static"},
}


# Of modes and ways each runs under one regime, and greedy decoding and the first way under all three.
QUICK_MODES = {
    ("sampling", "frozen"),
    ("beams", "per_row"),
    ("sampled beams", "recompute"),
    ("several sequences", "per_row"),
}
QUICK_WAYS = {("static", "recompute"), ("chunked prefill", "frozen"), ("chunked prefill, static", "per_row")}


def pairs(names, all_of, quick):
    """Each name with each regime; slow but for the quick ones."""
    return [
        pytest.param(name, regime, marks=[] if name == all_of or (name, regime) in quick else pytest.mark.slow)
        for name in names
        for regime in REGIMES
    ]


def generated(model, ids=IDS, **settings):
    """Tokens of a padded batch where no other ids are given."""
    mask = torch.ones_like(ids)
    if ids is IDS:
        mask[1, :PADDED] = 0
    torch.manual_seed(0)
    return model.generate(ids, **{"attention_mask": mask, "max_new_tokens": NEW, "do_sample": False, **settings})


@pytest.fixture(scope="module", params=["Llama", "Gemma3Text", pytest.param("Phi3", marks=pytest.mark.slow)])
def model(request):
    return tiny(request.param, MODELS[request.param])


@pytest.mark.parametrize(("mode", "regime"), pairs(MODES, "greedy", QUICK_MODES))
def test_a_cache_changes_no_token(model, mode, regime):
    with use_cache(model, **REGIMES[regime]):
        expected = generated(model, use_cache=False, **MODES[mode])
        assert expected.shape[1] == IDS.shape[1] + NEW
        assert torch.equal(generated(model, **MODES[mode]), expected)


@pytest.mark.parametrize(("way", "regime"), pairs(WAYS, "dynamic", QUICK_WAYS))
def test_every_kind_of_cache_gives_the_same(model, way, regime):
    with use_cache(model, **REGIMES[regime]):
        expected = generated(model, use_cache=False)
        made = generated(model, return_dict_in_generate=True, **WAYS[way])
        assert torch.equal(made.sequences, expected)
        assert isinstance(made.cache, PositionCache)
        there = torch.arange(IDS.shape[1] + NEW - 1)
        assert torch.equal(made.cache.positions, torch.stack([there, (there - PADDED).clamp(min=-1)]))


@pytest.mark.parametrize("regime", REGIMES)
def test_a_padded_row_is_generated_as_alone(model, regime):
    with use_cache(model, **REGIMES[regime]):
        both = generated(model)
        assert torch.equal(generated(model, IDS[:1].clone()), both[:1])
        assert torch.equal(generated(model, IDS[1:, PADDED:].clone()), both[1:, PADDED:])


@pytest.mark.parametrize("regime", ["per_row", "frozen"])
def test_drafted_tokens_are_accepted_as_greedy_would_have_them(model, regime):
    ids = torch.cat([IDS[:1, :20], IDS[:1, :10]], 1)  # it repeats itself, for the look-up
    draft = tiny("Llama", "default", layers=1)
    with use_cache(model, **REGIMES[regime]):
        expected = generated(model, ids)
        for settings in ({"assistant_model": draft}, {"prompt_lookup_num_tokens": 3}, {"assistant_early_exit": 1}):
            assert torch.equal(generated(model, ids, **settings), expected), settings
        # Its own drafts are all right: five at a time are accepted.
        assert torch.equal(generated(model, ids, assistant_model=copy.deepcopy(model)), expected)


def test_drafts_under_recompute_are_refused_past_the_window_alone():
    model = tiny("Llama")
    with use_cache(model, "recompute"):
        ids = IDS[:1, :12].clone()
        settings = {"prompt_lookup_num_tokens": 3}
        assert torch.equal(generated(model, ids, **settings), generated(model, ids))
        with pytest.raises(InputError, match=r"'recompute' cannot check several drafted tokens .* past dynamic_ntk's"):
            generated(model, IDS[:1].clone(), **settings)


@pytest.mark.parametrize("kind", ["dynamic", "longrope"])
def test_recompute_generates_as_transformers_does_without_a_cache(kind):
    model = tiny("Llama", kind)
    expected, beams = (generated(copy.deepcopy(model), use_cache=False, **MODES[mode]) for mode in ("greedy", "beams"))
    with use_cache(model, "recompute"):
        # Of a batch it takes the longest row's length for all: one row each.
        assert torch.equal(generated(model)[:1], expected[:1])
        assert torch.equal(generated(model, num_beams=3)[:1], beams[:1])


@pytest.mark.parametrize("kind", ["dynamic", "longrope"])
def test_per_row_generates_what_the_row_wise_pass_does(kind):
    model = tiny("Llama", kind)
    with row_wise(model) as reference:
        expected = IDS[:1].clone()
        for _ in range(5):
            best = reference(input_ids=expected, use_cache=False).logits[:, -1:].argmax(-1)
            expected = torch.cat([expected, best], 1)
    with use_cache(model):
        assert torch.equal(generated(model, IDS[:1].clone(), max_new_tokens=5), expected)


@pytest.mark.parametrize("regime", REGIMES)
def test_a_conversation_goes_on_from_its_cache(model, regime):
    ids = IDS[:1, :20].clone()
    with use_cache(model, **REGIMES[regime]):
        first = generated(model, ids, max_new_tokens=12, return_dict_in_generate=True)
        turn = torch.cat([first.sequences, IDS[1:, :5]], 1)
        expected = generated(model, turn, max_new_tokens=6)
        assert torch.equal(generated(model, turn, max_new_tokens=6, cache=first.cache), expected)


@pytest.mark.parametrize("regime", REGIMES)
def test_embeddings_in_the_place_of_ids_give_the_same(model, regime):
    with use_cache(model, **REGIMES[regime]):
        expected = generated(model)[:, IDS.shape[1] :]
        mask = torch.ones_like(IDS)
        mask[1, :PADDED] = 0
        embeddings = model.get_input_embeddings()(IDS).detach()
        found = model.generate(inputs_embeds=embeddings, attention_mask=mask, max_new_tokens=NEW, do_sample=False)
        assert torch.equal(found, expected)


def test_quantised_keys_are_turned_as_they_are_read():
    model = tiny("Llama")
    settings = {
        "cache_implementation": "quantized",
        "cache_config": {"backend": "fp8"},
        "return_dict_in_generate": True,
    }
    settings |= {"output_logits": True, "max_new_tokens": 8}
    with use_cache(model):
        exact = generated(model, IDS[:1].clone(), return_dict_in_generate=True, output_logits=True, max_new_tokens=8)
        found = generated(model, IDS[:1].clone(), **settings)
    logits = [torch.cat(made.logits) for made in (found, exact)]
    # The prompt's keys are quantised after they are read; then fp8 has a step of 1/16.
    assert torch.allclose(logits[0][0], logits[1][0], atol=1e-4)
    assert 1e-3 < (logits[0][1] - logits[1][1]).abs().max() < 0.5


def test_transformers_alone_generates_otherwise():
    # What the cached keys were turned by shows in the tokens themselves.
    model = tiny("Llama", weights=0.3)
    cached, whole = (generated(copy.deepcopy(model), IDS[:1].clone(), use_cache=use) for use in (True, False))
    assert not torch.equal(cached, whole)
    assert torch.equal(cached[:, : WINDOW + 1], whole[:, : WINDOW + 1])


def test_a_text_beyond_a_frozen_length_is_refused_before_it_begins():
    model = tiny("Llama")
    with use_cache(model, "frozen", 40):
        settings = {"max_new_tokens": 14}
        with pytest.raises(InputError, match=r"generate may come to 43 tokens, .* frozen at length 40"):
            generated(model, **settings)
        assert generated(model, max_new_tokens=11).shape[1] == 41


@pytest.mark.parametrize("given", [DynamicCache, StaticCache])
def test_a_cache_without_positions_is_refused(given):
    model = tiny("Llama")
    cache = given(config=model.config, **({"max_cache_len": 50} if given is StaticCache else {}))
    with use_cache(model):
        with pytest.raises(InputError, match=f"needs a cache that knows its positions: .* got {given.__name__}"):
            generated(model, cache=cache)
        with pytest.raises(InputError, match="needs a cache that knows its positions"):
            model(input_ids=IDS, cache=cache)
