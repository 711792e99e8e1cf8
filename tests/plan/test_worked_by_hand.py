"""Caches of published models against sums worked out by hand from their configurations.

Each case shows the working: layers * 2 (keys and values) * heads * channels * bytes, times tokens where the layers see
all, times at most the window where they do not. Nothing of the planner is used on the right-hand side.
"""

import pytest

from ordinate.plan import Ranks, Request, plan

K = 1024
BF16 = 2
F32 = 4


def planned(source, context, **settings):
    return plan(source, Request(contexts=(context,), kv=settings.pop("kv", "float16"), **settings))


def decoder(model_type, hidden, layers, heads, key_value, **settings):
    return {
        "model_type": model_type,
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": key_value,
        "vocab_size": 32000,
        "intermediate_size": 4 * hidden,
        "max_position_embeddings": 32 * K,
        "rope_theta": 10000.0,
        "torch_dtype": "bfloat16",
        **settings,
    }


# name: source, context, bytes of one sequence at that context.
SEEING_ALL = {
    # 32 layers, 32 heads of 4096 / 32 = 128
    "Llama 2 7B at 4k": ("llama-2-7b", 4 * K, 32 * 2 * 32 * 128 * 2 * 4 * K),
    # 80 layers, 8 of 64 heads keep keys, 8192 / 64 = 128
    "Llama 2 70B": ("llama-2-70b", 4 * K, 80 * 2 * 8 * 128 * 2 * 4 * K),
    # 126 layers, 8 heads of 16384 / 128
    "Llama 3.1 405B at 128k": ("llama-3.1-405b", 128 * K, 126 * 2 * 8 * 128 * 2 * 128 * K),
    # heads of 64, not of 2048 / 32 = 64: the same
    "Llama 3.2 1B": ("llama-3.2-1b", 8 * K, 16 * 2 * 8 * 64 * 2 * 8 * K),
    # 28 layers, 4 heads of 3584 / 28 = 128; use_sliding_window is false
    "Qwen2.5 7B": ("qwen2.5-7b", 32 * K, 28 * 2 * 4 * 128 * 2 * 32 * K),
    # head_dim 128 is said, and is not 5120 / 64 = 80
    "Qwen3 32B": ("qwen3-32b", 32 * K, 64 * 2 * 8 * 128 * 2 * 32 * K),
    # 94 layers, 4 heads; experts keep nothing
    "Qwen3 235B-A22B": ("qwen3-235b-a22b", 32 * K, 94 * 2 * 4 * 128 * 2 * 32 * K),
    "Mixtral 8x7B": ("mixtral-8x7b", 32 * K, 32 * 2 * 8 * 128 * 2 * 32 * K),
    # sliding_window is null in v0.3
    "Mistral 7B v0.3": ("mistral-7b-v0.3", 32 * K, 32 * 2 * 8 * 128 * 2 * 32 * K),
    # 40 layers, 64 heads of 8192 / 64 with no grouping: 1.25 MiB a token
    "Command R": ("command-r", 8 * K, 40 * 2 * 64 * 128 * 2 * 8 * K),
    # 40 layers, 2 heads
    "GLM-4 9B": ("glm-4-9b", 32 * K, 40 * 2 * 2 * 128 * 2 * 32 * K),
    "GLM-4.5": ("glm-4.5", 128 * K, 92 * 2 * 8 * 128 * 2 * 128 * K),
    # 10 heads of 5120 / 40 = 128
    "Phi-4": ("phi-4", 16 * K, 40 * 2 * 10 * 128 * 2 * 16 * K),
    "MiniMax-M2": ("minimax-m2", 128 * K, 62 * 2 * 8 * 128 * 2 * 128 * K),
    # one head for all queries, 4544 / 71 = 64
    "Falcon 7B": ("falcon-7b", 2 * K, 32 * 2 * 1 * 64 * 2 * 2 * K),
    # num_kv_heads 8 of 128, 8192 / 128 = 64
    "Falcon 40B": ("falcon-40b", 2 * K, 60 * 2 * 8 * 64 * 2 * 2 * K),
    # 112 heads of 14336 / 112 = 128
    "BLOOM": ("bloom", 2 * K, 70 * 2 * 112 * 128 * 2 * 2 * K),
    "Pythia 6.9B": ("pythia-6.9b", 2 * K, 32 * 2 * 32 * 128 * 2 * 2 * K),
    "MPT 7B": ("mpt-7b", 2 * K, 32 * 2 * 32 * 128 * 2 * 2 * K),
    # one head for all 48 queries, 6144 / 48 = 128
    "StarCoder": (
        {
            "model_type": "gpt_bigcode",
            "n_embd": 6144,
            "n_layer": 40,
            "n_head": 48,
            "n_positions": 8 * K,
            "multi_query": True,
            "vocab_size": 49152,
        },
        8 * K,
        40 * 2 * 1 * 128 * 2 * 8 * K,
    ),
}

