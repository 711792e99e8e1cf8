"""`use_cache`: every way of cutting a text, against row-wise passes and full passes made without Ordinate."""

import copy

import pytest
import torch
import transformers
from reference_rows import llama_rows, row_wise
from tiny_models import FAMILIES, WINDOW, rope, tiny
from transformers import AutoModelForCausalLM, DynamicCache, StaticCache

from ordinate.errors import InputError
from ordinate.transformers import PositionCache, accelerate, use_cache
from ordinate.transformers.cache import PositionCache as FromModule

# float32 in another order; logits go up to 6.
ROUNDING = 1e-4
TOKENS = 44
IDS = torch.randint(3, 100, (2, TOKENS), generator=torch.Generator().manual_seed(1))
CHUNKS = (1, 7, 31, 32, 33, TOKENS)
REGIMES = {"per_row": {}, "frozen": {"regime": "frozen", "length": 50}, "recompute": {"regime": "recompute"}}
BY_LENGTH = ("dynamic", "longrope")
# The rest are of the same making.
QUICK = ("Llama", "Gemma3Text", "Cohere", "DeepseekV3")
# One regime runs for each quick family, and all of them for Llama; the rest of the product is of the same making.
QUICK_PAIRS = {("Gemma3Text", "per_row"), ("Cohere", "frozen"), ("DeepseekV3", "recompute")}
PAIRS = [
    pytest.param(family, regime, marks=[] if family == "Llama" or (family, regime) in QUICK_PAIRS else pytest.mark.slow)
    for family in FAMILIES
    for regime in REGIMES
]
BESIDE = {("Gemma3Text", "frozen"), ("DeepseekV3", "per_row")}
BESIDE_PAIRS = [
    pytest.param(family, regime, marks=[] if family == "Llama" or (family, regime) in BESIDE else pytest.mark.slow)
    for family in ("Llama", "Gemma3Text", "DeepseekV3")
    for regime in REGIMES
]
EVERY_FAMILY = [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in FAMILIES]
COMMON = {
    "vocab_size": 100,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "initializer_range": 0.15,
}
UNROTATED = {
    "GPT2": {},
    "OPT": {"ffn_dim": 64, "word_embed_proj_dim": 64},
    "Roberta": {"is_decoder": True},
    "Bloom": {},
}
STATIC = ("default", "linear", "yarn", "llama3")


def in_chunks(model, ids, chunk, *, mask=None, cache=None):
    """Logits of a text that comes in chunks, and what is left in the cache."""
    found, done = [], 0
    for part in ids.split(chunk, 1):
        done += part.shape[1]
        there = None if mask is None else mask[:, :done]
        made = model(input_ids=part, attention_mask=there, cache=cache, use_cache=True)
        cache = made.cache
        found.append(made.logits)
    return torch.cat(found, 1), cache


def full_pass(model, ids):
    """Logits of one pass of transformers' own, by a model that nothing was asked of before."""
    return copy.deepcopy(model)(input_ids=ids, use_cache=False).logits


def apart(found, expected):
    return float((found - expected).abs().max())


@pytest.mark.parametrize("kind", BY_LENGTH)
@pytest.mark.parametrize("layers", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 3, 4, 5)), 6])
@torch.no_grad()
def test_per_row_is_the_row_wise_pass_however_the_text_is_cut(kind, layers):
    model = tiny("Llama", kind, layers=layers)
    expected = llama_rows(model, IDS[0])
    with use_cache(model):
        assert apart(model(input_ids=IDS[:1], use_cache=False).logits[0], expected) < ROUNDING
        for chunk in CHUNKS:
            assert apart(in_chunks(model, IDS[:1], chunk)[0][0], expected) < ROUNDING, chunk


@pytest.mark.parametrize("family", [family for family in EVERY_FAMILY if family.values != ("GptOss",)])
@torch.no_grad()
def test_per_row_is_the_row_wise_pass_of_every_family(family):
    model = tiny(family, "longrope" if family == "Phi3" else "dynamic")
    with row_wise(model) as reference:
        expected = reference(input_ids=IDS, use_cache=False).logits
    # What is compared tells rows of one regime from those of another.
    assert apart(full_pass(model, IDS), expected) > 10 * ROUNDING
    with use_cache(model):
        assert apart(model(input_ids=IDS, use_cache=False).logits, expected) < ROUNDING
        assert apart(in_chunks(model, IDS, 5)[0], expected) < ROUNDING


