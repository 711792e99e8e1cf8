"""A folder that a command cannot make is refused before anything is read, opened or asked."""

import json
import os

import pytest

from ordinate.cli import run
from ordinate.errors import InputError
from ordinate.weights.directory import check_directory

# Nothing listens there, and there is no such model: whoever opened them first would say so instead.
NOWHERE = ["--url", "http://127.0.0.1:1/v1", "--model", "none", "--tokenizer", "bytes", "--lengths", "700"]
COMMANDS = {
    "validate": ("--out", ["validate", *NOWHERE, "--out"]),
    "dry run": ("--out", ["validate", *NOWHERE, "--dry-run", "--out"]),
    "merge": ("--out", ["merge", "no-such-run", "--out"]),
    "prove": ("--out", ["prove", "no-such-model", "no-such-model", "--out"]),
    "extend": ("--out", ["extend", "no-such-model", "--to", "16k", "--out"]),
    "convert": ("OUT", ["convert", "no-such-model", "--pairing", "half"]),
    "export": ("OUT", ["export", "lm_eval", "--tokenizer", "no-such-tokenizer", "--lengths", "700"]),
}
NEW = ("extend", "convert", "export")
"""They make a folder that must not be there."""


@pytest.mark.parametrize("name", COMMANDS)
def test_a_folder_within_a_file_is_refused_before_anything_is_opened(capsys, tmp_path, name):
    option, arguments = COMMANDS[name]
    (tmp_path / "file").write_text("mine")
    out = tmp_path / "file" / "deep" / "run"
    assert run([*arguments, str(out)]) == 2
    said = f"{option} must be a directory, or one that can be made, got {out}: {tmp_path / 'file'} is no directory"
    assert capsys.readouterr().err == f"ordinate: {said}\n"
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_file_in_the_place_of_a_folder_is_refused_before_anything_is_opened(capsys, tmp_path, name):
    option, arguments = COMMANDS[name]
    out = tmp_path / "file"
    out.write_text("mine")
    assert run([*arguments, str(out)]) == 2
    said = f"{out} exists already" if name in NEW else f"{option} must be a directory"
    error = capsys.readouterr().err
    assert said in error
    assert "Errno" not in error
    assert out.read_text() == "mine"


@pytest.mark.parametrize("name", ["validate", "merge"])
def test_a_folder_of_something_else_is_refused_before_anything_is_opened(capsys, tmp_path, name):
    (tmp_path / "holiday.jpg").touch()
    assert run([*COMMANDS[name][1], str(tmp_path)]) == 2
    assert "must be a run folder or empty, got a folder with 'holiday.jpg'" in capsys.readouterr().err


def test_the_folder_that_a_run_names_itself_may_be_a_file_too(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = ["validate", "--backend", "simulated:oracle", "--suite", "smoke", "--tasks", "passkey", "--lengths", "700"]
    asked += ["--filler", "noise", "--budget", "2k"]
    assert run(asked) == 3
    (folder,) = tmp_path.iterdir()
    folder.rename(tmp_path / "elsewhere")
    folder.write_text("mine")
    capsys.readouterr()
    assert run(asked) == 2
    assert f"the run's folder must be a directory, or one that can be made, got {folder.name}: " in (
        capsys.readouterr().err
    )
    assert run(["validate", "--resume", folder.name]) == 2
    assert capsys.readouterr().err == f"ordinate: {folder.name} must be a run folder: it has no run.json\n"
    assert json.loads((tmp_path / "elsewhere" / "run.json").read_text())["suite"] == "smoke"


def test_a_link_to_nowhere_and_a_folder_that_may_not_be_written_are_named(tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"got .*link: .*link is no directory"):
        check_directory(tmp_path / "link", "--out")
    check_directory(tmp_path / "new" / "run", "--out")
    monkeypatch.setattr(os, "access", lambda path, mode: not (path == tmp_path and mode & os.W_OK))
    with pytest.raises(InputError, match=rf"got .*run: {tmp_path} cannot be written to"):
        check_directory(tmp_path / "new" / "run", "--out")
    assert [entry.name for entry in tmp_path.iterdir()] == ["link"]
