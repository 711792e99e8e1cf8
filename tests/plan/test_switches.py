"""Switches of configurations that add or leave out weights, against models of transformers that hold nothing."""

import json

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoModelForSpeechSeq2Seq

from ordinate.plan import Request, plan

DECODER = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "vocab_size": 100,
    "max_position_embeddings": 64,
}
LATENT = {
    "num_key_value_heads": 8,
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 8,
    "v_head_dim": 8,
    "n_routed_experts": 8,
    "moe_intermediate_size": 32,
    "first_k_dense_replace": 1,
    "n_group": 2,
    "topk_group": 1,
    "num_experts_per_tok": 2,
}
BOTH = {
    "d_model": 64,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 96,
    "decoder_ffn_dim": 80,
    "vocab_size": 100,
    "pad_token_id": 0,
}
OWN = {
    "deepseek_v2": LATENT,
    "deepseek_v3": LATENT,
    "falcon_h1": {"mamba_d_ssm": 64, "mamba_n_heads": 8, "mamba_d_head": 8, "mamba_n_groups": 1, "mamba_d_state": 16},
    "jamba": {"num_experts": 4, "mamba_d_state": 8, "mamba_dt_rank": 4, "attn_layer_period": 2, "attn_layer_offset": 1},
    "gpt_neox": {"num_key_value_heads": 8},
    "gpt_oss": {"num_local_experts": 4, "head_dim": 16},
    "opt": {"num_key_value_heads": 8, "ffn_dim": 96, "word_embed_proj_dim": 64},
    "phimoe": {"num_local_experts": 4},
    "qwen2_moe": {"num_experts": 4, "moe_intermediate_size": 32, "shared_expert_intermediate_size": 32},
}
# On and off, one of which the architecture has where its configuration says nothing.
SWITCHES = {
    "cohere": ["use_qk_norm", "attention_bias"],
    "deepseek_v2": ["attention_bias", "mlp_bias"],
    "deepseek_v3": ["attention_bias"],
    "falcon_h1": ["mamba_conv_bias", "mamba_proj_bias", "projectors_bias", "mamba_rms_norm", "attention_bias"],
    "gpt_neox": ["attention_bias"],
    "gpt_oss": ["attention_bias"],
    "jamba": ["mamba_conv_bias", "mamba_proj_bias"],
    "opt": ["enable_bias", "layer_norm_elementwise_affine", "_remove_final_layer_norm", "do_layer_norm_before"],
    "phi": ["qk_layernorm"],
    "phimoe": ["lm_head_bias", "attention_bias"],
    "qwen2_moe": ["qkv_bias"],
    "stablelm": ["qk_layernorm", "use_parallel_residual", "use_qkv_bias"],
    "starcoder2": ["use_bias"],
}


def numbers(model_class, config):
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in model_class.from_config(config).parameters())


def planned(config):
    given = json.loads(json.dumps(config.to_dict(), default=str))
    return plan({key: value for key, value in given.items() if value is not None}, Request(contexts=(32,))).weights


@pytest.mark.parametrize("kind, switch", [(kind, switch) for kind, found in SWITCHES.items() for switch in found])
def test_a_switch_adds_and_leaves_out_what_it_does_in_transformers(kind, switch):
    counts = []
    for value in (True, False):
        config = AutoConfig.for_model(kind, **(DECODER | OWN.get(kind, {}) | {switch: value}))
        counts.append(numbers(AutoModelForCausalLM, config))
        assert planned(config).parameters == counts[-1]
    assert counts[0] != counts[1]


@pytest.mark.parametrize("kind", SWITCHES)
def test_a_configuration_without_its_switches_has_the_architecture_s_own(kind):
    config = AutoConfig.for_model(kind, **(DECODER | OWN.get(kind, {})))
    given = json.loads(json.dumps(config.to_dict(), default=str))
    kept = {key: value for key, value in given.items() if value is not None and key not in SWITCHES[kind]}
    assert plan(kept, Request(contexts=(32,))).weights.parameters == numbers(AutoModelForCausalLM, config)


@pytest.mark.parametrize("kind, model_class", [("bart", AutoModelForSeq2SeqLM), ("whisper", AutoModelForSpeechSeq2Seq)])
@pytest.mark.parametrize("tied", [True, False])
def test_an_output_of_its_own_is_counted_beside_a_decoder_with_an_encoder(kind, model_class, tied):
    own = (
        {"max_position_embeddings": 40} if kind == "bart" else {"max_source_positions": 30, "max_target_positions": 20}
    )
    config = AutoConfig.for_model(kind, **BOTH, **own, tie_word_embeddings=tied)
    assert planned(config).parameters == numbers(model_class, config)


@pytest.mark.parametrize("kind", ["t5", "mt5", "umt5"])
@pytest.mark.parametrize("form", ["relu", "gated-gelu"])
def test_the_feed_forward_layer_of_t5_is_as_the_configuration_says(kind, form):
    sizes = {"d_model": 64, "d_kv": 8, "d_ff": 96, "num_layers": 3, "num_heads": 4, "vocab_size": 100}
    config = AutoConfig.for_model(kind, **sizes, feed_forward_proj=form)
    assert planned(config).parameters == numbers(AutoModelForSeq2SeqLM, config)
