"""Weights by shapes against published counts, and by headers against the files themselves."""

import json
import struct

import pytest

from ordinate import models
from ordinate.errors import InputError
from ordinate.plan import Ranks, Request, plan
from ordinate.plan.weights import stored

# What the publishers say, by the headers of their safetensors files or their papers.
COUNTS = {
    "llama-2-7b": 6_738_415_616,
    "llama-2-13b": 13_015_864_320,
    "llama-2-70b": 68_976_648_192,
    "llama-3-8b": 8_030_261_248,
    "llama-3.1-70b": 70_553_706_496,
    "llama-3.2-1b": 1_235_814_400,
    "mistral-7b-v0.1": 7_241_732_096,
    "mixtral-8x7b": 46_702_792_704,
    "qwen2.5-7b": 7_615_616_512,
    "qwen3-8b": 8_190_735_360,
    "qwen3-30b-a3b": 30_532_122_624,
    "gemma-2-9b": 9_241_705_984,
    "gemma-2-27b": 27_227_128_320,
    "phi-3-mini-4k": 3_821_079_552,
    "command-r": 34_980_831_232,
    "glm-4-9b": 9_400_279_040,
    "deepseek-v2-lite": 15_706_484_224,
    "jamba-v0.1": 51_570_323_328,
    "olmo-2-7b": 7_298_617_344,
    "bloom": 176_247_271_424,
    "pythia-6.9b": 6_857_302_016,
    "mpt-7b": 6_649_286_656,
    "gpt2": 124_439_808,
    "bert-base": 109_482_240,
    "t5-large": 737_668_096,
    "bart-large": 406_291_456,
    "whisper-large-v3": 1_543_490_560,
}


@pytest.mark.parametrize("name, count", COUNTS.items())
def test_shapes_give_the_published_count(name, count):
    found = plan(name, Request(contexts=(256,))).weights
    assert found.parameters == count
    assert found.bytes == count * {"float32": 4, "float16": 2, "bfloat16": 2}[found.dtype or ""]


@pytest.mark.parametrize(
    "config, count",
    [
        # tiiuae/falcon-rw-1b: biases, ALiBi, attention before the feed-forward layer
        (
            {"model_type": "falcon", "hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 32}
            | {"multi_query": False, "parallel_attn": False, "bias": True, "alibi": True, "vocab_size": 50304},
            1_311_625_216,
        ),
        # facebook/opt-350m: an embedding of half the width, norms behind the layers
        (
            {"model_type": "opt", "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16}
            | {"ffn_dim": 4096, "word_embed_proj_dim": 512, "do_layer_norm_before": False, "vocab_size": 50272}
            | {"max_position_embeddings": 2048},
            331_196_416,
        ),
    ],
    ids=["falcon-rw-1b", "opt-350m"],
)
def test_what_a_release_has_of_its_own_is_counted(config, count):
    assert plan(config, Request(contexts=(256,))).weights.parameters == count


@pytest.mark.parametrize("name", models.published_names())
def test_every_published_model_has_shapes(name):
    assert plan(name, Request(contexts=(256,))).weights.bytes


# metadata.total_size of the index of each repository.
@pytest.mark.parametrize("name, size", [("gpt-oss-20b", 13_761_264_768), ("gpt-oss-120b", 65_248_815_744)])
def test_experts_in_four_bits_take_what_the_index_says(name, size):
    assert plan(name, Request(contexts=(256,))).weights.bytes == size


def test_matrices_in_eight_bits_take_half():
    """DeepSeek-V3: a byte a number and a scale for each block of 128 * 128, but for embeddings, routers and norms."""
    found = plan("deepseek-v3", Request(contexts=(256,))).weights
    floats = 2 * 129280 * 7168
    assert found.bytes == pytest.approx(671e9 - floats + 2 * floats, rel=2e-3)


@pytest.mark.parametrize("bits, group, expected", [(4, 128, 4 + 20 / 128), (8, 64, 8 + 24 / 64), (4, -1, 4)])
def test_groups_of_gptq_have_a_scale_and_a_zero(bits, group, expected):
    config = models.published("llama-2-7b").config
    settings = {"quant_method": "gptq", "bits": bits, "group_size": group}
    found = plan({**config, "quantization_config": settings}, Request(contexts=(256,))).weights
    floats = 2 * 32000 * 4096 + 65 * 4096
    assert found.bytes == round(2 * floats + (6_738_415_616 - floats) * expected / 8)


def test_an_unknown_quantisation_is_not_guessed():
    config = {**models.published("llama-2-7b").config, "quantization_config": {"quant_method": "hqq"}}
    assert plan(config, Request(contexts=(256,))).weights.bytes is None
    with pytest.raises(InputError, match="give what the weights take"):
        plan(config, Request(contexts=(256,), memory=2**40))
    assert plan(config, Request(contexts=(256,), memory=2**40, weights=2**32)).cells[0].weights_bytes == 2**32


def safetensors(file, tensors):
    """A file of zeros with these shapes, in bfloat16."""
    header, place = {}, 0
    for name, shape in tensors.items():
        size = 2
        for extent in shape:
            size *= extent
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [place, place + size]}
        place += size
    text = json.dumps(header).encode()
    file.write_bytes(struct.pack("<Q", len(text)) + text + bytes(place))
    return place


CONFIG = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "vocab_size": 100,
    "max_position_embeddings": 256,
    "rope_theta": 10000.0,
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": True,
}


