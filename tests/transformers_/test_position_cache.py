"""`PositionCache`: what it knows of its entries, what it refuses, and its operations."""

import copy

import pytest
import torch
from tiny_models import WINDOW, tiny
from transformers import DynamicCache, StaticCache

from ordinate.errors import InputError
from ordinate.transformers import PositionCache, use_cache

# float32 in another order; logits go up to 6.
ROUNDING = 1e-4
IDS = torch.randint(3, 100, (2, 44), generator=torch.Generator().manual_seed(3))
REGIMES = {"per_row": {}, "frozen": {"regime": "frozen", "length": 50}, "recompute": {"regime": "recompute"}}


def apart(found, expected):
    return float((found - expected).abs().max())


def filled(model, ids=IDS):
    """A cache with the first entries of a text, in two chunks."""
    cache = model(input_ids=ids[:, :20], use_cache=True).cache
    return model(input_ids=ids[:, 20:36], cache=cache).cache


@pytest.mark.parametrize(
    ("made", "given", "message"),
    [
        (({}, {}), ({}, {"regime": "recompute"}), r"kept: unrotated and rotated; regime: PerRow\(\) and Recompute\(\)"),
        (
            ({}, {"regime": "frozen", "length": 50}),
            ({}, {"regime": "frozen", "length": 60}),
            r"regime: Frozen\(fixed=50\) and Frozen\(fixed=60\)",
        ),
        (({}, {}), ({"max_position_embeddings": 40}, {}), "window: 32 and 40"),
        (({"kind": "yarn"}, {}), ({"kind": "default"}, {}), "stretch: .* and None"),
    ],
)
@torch.no_grad()
def test_a_cache_made_with_something_else_is_refused_by_what_differs(made, given, message):
    (ours, regime), (theirs, another) = made, given
    with use_cache(tiny("Llama", **ours) if "kind" not in ours else tiny("Llama", ours["kind"]), **regime):
        pass
    model = tiny("Llama", ours.get("kind", "dynamic"))
    with use_cache(model, **regime):
        cache = filled(model)
    kind = theirs.get("kind", "dynamic")
    other = tiny("Llama", kind, **{name: value for name, value in theirs.items() if name != "kind"})
    with use_cache(other, **another), pytest.raises(InputError, match=f"made with something else: .*{message}"):
        other(input_ids=IDS[:, 36:], cache=cache)


@torch.no_grad()
def test_a_cache_of_other_layers_is_refused():
    model, other = tiny("Llama"), tiny("Gemma3Text")
    with use_cache(model):
        cache = filled(model)
    with (
        use_cache(other),
        pytest.raises(InputError, match="layers full_attention and sliding_attention, full_attention"),
    ):
        other(input_ids=IDS[:, 36:], cache=cache)


@torch.no_grad()
def test_a_cache_outlives_the_use_that_made_it():
    model = tiny("Llama")
    with use_cache(model):
        expected = model(input_ids=IDS).logits[:, 36:]
        cache = filled(model)
    with use_cache(model):
        assert apart(model(input_ids=IDS[:, 36:], cache=cache).logits, expected) < ROUNDING


@pytest.mark.parametrize("regime", REGIMES)
@torch.no_grad()
def test_a_model_that_is_not_under_use_cache_cannot_read_it(regime):
    model = tiny("Llama")
    with use_cache(model, **REGIMES[regime]):
        cache = filled(model)
    with pytest.raises(
        InputError, match=r"must be read by a model under use_cache, .* 44 keys and 36 positions in layer 0"
    ):
        model(input_ids=IDS[:, 36:], cache=cache)


@pytest.mark.parametrize(
    ("positions", "message"),
    [
        ([35, 36, 37], "row 0 of the cache goes on at position 36, got 35 for token 0 of the call, which is taken"),
        ([36, 36, 37], "position 37, got 36 for token 1 of the call, which is taken"),
        (
            [36, 38, 39],
            "position 37, got 38 for token 1 of the call, which leaves a gap: declare it by the cache's skip",
        ),
        ([0, 1, 2], "goes on at position 36, got 0"),
    ],
)
@pytest.mark.parametrize("kind", ["dynamic", "yarn"])
@torch.no_grad()
def test_positions_that_collide_or_leave_a_gap_are_refused(kind, positions, message):
    model = tiny("Llama", kind)
    with use_cache(model):
        cache = filled(model)
        with pytest.raises(InputError, match=message):
            model(input_ids=IDS[:, 36:39], position_ids=torch.tensor([positions]), cache=cache)
        # The refused call has left nothing behind.
        assert cache.entries == cache.get_seq_length() == 36
        model(input_ids=IDS[:, 36:39], position_ids=torch.arange(36, 39)[None], cache=cache)