# MLA: layers * (latent + rotary key) * bytes, whatever the heads.
LATENT = {
    "DeepSeek-V3": ("deepseek-v3", 61 * (512 + 64) * 2),
    "DeepSeek-V2-Lite": ("deepseek-v2-lite", 27 * (512 + 64) * 2),
    # half of DeepSeek-V3's heads, the same latent
    "Kimi K2": ("kimi-k2", 61 * (512 + 64) * 2),
}

# Bytes that grow with the context, and those that do not; and the context they are asked for at.
MIXED = {
    # every layer keeps 4,096 tokens
    "Mistral 7B v0.1": ("mistral-7b-v0.1", 32 * K, 0, 32 * 2 * 8 * 128 * BF16 * 4096),
    # every layer keeps 2,047
    "Phi-3 mini": ("phi-3-mini-4k", 4 * K, 0, 32 * 2 * 32 * 96 * BF16 * 2047),
    # layers 0, 2, ... slide: 21 of 42
    "Gemma 2 9B": ("gemma-2-9b", 8 * K, 21 * 2 * 8 * 256 * BF16, 21 * 2 * 8 * 256 * BF16 * 4096),
    # 23 of 46
    "Gemma 2 27B": ("gemma-2-27b", 8 * K, 23 * 2 * 16 * 128 * BF16, 23 * 2 * 16 * 128 * BF16 * 4096),
    # every sixth of 62 layers sees all: 10
    "Gemma 3 27B": ("gemma-3-27b", 128 * K, 10 * 2 * 16 * 128 * BF16, 52 * 2 * 16 * 128 * BF16 * 1024),
    # every sixth of 26: 4
    "Gemma 3 1B": ("gemma-3-1b", 32 * K, 4 * 2 * 1 * 256 * BF16, 22 * 2 * 1 * 256 * BF16 * 512),
    # 12 of 24 layers slide over 128 tokens; the learned sinks keep nothing
    "gpt-oss 20B": ("gpt-oss-20b", 128 * K, 12 * 2 * 8 * 64 * BF16, 12 * 2 * 8 * 64 * BF16 * 128),
    "gpt-oss 120B": ("gpt-oss-120b", 128 * K, 18 * 2 * 8 * 64 * BF16, 18 * 2 * 8 * 64 * BF16 * 128),
    # every fourth of 32 layers sees all
    "Command R7B": ("command-r7b", 128 * K, 8 * 2 * 8 * 128 * BF16, 24 * 2 * 8 * 128 * BF16 * 4096),
    # every fourth of 48 sees all, the rest its chunk of 8,192
    "Llama 4 Scout": ("llama-4-scout", 128 * K, 12 * 2 * 8 * 128 * BF16, 36 * 2 * 8 * 128 * BF16 * 8192),
    # Gemma 3n E4B: of 35 layers the last 15 use what others keep; of the first 20 layers 4, 9, 14, 19 see all
    "Gemma 3n E4B": (
        {
            "model_type": "gemma3n",
            "torch_dtype": "bfloat16",
            "text_config": {
                "model_type": "gemma3n_text",
                "hidden_size": 2048,
                "num_hidden_layers": 35,
                "num_attention_heads": 8,
                "num_key_value_heads": 2,
                "head_dim": 256,
                "sliding_window": 512,
                "num_kv_shared_layers": 15,
                "layer_types": (["sliding_attention"] * 4 + ["full_attention"]) * 7,
                "max_position_embeddings": 32 * K,
            },
        },
        32 * K,
        4 * 2 * 2 * 256 * BF16,
        16 * 2 * 2 * 256 * BF16 * 512,
    ),
    # layers 4, 12, 20, 28 attend; 28 keep a convolution of 8192 * 4 and a recurrence of 8192 * 16 in float32
    "Jamba v0.1": ("jamba-v0.1", 256 * K, 4 * 2 * 8 * 128 * BF16, 28 * (8192 * 4 * BF16 + 8192 * 16 * F32)),
    # 12 of 48 layers attend; 36 keep (2 * 16 * 128 + 32 * 128) * 4 and 32 matrices of 128 * 128 in float32
    "Qwen3-Next 80B-A3B": (
        "qwen3-next-80b-a3b",
        256 * K,
        12 * 2 * 2 * 256 * BF16,
        36 * ((2 * 16 * 128 + 32 * 128) * 4 * BF16 + 32 * 128 * 128 * F32),
    ),
    # Falcon-H1 0.5B: each of 36 layers attends and has a state: (1536 + 2 * 128) * 4, and 1536 * 128 in float32
    "Falcon-H1 0.5B": (
        decoder(
            "falcon_h1",
            1024,
            36,
            8,
            2,
            head_dim=64,
            mamba_d_ssm=1536,
            mamba_n_heads=24,
            mamba_d_head=64,
            mamba_d_state=128,
            mamba_n_groups=1,
            mamba_d_conv=4,
        ),
        16 * K,
        36 * 2 * 2 * 64 * BF16,
        36 * ((1536 + 2 * 128) * 4 * BF16 + 1536 * 128 * F32),
    ),
    # Nemotron-H 8B: 4 of 52 layers attend, 24 are Mamba-2: (128 * 64 + 2 * 8 * 128) * 4, and 128 * 64 * 128
    "Nemotron-H 8B": (
        decoder(
            "nemotron_h",
            4096,
            52,
            32,
            8,
            head_dim=128,
            hybrid_override_pattern="M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-",
            mamba_num_heads=128,
            mamba_head_dim=64,
            n_groups=8,
            ssm_state_size=128,
            conv_kernel=4,
        ),
        8 * K,
        4 * 2 * 8 * 128 * BF16,
        24 * ((128 * 64 + 2 * 8 * 128) * 4 * BF16 + 128 * 64 * 128 * F32),
    ),
    # MiniMax-Text-01: every eighth of 80 layers attends; 70 keep 64 matrices of 128 * 128
    "MiniMax-Text-01": (
        decoder("minimax_text_01", 6144, 80, 64, 8, head_dim=128, rotary_dim=64, attn_type_list=([0] * 7 + [1]) * 10),
        128 * K,
        10 * 2 * 8 * 128 * BF16,
        70 * 64 * 128 * 128 * BF16,
    ),
    # Kimi Linear 48B-A3B: layers 4, 8, ... 24 and 27 have MLA; 20 keep 3 * 32 * 128 * 4 and 32 matrices of 128 * 128
    "Kimi Linear 48B-A3B": (
        decoder(
            "kimi_linear",
            2304,
            27,
            32,
            32,
            kv_lora_rank=512,
            q_lora_rank=None,
            qk_nope_head_dim=128,
            qk_rope_head_dim=64,
            v_head_dim=128,
            linear_attn_config={
                "full_attn_layers": [4, 8, 12, 16, 20, 24, 27],
                "kda_layers": [n for n in range(1, 27) if n % 4],
                "head_dim": 128,
                "num_heads": 32,
                "short_conv_kernel_size": 4,
            },
        ),
        128 * K,
        7 * (512 + 64) * BF16,
        20 * (3 * 32 * 128 * 4 * BF16 + 32 * 128 * 128 * F32),
    ),
    # LFM2 1.2B: 6 of 16 layers attend, 10 keep 2048 * 3
    "LFM2 1.2B": (
        decoder("lfm2", 2048, 16, 32, 8, full_attn_idxs=[2, 5, 8, 10, 12, 14], conv_L_cache=3),
        32 * K,
        6 * 2 * 8 * 64 * BF16,
        10 * 2048 * 3 * BF16,
    ),
    # RecurrentGemma 2B: layers 2, 5, ... 23 attend to 2,048 tokens; 18 keep 2560 * 3 and 2560 in float32
    "RecurrentGemma 2B": (
        {
            "model_type": "recurrent_gemma",
            "hidden_size": 2560,
            "lru_width": 2560,
            "num_hidden_layers": 26,
            "num_attention_heads": 10,
            "num_key_value_heads": 1,
            "head_dim": 256,
            "attention_window_size": 2048,
            "conv1d_width": 4,
            "_block_types": ["recurrent", "recurrent", "attention"],
            "vocab_size": 256000,
            "torch_dtype": "bfloat16",
        },
        8 * K,
        0,
        8 * 2 * 1 * 256 * BF16 * 2048 + 18 * (2560 * 3 * BF16 + 2560 * F32),
    ),
    # Mamba 2.8B: 64 layers without attention: 5120 * 4, and 5120 * 16 in float32
    "Mamba 2.8B": (
        {
            "model_type": "mamba",
            "hidden_size": 2560,
            "intermediate_size": 5120,
            "num_hidden_layers": 64,
            "state_size": 16,
            "conv_kernel": 4,
            "vocab_size": 50280,
            "torch_dtype": "bfloat16",
        },
        8 * K,
        0,
        64 * (5120 * 4 * BF16 + 5120 * 16 * F32),
    ),
}

