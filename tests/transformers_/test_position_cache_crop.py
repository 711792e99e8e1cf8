"""`PositionCache.crop`: all layers or none."""

import pytest
import torch
import transformers
from tiny_models import tiny
from transformers import DynamicCache, QuantizedCache, StaticCache

from ordinate.errors import InputError
from ordinate.transformers import use_cache

# float32 in another order; logits go up to 6.
ROUNDING = 1e-4
SLIDING = 9
IDS = torch.randint(3, 100, (2, 40), generator=torch.Generator().manual_seed(7))
HELD = {
    "dynamic": lambda config: DynamicCache(config=config),
    "static": lambda config: StaticCache(config=config, max_cache_len=50),
}


def mixed():
    """The first layer is full, the second slides: what the first one can, the second cannot."""
    return tiny("Gemma3Text", layer_types=["full_attention", "sliding_attention", "full_attention"])


def apart(found, expected):
    return float((found - expected).abs().max())


@pytest.mark.parametrize("regime", ["per_row", "recompute"])
@pytest.mark.parametrize("held", HELD)
@torch.no_grad()
def test_a_crop_that_one_layer_refuses_leaves_all_as_they_were(held, regime):
    model = mixed()
    with use_cache(model, regime) as caching:
        expected = model(input_ids=IDS, use_cache=False).logits[:, -1]
        cache = caching.new_cache(HELD[held](model.config))
        model(input_ids=IDS[:, :30], cache=cache)
        with pytest.raises(InputError, match="layer 1 of the cache cannot be cropped by 3 tokens: it keeps a window"):
            cache.crop(-3)
        assert cache.entries == cache.get_seq_length() == 30
        assert apart(model(input_ids=IDS[:, 30:], cache=cache).logits[:, -1], expected) < ROUNDING


@pytest.mark.parametrize("held", HELD)
@torch.no_grad()
def test_within_its_window_a_sliding_layer_is_cropped_with_the_rest(held):
    model = mixed()
    with use_cache(model) as caching:
        expected = model(input_ids=IDS, use_cache=False).logits
        cache = caching.new_cache(HELD[held](model.config))
        model(input_ids=IDS[:, : SLIDING - 1], cache=cache)
        cache.crop(-3)
        assert cache.entries == cache.get_seq_length() == SLIDING - 4
        assert apart(model(input_ids=IDS[:, SLIDING - 4 :], cache=cache).logits, expected[:, SLIDING - 4 :]) < ROUNDING


@torch.no_grad()
def test_a_cache_that_records_is_cropped_by_what_it_recorded_and_no_more():
    model = mixed()
    with use_cache(model) as caching:
        expected = model(input_ids=IDS, use_cache=False).logits
        cache = caching.new_cache()
        model(input_ids=IDS[:, :30], cache=cache)
        # What was dropped before does not come back.
        cache.activate_past_recording()
        with pytest.raises(InputError, match="layer 1 of the cache cannot be cropped by 2 tokens"):
            cache.crop(-2)
        cache.crop(0)
        model(input_ids=IDS[:, 30:36], cache=cache)
        with pytest.raises(InputError, match="layer 1 of the cache cannot be cropped by 7 tokens"):
            cache.crop(-7)
        cache.crop(-5)
        assert cache.entries == cache.get_seq_length() == 31
        assert apart(model(input_ids=IDS[:, 31:], cache=cache).logits, expected[:, 31:]) < ROUNDING


_MIXED = {
    "vocab_size": 100,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "intermediate_size": 32,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


def recording(model, caching):
    cache = caching.new_cache()
    model(input_ids=IDS[:, :1], cache=cache)
    cache.activate_past_recording()
    model(input_ids=IDS[:, 1:30], cache=cache)
    return cache


@torch.no_grad()
def test_a_recurrent_state_is_not_cropped_though_the_cache_records():
    sizes = {"mamba_d_ssm": 32, "mamba_n_heads": 4, "mamba_d_head": 8, "mamba_d_state": 8, "mamba_n_groups": 1}
    model = transformers.FalconH1ForCausalLM(transformers.FalconH1Config(**_MIXED, **sizes)).eval()
    with use_cache(model) as caching:
        expected = model(input_ids=IDS, use_cache=False).logits
        cache = recording(model, caching)
        with pytest.raises(InputError, match="layer 0 of the cache cannot be cropped by 3 tokens: its recurrent state"):
            cache.crop(-3)
        assert apart(model(input_ids=IDS[:, 30:], cache=cache).logits, expected[:, 30:]) < ROUNDING


@torch.no_grad()
def test_a_convolution_is_cropped_where_the_cache_records():
    settings = {"layer_types": ["conv", "full_attention"]}
    model = transformers.Lfm2ForCausalLM(transformers.Lfm2Config(**_MIXED, **settings)).eval()
    with use_cache(model) as caching:
        expected = model(input_ids=IDS, use_cache=False).logits
        cache = recording(model, caching)
        cache.crop(-3)
        assert apart(model(input_ids=IDS[:, 27:], cache=cache).logits, expected[:, 27:]) < ROUNDING


@torch.no_grad()
def test_what_is_quantised_is_not_cropped():
    model = tiny("Llama")
    with use_cache(model) as caching:
        cache = caching.new_cache(QuantizedCache("fp8", model.config))
        model(input_ids=IDS[:, :30], cache=cache)
        with pytest.raises(InputError, match="layer 0 of the cache cannot be cropped by 3 tokens: what is quantised"):
            cache.crop(-3)
        assert cache.entries == cache.get_seq_length() == 30


@pytest.mark.parametrize("wrong", [1, -31, -(2**70), -1.0, True, "x", None])
@torch.no_grad()
def test_tokens_to_remove_are_some_of_those_there_are(wrong):
    model = tiny("Llama")
    with use_cache(model):
        cache = model(input_ids=IDS[:, :30], use_cache=True).cache
        with pytest.raises(InputError, match=r"tokens_to_remove must be an integer from -30 to 0, .* got"):
            cache.crop(wrong)
        assert cache.entries == cache.get_seq_length() == 30
        cache.crop(-30)
        assert cache.entries == cache.get_seq_length() == 0