def tensors_of(layers):
    found = {"model.embed_tokens.weight": (100, 64), "model.norm.weight": (64,)}
    for layer in range(layers):
        start = f"model.layers.{layer}."
        found |= {
            f"{start}self_attn.q_proj.weight": (64, 64),
            f"{start}self_attn.k_proj.weight": (16, 64),
            f"{start}self_attn.v_proj.weight": (16, 64),
            f"{start}self_attn.o_proj.weight": (64, 64),
            f"{start}mlp.gate_proj.weight": (96, 64),
            f"{start}mlp.up_proj.weight": (96, 64),
            f"{start}mlp.down_proj.weight": (64, 96),
            f"{start}input_layernorm.weight": (64,),
            f"{start}post_attention_layernorm.weight": (64,),
        }
    return found


@pytest.fixture
def directory(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    safetensors(tmp_path / "model.safetensors", tensors_of(4))
    return tmp_path


@pytest.mark.parametrize("ranks", [Ranks(), Ranks(2), Ranks(4), Ranks(8), Ranks(1, 2), Ranks(1, 3), Ranks(4, 2)])
def test_headers_and_shapes_say_the_same(directory, ranks):
    request = Request(contexts=(64,), ranks=ranks)
    by_headers, by_shapes = plan(directory, request).weights, plan(CONFIG, request).weights
    assert by_headers.bytes == by_shapes.bytes
    assert by_headers.parameters == by_shapes.parameters
    assert by_headers.rank_bytes == by_shapes.rank_bytes
    assert "headers" in by_headers.source
    assert "shapes" in by_shapes.source


FALCON = {
    "model_type": "falcon",
    "hidden_size": 64,
    "num_attention_heads": 16,
    "num_hidden_layers": 2,
    "multi_query": True,
    "parallel_attn": True,
    "bias": False,
    "vocab_size": 96,
    "torch_dtype": "bfloat16",
}


def fused_directory(folder, key_value):
    """Falcon's files: rows of 16 query heads and the key and value heads of 4 channels, in one matrix."""
    config = FALCON if key_value == 1 else FALCON | {"new_decoder_architecture": True, "num_kv_heads": key_value}
    (folder / "config.json").write_text(json.dumps(config))
    tensors = {"transformer.word_embeddings.weight": (96, 64), "transformer.ln_f.weight": (64,)}
    tensors["transformer.ln_f.bias"] = (64,)
    for layer in range(2):
        start = f"transformer.h.{layer}."
        norms = ["input_layernorm"] if key_value == 1 else ["ln_attn", "ln_mlp"]
        tensors |= {f"{start}{norm}.{part}": (64,) for norm in norms for part in ("weight", "bias")}
        tensors |= {
            f"{start}self_attention.query_key_value.weight": (64 + 2 * 4 * key_value, 64),
            f"{start}self_attention.dense.weight": (64, 64),
            f"{start}mlp.dense_h_to_4h.weight": (256, 64),
            f"{start}mlp.dense_4h_to_h.weight": (64, 256),
        }
    safetensors(folder / "model.safetensors", tensors)
    return folder


@pytest.mark.parametrize("key_value", [1, 4])
@pytest.mark.parametrize("tensor", [1, 2, 4, 8, 16])
def test_of_a_fused_matrix_a_rank_has_its_queries_and_as_many_key_value_heads_as_engines_give_it(
    tmp_path, key_value, tensor
):
    """As vLLM's QKVParallelLinear: queries are cut, key and value heads too, and copied where there are more ranks."""
    found = plan(fused_directory(tmp_path, key_value), Request(contexts=(64,), ranks=Ranks(tensor)))
    heads = 16 // tensor + 2 * max(key_value // tensor, 1)
    even = (96 * 64 + 2 * (64 * 64 + 2 * 64 * 256)) // tensor
    norms = 2 * 64 + 2 * (2 if key_value == 1 else 4) * 64
    assert found.weights.rank_bytes == 2 * (even + 2 * heads * 4 * 64 + norms)
    assert (found.layers[0].rank_heads, found.layers[0].copies) == (
        max(key_value // tensor, 1),
        max(tensor // key_value, 1),
    )
    config = json.loads((tmp_path / "config.json").read_text())
    assert plan(config, Request(contexts=(64,), ranks=Ranks(tensor))).weights.rank_bytes == found.weights.rank_bytes


@pytest.mark.parametrize(
    ("name", "cut"),
    [
        ("transformer.h.0.attn.c_attn.weight", "fused"),
        ("model.layers.0.self_attn.qkv_proj.weight", "fused"),
        ("transformer.blocks.0.norm_attn_norm.attn.Wqkv.weight", "fused"),
        ("blk.0.attn_qkv.weight", "fused"),
        ("transformer.blocks.0.norm_attn_norm.attn.out_proj.weight", "even"),
        ("model.layers.0.self_attn.kv_a_proj_with_mqa.weight", "whole"),
        ("model.layers.0.linear_attn.in_proj_qkvz.weight", "even"),
    ],
)
def test_a_matrix_is_cut_as_its_name_says(tmp_path, name, cut):
    safetensors(tmp_path / "model.safetensors", {name: (8, 8)})
    assert [part.cut for part in stored(tmp_path, None).parts] == [cut]


def test_a_rank_has_its_share_and_copies_by_hand():
    """On 4 ranks: matrices a quarter, the 2 key-value heads a half each, norms whole."""
    found = plan(CONFIG, Request(contexts=(64,), ranks=Ranks(4))).weights
    even = 100 * 64 + 4 * (2 * 64 * 64 + 3 * 96 * 64)
    assert found.rank_bytes == 2 * (even // 4 + 4 * 2 * 16 * 64 // 2 + 9 * 64)


def test_a_tied_output_stands_on_the_last_pipeline_rank_too():
    found = plan(CONFIG, Request(contexts=(64,), ranks=Ranks(1, 2))).weights
    layer = 2 * 64 * 64 + 2 * 16 * 64 + 3 * 96 * 64 + 2 * 64
    assert found.rank_bytes == 2 * (2 * layer + 100 * 64 + 64)


def test_an_index_without_its_files_says_how_many_bytes(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    index = {"metadata": {"total_size": 123456}, "weight_map": {"a": "model-00001-of-00002.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    found = plan(tmp_path, Request(contexts=(64,))).weights
    assert (found.bytes, found.parameters) == (123456, None)
    assert "index" in found.source
    index["metadata"] = {}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(InputError, match="the files that it names are not here"):
        plan(tmp_path, Request(contexts=(64,)))


def test_a_gguf_file_says_what_its_tensors_take():
    model = models.find("smollm2")
    found = stored(None, model.path)
    assert found is not None
    assert 0 < model.record.bytes - found.bytes < 8 * 2**20  # the rest is the tokenizer
    assert found.numbers == 134_515_008