# Own tokens, tokens of the encoder, bytes.
CROSSING = {
    # 12 decoder layers with 16 heads of 64, of their own tokens and of the encoder's
    "BART large": ("bart-large", 512, 1024, 12 * 2 * 16 * 64 * 2 * (512 + 1024)),
    "T5 large": ("t5-large", 512, 2048, 24 * 2 * 16 * 64 * 2 * (512 + 2048)),
    # T5 11B: 128 heads of 128, where 1024 / 128 is 8
    "T5 11B": (
        {
            "model_type": "t5",
            "d_model": 1024,
            "d_kv": 128,
            "d_ff": 65536,
            "num_heads": 128,
            "num_layers": 24,
            "n_positions": 512,
            "vocab_size": 32128,
        },
        512,
        512,
        24 * 2 * 128 * 128 * 2 * (512 + 512),
    ),
    # the encoder has 1,500 tokens of 30 s, whatever is asked for
    "Whisper large v3": ("whisper-large-v3", 448, None, 32 * 2 * 20 * 64 * 2 * (448 + 1500)),
    # Llama 3.2 11B Vision: 8 of 40 layers keep the picture's 4 tiles of 1,601, and nothing of the text
    "Llama 3.2 11B Vision": (
        {
            "model_type": "mllama",
            "text_config": {
                "model_type": "mllama_text_model",
                "hidden_size": 4096,
                "num_hidden_layers": 40,
                "num_attention_heads": 32,
                "num_key_value_heads": 8,
                "cross_attention_layers": [3, 8, 13, 18, 23, 28, 33, 38],
                "max_position_embeddings": 128 * K,
                "rope_theta": 500000.0,
                "vocab_size": 128256,
            },
        },
        8 * K,
        4 * 1601,
        32 * 2 * 8 * 128 * 2 * 8 * K + 8 * 2 * 8 * 128 * 2 * 4 * 1601,
    ),
}


