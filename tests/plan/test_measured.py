"""What real caches take is what is planned: transformers' own and those of this package."""

import gc

import pytest
import torch
import transformers
from cache_sizes import tensors_of
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

import ordinate
from ordinate.caches import Cache, Dense, Paged, Ring
from ordinate.caches.storage import storages
from ordinate.plan import Holding, Request, held, plan
from ordinate.plan.attention import attention_layers
from ordinate.plan.cost import cache_bytes
from ordinate.plan.formats import pair_of
from ordinate.plan.planner import Planner
from ordinate.plan.subject import open_subject

TOKENS = 40

_SMALL = {
    "vocab_size": 128,
    "hidden_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 256,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_LATENT = _SMALL | {
    "num_key_value_heads": 4,
    "kv_lora_rank": 32,
    "q_lora_rank": 24,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 16,
    "v_head_dim": 16,
    "moe_intermediate_size": 32,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "n_group": 1,
    "topk_group": 1,
    "first_k_dense_replace": 1,
    "n_shared_experts": 1,
}
_MAMBA2 = {"mamba_n_heads": 8, "mamba_d_head": 16, "mamba_d_state": 8}
_DELTA = {
    "head_dim": 16,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 16,
}
_EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
_BART = {
    "vocab_size": 128,
    "d_model": 64,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "max_position_embeddings": 256,
    "pad_token_id": 1,
}
MODELS = {
    "llama": _SMALL,
    "mistral": _SMALL | {"sliding_window": 9},
    "gemma2": _SMALL | {"sliding_window": 9, "head_dim": 16},
    "gemma3_text": _SMALL | {"sliding_window": 9, "head_dim": 16, "num_hidden_layers": 7},
    "gpt_oss": _SMALL | {"sliding_window": 9, "head_dim": 16, "num_local_experts": 4, "num_experts_per_tok": 2},
    "cohere2": _SMALL | {"sliding_window": 9},
    "llama4_text": _SMALL
    | {"attention_chunk_size": 9, "head_dim": 16, "intermediate_size_mlp": 64, "num_local_experts": 2},
    "falcon": _SMALL | {"multi_query": True},
    "gpt_bigcode": {"vocab_size": 128, "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 256},
    "bloom": {"vocab_size": 128, "hidden_size": 64, "n_layer": 2, "n_head": 4},
    "jamba": _SMALL
    | {"num_hidden_layers": 8, "attn_layer_period": 4, "attn_layer_offset": 1, "num_experts": 2, "mamba_d_state": 8}
    | {"use_mamba_kernels": False},
    "falcon_h1": _SMALL
    | {"head_dim": 16, "mamba_d_ssm": 96, "mamba_n_heads": 6, "mamba_d_head": 16, "mamba_n_groups": 1}
    | {"mamba_d_state": 8},
    "zamba2": _SMALL
    | {"layers_block_type": ["linear_attention", "hybrid"] * 2, "n_mamba_heads": 4, "mamba_d_state": 8}
    | {"num_key_value_heads": 4, "attention_head_dim": 32},
    "bamba": _SMALL | _MAMBA2 | {"attn_layer_indices": [1]},
    "granitemoehybrid": _SMALL
    | _MAMBA2
    | {"layer_types": ["linear_attention", "full_attention", "linear_attention", "linear_attention"]}
    | {"shared_intermediate_size": 32, "num_local_experts": 2, "num_experts_per_tok": 1},
    "nemotron_h": _SMALL
    | {"num_hidden_layers": 5, "hybrid_override_pattern": "M-M*-", "head_dim": 16, "mamba_num_heads": 4}
    | {"mamba_head_dim": 16, "n_groups": 2, "ssm_state_size": 8},
    "qwen3_next": _SMALL | _DELTA | _EXPERTS | {"shared_expert_intermediate_size": 32},
    "qwen3_5_text": _SMALL | _DELTA,
    "olmo_hybrid": _SMALL,
    "minimax": _SMALL | {"head_dim": 16, "num_local_experts": 2},
    "lfm2": _SMALL | {"layer_types": ["conv", "full_attention", "conv", "conv"]},
    "kimi_linear": _LATENT
    | {"linear_head_dim": 16, "linear_num_heads": 4, "num_local_experts": 4}
    | {"layer_types": ["linear_attention", "linear_attention", "full_attention", "linear_attention"]},
    "mamba": {"vocab_size": 128, "hidden_size": 64, "num_hidden_layers": 3},
    "mamba2": {
        "vocab_size": 128,
        "hidden_size": 64,
        "num_hidden_layers": 3,
        "num_heads": 8,
        "head_dim": 16,
        "n_groups": 2,
        "state_size": 8,
    },
    "falcon_mamba": {"vocab_size": 128, "hidden_size": 64, "num_hidden_layers": 3},
    "gemma3n_text": _SMALL
    | {"head_dim": 16, "num_hidden_layers": 10, "num_kv_shared_layers": 5, "sliding_window": 9, "laurel_rank": 8}
    | {"hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": 128, "activation_sparsity_pattern": [0.0] * 10}
    | {"layer_types": (["sliding_attention"] * 4 + ["full_attention"]) * 2},
    "gemma4_text": _SMALL
    | {"num_hidden_layers": 6, "head_dim": 16, "global_head_dim": 32, "sliding_window": 9, "num_kv_shared_layers": 2}
    | {"hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": 128}
    | {"layer_types": ["sliding_attention", "full_attention"] * 3},
    "deepseek_v2": _LATENT,
    "deepseek_v3": _LATENT,
    "minicpm3": _LATENT,
    "deepseek_v32": _LATENT | {"index_head_dim": 16, "index_n_heads": 2, "index_topk": 8},
    "glm_moe_dsa": _LATENT | {"index_head_dim": 16, "index_n_heads": 2, "index_topk": 8},
    "t5": {
        "vocab_size": 128,
        "d_model": 64,
        "d_kv": 16,
        "d_ff": 64,
        "num_layers": 2,
        "num_decoder_layers": 3,
        "num_heads": 4,
        "decoder_start_token_id": 0,
    },
    "bart": _BART,
    "marian": _BART,
}
ENCODED = 25
# Like others in kind: with `make test-slow`.
_ALIKE = (
    "olmo_hybrid qwen3_5_text granitemoehybrid bamba mamba2 falcon_mamba minicpm3 deepseek_v2 glm_moe_dsa marian",
    "gpt_bigcode bloom cohere2 zamba2 mistral kimi_linear bart",
)
ALIKE = frozenset(name for line in _ALIKE for name in line.split(" "))


def built(model_type, settings, dtype):
    """A model with random weights, and whether it has an encoder."""
    transformers.utils.logging.set_verbosity_error()
    torch.manual_seed(0)
    config = CONFIG_MAPPING[model_type](**settings)
    if config.is_encoder_decoder:
        return transformers.AutoModelForSeq2SeqLM.from_config(config).eval().to(dtype), True
    return transformers.AutoModelForCausalLM.from_config(config).eval().to(dtype), False


def measured(model_type, settings, dtype):
    """What transformers holds after a pass of two rows."""
    model, crosses = built(model_type, settings, dtype)
    ids = torch.randint(3, 100, (2, TOKENS))
    with torch.inference_mode():
        if crosses:
            made = model(input_ids=ids[:, :ENCODED], decoder_input_ids=ids, use_cache=True)
        else:
            made = model(input_ids=ids, use_cache=True)
    cache = made.cache if getattr(made, "cache", None) is not None else made.past_key_values
    return tensors_of(cache, set()), sum(weight.numel() for weight in model.parameters())


@pytest.mark.parametrize(
    "model_type", [pytest.param(name, marks=[pytest.mark.slow] if name in ALIKE else []) for name in MODELS]
)
def test_transformers_holds_what_is_planned(model_type):
    settings = MODELS[model_type]
    held, parameters = measured(model_type, settings, torch.bfloat16)
    subject = open_subject({**settings, "model_type": model_type})
    planner = Planner.of(subject, Request(contexts=(TOKENS,), dtype="bfloat16"))
    planned = cache_bytes(
        planner.layers,
        TOKENS,
        2,
        pair_of("bfloat16"),
        Holding(between_steps=True),
        encoder_tokens=ENCODED,
        state_bytes=2,
    )
    assert planned.total == held
    if planner.weights is not None:
        assert planner.weights.numbers == parameters
        assert planner.weights.bytes == 2 * parameters


HEADS = {"smollm2": (3, 64), "odd": (2, 33)}


def group_of(heads, dim, window=None):
    return ordinate.LayerGroup(
        "full_attention" if window is None else "sliding_attention",
        ordinate.scheme("none")(),
        layers=(0,),
        heads=ordinate.Heads(heads, heads, dim, dim),
        sliding_window=window,
    )


def spec_of(group):
    return ordinate.Spec("a model", "llama", "meta", {group.layer_type: group}, ordinate.Window(256, 256), 1)


@pytest.mark.parametrize("name", storages())
@pytest.mark.parametrize("heads, dim", HEADS.values(), ids=HEADS)
@pytest.mark.parametrize("layout", ["dense", "paged", "ring"])
def test_this_packages_caches_hold_what_is_planned(name, heads, dim, layout):
    window = 16 if layout == "ring" else None
    group = group_of(heads, dim, window)
    layouts = {"dense": lambda: Dense(capacity=TOKENS), "paged": lambda: Paged(page_size=16, pages=6)}
    made = Ring() if layout == "ring" else layouts[layout]()
    cache = Cache(group, 2, storage=name, layout=made)
    k, v = torch.randn(2, TOKENS, heads, dim), torch.randn(2, TOKENS, heads, dim)
    step = 1 if layout == "ring" else 8  # a call of n tokens makes a ring n - 1 places longer for a while
    for start in range(0, TOKENS, step):
        cache.append(k[:, start : start + step], v[:, start : start + step])
    page = 16 if layout == "paged" else None
    how = Holding(page_size=page)
    planned = cache_bytes(attention_layers(spec_of(group)), TOKENS, 2, pair_of(name), how)
    assert abs(planned.total - cache.bytes) <= 0.01 * cache.bytes


@pytest.mark.slow
@pytest.mark.parametrize("tokens", [64, 1000])
def test_smollm2_holds_what_is_planned(tokens):
    from ordinate.transformers.convert import converted
    from ordinate.transformers.loading import load

    model, _ = load(converted("smollm2"), dtype=torch.float32)
    ids = torch.randint(3, 1000, (1, tokens), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        cache = model(input_ids=ids, use_cache=True).cache
    held = tensors_of(cache, set())
    planned = plan("smollm2", Request(contexts=(tokens,), kv="float32"))
    assert abs(planned.cells[0].cache_bytes - held) <= 0.01 * held
    group = ordinate.read("smollm2").group
    for name in storages():
        total = 0
        for layer in cache.layers:
            own = Cache(group, 1, storage=name, layout=Dense(capacity=tokens), keys="rotated")
            own.append(layer.keys.transpose(1, 2), layer.values.transpose(1, 2))
            total += own.bytes
        found = plan("smollm2", Request(contexts=(tokens,), kv=name)).cells[0].cache_bytes
        assert abs(found - total) <= 0.01 * total
    del model
    gc.collect()


@pytest.mark.parametrize("name", storages())
def test_unrotated_keys_take_what_rotated_ones_take(name):
    group = ordinate.LayerGroup(
        "full_attention", ordinate.scheme("rope")(head_dim=64), layers=(0,), heads=ordinate.Heads(6, 2, 64, 64)
    )
    k, v = torch.randn(1, TOKENS, 2, 64), torch.randn(1, TOKENS, 2, 64)
    planned = cache_bytes(attention_layers(spec_of(group)), TOKENS, 1, pair_of(name), Holding()).total
    for kept in ("rotated", "unrotated"):
        cache = Cache(group, 1, storage=name, layout=Dense(capacity=TOKENS), keys=kept)
        cache.append(k, v)
        assert cache.bytes == planned


@pytest.mark.parametrize("prefix, tokens, rows", [(64, 100, 4), (50, 100, 3), (16, 16, 5), (15, 40, 2)])
def test_rows_share_the_whole_pages_of_a_prefix(prefix, tokens, rows):
    page = 16
    group = group_of(2, 8)
    cache = Cache(group, 1, layout=Paged(page_size=page, pages=64))
    cache.append(torch.randn(1, prefix, 2, 8), torch.randn(1, prefix, 2, 8))
    cache.reorder(torch.zeros(rows, dtype=torch.int64))
    if tokens > prefix:
        cache.append(torch.randn(rows, tokens - prefix, 2, 8), torch.randn(rows, tokens - prefix, 2, 8))
    used = 64 - cache._state.memory.free
    planned = held(tokens, rows, None, Holding(page_size=page, shared_prefix=prefix))
    assert planned.room == used * page
