"""`use_cache` on SmolLM2 under Dynamic NTK, across the 8192 tokens that it was trained for."""

import copy

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, DynamicCache
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

from ordinate import texts
from ordinate.transformers import use_cache
from ordinate.transformers.convert import converted

WINDOW = 8192
# float32 in another order; logits go up to 30.
ROUNDING = 1e-3
CUTS = (1, 7, 24)


@pytest.fixture(scope="module")
def model():
    directory = converted("smollm2")
    config = AutoConfig.from_pretrained(directory)
    assert config.max_position_embeddings == WINDOW
    config.rope_parameters = {**config.rope_parameters, "rope_type": "dynamic", "factor": 2.0}
    return AutoModelForCausalLM.from_pretrained(directory, config=config).eval()


@pytest.fixture(scope="module")
def ids():
    tokenizer = AutoTokenizer.from_pretrained(converted("smollm2"))
    return tokenizer(texts.read("emma").body[10000:60000], return_tensors="pt").input_ids[:, : WINDOW + 12]


def in_chunks(model, ids, chunk, cache, start):
    """Logits of ids that stand from `start` on."""
    found = []
    for part in ids.split(chunk, 1):
        places = torch.arange(start, start + part.shape[1])[None]
        start += part.shape[1]
        there = torch.ones(1, cache.get_seq_length() + part.shape[1], dtype=torch.int64)
        found.append(model(input_ids=part, attention_mask=there, position_ids=places, cache=cache).logits)
    return torch.cat(found, 1)


def furthest_apart(found):
    return max(float((found[0] - logits).abs().max()) for logits in found[1:])


@torch.inference_mode()
def test_tokens_around_the_window_are_the_same_however_they_are_cut(model, ids):
    # A text may begin anywhere: 16 tokens before the window and 8 past it show what 8200 do.
    start, ids = WINDOW - 16, ids[:, -24:]
    with use_cache(model) as caching:
        found = [in_chunks(model, ids, chunk, caching.new_cache(), start) for chunk in CUTS]
    assert furthest_apart(found) < ROUNDING
    alone = [in_chunks(model, ids, chunk, DynamicCache(config=model.config), start)[:, -1:] for chunk in (1, 24)]
    assert furthest_apart(alone) > 10 * ROUNDING


@pytest.mark.slow
@torch.inference_mode()
def test_a_text_is_read_and_generated_across_the_window(model, ids):
    start = WINDOW - 12
    with use_cache(model) as caching:
        cache = caching.new_cache()
        for part in ids[:, :start].split(2048, 1):
            model.model(input_ids=part, cache=cache)
        found = [in_chunks(model, ids[:, start:], chunk, copy.deepcopy(cache), start) for chunk in CUTS]
        print(f"per_row: cuts {furthest_apart(found):.3g} apart")
        assert furthest_apart(found) < ROUNDING
        written = [
            model.generate(ids, cache=copy.deepcopy(cache), max_new_tokens=8, do_sample=False, **settings)
            for settings in ({}, {"prefill_chunk_size": 5})
        ]
        print(written[0][0, ids.shape[1] :].tolist())
        assert all(torch.equal(written[0], tokens) for tokens in written[1:])
    places = torch.arange(start)[None]
    cos, sin = model.model.rotary_emb(cache.layers[0].keys, places)
    turned = [(apply_rotary_pos_emb(layer.keys, layer.keys, cos, sin)[0], layer.values) for layer in cache.layers]
    alone = [in_chunks(model, ids[:, start:], chunk, DynamicCache(turned), start)[:, -1:] for chunk in (1, 24)]
    print(f"transformers: cuts {furthest_apart(alone):.3g} apart")
    assert furthest_apart(alone) > 10 * ROUNDING