@pytest.mark.parametrize("kind", BY_LENGTH)
@torch.no_grad()
def test_both_references_agree(kind):
    model = tiny("Llama", kind)
    with row_wise(model) as reference:
        assert apart(reference(input_ids=IDS[:1], use_cache=False).logits[0], llama_rows(model, IDS[0])) < ROUNDING


@pytest.mark.parametrize(("family", "regime"), PAIRS)
@torch.no_grad()
def test_no_regime_depends_on_how_a_text_is_cut(family, regime):
    model = tiny(family, "longrope" if family == "Phi3" else "dynamic")
    # Each row of "recompute" is turned by the length of its call: only the last of a call is told the same.
    rows = slice(-1, None) if regime == "recompute" else slice(None)
    with use_cache(model, **REGIMES[regime]) as caching:
        expected = model(input_ids=IDS, use_cache=False).logits[:, rows]
        for chunk in (1, 7, 33):
            assert apart(in_chunks(model, IDS, chunk)[0][:, rows], expected) < ROUNDING, chunk
        static = caching.new_cache(StaticCache(config=model.config, max_cache_len=TOKENS + 6))
        assert apart(in_chunks(model, IDS, 7, cache=static)[0][:, rows], expected) < ROUNDING


@pytest.mark.parametrize("kind", BY_LENGTH)
@torch.no_grad()
def test_recompute_is_the_full_pass_of_transformers_at_every_length(kind):
    model = tiny("Llama", kind)
    expected = [full_pass(model, IDS[:, :end])[:, -1] for end in range(1, TOKENS + 1)]
    with use_cache(model, "recompute"):
        found, cache = in_chunks(model, IDS, 1)
        for end, logits in enumerate(expected, 1):
            assert apart(found[:, end - 1], logits) < ROUNDING, end
        assert cache.get_seq_length() == TOKENS
        # A chunk that crosses the window is one pass over all of the text, of which the chunk is returned.
        crossing, _ = in_chunks(model, IDS, WINDOW - 3)
        assert crossing.shape[1] == TOKENS
        assert apart(crossing[:, WINDOW - 3 :], full_pass(tiny("Llama", kind), IDS)[:, WINDOW - 3 :]) < ROUNDING


@pytest.mark.parametrize("kind", BY_LENGTH)
@torch.no_grad()
def test_frozen_is_the_full_pass_of_a_text_of_its_length(kind):
    model = tiny("Llama", kind)
    longer = torch.cat([IDS, IDS[:, :6]], 1)
    expected = full_pass(model, longer)[:, :TOKENS]
    with use_cache(model, "frozen", 50):
        assert apart(in_chunks(model, IDS, 5)[0], expected) < ROUNDING


@pytest.mark.parametrize("kind", BY_LENGTH)
@torch.no_grad()
def test_transformers_alone_depends_on_how_a_text_is_cut(kind):
    model = tiny("Llama", kind)
    expected = full_pass(model, IDS)[:, -1]
    assert apart(in_chunks(copy.deepcopy(model), IDS, 1)[0][:, -1], expected) > 100 * ROUNDING
    plain = tiny("Llama", "default")
    assert apart(in_chunks(plain, IDS, 1)[0], full_pass(plain, IDS)) < ROUNDING


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("kind", BY_LENGTH)
@torch.no_grad()
def test_what_was_asked_before_changes_nothing(kind, regime):
    model = tiny("Llama", kind)
    with use_cache(model, **REGIMES[regime]):
        first = [in_chunks(model, IDS[:, :end], 9)[0] for end in (38, 20, TOKENS)]
        model(input_ids=IDS.repeat(1, 2)[:, :49], use_cache=False)
        again = [in_chunks(model, IDS[:, :end], 9)[0] for end in (TOKENS, 38, 20)]
    for found, expected in zip(again, (first[2], first[0], first[1]), strict=True):
        assert torch.equal(found, expected)


