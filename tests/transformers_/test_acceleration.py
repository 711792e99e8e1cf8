"""`accelerate`: whole models, against the same models in transformers' own hands."""

from itertools import pairwise

import pytest
import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache, StaticCache

import ordinate
from ordinate import texts
from ordinate.errors import InputError
from ordinate.transformers import accelerate, attention
from ordinate.transformers.convert import converted

# float32 in another order, with weights as large as these: logits go up to 10.
ROUNDING = 1e-4
FAMILIES = {
    "Llama": {},
    "Mistral": {"sliding_window": 6},
    "Qwen3": {},
    "Gemma2": {"sliding_window": 6},
    "Gemma3Text": {"sliding_window": 6},
    "GptOss": {"sliding_window": 6, "num_local_experts": 2, "num_experts_per_tok": 1},
    # It does not hand its window to the attention.
    "Qwen2Moe": {
        "sliding_window": 6,
        "use_sliding_window": True,
        "max_window_layers": 1,
        "num_experts": 2,
        "num_experts_per_tok": 1,
    },
    "Cohere": {},
    "GPTNeoX": {},
}
IDS = torch.randint(3, 100, (2, 24), generator=torch.Generator().manual_seed(0))
THERE = torch.ones_like(IDS)
THERE[1, :7] = 0
CHUNKS = (0, 9, 10, 17, 18, 24)


def made(family):
    torch.manual_seed(0)
    config = getattr(transformers, f"{family}Config")(
        vocab_size=100,
        hidden_size=64,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        initializer_range=0.3,
        **FAMILIES[family],
    )
    return AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()


def in_chunks(model, cache, there):
    parts = [
        model(input_ids=IDS[:, a:b], attention_mask=None if there is None else there[:, :b], cache=cache).logits
        for a, b in pairwise(CHUNKS)
    ]
    return torch.cat(parts, 1)


@torch.inference_mode()
def everything(model):
    """Logits by every way in, where a token is."""
    found = {"whole": model(input_ids=IDS).logits, "padded": model(input_ids=IDS, attention_mask=THERE).logits}
    for name, there in (("", None), ("padded ", THERE)):
        found[f"{name}dynamic cache"] = in_chunks(model, DynamicCache(config=model.config), there)
        found[f"{name}static cache"] = in_chunks(model, StaticCache(config=model.config, max_cache_len=40), there)
    return {name: logits * THERE[..., None] if "padded" in name else logits for name, logits in found.items()}


@pytest.mark.parametrize("family", FAMILIES)
def test_logits_are_those_of_eager_attention(family):
    model = made(family)
    expected = everything(model)
    accelerate(model, float32_angles=True)
    assert model.config._attn_implementation == attention.NAME
    for name, logits in everything(model).items():
        assert torch.allclose(logits, expected[name], rtol=0, atol=ROUNDING), name


@pytest.mark.parametrize("cache", ["dynamic", "static"])
def test_generated_tokens_are_the_same(cache):
    model = made("Llama")
    settings = {"max_new_tokens": 8, "do_sample": False, "cache_implementation": cache, "attention_mask": THERE}
    model.generation_config.eos_token_id = None
    expected = model.generate(IDS, **settings)
    with accelerate(model, float32_angles=True):
        assert torch.equal(model.generate(IDS, **settings), expected)


def test_a_step_of_training_is_the_same():
    gradients = []
    # The last padding predicts the first token, and eager attention lets it see everything.
    labels = IDS.masked_fill(THERE == 0, -100)
    labels[1, 7] = -100
    for ours in (False, True):
        model = made("Llama").train()
        if ours:
            accelerate(model, float32_angles=True)
        model(input_ids=IDS, attention_mask=THERE, labels=labels).loss.backward()
        gradients.append({name: parameter.grad for name, parameter in model.named_parameters()})
    for name, expected in gradients[0].items():
        assert torch.allclose(gradients[1][name], expected, rtol=1e-3, atol=1e-4), name


@torch.inference_mode()
def test_undoing_gives_the_model_its_own_back():
    model, positions = made("Llama"), torch.arange(5000, 5024)[None]
    before = model(input_ids=IDS, position_ids=positions).logits
    with accelerate(model) as made_faster:
        assert made_faster.model is model
        exact = model(input_ids=IDS, position_ids=positions).logits
    assert model.config._attn_implementation == "eager"
    assert torch.equal(model(input_ids=IDS, position_ids=positions).logits, before)
    # float32 angles are some 5e-4 rad off there.
    assert ROUNDING < (exact - before).abs().max() < 0.1


def test_a_model_without_a_rotary_module_is_refused_unchanged():
    model = made("Llama")
    del model.model.rotary_emb
    with pytest.raises(InputError, match=r"LlamaForCausalLM has no rotary module at LlamaModel\.rotary_emb"):
        accelerate(model)
    assert model.config._attn_implementation == "eager"


def test_it_is_found_by_its_name():
    assert ordinate.transformers.accelerate is accelerate


@pytest.mark.slow
@torch.inference_mode()
def test_smollm2_gives_its_logits():
    directory = converted("smollm2")
    model = AutoModelForCausalLM.from_pretrained(directory, attn_implementation="eager").eval()
    tokenizer = AutoTokenizer.from_pretrained(directory)
    ids = tokenizer(texts.read("emma").body[10000:14000], return_tensors="pt").input_ids[:, :600]
    expected = model(input_ids=ids).logits
    accelerate(model, float32_angles=True)
    found = [model(input_ids=ids).logits]
    for cache in (DynamicCache(config=model.config), StaticCache(config=model.config, max_cache_len=700)):
        parts = [model(input_ids=part, cache=cache).logits for part in ids.split([400, 199, 1], 1)]
        found.append(torch.cat(parts, 1))
    for logits in found:
        assert torch.allclose(logits, expected, rtol=0, atol=1e-3)