@torch.no_grad()
def test_a_gap_that_is_declared_is_kept():
    model = tiny("Llama", "default")
    places = torch.cat([torch.arange(36), torch.arange(46, 54)])[None]
    expected = model(
        input_ids=IDS, attention_mask=torch.ones_like(IDS), position_ids=places.expand(2, -1), use_cache=False
    ).logits
    with use_cache(model):
        cache = filled(model)
        cache.skip(10)
        found = model(input_ids=IDS[:, 36:], cache=cache).logits
    assert torch.equal(cache.positions, places.expand(2, -1))
    assert apart(found, expected[:, 36:]) < ROUNDING
    with pytest.raises(InputError, match="tokens must be an integer >= 1"):
        cache.skip(0)


@torch.no_grad()
def test_a_text_may_begin_anywhere():
    model = tiny("Llama", "default")
    with use_cache(model):
        cache = model(input_ids=IDS[:, :4], position_ids=torch.arange(7, 11)[None], use_cache=True).cache
        model(input_ids=IDS[:, 4:6], cache=cache)
    assert cache.positions[0].tolist() == list(range(7, 13))


@pytest.mark.parametrize("seen", [8, 43, 45])
@torch.no_grad()
def test_a_mask_covers_the_cache_and_the_call(seen):
    model = tiny("Llama")
    with use_cache(model):
        cache = filled(model)
        with pytest.raises(InputError, match=rf"cover the 36 entries of the cache and 8 tokens, .* got \[2, {seen}\]"):
            model(input_ids=IDS[:, 36:], attention_mask=torch.ones(2, seen, dtype=torch.int64), cache=cache)


@torch.no_grad()
def test_rows_are_as_many_as_before():
    model = tiny("Llama")
    with use_cache(model):
        cache = filled(model)
        with pytest.raises(InputError, match="the cache has 2 rows, got a batch of 1"):
            model(input_ids=IDS[:1, 36:], cache=cache)


@pytest.mark.parametrize("positions", [torch.arange(7)[None], torch.arange(8).expand(3, 8), torch.arange(-1, 7)[None]])
@torch.no_grad()
def test_positions_fit_the_text(positions):
    model = tiny("Llama")
    with use_cache(model), pytest.raises(InputError, match="position_ids must be"):
        model(input_ids=IDS[:, :8], position_ids=positions)


