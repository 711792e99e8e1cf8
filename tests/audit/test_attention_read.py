"""What attention reads is seen in every way that models have of computing it."""

import pytest
import torch
import transformers

from ordinate.audit.attention import attention_read

_SHAPE = {"vocab_size": 256, "hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4}
_GROUPED = _SHAPE | {"num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 64}
_ENDS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
_LATENT = {
    "num_key_value_heads": 4,
    "intermediate_size": 64,
    "moe_intermediate_size": 32,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "n_group": 1,
    "topk_group": 1,
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8,
    "v_head_dim": 16,
    "first_k_dense_replace": 1,
}
_MODELS = {
    "Llama": _GROUPED,
    "GPT2": {"vocab_size": 256, "n_layer": 3, "n_head": 4, "n_embd": 64},
    "Bloom": {"vocab_size": 256, "n_layer": 3, "n_head": 4, "hidden_size": 64},
    "Falcon": _SHAPE | {"alibi": False},
    "Mpt": {"vocab_size": 256, "d_model": 64, "n_layers": 3, "n_heads": 4},
    "OPT": _SHAPE | {"ffn_dim": 64, "word_embed_proj_dim": 64},
    "DeepseekV3": _SHAPE | _LATENT,
    "Gemma2": _GROUPED,
    "GptOss": _GROUPED | {"num_local_experts": 4, "num_experts_per_tok": 2},
}
_FUSED = ("Llama", "GPT2", "Falcon", "OPT", "DeepseekV3")
_CASES = [(name, "eager") for name in _MODELS] + [(name, "sdpa") for name in _FUSED]


@pytest.mark.parametrize("name, implementation", _CASES)
def test_logits_and_values_that_are_seen_give_what_attention_returns(name, implementation):
    config = getattr(transformers, f"{name}Config")(**_MODELS[name], **_ENDS)
    made = getattr(transformers, f"{name}LMHeadModel" if name == "GPT2" else f"{name}ForCausalLM")
    torch.manual_seed(0)
    model = made._from_config(config, attn_implementation=implementation).eval()
    ids = torch.randint(8, 256, (2, 20), generator=torch.Generator().manual_seed(1))
    with torch.inference_mode(), attention_read(model, 1, 3) as passes:
        cache = model(input_ids=ids[:, :15], use_cache=True).cache
        model(input_ids=ids[:, 15:], cache=cache, use_cache=True)
    assert [(one.past, one.ids.shape[1]) for one in passes] == [(0, 15), (15, 5)]
    for one in passes:
        tokens = one.past + one.ids.shape[1]
        causal = torch.ones(tokens, tokens, dtype=torch.bool).tril()[one.past :]
        assert torch.equal(one.visible(), causal.expand_as(one.logits))
        weights = one.logits.double().masked_fill(~causal, -torch.inf).softmax(-1)
        values = one.values.double().repeat_interleave(4 // one.values.shape[1], 1)
        expected, found = weights @ values, one.result.double()
        if name == "GptOss":
            # A sink takes a share of every query's weight.
            shares = found.norm(dim=-1, keepdim=True) / expected.norm(dim=-1, keepdim=True)
            assert float(shares.max()) < 1
            expected = expected * shares
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