@pytest.mark.parametrize("case", SEEING_ALL.values(), ids=SEEING_ALL)
@pytest.mark.parametrize("batch", [1, 16])
def test_layers_that_see_all_keep_every_token(case, batch):
    source, context, expected = case
    found = planned(source, context, batches=(batch,))
    assert found.cells[0].cache_bytes == batch * expected
    assert found.token_bytes * context == expected
    assert found.sequence_bytes == 0


@pytest.mark.parametrize("source, expected", LATENT.values(), ids=LATENT)
def test_mla_keeps_a_latent_and_a_rotary_key(source, expected):
    found = planned(source, 128 * K)
    assert found.token_bytes == expected
    assert found.cells[0].cache_bytes == 128 * K * expected


@pytest.mark.parametrize("case", MIXED.values(), ids=MIXED)
def test_windows_and_states_keep_what_no_long_text_adds_to(case):
    source, context, slope, rest = case
    found = planned(source, context, kv="bfloat16", batches=(1, 3))
    assert (found.token_bytes, found.sequence_bytes) == (slope, rest)
    assert [cell.cache_bytes for cell in found.cells] == [slope * context + rest, 3 * (slope * context + rest)]


@pytest.mark.parametrize("case", CROSSING.values(), ids=CROSSING)
def test_a_decoder_keeps_its_encoders_tokens_once(case):
    source, context, tokens, expected = case
    found = planned(source, context, encoder_tokens=tokens)
    assert found.cells[0].cache_bytes == expected


