"""`ordinate report` and `ordinate diff` of run folders, as they are called."""

import json

import pytest
from validate_runs import drawn, trial

from ordinate.cli.dispatch import run as ordinate
from ordinate.validate.store import Manifest
from ordinate.validate.store.folder import open_run

ONE = trial(units=24)


@pytest.fixture
def folder(tmp_path):
    def make(name, right, **changes):
        manifest = Manifest("smoke", {"model": name, "tokenizer": "t"}, **{"seed": 0, "trials": (ONE,), **changes})
        with open_run(tmp_path / name, manifest) as run:
            for sample in drawn(ONE, right):
                run.add(sample)
        return str(tmp_path / name)

    return make


def test_a_report_is_printed_or_written_in_every_form(folder, tmp_path, capsys):
    run = folder("run", lambda *_: 1.0)
    begins = {"text": "Effective length: 512 tokens", "json": "{", "markdown": "# Long", "html": "<!doctype html>"}
    for form, begin in begins.items():
        assert ordinate(["report", run, "--format", form]) == 0
        printed = capsys.readouterr().out
        assert printed.startswith(begin)
        file = tmp_path / f"report.{form}"
        assert ordinate(["report", run, "--format", form, "--out", str(file)]) == 0
        assert capsys.readouterr().out == f"written: {file}\n"
        assert file.read_text(encoding="utf-8") == printed


def test_what_is_no_run_is_refused(tmp_path, capsys):
    assert ordinate(["report", str(tmp_path)]) == 2
    assert "must be a run folder" in capsys.readouterr().err


def test_a_diff_of_runs_ends_with_1_where_a_loss_is_proved(folder, capsys):
    before, after = folder("before", lambda *_: 1.0), folder("after", lambda *_: 0.3)
    assert ordinate(["diff", before, before]) == 0
    capsys.readouterr()
    assert ordinate(["diff", before, after, "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["claims"][0]["verdict"] == "refuted"
    assert len(found["flips"]) > 10
    assert ordinate(["diff", before, after]) == 1
    assert "R near_key at 256 tokens: refuted" in capsys.readouterr().out


def test_a_diff_of_runs_names_what_keeps_them_apart(folder, capsys):
    before, after = folder("before", lambda *_: 1.0), folder("after", lambda *_: 1.0, seed=7)
    assert ordinate(["diff", before, after]) == 2
    assert "seed: 0 and 7" in capsys.readouterr().err


def test_a_run_is_not_compared_with_a_model(folder, capsys):
    assert ordinate(["diff", folder("run", lambda *_: 1.0), "smollm2"]) == 2
    assert "smollm2 is no run folder" in capsys.readouterr().err
