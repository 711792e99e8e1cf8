"""What is kept where a configuration says less, or more, than the usual."""

import gguf
import numpy as np
import pytest

from ordinate import models
from ordinate.errors import InputError
from ordinate.plan import Request, plan

LLAMA = models.published("llama-3-8b").config
GPT2 = {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024, "vocab_size": 50257}
BERT = {"model_type": "bert", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12}
BERT |= {"intermediate_size": 3072, "max_position_embeddings": 512, "vocab_size": 30522}
ZAMBA2 = {"model_type": "zamba2", "hidden_size": 3584, "num_hidden_layers": 6, "num_attention_heads": 32}
ZAMBA2 |= {"num_key_value_heads": 32, "mamba_d_state": 64, "mamba_ngroups": 2, "n_mamba_heads": 112}
ZAMBA2 |= {"max_position_embeddings": 4096, "vocab_size": 32000, "torch_dtype": "bfloat16"}


@pytest.mark.parametrize(
    "config",
    [
        {**GPT2, "torch_dtype": "float16", "add_cross_attention": True},
        {"model_type": "vision-encoder-decoder", "torch_dtype": "float16", "encoder": {"model_type": "vit"}}
        | {"decoder": {**GPT2, "add_cross_attention": True}},
        # the pair itself sets the flag when it is made
        {"model_type": "encoder-decoder", "torch_dtype": "float16", "encoder": BERT, "decoder": BERT},
    ],
    ids=["alone", "behind a picture", "two encoders"],
)
def test_a_decoder_that_attends_to_an_encoder_keeps_its_tokens_too(config):
    # 12 layers, keys and values of 768 channels, 2 bytes: of 100 own tokens and of 197 of the encoder
    found = plan(config, Request(contexts=(100,), encoder_tokens=197))
    assert found.cells[0].cross_bytes == 12 * 2 * 768 * 2 * 197
    assert found.cells[0].cache_bytes == 12 * 2 * 768 * 2 * (100 + 197)
    assert found.weights.bytes is None  # the matrices of its cross-attention are in no table


def test_a_decoder_without_an_encoder_keeps_no_such_tokens():
    assert plan({**GPT2, "add_cross_attention": False}, Request(contexts=(100,))).cells[0].cross_bytes == 0


def test_heads_that_differ_from_layer_to_layer_are_not_guessed():
    with pytest.raises(InputError, match="num_key_value_heads differs from layer to layer"):
        plan({**LLAMA, "num_hidden_layers": 2, "num_key_value_heads": [8, 4]}, Request(contexts=(64,)))


def test_heads_of_zamba2_cut_twice_the_width():
    """transformers: attention_head_dim = 2 * hidden_size // num_attention_heads, whatever the file says."""
    types = ["mamba", "mamba", "hybrid", "mamba", "mamba", "hybrid"]
    found = plan({**ZAMBA2, "layers_block_type": types}, Request(contexts=(64,)))
    assert found.token_bytes == 2 * 32 * (2 * 3584 // 32) * 2 * 2


def test_which_layers_of_zamba2_attend_is_not_guessed():
    with pytest.raises(InputError, match="layers_block_type is missing"):
        plan(ZAMBA2, Request(contexts=(64,)))


@pytest.mark.parametrize("window, slope", [(262144, 131_072), (8192, 131_072), (8191, 0)])
def test_a_window_that_never_slides_is_part_of_the_slope(window, slope):
    """Phi-3's releases for 128k have a window of 262,144: each of their tokens adds to the cache."""
    config = {**LLAMA, "model_type": "mistral", "max_position_embeddings": 8192, "sliding_window": window}
    found = plan(config, Request(contexts=(4096,)))
    assert (found.token_bytes, found.sequence_bytes) == (slope, 0 if slope else 131_072 * window)


@pytest.mark.parametrize("heads, noted", [({"num_kv_heads": 8, "new_decoder_architecture": True}, True), ({}, False)])
def test_falcon_in_transformers_keeps_a_copy_for_every_head(heads, noted):
    config = {"model_type": "falcon", "hidden_size": 512, "num_hidden_layers": 2, "num_attention_heads": 32}
    found = plan({**config, "vocab_size": 128, "max_position_embeddings": 2048, **heads}, Request(contexts=(64,)))
    assert any("every query head" in note for note in found.notes) is noted


@pytest.mark.parametrize("absorbed, token", [(True, 61 * (512 + 64) * 2), (False, 61 * 128 * (192 + 128) * 2)])
def test_a_file_before_absorption_keeps_every_head(tmp_path, absorbed, token):
    """llama.cpp: llama_hparams::is_mla() asks for key_length_mla; without it "MLA converts into MHA"."""
    file = tmp_path / "model.gguf"
    writer = gguf.GGUFWriter(str(file), "deepseek2")
    numbers = {"block_count": 61, "context_length": 4096, "embedding_length": 7168, "attention.head_count": 128}
    numbers |= {"attention.kv_lora_rank": 512, "rope.dimension_count": 64}
    if absorbed:
        numbers |= {"attention.head_count_kv": 1, "attention.key_length": 576, "attention.value_length": 512}
        numbers |= {"attention.key_length_mla": 192, "attention.value_length_mla": 128}
    else:
        numbers |= {"attention.head_count_kv": 128, "attention.key_length": 192, "attention.value_length": 128}
    for key, value in numbers.items():
        writer.add_uint32(f"deepseek2.{key}", value)
    writer.add_tensor("token_embd.weight", np.zeros((8, 64), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    found = plan(file, Request(contexts=(4096,)))
    assert found.token_bytes == token
    assert any("key_length_mla" in note for note in found.notes) is not absorbed


def test_only_weights_by_shapes_are_said_to_be_of_a_part():
    nested = {"model_type": "llava", "text_config": {**LLAMA}, "vision_config": {}}
    notes = [plan(nested, Request(contexts=(64,), weights=weights)).notes for weights in (10**9, None)]
    assert [any("of several parts" in note for note in found) for found in notes] == [False, True]