def test_the_values_that_were_asked_for():
    lengths = planned("llama-2-7b", 4 * K, batches=(1, 16)).cells
    assert [cell.cache_bytes / 2**30 for cell in lengths] == [2, 32]
    assert planned("llama-2-7b", 32 * K, batches=(1, 16)).cells[1].cache_bytes == 256 * 2**30
    assert planned("llama-2-7b", 128 * K, batches=(1, 16)).cells[1].cache_bytes == 1024 * 2**30
    assert planned("llama-3-8b", 8 * K).token_bytes == 131_072
    assert planned("deepseek-v3", 8 * K).token_bytes == 70_272
    assert plan("bert-base").tables[0].parameters == 393_216 == 512 * 768
    assert plan("bert-base").cells[0].cache_bytes == 0


def test_an_engine_that_expands_the_latent_keeps_all_heads():
    # 128 heads of 192 for keys and 128 for values
    found = planned("deepseek-v3", 4 * K, expand_latent=True)
    assert found.token_bytes == 61 * 128 * (192 + 128) * 2


def test_a_key_beside_the_latent_chooses_tokens():
    # DeepSeek-V3.2: 61 layers with a latent of 512 + 64 and a key of 128
    config = decoder(
        "deepseek_v32",
        7168,
        61,
        128,
        128,
        kv_lora_rank=512,
        q_lora_rank=1536,
        qk_nope_head_dim=128,
        qk_rope_head_dim=64,
        v_head_dim=128,
        index_head_dim=128,
    )
    assert planned(config, 8 * K).token_bytes == 61 * (512 + 64 + 128) * 2


@pytest.mark.parametrize("tensor, each, copies", [(1, 8, 1), (4, 2, 1), (8, 1, 1), (16, 1, 2), (32, 1, 4)])
def test_heads_are_shared_until_there_are_fewer_than_ranks(tensor, each, copies):
    """KVM-07: 8 heads on 4 ranks are 2 each; on 16 ranks 1 each, in 2 copies."""
    found = planned("llama-3-8b", 8 * K, ranks=Ranks(tensor=tensor))
    assert (found.layers[0].rank_heads, found.layers[0].copies) == (each, copies)
    assert found.cells[0].cache_bytes == 32 * 2 * each * 128 * 2 * 8 * K
    assert found.cells[0].ranks_cache_bytes == copies * 131_072 * 8 * K
    assert found.token_bytes == 131_072