@torch.no_grad()
def test_what_was_asked_of_transformers_before_does_change_it():
    model = tiny("Llama", "dynamic")
    expected = full_pass(model, IDS[:, :38])
    model(input_ids=IDS, use_cache=False)
    assert apart(model(input_ids=IDS[:, :38], use_cache=False).logits, expected) > 10 * ROUNDING


@pytest.mark.parametrize(("family", "regime"), BESIDE_PAIRS)
@torch.no_grad()
def test_a_row_beside_a_longer_one_is_that_row_alone(family, regime):
    model = tiny(family)
    short = IDS[1:, : WINDOW - 4]
    ids, mask = torch.zeros(2, TOKENS, dtype=torch.int64), torch.zeros(2, TOKENS, dtype=torch.int64)
    ids[0], mask[0] = IDS[0], 1
    ids[1, TOKENS - short.shape[1] :], mask[1, TOKENS - short.shape[1] :] = short[0], 1
    rows = slice(-1, None) if regime == "recompute" else slice(None)
    with use_cache(model, **REGIMES[regime]):
        alone, _ = in_chunks(model, short, 6)
        for found in (
            model(input_ids=ids, attention_mask=mask, use_cache=False).logits,
            in_chunks(model, ids, 6, mask=mask)[0],
        ):
            assert apart(found[1:, TOKENS - short.shape[1] :][:, rows], alone[:, rows]) < ROUNDING
            assert apart(found[:1][:, rows], in_chunks(model, IDS[:1], 6)[0][:, rows]) < ROUNDING


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("kind", STATIC)
@torch.no_grad()
def test_a_scaling_without_length_computes_as_before_and_is_stamped(kind, regime):
    model = tiny("Llama", kind)
    expected = in_chunks(model, IDS, 7, cache=DynamicCache(config=model.config))[0]
    with use_cache(model, **REGIMES[regime]) as caching:
        found, cache = in_chunks(model, IDS, 7)
        assert torch.equal(found, expected)
    assert isinstance(cache, PositionCache)
    assert cache.stamps == caching.stamps
    assert {stamp.kept for stamp in cache.stamps.values()} == {"rotated"}
    assert torch.equal(cache.positions, torch.arange(TOKENS).expand(2, -1))


@torch.no_grad()
def test_only_layers_that_depend_on_the_length_are_kept_unrotated():
    with use_cache(tiny("Gemma3Text")) as caching:
        assert {name: stamp.kept for name, stamp in caching.stamps.items()} == {
            "sliding_attention": "rotated",
            "full_attention": "unrotated",
        }
    with use_cache(tiny("Gemma3Text"), "recompute") as caching:
        assert {stamp.kept for stamp in caching.stamps.values()} == {"rotated"}


@pytest.mark.parametrize("regime", REGIMES)
@torch.no_grad()
def test_packed_texts_are_the_texts_apart(regime):
    model = tiny("Llama")
    positions = torch.cat([torch.arange(40), torch.arange(10)])[None]
    packed = torch.cat([IDS[:1, :40], IDS[1:, :10]], 1)
    with use_cache(model, **REGIMES[regime]):
        found = model(input_ids=packed, position_ids=positions, use_cache=False).logits
        assert apart(found[:, :40], model(input_ids=IDS[:1, :40], use_cache=False).logits) < ROUNDING
        if regime != "recompute":  # where a row has one length, that of its longest text
            assert apart(found[:, 40:], model(input_ids=IDS[1:, :10], use_cache=False).logits) < ROUNDING


@pytest.mark.parametrize("kind", BY_LENGTH)
@pytest.mark.parametrize("apart_by", [0, 10**6], ids=["together", "apart"])
@torch.no_grad()
def test_a_text_that_stands_far_out_is_turned_by_tables_of_its_own_positions(kind, apart_by):
    # A table up to there would have ten million rows, and Dynamic NTK one for each token.
    model, positions = tiny("Llama", kind), 10**7 + torch.arange(20)
    positions[11:] += apart_by
    expected = llama_rows(model, IDS[0, :20], positions)
    with use_cache(model) as caching:
        # Without a mask transformers takes a gap for the border of two documents.
        given = {"input_ids": IDS[:1, :20], "position_ids": positions[None], "attention_mask": torch.ones(1, 20)}
        assert apart(model(**given, use_cache=False).logits[0], expected) < ROUNDING
        (tables,) = caching._tables.values()
        assert not tables._held