@torch.no_grad()
def test_a_cache_that_a_pass_failed_over_is_refused():
    model = tiny("Llama")
    with use_cache(model):
        cache = filled(model)
        handle = model.model.layers[1].register_forward_pre_hook(lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            model(input_ids=IDS[:, 36:40], cache=cache)
        handle.remove()
        with pytest.raises(InputError, match="a pass over this cache has failed"):
            model(input_ids=IDS[:, 40:], cache=cache)


@pytest.mark.parametrize("held", ["dynamic", "static"])
@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("kind", ["dynamic", "longrope"])
@torch.no_grad()
def test_a_cache_is_rewound_over_the_window_and_goes_on(kind, regime, held):
    model = tiny("Llama", kind)
    other = torch.cat([IDS[:, : WINDOW - 5], IDS[:, :9]], 1)
    with use_cache(model, **REGIMES[regime]) as caching:
        expected = model(input_ids=other, use_cache=False).logits
        cache = caching.new_cache(
            DynamicCache(config=model.config)
            if held == "dynamic"
            else StaticCache(config=model.config, max_cache_len=50)
        )
        model(input_ids=IDS, cache=cache)
        cache.crop(WINDOW - 5 - IDS.shape[1])
        assert cache.entries == cache.get_seq_length() == WINDOW - 5
        found = [model(input_ids=part, cache=cache).logits for part in other[:, WINDOW - 5 :].split(2, 1)]
        assert apart(found[-1][:, -1], expected[:, -1]) < ROUNDING
        # Within the window again, and the first of what follows.
        inside = model(input_ids=other[:, : WINDOW - 3], use_cache=False).logits[:, -2:]
        assert apart(found[0], inside) < ROUNDING


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("family", ["Llama", "Gemma3Text"])
@torch.no_grad()
def test_rows_are_reordered_repeated_and_chosen_with_their_positions(family, regime):
    model = tiny(family)
    mask = torch.ones(2, 36, dtype=torch.int64)
    mask[1, :9] = 0
    order = torch.tensor([1, 0, 1, 1])
    with use_cache(model, **REGIMES[regime]):
        cache = model(input_ids=IDS[:, :36], attention_mask=mask, use_cache=True).cache
        forks = [copy.deepcopy(cache) for _ in range(3)]
        forks[0].batch_repeat_interleave(2)
        forks[0].reorder_cache(order)  # rows 0, 0, 1, 1
        forks[1].batch_select_indices(torch.tensor([1]))
        forks[2].reorder_cache(torch.tensor([1, 0]))
        chosen = ([0, 0, 0, 0], [1], [1, 0])
        for fork, rows in zip(forks, chosen, strict=True):
            assert torch.equal(fork.positions, cache.positions[rows])
        for fork, rows in zip(forks, chosen, strict=True):
            there = torch.cat([mask[rows], torch.ones(len(rows), 3, dtype=torch.int64)], 1)
            ids = torch.cat([IDS[rows, :36], IDS[:1, :3].expand(len(rows), -1)], 1)
            expected = model(input_ids=ids, attention_mask=there, use_cache=False).logits[:, -1]
            found = model(input_ids=ids[:, 36:], attention_mask=there, cache=fork).logits[:, -1]
            assert apart(found, expected) < ROUNDING


@pytest.mark.parametrize("held", ["dynamic", "static"])
@torch.no_grad()
def test_a_cache_that_is_reset_begins_again(held):
    model = tiny("Gemma3Text")
    with use_cache(model) as caching:
        expected = model(input_ids=IDS, use_cache=False).logits
        cache = caching.new_cache(None if held == "dynamic" else StaticCache(config=model.config, max_cache_len=50))
        model(input_ids=IDS[:, 5:20], cache=cache)
        cache.reset()
        assert cache.entries == 0
        found = [model(input_ids=part, cache=cache).logits for part in IDS.split(8, 1)]
        assert apart(torch.cat(found, 1), expected) < ROUNDING


@torch.no_grad()
def test_a_cache_says_what_turned_its_keys():
    model = tiny("Llama")
    with use_cache(model, "recompute"):
        cache = filled(model)
        assert cache.turned("full_attention").unique().tolist() == [36]
        assert torch.equal(cache.text[..., 0], IDS[:, :36])
    with use_cache(model, "frozen", 20):
        assert model(input_ids=IDS[:, :20], use_cache=True).cache.turned("full_attention").unique().tolist() == [0]


def test_a_cache_is_made_over_an_empty_one():
    model = tiny("Llama")
    plain = model(input_ids=IDS, use_cache=True).cache
    with use_cache(model) as caching:
        with pytest.raises(InputError, match=r"DynamicCache must be empty .* got 44 entries"):
            caching.new_cache(plain)
        with pytest.raises(InputError, match="PositionCache must be empty and without stamps"):
            caching.new_cache(caching.new_cache())
        cache = caching.new_cache()
    assert isinstance(cache, PositionCache)
    assert cache.positions.shape == (0, 0)
    assert not cache.is_compileable


@pytest.mark.parametrize("places", [45, 200])
@pytest.mark.parametrize("cuts", [[1] * 44, [40, 3, 1]], ids=["one by one", "a last one alone"])
@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("scaling", ["default", "dynamic"])
@torch.no_grad()
def test_a_query_that_comes_alone_and_without_a_mask_sees_no_empty_place_of_a_static_cache(
    scaling, regime, cuts, places
):
    model = tiny("Llama", scaling)
    model.set_attn_implementation("sdpa")  # which leaves masks out where it may; eager attention never does
    with use_cache(model, **REGIMES[regime]) as caching:
        expected = model(input_ids=IDS, use_cache=False).logits[:, -1]
        cache = caching.new_cache(StaticCache(config=model.config, max_cache_len=places))
        found = [model(input_ids=part, cache=cache).logits for part in IDS.split(cuts, 1)][-1][:, -1]
        assert apart(found, expected) < ROUNDING
        assert not cache.is_compileable


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("scaling", ["default", "dynamic"])
@torch.no_grad()
def test_padding_in_the_cache_stays_hidden_from_calls_without_a_mask(scaling, regime):
    model = tiny("Llama", scaling)
    model.set_attn_implementation("sdpa")  # which leaves masks out where it may; eager attention never does
    mask = torch.ones_like(IDS)
    mask[1, :9] = 0
    with use_cache(model, **REGIMES[regime]):
        expected = model(input_ids=IDS, attention_mask=mask, use_cache=False).logits[:, -1]
        cache = model(input_ids=IDS[:, :40], attention_mask=mask[:, :40], use_cache=True).cache
        found = [model(input_ids=part, cache=cache).logits for part in IDS[:, 40:].split([3, 1], 1)][-1][:, -1]
        assert apart(found, expected) < ROUNDING
