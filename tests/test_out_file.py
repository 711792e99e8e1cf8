"""What --out names is written in the form that its name says, or refused before the work is done."""

import json

import pytest

from ordinate.cli.amounts import bytes_of, length_of, lengths_of
from ordinate.cli.dispatch import run
from ordinate.errors import InputError

MODEL = "llama-2-7b"
COMMANDS = {
    "describe": ["describe", MODEL],
    "check": ["check", MODEL],
    "diff": ["diff", MODEL, "llama-3-8b"],
    "engines": ["diff", MODEL, "--engines", "vllm,llama_cpp"],
    "plan": ["plan", MODEL, "--context", "4k"],
    "translate": ["translate", MODEL, "--to", "vllm"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_name_that_ends_in_json_is_json(capsys, tmp_path, name):
    file = tmp_path / "found.json"
    code = run([*COMMANDS[name], "--out", str(file)])
    assert code in (0, 1)
    assert capsys.readouterr().out == f"written: {file}\n"
    assert json.loads(file.read_text())["schema_version"] == 1
    assert run([*COMMANDS[name], "--format", "json"]) == code
    assert capsys.readouterr().out == file.read_text()


@pytest.mark.parametrize("name", COMMANDS)
def test_any_other_name_is_text_and_a_format_is_heeded(capsys, tmp_path, name):
    file = tmp_path / "found.txt"
    run([*COMMANDS[name], "--out", str(file)])
    text = file.read_text()
    capsys.readouterr()
    run(COMMANDS[name])
    assert capsys.readouterr().out.rstrip("\n") == text.rstrip("\n")
    run([*COMMANDS[name], "--format", "json", "--out", str(file)])
    assert json.loads(file.read_text())


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("ending", ["html", "md"])
def test_a_form_that_another_command_makes_is_refused_with_its_name(capsys, tmp_path, name, ending):
    file = tmp_path / f"found.{ending}"
    assert run([*COMMANDS[name], "--out", str(file)]) == 2
    assert "`ordinate report` makes it of the JSON" in capsys.readouterr().err
    assert not file.exists()


def test_a_form_that_no_command_makes_of_it_is_refused(capsys, tmp_path):
    assert run([*COMMANDS["plan"], "--out", str(tmp_path / "x.svg")]) == 2
    assert "would be svg, got a command that writes text, json" in capsys.readouterr().err
    assert run([*COMMANDS["describe"], "--out", str(tmp_path / "x.svg")]) == 0
    assert (tmp_path / "x.svg").read_text().startswith("<svg")


def test_a_folder_that_does_not_exist_is_refused(capsys, tmp_path):
    assert run([*COMMANDS["check"], "--out", str(tmp_path / "no" / "x.json")]) == 2
    assert "must lie in a directory that exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["describe", MODEL, "--length", "16x"],
        ["diff", MODEL, "llama-3-8b", "--length", "0"],
        ["extend", MODEL, "--out", "never", "--to", "-5"],
        ["validate", "--backend", "simulated:oracle", "--to", "1.5"],
    ],
)
def test_a_length_that_is_none_is_named_by_its_option(capsys, arguments):
    assert run(arguments) == 2
    error = capsys.readouterr().err
    assert "Invalid value for '--" in error
    assert "a length must be" in error


def test_lengths_have_letters_in_every_command(capsys):
    assert run(["describe", MODEL, "--length", "8k", "--format", "json"]) == 0
    with_letter = capsys.readouterr().out
    assert run(["describe", MODEL, "--length", "8192", "--format", "json"]) == 0
    assert capsys.readouterr().out == with_letter
    asked = ["validate", "--backend", "simulated:oracle", "--suite", "smoke", "--tasks", "passkey", "--dry-run"]
    assert run([*asked, "--lengths", "512,2k"]) == 0
    with_letter = capsys.readouterr().err
    assert run([*asked, "--lengths", "512,2048"]) == 0
    # the rest of what it says is seconds
    assert capsys.readouterr().err.split("\n")[0] == with_letter.split("\n")[0]


def test_amounts_are_what_people_write():
    assert [length_of(text) for text in ("4096", "4k", "128K", "1M", "1.5k")] == [4096, 4096, 131072, 2**20, 1536]
    assert lengths_of("4k, 32k,4096") == (4096, 32768)
    assert [bytes_of(text) for text in ("80GiB", "80 GB", "1B")] == [80 * 2**30, 80 * 10**9, 1]


@pytest.mark.parametrize("text", ["4.0001k", "0", "k", "4kk", "1e3", "-4k", "", "٣"])
def test_what_is_no_whole_length_is_refused(text):
    with pytest.raises(InputError, match="a length must be"):
        length_of(text)
