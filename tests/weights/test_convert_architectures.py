"""Conversion of every architecture whose layout is known, by the logits of tiny random models."""

import json

import pytest
import torch
from conversion_models import load, logits, tiny, turning_the_other_way
from safetensors.torch import load_file

from ordinate.dialects import read
from ordinate.weights import convert
from ordinate.weights.layouts import layout, model_types

# One of each way in which q and k are kept.
OFTEN = [
    *("codegen", "cohere", "cohere2", "deepseek_v2", "exaone", "falcon", "glm4", "gpt_neox", "gpt_oss", "gptj"),
    *("hunyuan_v1_dense", "lfm2", "llama4_text", "longcat_flash", "minimax_m2", "modernbert", "nanochat", "olmo2"),
    *("phi", "phi3", "qwen2", "qwen2_5_vl_text", "qwen3", "qwen3_next", "smollm3", "stablelm"),
]
INTERLEAVED_BY_A_KEY = ["axk1", "deepseek_v3", "glm4_moe_lite", "mistral4", "sarvam_mla", "youtu"]
SLOW = [name for name in model_types() if name not in OFTEN and name not in INTERLEAVED_BY_A_KEY]


def files_of(directory):
    return load_file(directory / "model.safetensors")


def agree(found, expected):
    assert (found - expected).abs().max() <= 2e-4 * expected.std()


def differ(found, expected):
    assert (found - expected).abs().max() > 1e-2 * expected.std()


def check(model, tmp_path):
    model.save_pretrained(tmp_path / "own")
    expected = logits(load(tmp_path / "own"))
    rotating = [group for group in read(tmp_path / "own").groups.values() if group.pairing]
    own = "interleaved" if rotating[0].pairing.startswith("interleaved") else "half"
    other = "half" if own == "interleaved" else "interleaved"
    done = convert(tmp_path / "own", tmp_path / "other", other)
    assert done.moved
    assert read(tmp_path / "other").groups[rotating[0].layer_type].pairing == other
    converted = load(tmp_path / "other")
    differ(logits(converted), expected)
    with turning_the_other_way(converted, own, rotating[0].rotary_dim):
        agree(logits(converted), expected)
    back(tmp_path, own)
    return done


def back(tmp_path, own):
    convert(tmp_path / "other", tmp_path / "back", own)
    before, after = files_of(tmp_path / "own"), files_of(tmp_path / "back")
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert not all(torch.equal(before[name], value) for name, value in files_of(tmp_path / "other").items())


@pytest.mark.parametrize("model_type", [*OFTEN, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)])
def test_logits_under_the_other_rotation_are_those_of_before(model_type, tmp_path):
    check(tiny(model_type), tmp_path)


@pytest.mark.parametrize(
    "settings",
    [
        {"new_decoder_architecture": True, "num_kv_heads": 2},
        {"new_decoder_architecture": False, "multi_query": False},
        {"new_decoder_architecture": False, "multi_query": True, "bias": True},
    ],
    ids=["groups", "a head each", "one for all"],
)
def test_falcons_fused_rows_are_cut_as_its_settings_say(settings, tmp_path):
    check(tiny("falcon", **settings), tmp_path)


@pytest.mark.parametrize("head_dim", [4, 6, 8, 24])
def test_heads_of_any_width_with_biases_and_grouped_keys(head_dim, tmp_path):
    done = check(tiny("qwen2", hidden_size=4 * head_dim), tmp_path)
    assert done.moved == 8  # of two layers: weights and biases of q and k


def test_gains_of_one_head_and_of_the_whole_width_follow_their_rows(tmp_path):
    assert check(tiny("qwen3", attention_bias=True), tmp_path / "one head").moved == 12
    assert check(tiny("olmo2"), tmp_path / "whole width").moved == 8


def test_layers_without_rotation_stay(tmp_path):
    done = check(tiny("smollm3"), tmp_path)
    assert (done.layers, done.still) == ((0,), (1,))
    before, after = files_of(tmp_path / "own"), files_of(tmp_path / "other")
    name = "model.layers.{}.self_attn.q_proj.weight"
    assert torch.equal(before[name.format(1)], after[name.format(1)])
    assert not torch.equal(before[name.format(0)], after[name.format(0)])


@pytest.mark.parametrize("model_type", INTERLEAVED_BY_A_KEY)
def test_deepseek_in_half_pairs_runs_in_transformers_as_it_is(model_type, tmp_path):
    # transformers' `rope_interleave` says how the files are paired: no other engine is needed to compare.
    model = tiny(model_type)
    model.save_pretrained(tmp_path / "own")
    expected = logits(load(tmp_path / "own"))
    assert next(iter(read(tmp_path / "own").groups.values())).pairing == "interleaved-in-half-out"
    done = convert(tmp_path / "own", tmp_path / "other", "half")
    assert (done.before, done.pairing, done.turned) == ("interleaved-in-half-out", "half", "half")
    config = json.loads((tmp_path / "other" / "config.json").read_text())
    assert config["rope_interleave"] is False
    agree(logits(load(tmp_path / "other")), expected)
    back(tmp_path, "interleaved")
    assert next(iter(read(tmp_path / "back").groups.values())).pairing == "interleaved-in-half-out"
    agree(logits(load(tmp_path / "back")), expected)


def test_deepseeks_decoupled_parts_alone_move(tmp_path):
    model = tiny("deepseek_v3", qk_nope_head_dim=10, qk_rope_head_dim=8, q_lora_rank=20, kv_lora_rank=24)
    model.save_pretrained(tmp_path / "own")
    convert(tmp_path / "own", tmp_path / "other", "half")
    before, after = files_of(tmp_path / "own"), files_of(tmp_path / "other")
    stem = "model.layers.0.self_attn."
    q, moved = (files[stem + "q_b_proj.weight"].unflatten(0, (4, 18)) for files in (before, after))
    assert torch.equal(moved[:, :10], q[:, :10])
    assert torch.equal(moved[:, 10:], q[:, [10, 12, 14, 16, 11, 13, 15, 17]])
    k, moved = (files[stem + "kv_a_proj_with_mqa.weight"] for files in (before, after))
    assert torch.equal(moved[:24], k[:24])
    assert torch.equal(moved[24:], k[[24, 26, 28, 30, 25, 27, 29, 31]])
    for name in before:
        if not name.endswith(("q_b_proj.weight", "kv_a_proj_with_mqa.weight")):
            assert torch.equal(before[name], after[name]), name


def test_every_architecture_here_is_in_the_table_of_pairings():
    for name in model_types():
        assert layout(name) is not None
    assert layout("gemma4_text") is None  # its full layers take keys for values
    assert len(model_types()) == len(set(model_types()))