@pytest.mark.parametrize("start", [10**6, 10**9])
@torch.no_grad()
def test_a_text_may_stand_anywhere_past_longropes_window(start):
    # Layers with a sliding window, too: it counts positions, wherever they are.
    model, positions = tiny("Gemma3Text", "longrope"), torch.arange(TOKENS)[None]
    with use_cache(model):
        near, far = (
            model(input_ids=IDS[:1], position_ids=positions + at, use_cache=False).logits for at in (WINDOW, start)
        )
    assert apart(far, near) < ROUNDING


@torch.no_grad()
def test_bfloat16_depends_on_the_cut_by_its_own_noise_alone():
    errors = []
    for kind, chunk in (("default", TOKENS), ("dynamic", TOKENS), ("dynamic", 7), ("dynamic", 1)):
        model = tiny("Llama", kind)
        for parameter in model.parameters():
            parameter.copy_(parameter.bfloat16())
        half = copy.deepcopy(model).bfloat16()
        # Its frequencies would be rounded with the rest.
        half.model.rotary_emb = copy.deepcopy(model.model.rotary_emb)
        with use_cache(model), use_cache(half):
            errors.append(apart(in_chunks(half, IDS, chunk)[0].float(), in_chunks(model, IDS, TOKENS)[0]))
    assert 0 < max(errors[1:]) < 2 * errors[0]


@pytest.mark.parametrize("regime", REGIMES)
@torch.no_grad()
def test_a_model_whose_frequencies_were_rounded_is_turned_exactly(regime):
    model, exact = tiny("Llama", "longrope"), tiny("Llama", "longrope")
    model.model.rotary_emb.half()
    with use_cache(model, **REGIMES[regime]), use_cache(exact, **REGIMES[regime]):
        assert torch.equal(in_chunks(model, IDS, 7)[0], in_chunks(exact, IDS, 7)[0])


