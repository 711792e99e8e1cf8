"""What a path holds."""

import os
from pathlib import Path

import pytest

from ordinate.errors import InputError
from ordinate.files.source import Source, identify

META = b'{"dim": 4096, "n_layers": 32, "n_heads": 32}'
CONFIG = b'{"model_type": "llama"}'


@pytest.fixture
def write(tmp_path):
    def write(**files: bytes) -> Path:
        for name, data in files.items():
            (tmp_path / name.replace("__", ".")).write_bytes(data)
        return tmp_path

    return write


def refused(path: str | Path, reason: str) -> None:
    with pytest.raises(InputError, match=reason) as caught:
        identify(path)
    assert "\n" not in str(caught.value)


def test_a_directory_with_a_config_is_hugging_faces_whatever_else_is_in_it(write, gguf):
    path = write(config__json=CONFIG, params__json=META, a__gguf=gguf.small(), b__gguf=gguf.small())
    assert identify(path) == Source("huggingface", path / "config.json", path)
    assert identify(str(path)) == identify(path)


def test_a_directory_with_params_and_no_config_is_metas(write, gguf):
    path = write(params__json=META, a__gguf=gguf.small())
    assert identify(path) == Source("params", path / "params.json", path)


def test_a_directory_with_one_gguf_file_is_that_file(write, gguf):
    path = write(model__GGUF=gguf.small(), README__md=b"x")
    assert identify(path) == Source("gguf", path / "model.GGUF", path)


def test_several_gguf_files_are_named_the_first_eight_of_many(write, gguf):
    path = write()
    for count in range(1, 9):
        write(**{f"model-{count}__gguf": gguf.small()})
    names = [f"model-{count}.gguf" for count in range(1, 9)]
    refused(path, f"holds 8 GGUF files, name the one that is meant: {', '.join(names)}$")
    write(**{"model-9__gguf": gguf.small()})
    refused(path, f"holds 9 GGUF files, name the one that is meant: {', '.join(names)} and 1 more$")


def test_file_names_with_line_breaks_are_reported_in_one_line(write, gguf):
    refused(write(**{"a\nb__gguf": gguf.small(), "c__gguf": gguf.small()}), r"'a\\nb\.gguf', c\.gguf$")


def test_a_directory_with_none_of_them_is_refused(write):
    refused(write(README__md=b"x"), "holds neither config.json nor params.json nor a GGUF file$")


def test_a_directory_with_only_pickled_weights_says_they_are_never_opened(write):
    refused(write(pytorch_model__bin=b"x"), "pickled files such as pytorch_model.bin are never opened")


def test_a_gguf_file_is_told_by_its_content_not_its_name(write, gguf):
    path = write(model__gguf=gguf.small(), **{"sha256-0a": gguf.small(), "other__json": gguf.small()})
    for name in ("model.gguf", "sha256-0a", "other.json"):
        assert identify(path / name) == Source("gguf", path / name)


def test_a_file_named_gguf_that_is_none_is_refused(write):
    path = write(model__gguf=b"GGML" + b"\0" * 20)
    refused(path / "model.gguf", "is not a GGUF file: it must begin with b'GGUF', got b'GGML'")
    refused(path, "is not a GGUF file")


@pytest.mark.parametrize("name", ["config.json", "params.json", "other.json", "9f8e7d"])
def test_a_json_file_is_told_by_its_keys_not_its_name(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(META)
    assert identify(path) == Source("params", path)
    path.write_bytes(CONFIG)
    assert identify(path) == Source("huggingface", path)
    path.write_bytes(b' \n{"dim": 1}')
    assert identify(path).kind == "huggingface"


@pytest.mark.parametrize("suffix", [".bin", ".pt", ".pth", ".ckpt", ".pkl", ".PT"])
def test_a_pickled_file_is_refused_without_being_opened(tmp_path, monkeypatch, suffix):
    path = tmp_path / f"model{suffix}"
    path.write_bytes(b"x")
    monkeypatch.setattr(os, "open", lambda *_: pytest.fail("the file was opened"))
    refused(path, "is a pickled file, which is never opened")


@pytest.mark.parametrize("name", ["none", "none.gguf", "none.json", "none.bin", "a\0b"])
def test_a_path_to_nothing_is_refused(tmp_path, name):
    refused(f"{tmp_path}/{name}", "does not exist|is not a path")


def test_a_link_to_nothing_is_refused(tmp_path):
    (tmp_path / "config.json").symlink_to("gone")
    refused(tmp_path / "config.json", "does not exist")


@pytest.mark.parametrize("name", ["config.json", "model.gguf", "x"])
def test_an_empty_file_is_refused(tmp_path, name):
    (tmp_path / name).touch()
    refused(tmp_path / name, "is empty; give a directory with config.json")


def test_weights_alone_say_nothing_on_position(write):
    refused(
        write(model__safetensors=b"\2\0\0\0\0\0\0\0{}") / "model.safetensors", "holds weights and no word on position"
    )


def test_a_file_of_no_known_kind_is_refused(write):
    refused(write(README__md=b"# A model") / "README.md", "is of no known kind; give a directory")


def test_broken_json_is_refused_with_its_name(write):
    refused(write(config__json=b"{") / "config.json", r"config\.json is not valid JSON")
