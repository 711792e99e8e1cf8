"""Conversion of directories, files and adapters: what moves, what stays, what is noted and what is refused."""

import json
import os

import numpy as np
import pytest
from conversion_files import LLAMA, STEM, raw, refused, rows, weights, write, write_raw
from safetensors.numpy import load_file, save_file

from ordinate.dialects import read
from ordinate.errors import InputError
from ordinate.files.safetensors import read_header
from ordinate.files.weight_files import INDEX
from ordinate.weights import convert


def test_q_and_k_move_and_nothing_else(tmp_path):
    before = weights()
    source = write(tmp_path / "a", before, metadata={"format": "pt", "made by": "a test"})
    bytes_before = {file.name: file.read_bytes() for file in source.iterdir()}
    told = []
    done = convert(source, tmp_path / "b", "interleaved", progress=lambda *news: told.append(news))
    after = load_file(tmp_path / "b" / "model.safetensors")
    assert after.keys() == before.keys()
    for name, tensor in before.items():
        heads = {"q_proj": 4, "k_proj": 2}.get(name.split(".")[-2], 0)
        assert np.array_equal(after[name], rows(tensor, heads) if heads else tensor), name
    assert {file.name: file.read_bytes() for file in source.iterdir()} == bytes_before
    assert (done.before, done.pairing, done.turned, done.moved, done.layers) == ("half", "interleaved", "half", 2, (0,))
    assert done.stayed == len(before) - 2
    assert told[-1][0] == "converting"


def test_the_output_notes_its_layout_and_the_reader_reads_it(tmp_path):
    source = write(tmp_path / "a", weights(), metadata={"format": "pt", "made by": "a test"})
    convert(source, tmp_path / "b", "interleaved")
    header = read_header(tmp_path / "b" / "model.safetensors")
    assert header.metadata == {"format": "pt", "made by": "a test", "ordinate.pairing": "interleaved"}
    spec = read(tmp_path / "b")
    assert spec.group.pairing == "interleaved"
    assert spec.group.encoding.pairing == "interleaved"
    assert spec.sources["full_attention.pairing"] == "ordinate_pairing"
    assert any("transformers turns half" in warning for warning in spec.warnings)
    convert(tmp_path / "b", tmp_path / "c", "half")
    assert read(tmp_path / "c").group.pairing == "half"
    assert raw(tmp_path / "c") == raw(source)
    assert not any("ordinate_pairing" in warning for warning in read(tmp_path / "c").warnings)


def test_the_reader_refuses_a_note_that_is_no_layout():
    with pytest.raises(InputError, match="ordinate_pairing must be one of half, interleaved"):
        read(LLAMA | {"ordinate_pairing": "sideways"})


def test_transformers_keeps_the_note_and_needs_no_format_of_the_source(tmp_path):
    transformers = pytest.importorskip("transformers")
    source = write(tmp_path / "a", weights())
    convert(source, tmp_path / "b", "interleaved")
    config = transformers.AutoConfig.from_pretrained(tmp_path / "b")
    config.save_pretrained(tmp_path / "c")
    assert read(tmp_path / "c").group.pairing == "interleaved"
    assert read_header(tmp_path / "b" / "model.safetensors").metadata["format"] == "pt"


def test_what_has_the_layout_already_is_refused(tmp_path):
    source = write(tmp_path / "a", weights())
    refused(source, tmp_path / "b", "is half already", "half")
    convert(source, tmp_path / "c", "interleaved")
    refused(tmp_path / "c", tmp_path / "b", "is interleaved already")
    refused(source, tmp_path / "b", "pairing must be one of", "sideways")


def test_nothing_is_overwritten(tmp_path):
    source = write(tmp_path / "a", weights())
    with pytest.raises(InputError, match="exists already"):
        convert(source, source, "interleaved")


def test_a_note_that_contradicts_the_configuration_is_refused(tmp_path):
    source = write(tmp_path / "a", weights(), metadata={"format": "pt", "ordinate.pairing": "interleaved"})
    refused(source, tmp_path / "b", "notes interleaved pairs, and its configuration says half")


def shards(directory, tensors, config=LLAMA):
    directory.mkdir()
    (directory / "config.json").write_text(json.dumps(config))
    names = sorted(tensors)
    places = {name: f"model-0000{1 + index // 6}-of-00002.safetensors" for index, name in enumerate(names)}
    for file in set(places.values()):
        save_file({name: tensors[name] for name in names if places[name] == file}, directory / file, {"format": "pt"})
    (directory / INDEX).write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": places}))
    return places


