"""Quantised projections: moved with the scales of their rows, or refused with a reason."""

import numpy as np
import pytest
from conversion_files import HALF_TO_INTERLEAVED, LLAMA, STEM, raw, refused, weights, write_raw

from ordinate.weights import convert

QUERY, KEY = f"{STEM}q_proj.", f"{STEM}k_proj."


def entries(**replaced):
    """A model in BF16; `replaced` gives parameters of q_proj and k_proj: dtype, shape without rows, bits of a value."""
    found = {n: ("BF16", t.shape, 2 * t.size) for n, t in weights().items() if "q_proj" not in n and "k_proj" not in n}
    for stem, rows in ((QUERY, 24), (KEY, 12)):
        for parameter, (dtype, shape, bits) in replaced.items():
            shape = tuple(rows if size == "rows" else size for size in shape)
            found[stem + parameter.replace("__", ".")] = (dtype, shape, int(np.prod(shape)) * bits // 8)
    return found


def moved(data, heads):
    cut = np.frombuffer(data, np.uint8).reshape(6 * heads, -1)
    return np.concatenate([cut[6 * head + HALF_TO_INTERLEAVED] for head in range(heads)]).tobytes()


@pytest.mark.parametrize(
    "stays, parameters",
    [
        ((), {"weight": ("F8_E4M3", ("rows", 12), 8), "weight_scale": ("F32", ("rows", 1), 32)}),
        ((), {"weight": ("I8", ("rows", 12), 8), "SCB": ("F32", ("rows",), 32)}),
        (
            ("weight_format",),
            {"weight": ("I8", ("rows", 12), 8), "SCB": ("F32", ("rows",), 32), "weight_format": ("U8", (), 8)},
        ),
        (
            ("weight_scale", "input_scale"),
            {"weight": ("F8_E4M3", ("rows", 12), 8), "weight_scale": ("F32", (), 32), "input_scale": ("F32", (), 32)},
        ),
        (
            ("weight_scale_2",),
            {
                "weight": ("U8", ("rows", 6), 8),
                "weight_scale": ("F8_E4M3", ("rows", 3), 8),
                "weight_scale_2": ("F32", (), 32),
            },
        ),
        (
            ("weight_shape",),
            {
                "weight_packed": ("I32", ("rows", 2), 32),
                "weight_scale": ("BF16", ("rows", 3), 16),
                "weight_shape": ("I64", (2,), 64),
            },
        ),
    ],
    ids=["fp8 by row", "bitsandbytes int8", "with its format", "fp8 by tensor", "nvfp4", "compressed-tensors int4"],
)
def test_rows_that_are_kept_apart_move_with_their_scales(tmp_path, stays, parameters):
    source = write_raw(tmp_path / "a", entries(**parameters))
    convert(source, tmp_path / "b", "interleaved")
    before, after = raw(source), raw(tmp_path / "b")
    for name, data in before.items():
        heads = 4 if name.startswith(QUERY) else 2 if name.startswith(KEY) else 0
        follows = heads and name.split(".", 5)[-1] not in stays
        assert after[name] == (moved(data, heads) if follows else data), name


def block_model(size):
    """q in F8 with a scale for `size` rows, k in BF16."""
    plain = {n: ("BF16", t.shape, 2 * t.size) for n, t in weights().items() if "q_proj" not in n}
    count = -(-24 // size)
    return plain | {
        f"{QUERY}weight": ("F8_E4M3", (24, 12), 288),
        f"{QUERY}weight_scale_inv": ("F32", (count, 1), 4 * count),
    }


@pytest.mark.parametrize("size, fits", [(12, True), (6, True), (24, True), (8, False), (4, False)])
def test_scales_of_blocks_stay_where_no_row_leaves_its_block(tmp_path, size, fits):
    config = LLAMA | {"quantization_config": {"quant_method": "fp8", "weight_block_size": [size, size]}}
    source = write_raw(tmp_path / "a", block_model(size), config)
    if not fits:
        refused(source, tmp_path / "b", "rows would leave their scale")
        return
    convert(source, tmp_path / "b", "interleaved")
    before, after = raw(source), raw(tmp_path / "b")
    assert after[f"{QUERY}weight_scale_inv"] == before[f"{QUERY}weight_scale_inv"]
    assert after[f"{QUERY}weight"] == moved(before[f"{QUERY}weight"], 4)


def test_deepseek_v3s_blocks_of_128_rows_hold_its_64_rotary_rows(tmp_path):
    # DeepSeek-V3: heads of 128 + 64 channels and a latent of 512; here with 2 heads and little else.
    config = {
        "model_type": "deepseek_v3",
        "hidden_size": 8,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "num_hidden_layers": 1,
        "q_lora_rank": 4,
        "kv_lora_rank": 512,
        "qk_rope_head_dim": 64,
        "qk_nope_head_dim": 128,
        "v_head_dim": 128,
        "max_position_embeddings": 64,
        "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
    }
    source = write_raw(
        tmp_path / "a",
        {
            f"{STEM}q_a_proj.weight": ("BF16", (4, 8), 64),
            f"{STEM}q_b_proj.weight": ("F8_E4M3", (384, 4), 1536),
            f"{STEM}q_b_proj.weight_scale_inv": ("F32", (3, 1), 12),
            f"{STEM}kv_a_proj_with_mqa.weight": ("F8_E4M3", (576, 8), 4608),
            f"{STEM}kv_a_proj_with_mqa.weight_scale_inv": ("F32", (5, 1), 20),
            f"{STEM}kv_b_proj.weight": ("F8_E4M3", (512, 512), 2**18),
        },
        config,
    )
    assert convert(source, tmp_path / "b", "half").moved == 2
    before, after = raw(source), raw(tmp_path / "b")
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {f"{STEM}q_b_proj.weight", f"{STEM}kv_a_proj_with_mqa.weight"}
    cut = np.frombuffer(before[f"{STEM}kv_a_proj_with_mqa.weight"], np.uint8).reshape(576, 8)
    order = [*range(512), *range(512, 576, 2), *range(513, 576, 2)]
    assert after[f"{STEM}kv_a_proj_with_mqa.weight"] == cut[order].tobytes()


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"qweight": ("I32", (1, "rows"), 32), "scales": ("F16", (1, "rows"), 16)}, "GPTQ and AWQ pack several rows"),
        ({"weight": ("U8", (72, 1), 8), "weight__absmax": ("F32", (3,), 32)}, "4-bit blocks run across rows"),
        ({"weight": ("U8", (3, 12), 8), "weight_scale": ("BF16", (1,), 16)}, "must have 24 rows"),
        ({"weight": ("U8", ("rows", 12), 8)}, "in a packing that is not known"),
        ({"weight": ("I8", ("rows", 12), 8)}, "in a packing that is not known"),
        (
            {"weight": ("F8_E4M3", ("rows", 12), 8), "weight_scale_inv": ("F32", (2, 1), 32)},
            "one a block of rows of a size",
        ),
        (
            {"weight": ("BF16", ("rows", 12), 16), "W_q": ("U8", ("rows", 12), 8)},
            "how it follows the rows is not known",
        ),
        ({"weight": ("BF16", ("rows", 12), 16), "output_scale": ("F32", ("rows",), 32)}, "how it follows the rows"),
        (
            {"weight_packed": ("I32", ("rows", 2), 32), "weight_zero_point": ("I32", (3, 1), 32)},
            "one a block of rows of a size",
        ),
        ({"weight": ("BF16", ("rows", 12), 16), "oft_r__weight": ("F32", (3, 1), 32)}, "only LoRA and DoRA"),
    ],
)
def test_formats_that_mix_rows_are_refused_with_the_reason(tmp_path, parameters, message):
    refused(write_raw(tmp_path / "a", entries(**parameters)), tmp_path / "b", message)


def test_the_block_of_compressed_tensors_is_found_in_its_groups(tmp_path):
    groups = {"group_0": {"weights": {"num_bits": 8, "block_structure": [12, 12]}}}
    config = LLAMA | {"quantization_config": {"quant_method": "compressed-tensors", "config_groups": groups}}
    assert convert(write_raw(tmp_path / "a", block_model(12), config), tmp_path / "b", "interleaved").moved == 2
