"""What `use_cache` refuses in one line, and what is left as it was by a refusal."""

import pytest
import torch
import transformers
from tiny_models import tiny
from torch import nn

from ordinate.errors import InputError
from ordinate.transformers import use_cache

# float32 in another order; logits go up to 6.
ROUNDING = 1e-4
IDS = torch.randint(3, 100, (2, 40), generator=torch.Generator().manual_seed(5))
REGIMES = {"per_row": {}, "frozen": {"regime": "frozen", "length": 50}, "recompute": {"regime": "recompute"}}


@pytest.mark.parametrize("regime", REGIMES)
@torch.no_grad()
def test_undoing_a_second_time_leaves_a_later_use_alone(regime):
    model = tiny("Llama")
    earlier = use_cache(model)
    earlier.undo()
    later = use_cache(model, **REGIMES[regime])
    expected = model(input_ids=IDS, use_cache=False).logits
    generated = model.generate(IDS[:, :30], max_new_tokens=4, do_sample=False, use_cache=False)
    earlier.undo()
    with pytest.raises(InputError, match="LlamaForCausalLM is under use_cache already"):
        use_cache(model)
    assert torch.equal(model(input_ids=IDS, use_cache=False).logits, expected)
    assert torch.equal(model.generate(IDS[:, :30], max_new_tokens=4, do_sample=False), generated)
    later.undo()
    assert "_prepare_cache_for_generation" not in vars(model)
    with use_cache(model):
        pass


def test_a_use_that_was_undone_is_not_entered_again():
    model = tiny("Llama")
    caching = use_cache(model)
    with caching:
        pass
    with pytest.raises(InputError, match="this use_cache of LlamaForCausalLM has been undone"), caching:
        pass
    with use_cache(model), pytest.raises(InputError, match="has been undone"), caching:
        pass


@pytest.mark.parametrize("kind", ["dynamic", "yarn"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.bool, torch.int32])
@torch.no_grad()
def test_positions_are_integers(kind, dtype):
    model = tiny("Llama", kind)
    places = torch.arange(2)[None]
    with use_cache(model):
        expected = model(input_ids=IDS[:, :2], position_ids=places, use_cache=False).logits
        if dtype == torch.int32:
            assert torch.equal(model(input_ids=IDS[:, :2], position_ids=places.int(), use_cache=False).logits, expected)
            return
        for use in (False, True):
            with pytest.raises(InputError, match=f"position_ids must be a tensor of int64 or int32, got {dtype}"):
                model(input_ids=IDS[:, :2], position_ids=places.to(dtype), use_cache=use)
        with pytest.raises(InputError, match="position_ids must be a tensor of int64 or int32, got list"):
            model(input_ids=IDS[:, :2], position_ids=[[0, 1]])


@pytest.mark.parametrize("kind", ["dynamic", "yarn"])
@pytest.mark.parametrize("regime", REGIMES)
@torch.no_grad()
def test_a_call_of_no_tokens_is_refused_and_leaves_the_cache_as_it_was(kind, regime):
    model = tiny("Llama", kind)
    with use_cache(model, **REGIMES[regime]) as caching:
        for none, use in ((IDS[:, :0], False), (IDS[:, :0], True), (IDS[:0], True)):
            with pytest.raises(InputError, match=f"a call must bring a token or more a row, got {len(none)} rows of"):
                model(input_ids=none, use_cache=use)
        expected = model(input_ids=IDS, use_cache=False).logits
        cache = caching.new_cache()
        model(input_ids=IDS[:, :36], cache=cache)
        with pytest.raises(InputError, match="got 2 rows of 0"):
            model(input_ids=IDS[:, :0], cache=cache)
        with pytest.raises(InputError, match="got 2 rows of 0"):
            model(inputs_embeds=model.get_input_embeddings()(IDS[:, :0]), cache=cache)
        assert cache.entries == cache.get_seq_length() == 36
        found = model(input_ids=IDS[:, 36:], cache=cache).logits
        assert float((found[:, -1] - expected[:, -1]).abs().max()) < ROUNDING


@pytest.mark.parametrize("wrong", ["x", None, 3, nn.Linear(2, 2), {"a": 1}])
def test_what_is_no_model_is_refused(wrong):
    with pytest.raises(InputError, match="use_cache needs a loaded model of transformers, got ") as refused:
        use_cache(wrong)
    assert "\n" not in str(refused.value)