def test_gradients_are_those_of_the_row_wise_pass():
    model = tiny("Llama", layers=2)
    wanted = torch.autograd.grad(llama_rows(model, IDS[0]).square().mean(), list(model.parameters()))
    with use_cache(model):
        logits = model(input_ids=IDS[:1], use_cache=False).logits
        found = torch.autograd.grad(logits.square().mean(), list(model.parameters()))
    for own, expected in zip(found, wanted, strict=True):
        assert torch.allclose(own, expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("regime", REGIMES)
@torch.no_grad()
def test_undoing_leaves_the_model_as_it_was(regime):
    model = tiny("Llama")
    before = {name: value for name, value in vars(model).items() if name[0] != "_"}
    expected = full_pass(model, IDS[:, :36])
    with use_cache(model, **REGIMES[regime]) as caching:
        in_chunks(model, IDS, 7)
        assert caching.model is model
    assert {name: value for name, value in vars(model).items() if name[0] != "_"} == before
    assert "_prepare_cache_for_generation" not in vars(model)
    assert model.config._attn_implementation == "eager"
    # Nor has its rotary module grown with what was asked of it.
    assert torch.equal(model(input_ids=IDS[:, :36], use_cache=False).logits, expected)
    assert isinstance(model(input_ids=IDS, use_cache=True).cache, DynamicCache)
    caching.undo()
    with use_cache(model, "per_row"):
        in_chunks(model, IDS, 7)


@pytest.mark.parametrize("regime", REGIMES)
@torch.no_grad()
def test_it_goes_with_accelerate_in_its_order(regime):
    model = tiny("Llama")
    with use_cache(model, **REGIMES[regime]):
        expected = in_chunks(model, IDS, 7)[0]
    with accelerate(model) as faster:
        with use_cache(model, **REGIMES[regime]):
            assert apart(in_chunks(model, IDS, 7)[0], expected) < ROUNDING
        assert model.config._attn_implementation == "ordinate"
    caching = use_cache(model, **REGIMES[regime])
    faster = accelerate(model)
    with pytest.raises(InputError, match="undo use_cache"):
        model(input_ids=IDS)
    faster.undo()
    assert apart(in_chunks(model, IDS, 7)[0], expected) < ROUNDING
    caching.undo()


@pytest.mark.parametrize("family", UNROTATED)
@torch.no_grad()
def test_a_model_that_rotates_nothing_is_given_positions_as_it_counts_them(family):
    torch.manual_seed(0)
    config = getattr(transformers, f"{family}Config")(**COMMON, **UNROTATED[family])
    model = AutoModelForCausalLM.from_config(config).eval()
    expected = full_pass(model, IDS)
    mask, ids = torch.ones(1, TOKENS, dtype=torch.int64), IDS[1:].clone()
    mask[:, :10], ids[:, :10] = 0, 0
    with use_cache(model):
        found, cache = in_chunks(model, IDS, 7)
        assert apart(found, expected) < ROUNDING
        padded, _ = in_chunks(model, ids, 7, mask=mask)
        assert apart(padded[:, 10:], in_chunks(model, IDS[1:, 10:], 7)[0]) < ROUNDING
    assert {stamp.kept for stamp in cache.stamps.values()} == {"unrotated"}


@pytest.mark.parametrize(
    ("family", "message"),
    [("Falcon", "takes no attention from transformers' registry"), ("StableLm", "does not hand on its keywords")],
)
def test_attention_that_cannot_be_told_positions_is_refused_where_it_would_have_to_be(family, message):
    config = getattr(transformers, f"{family}Config")(**COMMON, num_key_value_heads=4, rope_parameters=rope("dynamic"))
    model = AutoModelForCausalLM.from_config(config).eval()
    before = model.config._attn_implementation
    with pytest.raises(InputError, match=message):
        use_cache(model)
    assert model.config._attn_implementation == before
    with use_cache(model, "frozen", 50), torch.no_grad():
        expected = model(input_ids=IDS, use_cache=False).logits
        assert apart(in_chunks(model, IDS, 7)[0], expected) < ROUNDING


def test_an_encoder_with_a_decoder_is_refused():
    model = transformers.T5ForConditionalGeneration(
        transformers.T5Config(vocab_size=50, d_model=16, num_layers=1, d_kv=8)
    )
    with pytest.raises(InputError, match="needs a model of one decoder, got T5ForConditionalGeneration"):
        use_cache(model)


def test_a_model_that_turns_otherwise_than_it_says_is_refused(monkeypatch):
    from transformers.models.llama import modeling_llama

    model = tiny("Llama")
    monkeypatch.setattr(
        modeling_llama, "rotate_half", lambda x: torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)
    )
    with pytest.raises(InputError, match="layer 0 of LlamaModel turns q otherwise than its configuration says"):
        use_cache(model)
    assert model.config._attn_implementation == "eager"


def test_attention_changed_after_is_an_error():
    model = tiny("Llama")
    with use_cache(model):
        model.set_attn_implementation("sdpa")
        with pytest.raises(InputError, match="use_cache needs attention 'ordinate-unrotated', got 'sdpa'"):
            model(input_ids=IDS)


def test_it_is_used_once_at_a_time():
    model = tiny("Llama")
    with use_cache(model), pytest.raises(InputError, match="LlamaForCausalLM is under use_cache already"):
        use_cache(model)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"regime": "frozen"}, "regime 'frozen' needs the length"),
        ({"regime": "per_row", "length": 50}, "length must be None, got 50"),
        ({"regime": "per_column"}, "unknown regime 'per_column'"),
    ],
)
def test_a_regime_is_one_of_three_with_its_length(settings, message):
    model = tiny("Llama")
    with pytest.raises(InputError, match=message):
        use_cache(model, **settings)
    assert model.config._attn_implementation == "eager"


@torch.no_grad()
def test_frozen_refuses_what_is_beyond_it():
    for kind in ("dynamic", "yarn"):
        model = tiny("Llama", kind)
        with use_cache(model, "frozen", 40), pytest.raises(InputError, match="frozen at length 40 must hold positions"):
            model(input_ids=IDS)


def test_names_are_found_where_they_are_looked_for():
    assert PositionCache is FromModule
