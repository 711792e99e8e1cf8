"""`use_cache` on models whose weights accelerate brings in as they are needed."""

import accelerate as hugging_face
import pytest
import torch
from reference_rows import llama_rows
from tiny_models import tiny
from transformers import GPT2Config, GPT2LMHeadModel

from ordinate.transformers import use_cache

# float32 in another order; logits go up to 6.
ROUNDING = 1e-4
IDS = torch.randint(3, 100, (1, 40), generator=torch.Generator().manual_seed(6))


def offloaded(model):
    hugging_face.cpu_offload(model, torch.device("cpu"))
    assert model.get_input_embeddings().weight.device.type == "meta"


def dispatched(model):
    names = [name for name, module in model.named_modules() if not list(module.children())]
    hugging_face.dispatch_model(model, dict.fromkeys(names, "cpu"), main_device="cpu", force_hooks=True)
    assert hasattr(model.get_input_embeddings(), "_hf_hook")


@pytest.mark.parametrize("spread", [offloaded, dispatched])
@pytest.mark.parametrize("spread_first", [True, False])
@torch.no_grad()
def test_a_model_that_is_spread_before_or_after_follows_its_regime(spread, spread_first):
    model = tiny("Llama")
    expected = llama_rows(model, IDS[0])
    if spread_first:
        spread(model)
    caching = use_cache(model)
    if not spread_first:
        spread(model)
    cache = caching.new_cache()
    found = torch.cat([model(input_ids=part, cache=cache).logits for part in IDS.split(11, 1)], 1)
    assert float((found[0] - expected).abs().max()) < ROUNDING
    caching.undo()


@torch.no_grad()
def test_learned_positions_are_counted_where_weights_are_offloaded():
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=100, n_embd=64, n_layer=2, n_head=4, n_positions=64, bos_token_id=1, eos_token_id=2)
    model = GPT2LMHeadModel(config).eval()
    expected = model(input_ids=IDS, use_cache=False).logits
    offloaded(model)
    with use_cache(model) as caching:
        cache = caching.new_cache()
        found = torch.cat([model(input_ids=part, cache=cache).logits for part in IDS.split(11, 1)], 1)
    assert float((found - expected).abs().max()) < ROUNDING