def test_shards_are_converted_one_by_one_and_the_index_stays(tmp_path):
    before = weights()
    places = shards(tmp_path / "a", before)
    assert places[f"{STEM}q_proj.weight"] != places[f"{STEM}k_proj.weight"]
    convert(tmp_path / "a", tmp_path / "b", "interleaved")
    assert (tmp_path / "b" / INDEX).read_bytes() == (tmp_path / "a" / INDEX).read_bytes()
    after = {}
    for file in set(places.values()):
        assert read_header(tmp_path / "b" / file).metadata["ordinate.pairing"] == "interleaved"
        after |= load_file(tmp_path / "b" / file)
    assert np.array_equal(after[f"{STEM}q_proj.weight"], rows(before[f"{STEM}q_proj.weight"], 4))
    assert np.array_equal(after[f"{STEM}k_proj.weight"], rows(before[f"{STEM}k_proj.weight"], 2))


def test_an_index_that_does_not_fit_is_refused(tmp_path):
    shards(tmp_path / "a", weights())
    index = json.loads((tmp_path / "a" / INDEX).read_text())
    for change, message in (
        ({"weight_map": index["weight_map"] | {"x": "model-00001-of-00002.safetensors"}}, "is in none of its files"),
        ({"weight_map": index["weight_map"] | {"model.norm.weight": "model-00009-of-00002.safetensors"}}, "not exist"),
        ({"weight_map": {"x": "../a.safetensors"}}, "beside it"),
        ({"weight_map": {"x": 1}}, "weight_map must name"),
        ({"weight_map": []}, "weight_map must name"),
    ):
        (tmp_path / "a" / INDEX).write_text(json.dumps(change))
        refused(tmp_path / "a", tmp_path / "b", message)


def test_a_tensor_that_is_in_two_files_is_refused(tmp_path):
    shards(tmp_path / "a", weights())
    save_file(weights(), tmp_path / "a" / "model-00001-of-00002.safetensors")
    refused(tmp_path / "a", tmp_path / "b", "is in model-00001-of-00002.safetensors and in model-00002")


def test_other_files_go_along_and_code_and_other_weights_do_not(tmp_path):
    config = LLAMA | {"auto_map": {"AutoModel": "modeling.X"}}
    source = write(tmp_path / "a", weights(), config)
    for name in ("tokenizer.json", "chat_template.jinja", "modeling.py", "other.safetensors", "x.bin", "README.md"):
        (source / name).write_text("{}")
    (source / "original").mkdir()
    done = convert(source, tmp_path / "b", "interleaved")
    assert done.files == ("chat_template.jinja", "config.json", "model.safetensors", "tokenizer.json")
    assert done.left_out == ("README.md", "modeling.py", "original", "other.safetensors", "x.bin")
    assert sorted(os.listdir(tmp_path / "b")) == sorted(done.files)
    assert "auto_map" not in json.loads((tmp_path / "b" / "config.json").read_text())


def test_a_single_file_with_its_configuration_beside_it(tmp_path):
    source = write(tmp_path / "a", weights())
    (source / "model.safetensors").rename(source / "alone.safetensors")
    (source / "tokenizer.json").write_text("{}")
    done = convert(source / "alone.safetensors", tmp_path / "b", "interleaved")
    assert done.files == ("alone.safetensors", "config.json")
    assert read(tmp_path / "b").group.pairing == "interleaved"
    (source / "config.json").unlink()
    refused(source / "alone.safetensors", tmp_path / "c", "has no config.json")


@pytest.mark.parametrize(
    "name, message",
    [
        (f"{STEM}q_magic.weight", "stands in the attention of a layer that rotates, and is not known"),
        (f"{STEM}indexer.wk.weight", "stands in the attention of a layer that rotates, and is not known"),
        ("model.layers.0.attn.qkv.weight", "has to do with attention by its name"),
        ("talker.layers.0.self_attn.q_proj.weight", "has to do with attention by its name"),
        ("model.extra.query.weight", "has to do with attention by its name"),
    ],
)
def test_what_may_hold_q_or_k_and_is_not_understood_is_refused(tmp_path, name, message):
    source = write(tmp_path / "a", weights(**{name: (12, 12)}))
    refused(source, tmp_path / "b", message)


def test_one_parameter_under_two_names_is_refused(tmp_path):
    source = write(tmp_path / "a", weights(**{f"{STEM}q_proj.base_layer.weight": (24, 12)}))
    refused(source, tmp_path / "b", "are the same parameter")


def test_codegens_heads_are_shared_among_four_devices(tmp_path):
    config = {"model_type": "codegen", "n_embd": 36, "n_head": 6, "n_layer": 1, "n_positions": 64, "rotary_dim": 4}
    tensors = {"transformer.h.0.attn.qkv_proj.weight": np.zeros((108, 36), np.float32)}
    refused(write(tmp_path / "a", tensors, config), tmp_path / "b", "multiple of 4 heads, got 6", "half")


def test_a_second_decoder_is_refused(tmp_path):
    second = {name.replace("model.", "language_model.", 1): tensor.shape for name, tensor in weights().items()}
    refused(write(tmp_path / "a", weights(**second)), tmp_path / "b", "layer 0 stands twice")