SMALL = {"vocab_size": 100, "hidden_size": 64, "num_hidden_layers": 2, "pad_token_id": 0}
ENCODING = {**SMALL, "num_attention_heads": 4, "intermediate_size": 64}


@pytest.mark.parametrize(
    ("family", "head", "settings", "message"),
    [
        ("Bert", "Model", ENCODING, "a causal decoder, got BertModel, .* an encoder"),
        ("Bert", "ForMaskedLM", ENCODING, "a causal decoder, got BertForMaskedLM, .* an encoder"),
        ("Bert", "LMHeadModel", ENCODING, "a causal decoder, got BertLMHeadModel, .* an encoder"),
        ("ModernBert", "ForMaskedLM", ENCODING, "a causal decoder, got ModernBertForMaskedLM, .* an encoder"),
        ("Mamba", "ForCausalLM", SMALL, "layers that keep keys, .* got MambaForCausalLM, which has none"),
        ("Rwkv", "ForCausalLM", SMALL, "layers that keep keys, .* got RwkvForCausalLM, which has none"),
    ],
)
def test_encoders_and_recurrent_models_are_refused(family, head, settings, message):
    model = getattr(transformers, f"{family}{head}")(getattr(transformers, f"{family}Config")(**settings))
    with pytest.raises(InputError, match=f"use_cache needs {message}") as refused:
        use_cache(model)
    assert "\n" not in str(refused.value)


_LAYERS = {"num_hidden_layers": 2, "num_key_value_heads": 2, "max_position_embeddings": 16}
CONVOLVING = {
    "Lfm2": {**_LAYERS, "layer_types": ["conv", "full_attention"]},
    "FalconH1": {
        **_LAYERS,
        "mamba_d_ssm": 64,
        "mamba_n_heads": 4,
        "mamba_d_head": 16,
        "mamba_d_state": 16,
        "mamba_chunk_size": 8,
    },
}


@pytest.mark.parametrize("family", CONVOLVING)
@torch.no_grad()
def test_layers_that_convolve_beside_attention_read_a_text_in_chunks_of_any_size(family):
    torch.manual_seed(0)
    settings = ENCODING | CONVOLVING[family]
    rope = {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}
    config = getattr(transformers, f"{family}Config")(**settings, rope_parameters=rope)
    model = getattr(transformers, f"{family}ForCausalLM")(config).eval()
    with use_cache(model):
        expected = model(input_ids=IDS, use_cache=False).logits
        for size in (1, 2, 7, 39):
            cache, found = None, []
            for part in IDS.split(size, 1):
                made = model(input_ids=part, cache=cache, use_cache=True)
                cache, found = made.cache, [*found, made.logits]
            assert float((torch.cat(found, 1) - expected).abs().max()) < ROUNDING


@pytest.mark.parametrize("regime", REGIMES)
@torch.no_grad()
def test_a_hybrid_follows_its_regime_in_the_layers_that_have_keys(regime):
    torch.manual_seed(0)
    config = transformers.Qwen3NextConfig(
        **ENCODING,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=32,
        layer_types=["linear_attention", "full_attention"],
        linear_num_value_heads=4,
        linear_num_key_heads=2,
        linear_key_head_dim=16,
        linear_value_head_dim=16,
        num_experts=2,
        num_experts_per_tok=1,
        moe_intermediate_size=32,
        shared_expert_intermediate_size=32,
        initializer_range=0.15,
        rope_parameters={"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0},
    )
    model = transformers.Qwen3NextForCausalLM(config).eval()
    with use_cache(model, **REGIMES[regime]) as caching:
        expected = model(input_ids=IDS, use_cache=False).logits[:, -1]
        cache = caching.new_cache()
        for part in IDS.split(7, 1):
            found = model(input_ids=part, cache=cache).logits[:, -1]
        assert float((found - expected).abs().max()) < ROUNDING
        with pytest.raises(
            InputError, match="layer 0 of the cache cannot be cropped by 2 tokens: its recurrent state has read them"
        ):
            cache.crop(-2)
        assert cache.entries == 40
