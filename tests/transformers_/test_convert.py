"""GGUF files as Hugging Face directories: against the model they were written from, and transformers' own reader."""

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from ordinate import read
from ordinate.errors import InputError, Unavailable
from ordinate.files.weight_files import weight_files
from ordinate.models import find
from ordinate.transformers.convert import FORM, convert, converted

FORMATS = {
    "F32": gguf.GGMLQuantizationType.F32,
    "F16": gguf.GGMLQuantizationType.F16,
    "BF16": gguf.GGMLQuantizationType.BF16,
    "Q8_0": gguf.GGMLQuantizationType.Q8_0,
    "Q4_0": gguf.GGMLQuantizationType.Q4_0,
}


def smollm2():
    try:
        return find("smollm2")
    except Unavailable as error:
        pytest.skip(str(error))


def config_of(directory):
    return json.loads((directory / "config.json").read_text())


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_the_model_that_was_written_comes_back(tmp_path, tiny, tied, bias):
    model = tiny.model(tie_word_embeddings=tied, attention_bias=bias, mlp_bias=bias)
    file = tiny.write_gguf(tmp_path / "tiny.gguf", model)
    directory = converted(file, cache=tmp_path / "cache")
    found = AutoModelForCausalLM.from_pretrained(directory, local_files_only=True, use_safetensors=True)
    expected = model.state_dict()
    assert found.state_dict().keys() == expected.keys()
    assert all(torch.equal(tensor, expected[name]) for name, tensor in found.state_dict().items())
    # The lm_head of tied embeddings is not stored twice.
    assert ("lm_head.weight" in load_file(directory / "model.safetensors")) is not tied
    ids = torch.arange(20)[None]
    assert torch.equal(found(input_ids=ids).logits, model(input_ids=ids).logits)
    for key, value in model.config.to_dict().items():
        if key not in (
            "transformers_version",
            "_name_or_path",
            "rms_norm_eps",
            "architectures",
            "dtype",
            "initializer_range",
        ):
            assert getattr(found.config, key) == value, key
    # GGUF stores the epsilon as float32.
    assert found.config.rms_norm_eps == float(np.float32(1e-5))


@pytest.mark.parametrize("name", FORMATS)
def test_every_weight_is_what_transformers_reads(tmp_path, tiny, name):
    file = tiny.write_gguf(tmp_path / "tiny.gguf", tiny.model(), stored=FORMATS[name])
    directory = converted(file, cache=tmp_path / "cache")
    ours = AutoModelForCausalLM.from_pretrained(directory, local_files_only=True).state_dict()
    theirs = AutoModelForCausalLM.from_pretrained(tmp_path, gguf_file=file.name, dtype=torch.float32).state_dict()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[key], theirs[key]) for key in ours)


@pytest.mark.parametrize(
    "settings, expected",
    [
        (
            {"llama__rope__scaling__type": "linear", "llama__rope__scaling__factor": 4.0},
            {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0},
        ),
        (
            {"llama__rope__scaling__type": "yarn", "llama__rope__scaling__factor": 4.0},
            {
                "rope_type": "yarn",
                "rope_theta": 10000.0,
                "factor": 4.0,
                "original_max_position_embeddings": 64,
                "beta_fast": 32.0,
                "beta_slow": 1.0,
                "truncate": True,
            },
        ),
    ],
)
def test_scaling_is_carried_over(tmp_path, tiny, settings, expected):
    settings |= {"llama__rope__scaling__original_context_length": 64}
    file = tiny.write_gguf(tmp_path / "tiny.gguf", tiny.model(), **settings)
    config = config_of(converted(file, cache=tmp_path / "cache"))
    assert config["rope_parameters"] == expected
    # Linear scaling counts max_position_embeddings before stretching, YaRN after it.
    assert config["max_position_embeddings"] == (64 if expected["rope_type"] == "linear" else 256)


def test_divisors_of_frequencies_are_carried_over(tmp_path, tiny):
    # transformers' own GGUF loader drops rope_freqs.weight, and with it the scaling of Llama 3.1.
    divisors = np.linspace(1, 8, 16, dtype=np.float32)
    file = tiny.write_gguf(tmp_path / "tiny.gguf", tiny.model(), extra={"rope_freqs.weight": divisors})
    directory = converted(file, cache=tmp_path / "cache")
    plain = 10000.0 ** (-np.arange(16) / 16)
    assert np.allclose(read(directory).group.frequencies(), plain / divisors.astype(np.float64), rtol=1e-12)
    found = AutoModelForCausalLM.from_pretrained(directory, local_files_only=True).model.rotary_emb
    assert np.allclose(found.inv_freq.numpy(), plain / divisors, rtol=1e-6)
    assert found.attention_scaling == 1.0