def test_towers_stay(tmp_path):
    tower = {"vision_tower.layers.0.self_attn.q_proj.weight": (12, 12), "visual.blocks.0.attn.qkv.weight": (36, 12)}
    before = weights(**tower)
    config = {"model_type": "llava", "text_config": LLAMA, "vision_config": {"model_type": "clip_vision_model"}}
    named = {
        name.replace("model.", "language_model.model.", 1) if name[0] == "m" else name: before[name] for name in before
    }
    source = write(tmp_path / "a", named, config)
    done = convert(source, tmp_path / "b", "interleaved")
    assert (done.moved, done.towers) == (2, 2)
    after = load_file(tmp_path / "b" / "model.safetensors")
    assert all(np.array_equal(after[name], before[name]) for name in tower)
    written = json.loads((tmp_path / "b" / "config.json").read_text())
    assert written["text_config"]["ordinate_pairing"] == "interleaved"
    assert "ordinate_pairing" not in written["vision_config"]
    assert read(tmp_path / "b").group.pairing == "interleaved"


def test_layers_that_predict_further_tokens_move_too(tmp_path):
    further = {
        name.replace("layers.0", "layers.1"): tensor.shape for name, tensor in weights().items() if "layers" in name
    }
    done = convert(write(tmp_path / "a", weights(**further)), tmp_path / "b", "interleaved")
    assert (done.moved, done.layers) == (4, (0, 1))
    further = {
        name.replace("model.", "mtp.", 1): tensor.shape for name, tensor in weights().items() if "layers" in name
    }
    done = convert(write(tmp_path / "c", weights(**further)), tmp_path / "d", "interleaved")
    assert (done.moved, done.layers) == (4, (0, 1))


@pytest.mark.parametrize("missing, held", [("q_proj", "q"), ("k_proj", "k")])
def test_a_rotating_layer_without_its_q_or_k_is_refused(tmp_path, missing, held):
    tensors = {name: tensor for name, tensor in weights().items() if missing not in name}
    refused(write(tmp_path / "a", tensors), tmp_path / "b", f"no tensor of its {held} was found")


@pytest.mark.parametrize(
    "name, shape", [("q_proj.weight", (25, 12)), ("k_proj.weight", (24, 12)), ("k_proj.bias", (11,))]
)
def test_another_number_of_rows_than_the_configuration_says_is_refused(tmp_path, name, shape):
    refused(write(tmp_path / "a", weights(**{STEM + name: shape})), tmp_path / "b", "must have (24|12) rows, got shape")


def test_a_gain_of_another_width_is_refused(tmp_path):
    config = LLAMA | {"model_type": "qwen3"}
    refused(
        write(tmp_path / "a", weights(**{f"{STEM}q_norm.weight": (7,)}), config), tmp_path / "b", "must have 6 or 24"
    )


@pytest.mark.parametrize(
    "config, message",
    [
        (LLAMA | {"model_type": "never_heard_of"}, "pairs channels is not known here"),
        (LLAMA | {"model_type": "never_heard_of", "ordinate_pairing": "half"}, "keeps q and k is not known here"),
        ({"model_type": "gpt2", "n_embd": 12, "n_head": 2, "n_layer": 1, "n_positions": 64}, "no layer rotates"),
        (LLAMA | {"model_type": "gemma4_text"}, "keeps q and k is not known here"),
    ],
)
def test_a_model_that_is_not_known_is_refused(tmp_path, config, message):
    refused(write(tmp_path / "a", weights(), config), tmp_path / "b", message)


def test_sources_that_are_none_are_refused(tmp_path):
    refused(tmp_path / "nothing", tmp_path / "b", "does not exist")
    (tmp_path / "a").mkdir()
    refused(tmp_path / "a", tmp_path / "b", "has no config.json")
    (tmp_path / "a" / "config.json").write_text(json.dumps(LLAMA))
    (tmp_path / "a" / "pytorch_model.bin").write_text("")
    refused(tmp_path / "a", tmp_path / "b", "weights such as pytorch_model.bin are never opened")
    refused(tmp_path / "a" / "pytorch_model.bin", tmp_path / "b", "must be a Hugging Face directory or a safetensors")


@pytest.mark.parametrize("dtype, bits", [("F64", 64), ("BF16", 16), ("F8_E4M3", 8), ("F8_E5M2", 8)])
def test_types_that_numpy_does_not_know_move_as_bytes(tmp_path, dtype, bits):
    entries = {name: (dtype, tensor.shape, tensor.size * bits // 8) for name, tensor in weights().items()}
    source = write_raw(tmp_path / "a", entries)
    convert(source, tmp_path / "b", "interleaved")
    before, after = raw(source), raw(tmp_path / "b")
    name = f"{STEM}q_proj.weight"
    cut = np.frombuffer(before[name], np.uint8).reshape(24, -1)
    assert after[name] == rows(cut, 4).tobytes()
    assert {n for n in before if before[n] != after[n]} == {name, f"{STEM}k_proj.weight"}
    assert {n: t.dtype for n, t in read_header(tmp_path / "b" / "model.safetensors").tensors.items()} == dict.fromkeys(
        before, dtype
    )
