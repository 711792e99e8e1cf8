"""The command `ordinate convert`."""

import json

import pytest
from conversion_files import LLAMA, weights, write

from ordinate.cli import run


@pytest.fixture
def source(tmp_path):
    return write(tmp_path / "a", weights())


def test_it_converts_and_says_what_it_did(source, tmp_path, capsys):
    assert run(["convert", str(source), str(tmp_path / "b"), "--pairing", "interleaved"]) == 0
    shown = capsys.readouterr().out
    assert "half to interleaved, model_type llama" in shown
    assert "2 tensors of 1 layers; 7 copied as they are" in shown
    assert "transformers turns half pairs for llama" in shown
    assert run(["describe", str(tmp_path / "b"), "--format", "json"]) == 0
    described = json.loads(capsys.readouterr().out)
    assert "interleaved" in json.dumps(described)
    assert run(["convert", str(tmp_path / "b"), str(tmp_path / "c"), "--pairing", "half"]) == 0
    assert "note" not in capsys.readouterr().out


def test_a_files_name_cannot_command_the_terminal(source, tmp_path, capsys):
    (source / "a\x1b[2Jb.py").write_text("")
    (source / "c\x1b[2Jd.json").write_text("{}")
    assert run(["convert", str(source), str(tmp_path / "b"), "--pairing", "interleaved"]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert r"left out   'a\x1b[2Jb.py'" in shown


def test_nothing_is_written_into_the_source(source, capsys):
    assert run(["convert", str(source), str(source / "x" / "y"), "--pairing", "interleaved"]) == 2
    assert "must not be within" in capsys.readouterr().err
    assert not (source / "x").exists()


def test_json_has_the_same(source, tmp_path, capsys):
    arguments = ["convert", str(source), str(tmp_path / "b"), "--pairing", "interleaved", "--format", "json"]
    assert run(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["before"], found["pairing"], found["turned"], found["moved"]) == ("half", "interleaved", "half", 2)


def test_a_models_name_stands_for_its_copy(source, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("ordinate.transformers.convert.converted", lambda name, **_: {"smollm2": source}[name])
    assert run(["convert", "smollm2", str(tmp_path / "b"), "--pairing", "interleaved"]) == 0
    assert capsys.readouterr().out.startswith("smollm2: half to interleaved")


def test_an_unknown_name_gets_a_suggestion(tmp_path, capsys):
    assert run(["convert", "smollm", str(tmp_path / "b"), "--pairing", "interleaved"]) == 2
    assert "did you mean 'smollm2'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "needs IN, OUT and --pairing"),
        (["OUT"], "needs IN, OUT and --pairing"),
        (["--pairing", "half"], "needs IN, OUT and --pairing"),
        (["OUT", "--pairing", "half"], "is half already"),
        (["OUT", "--pairing", "sideways"], "pairing"),
        (["OUT", "--detect"], "goes with neither OUT"),
        (["--detect", "--pairing", "half"], "goes with neither OUT"),
        (["OUT", "--pairing", "interleaved", "--base", "x"], "so it has no base"),
    ],
)
def test_what_does_not_fit_is_one_line_and_code_2(source, tmp_path, capsys, arguments, message):
    given = [str(tmp_path / "b") if word == "OUT" else word for word in arguments]
    assert run(["convert", str(source), *given]) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert shown.count("\n") == 1
    assert not (tmp_path / "b").exists()


def test_detecting_what_is_no_model_is_code_2(tmp_path, capsys):
    assert run(["convert", "--detect", str(tmp_path / "nothing")]) == 2
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    assert run(["convert", "--detect", str(tmp_path)]) == 2
    assert "model.safetensors or its index is required" in capsys.readouterr().err