def test_what_stands_in_the_cache_is_taken(tmp_path, tiny):
    file = tiny.write_gguf(tmp_path / "tiny.gguf", tiny.model())
    cache = tmp_path / "cache"
    told = []
    first = converted(file, cache=cache, progress=lambda *news: told.append(news))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert first == cache / "converted" / digest / FORM
    assert next(stage for stage, *_ in told) == "hashing"
    assert told[-1][0] == "converting"
    assert told[-1][1] == told[-1][2]
    before = (first / "model.safetensors").stat().st_mtime_ns
    told.clear()
    copy = tmp_path / "elsewhere.gguf"
    copy.write_bytes(file.read_bytes())
    assert converted(copy, cache=cache, progress=lambda *news: told.append(news)) == first
    assert {stage for stage, *_ in told} == {"hashing"}
    assert (first / "model.safetensors").stat().st_mtime_ns == before
    assert convert(file, cache=cache).licence == "apache-2.0"


def test_a_conversion_that_fails_leaves_nothing(tmp_path, tiny, monkeypatch):
    file = tiny.write_gguf(tmp_path / "tiny.gguf", tiny.model())
    cache = tmp_path / "cache"

    def stop(stage, done, total):
        if stage == "converting" and done > total / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        converted(file, cache=cache, progress=stop)
    assert [path for path in cache.rglob("*") if path.is_file()] == []
    assert (converted(file, cache=cache) / "model.safetensors").is_file()


def test_a_part_that_a_killed_process_left_is_never_used_and_goes_after_a_day(tmp_path, tiny):
    file = tiny.write_gguf(tmp_path / "tiny.gguf", tiny.model())
    cache = tmp_path / "cache"
    home = cache / "converted" / hashlib.sha256(file.read_bytes()).hexdigest()
    old, young = home / f".{FORM}.partial-11111111", home / f".{FORM}.partial-22222222"
    for partial in (old, young):
        partial.mkdir(parents=True)
        (partial / "config.json").write_text("{}")
    two_days_ago = time.time() - 2 * 86400
    os.utime(old / "config.json", (two_days_ago, two_days_ago))
    directory = converted(file, cache=cache)
    assert config_of(directory)["model_type"] == "llama"
    assert not old.exists()
    assert young.exists()


