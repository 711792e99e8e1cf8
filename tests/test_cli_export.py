"""`ordinate export`."""

import json

import pytest

from ordinate.cli import run

PASSKEY = ["--tasks", "passkey", "--units", "2", "--filler", "generated", "--tokenizer", "bytes"]


def test_a_folder_is_written_and_what_it_takes_is_said(tmp_path, capsys):
    out = tmp_path / "out"
    asked = [*PASSKEY, "--lengths", "1024,2048", "--place", "start", "--place", "0.5", "--no-controls", "--seed", "3"]
    assert run(["export", "lm_eval", str(out), *asked]) == 0
    said = capsys.readouterr().out
    assert "4 tasks, 8 prompts" in said
    record = json.loads((out / "export.json").read_text(encoding="utf-8"))
    found = [(entry["part"]["cell"]["length"], entry["part"]["cell"]["places"]) for entry in record["entries"]]
    assert found == [(1024, "start"), (1024, "0.5"), (2048, "start"), (2048, "0.5")]
    assert {entry["part"]["seed"] for entry in record["entries"]} == {3}


def test_controls_are_the_suites(tmp_path):
    out = tmp_path / "out"
    assert run(["export", "lm_eval", str(out), *PASSKEY, "--lengths", "2048", "--place", "start"]) == 0
    names = {file.stem.removeprefix("ordinate_passkey_2048_start").strip("_") for file in out.glob("*.jsonl")}
    assert names == {"", "no_context", "evidence_removed", "evidence_swapped", "evidence_only", "altered_answers"}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--lengths", "2048", "--to", "4096"], "not both"),
        (["--lengths", "two"], "--lengths must be like 4096, 4k or 1M"),
        (["--lengths", "2048", "--mode", "chat"], "needs the model's chat template"),
        (["--lengths", "2048", "--place", "above"], "above"),
        ([], "needs lengths"),
    ],
)
def test_what_cannot_be_exported_is_one_line(tmp_path, capsys, more, message):
    assert run(["export", "lm_eval", str(tmp_path / "out"), *PASSKEY, *more]) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