def test_two_processes_at_once_both_get_the_whole(tmp_path, tiny):
    file = tiny.write_gguf(tmp_path / "tiny.gguf", tiny.model())
    program = (
        "import sys; from pathlib import Path; from ordinate.transformers.convert import converted; "
        "print(converted(sys.argv[1], cache=Path(sys.argv[2])))"
    )
    command = [sys.executable, "-W", "error", "-c", program, str(file), str(tmp_path / "cache")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    found = {process.communicate(timeout=60)[0].strip() for process in running}
    assert [process.returncode for process in running] == [0, 0]
    (directory,) = map(Path, found)
    assert [path.name for path in directory.parent.iterdir()] == [FORM]
    assert len(load_file(directory / "model.safetensors")) == 21


def test_a_conversion_that_another_process_overtakes_takes_the_other_s(tmp_path, tiny):
    file = tiny.write_gguf(tmp_path / "tiny.gguf", tiny.model())
    others = []

    def overtake(stage, done, total):
        if stage == "converting" and not others:
            others.append(converted(file, cache=tmp_path / "cache"))

    assert [converted(file, cache=tmp_path / "cache", progress=overtake)] == others
    assert [path.name for path in others[0].parent.iterdir()] == [FORM]


def test_a_hugging_face_directory_is_taken_as_it_is(tmp_path, tiny):
    tiny.model().save_pretrained(tmp_path / "model")
    assert converted(tmp_path / "model") == tmp_path / "model"
    assert converted(tmp_path / "model" / "config.json") == tmp_path / "model"


def test_a_configuration_of_another_name_has_no_weights_beside_it(tmp_path, tiny):
    tiny.model().save_pretrained(tmp_path)
    (tmp_path / "other.json").write_text((tmp_path / "config.json").read_text())
    with pytest.raises(InputError, match=r"other\.json must be a directory, or be named config\.json"):
        converted(tmp_path / "other.json")


def test_shards_are_found_by_their_index(tmp_path, tiny):
    tiny.model().save_pretrained(tmp_path / "model", max_shard_size="50KB")
    files = weight_files(converted(tmp_path / "model"))
    assert len(files) > 1
    assert sum(len(load_file(file)) for file in files) == 21
    files[0].unlink()
    with pytest.raises(InputError, match="does not exist"):
        converted(tmp_path / "model")


def test_an_index_that_points_elsewhere_is_refused(tmp_path, tiny):
    tiny.config().save_pretrained(tmp_path)
    for name in ("../secret.safetensors", "weights.bin", 3):
        (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": name}}))
        with pytest.raises(InputError, match="must name safetensors files beside it"):
            converted(tmp_path)


def test_a_directory_without_weights_is_refused(tmp_path, tiny):
    tiny.config().save_pretrained(tmp_path)
    with pytest.raises(InputError, match="has no weights"):
        converted(tmp_path)
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80")
    with pytest.raises(InputError, match=r"pytorch_model\.bin are never opened"):
        converted(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"\x00" * 7)
    with pytest.raises(InputError, match="truncated"):
        converted(tmp_path)


@pytest.mark.parametrize("source", ["smollm3", "no/such/path"])
def test_an_unknown_source_is_one_line(source):
    with pytest.raises(InputError, match="does not exist, and is no model's name") as caught:
        converted(source)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"general__architecture": "gpt2"}, "architecture 'gpt2' cannot be converted, those that can: llama"),
        ({"llama__expert_count": 4}, "mixture of experts"),
        ({"leave_out": ("blk.1.ffn_up.weight",)}, "blk.1.ffn_up.weight is missing"),
        ({"leave_out": ("token_embd.weight",)}, "token_embd.weight is missing"),
        ({"extra": {"blk.0.ffn_gate_inp.weight": np.zeros((4, 64), np.float32)}}, "have no place in a Llama"),
        ({"llama__feed_forward_length": 64}, r"must have shape \(64, 64\), got \(96, 64\)"),
        ({"llama__feed_forward_length": None}, "feed_forward_length is missing"),
        ({"llama__attention__head_count_kv": 3}, "multiple of 3 key-value heads"),
        ({"llama__rope__dimension_count": 16}, "turns all 32 channels of a head, this file 16"),
        ({"llama__attention__layer_norm_rms_epsilon": 0.0}, "norm epsilon must be > 0"),
        ({"tokenizer__ggml__model": "llama"}, "must be 'gpt2'"),
        ({"tokenizer__ggml__pre": "starcoder"}, "must be one of gpt-2, smollm, llama-bpe"),
        ({"tokenizer__ggml__eos_token_id": 10**6}, "must be a token id below"),
        ({"tokenizer__ggml__token_type": [1, 1]}, "must have one entry for each"),
        ({"tokenizer__ggml__merges": ["a b c"]}, "must join two tokens"),
        ({"tokenizer__ggml__merges": ["a a"]}, "must join two tokens"),
        ({"tokenizer__ggml__add_eos_token": True}, "add_eos_token is not supported"),
    ],
)
def test_what_cannot_be_converted_is_one_line_and_leaves_nothing(tmp_path, tiny, change, message):
    file = tiny.write_gguf(tmp_path / "tiny.gguf", tiny.model(), **change)
    with pytest.raises(InputError, match=message) as caught:
        converted(file, cache=tmp_path / "cache")
    assert "\n" not in str(caught.value)
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


@pytest.mark.slow
def test_smollm2_is_what_transformers_reads(tmp_path):
    file = smollm2().path
    started = time.process_time()
    directory = converted("smollm2", cache=tmp_path)
    # About 2 CPU-seconds; transformers' own loader takes some 20.
    assert time.process_time() - started < 10
    ours = AutoModelForCausalLM.from_pretrained(directory, local_files_only=True)
    theirs = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32)
    assert ours.state_dict().keys() == theirs.state_dict().keys()
    for name, tensor in ours.state_dict().items():
        assert torch.equal(tensor, theirs.state_dict()[name]), name
    for key in ("rope_parameters", "max_position_embeddings", "rms_norm_eps", "bos_token_id", "eos_token_id"):
        assert getattr(ours.config, key) == getattr(theirs.config, key)


@pytest.mark.slow
def test_smollm2_tokens_are_what_transformers_makes_where_no_number_follows_space(tmp_path):
    import re

    from ordinate.texts import read as read_text

    file = smollm2().path
    ours = AutoTokenizer.from_pretrained(converted("smollm2", cache=tmp_path), local_files_only=True)
    theirs = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    text = read_text("emma").text + "".join(chr(c) for c in range(0x20, 0x3400) if chr(c).isprintable())
    # transformers joins the last of several spaces to a number after them: see gguf_tokenizer.
    pieces = re.split(r"(?<=\s)(?=[^\W\d_])", re.sub(r"\s+(?=\S?\d)|[^\W\d_a-zA-Z]*[¹²³½¼¾]", " ", text))
    pieces = [piece for piece in pieces if not any(character.isnumeric() for character in piece)]
    assert sum(map(len, pieces)) > 850_000
    assert ours(pieces)["input_ids"] == theirs(pieces)["input_ids"]
