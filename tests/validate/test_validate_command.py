"""`ordinate validate` and `ordinate merge`, with readers in a model's place."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from scripted_backend import shared_words

from ordinate.cli import run
from ordinate.cli.amounts import lengths_of
from ordinate.validate import preparing, validating
from ordinate.validate.backends.simulated import Simulated
from ordinate.validate.claims import Claim
from ordinate.validate.estimate import tokens
from ordinate.validate.opening import Opening, opened
from ordinate.validate.store import read_manifest, read_samples
from ordinate.validate.store.folder import open_run

SMALL = ["--suite", "smoke", "--tasks", "passkey", "--lengths", "700,1200", "--filler", "noise"]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    shared_words(monkeypatch)


def validate(*arguments: str | Path, reader: str = "oracle") -> int:
    return run(["validate", "--backend", f"simulated:{reader}", *SMALL, *map(str, arguments)])


def test_a_reader_that_reads_all_is_supported(tmp_path, capsys):
    assert validate("--out", tmp_path / "run") == 0
    shown = capsys.readouterr()
    assert "passkey" in shown.out
    assert "Effective length: 1,200 tokens" in shown.out
    assert "tokens where every task is at its floor" in shown.err
    assert len(read_samples(tmp_path / "run")) == 100
    assert json.loads((tmp_path / "run" / "card.json").read_text())["headline"]["effective"] == 1200
    assert (tmp_path / "run" / "card.md").read_text().startswith("#")
    assert "<svg" in (tmp_path / "run" / "report.html").read_text()


def test_a_reader_with_a_window_is_refuted_beyond_it(tmp_path, capsys):
    assert validate("--out", tmp_path / "run", "--format", "json", reader="window=750") == 1
    found = json.loads(capsys.readouterr().out)
    assert found["trials"][0]["verdicts"] == {"700": "supported", "1200": "refuted"}
    assert (found["ended"], found["shard"]) == ("complete", None)


def test_a_task_at_its_floor_is_not_applicable_and_proves_nothing(tmp_path, capsys):
    assert validate("--out", tmp_path / "run", reader="noisy=0.02") == 3
    assert "not applicable" in capsys.readouterr().out
    assert {sample.cell.length for sample in read_samples(tmp_path / "run")} == {700}


def test_a_run_that_ends_early_says_so_and_goes_on_with_the_same_command_or_with_resume(tmp_path, capsys):
    out = tmp_path / "run"
    assert validate("--out", out, "--budget", "20k") == 3
    assert "ended early: the budget of 20k tokens is spent" in capsys.readouterr().out
    first = len(read_samples(out))
    assert 0 < first < 30
    assert validate("--out", out, "--budget", "30k") == 3
    assert first < len(read_samples(out)) < 50
    assert run(["validate", "--resume", str(out)]) == 0
    assert len(read_samples(out)) == 100
    assert run(["validate", "--resume", str(out), "--seed", "3"]) == 2
    assert "leave out --seed" in capsys.readouterr().err


def test_the_folder_is_named_by_what_determines_the_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert validate("--budget", "10k") == 3
    assert validate("--budget", "12k") == 3
    (only,) = tmp_path.iterdir()
    assert only.name.startswith("validate-smoke-simulated-oracle-")
    assert validate("--seed", "1", "--budget", "10k") == 3
    assert len(list(tmp_path.iterdir())) == 2


def test_a_dry_run_says_what_it_would_take_and_leaves_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert validate("--dry-run") == 0
    shown = capsys.readouterr()
    assert "17.1k tokens where every task is at its floor, at most 96.4k in 100 requests" in shown.err
    assert shown.out == ""
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_run_says_in_one_line_how_it_goes_on(tmp_path, monkeypatch, capsys):
    answer, asked = Simulated.answer, []

    def interrupted(self, prompt, tokens, *, stop=()):
        asked.append(prompt)
        if len(asked) == 20:
            raise KeyboardInterrupt
        return answer(self, prompt, tokens, stop=stop)

    out = tmp_path / "a run"
    with monkeypatch.context() as patch:
        patch.setattr(Simulated, "answer", interrupted)
        assert validate("--out", out) == 130
    shown = capsys.readouterr()
    assert shown.err.splitlines()[-1] == f"ordinate: interrupted; go on with: ordinate validate --resume '{out}'"
    assert "Traceback" not in shown.err
    assert len(read_samples(out)) > 10
    assert run(["validate", "--resume", str(out)]) == 0
    assert len(read_samples(out)) == 100


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--lengths", "700,100000001"], "lengths must be at most 100,000,000 tokens, got 100,000,001"),
        (["--lengths", "700", "--mode", "chat"], "the tokenizer has none; mode 'base' needs none"),
    ],
)
def test_what_cannot_be_asked_is_said_in_one_line(arguments, said, capsys):
    simulated = ["--backend", "simulated:oracle", "--suite", "smoke", "--tasks", "passkey", "--filler", "noise"]
    assert run(["validate", *simulated, *arguments, "--dry-run"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert len(line) < 200


def test_a_filler_that_ends_before_the_longest_length_ends_a_run_before_it_begins(tmp_path, capsys):
    text = tmp_path / "mine.txt"
    text.write_text("\n\n".join(f"The weather on day {i} was {word}." for i in range(30) for word in ("fine", "wet")))
    arguments = ["validate", "--backend", "simulated:oracle", *SMALL[:4], "--filler", str(text), "--dry-run"]
    assert run([*arguments, "--lengths", "700,1200"]) == 0
    capsys.readouterr()
    assert run([*arguments, "--lengths", "700,9000"]) == 2
    shown = capsys.readouterr().err
    assert "passkey cannot be asked at 9000 tokens, so that nothing is run: the filler 'file' is too short" in shown
    # What is longer than the limit is never sent, and so needs no filler.
    assert run([*arguments, "--lengths", "700,9000", "--limit", "2000"]) == 0


def test_levels_are_told_beside_the_tasks_and_alone_where_no_tasks_are_asked(capsys):
    assert validate("--dry-run", "--levels", "L2,L3") == 0
    shown = capsys.readouterr().err
    assert "17.1k tokens where every task is at its floor, at most 96.4k in 100 requests" in shown
    # At least both lengths once; at most each 7 times with 2 prompts and 9 tokens of answers, both once more.
    assert "1.9k to 30.5k tokens more for L2, which end after 30 min at the latest (in all 19k to 127k)" in shown
    assert validate("--dry-run", "--levels", "L2") == 0
    shown = capsys.readouterr().err
    assert "1.9k to 30.5k tokens for L2" in shown
    assert "floor" not in shown


def test_a_run_whose_first_prompt_cannot_be_built_is_refused_before_anything_is_asked(tmp_path, capsys):
    assert validate("--out", tmp_path / "run", "--limit", "710") == 2
    shown = capsys.readouterr()
    assert "passkey cannot be asked at 700 tokens, so that nothing is run: 700 tokens" in shown.err
    assert "exceed the limit 710" in shown.err
    assert shown.out == ""
    assert not (tmp_path / "run").exists()


def test_shards_are_merged_and_judged(tmp_path, capsys):
    for i in range(2):
        assert validate("--shard", f"{i}/2", "--out", tmp_path / str(i), reader="window=750") == 0
    capsys.readouterr()
    parts = [str(tmp_path / str(i)) for i in range(2)]
    assert run(["merge", parts[1], "--out", str(tmp_path / "all")]) == 3
    assert "50 samples of the plan are missing" in capsys.readouterr().out
    assert run(["merge", *parts, "--out", str(tmp_path / "all")]) == 1
    assert "at 1,200 tokens: refuted" in capsys.readouterr().out
    assert read_manifest(tmp_path / "all").shard is None
    assert run(["validate", "--resume", str(tmp_path / "all")]) == 1
    capsys.readouterr()
    tokens = []
    for call in (["merge", *parts, "--out"], ["validate", "--resume"]):
        assert run([*call, str(tmp_path / "all"), "--format", "json"]) == 1
        tokens.append(json.loads(capsys.readouterr().out)["tokens"])
    assert tokens[0] == tokens[1] > 100 * 700


def test_what_answers_must_be_what_it_was(tmp_path, capsys):
    out = tmp_path / "run"
    assert validate("--out", out, "--budget", "10k") == 3
    assert validate("--out", out, reader="window=750") == 2
    shown = capsys.readouterr().err
    assert "holds another run; asked for and there: " in shown
    assert "reader: window and oracle" in shown


def test_a_users_file_fills_prompts_and_is_found_again(tmp_path, capsys):
    text = tmp_path / "mine.txt"
    text.write_text("\n\n".join(f"The weather on day {i} was {word}." for i in range(300) for word in ("fine", "wet")))
    out = tmp_path / "run"
    arguments = ["--backend", "simulated:oracle", *SMALL[:-1], str(text), "--out", str(out), "--budget", "10k"]
    assert run(["validate", *arguments]) == 3
    assert run(["validate", "--resume", str(out)]) == 0
    assert read_samples(out)[0].cell.filler.startswith("file:")
    text.write_text("Another text.\n\n" * 300)
    assert run(["validate", *arguments]) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "needs a model"),
        (["--backend", "simulated:orcale"], "did you mean 'oracle'"),
        (["--backend", "simulated:window"], "must be written as window=3000"),
        (["--backend", "simulated:oracle", "--url", "http://127.0.0.1:1/v1"], "the backend 'simulated' takes no url"),
        (["--backend", "simulated:oracle", "--lengths", "700,x"], "--lengths must be like 4096"),
        (["--backend", "simulated:oracle", "--lengths", "700", "--to", "1200"], "not both"),
        (["--backend", "simulated:oracle", "--filler", "prosa"], "filler must be one of"),
        (["--backend", "simulated:oracle", "--to", "1200", "--shard", "2/2"], "0 <= i < n"),
        (["--backend", "simulated:oracle", "--to", "1200", "--budget", "much"], "a budget must be a number"),
        (["--resume", "nowhere"], "must be a run folder"),
        (["smollm2", "--concurrency", "2"], "the backend 'transformers' takes no concurrency"),
        (["--url", "http://127.0.0.1:1/v1", "--model", "m", "--to", "900"], "the backend 'server' needs tokenizer"),
        (["--backend", "vllm"], "backend must be one of"),
        (["--backend", "simulated:oracle", "--to", "900", "--levels", "L9"], "level must be one of"),
        (
            ["--backend", "simulated:oracle", "--suite", "smoke", "--memory", "1GiB"],
            "memory bounds L2, got the levels L3",
        ),
        (
            ["--backend", "simulated:oracle", "--suite", "smoke", "--levels", "L2", "--memory", "1GiB"],
            "memory bounds a model of transformers",
        ),
        (["--backend", "simulated:oracle", "--to", "900", "--memory", "1"], "memory must be like 80GiB"),
    ],
)
def test_wrong_usage_is_named(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["validate", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        (["smollm2"], "smollm2"),
        (["--api-key-file", "key"], "--api-key-file"),
        (["--api-key-variable", "KEY"], "--api-key-variable"),
        (["--url", "http://127.0.0.1:1/v1"], "--url"),
        (["--lengths", "700"], "--lengths"),
        (["--out", "run"], "--out"),
    ],
)
def test_what_is_left_out_of_a_resumed_run_is_named_as_it_was_written(arguments, left, capsys):
    assert run(["validate", "--resume", "nowhere", *arguments]) == 2
    assert capsys.readouterr().err.rstrip("\n").endswith(f": leave out {left}")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--tasks", "passkey,near_kye"], "unknown task 'near_kye'; did you mean 'near_key'?"),
        (["--filler", "no-such.txt"], "or a text file, got 'no-such.txt'"),
    ],
)
def test_a_task_and_a_filler_that_there_are_not_are_named_before_anything_is_opened(arguments, said, capsys):
    """Nothing listens there: whoever opened it first would say so, with 3."""
    nowhere = ["--url", "http://127.0.0.1:1/v1", "--model", "none", "--tokenizer", "bytes", "--lengths", "700"]
    assert run(["validate", *nowhere, *arguments]) == 2
    assert said in capsys.readouterr().err


def test_levels_that_need_no_tasks_are_measured_once_and_kept(tmp_path, capsys):
    out = tmp_path / "run"
    assert validate("--out", out, "--levels", "P") == 3
    claims = (out / "claims.json").read_bytes()
    assert [claim["level"] for claim in json.loads(claims)] == ["P"]
    assert not read_samples(out)
    assert validate("--out", out, "--levels", "P,L3") == 0  # P is not applicable to a reader
    assert (out / "claims.json").read_bytes() == claims
    assert len(read_samples(out)) == 100


@pytest.mark.parametrize("reader, code", [("oracle", 0), ("window=700", 1)])
@pytest.mark.parametrize("closed", [False, True])
def test_the_exit_code_is_the_verdicts_where_nobody_reads_what_is_printed(tmp_path, reader, code, closed):
    assert validate("--out", tmp_path / "run", reader=reader) == code
    reads, writes = os.pipe()
    os.close(reads)
    merged = ["merge", str(tmp_path / "run"), "--out", str(tmp_path / "all")]
    program = f"import os, sys; from ordinate.cli import main; main({merged!r})"
    shell = [sys.executable, "-c", program] if not closed else ["sh", "-c", 'exec "$0" -c "$1" >&-', sys.executable]
    done = subprocess.run([*shell, program] if closed else shell, stdout=writes, stderr=subprocess.PIPE, check=False)
    os.close(writes)
    assert (done.returncode, done.stderr) == (code, b"")


def test_levels_that_there_are_not_are_named(tmp_path, capsys):
    out = tmp_path / "run"
    assert validate("--out", out) == 0
    for levels in ('5, "x": [', '["L9"], "x": ['):
        told = (out / "run.json").read_text()
        (out / "run.json").write_text(told.replace('"levels": [', f'"levels": {levels}'))
        assert run(["validate", "--resume", str(out)]) == 2
        assert "asks for levels that there are not" in capsys.readouterr().err
        (out / "run.json").write_text(told)


def test_a_run_is_not_compared_with_what_is_none(tmp_path, capsys):
    assert validate("--out", tmp_path / "run") == 0
    for pair in ((tmp_path / "run", tmp_path), (tmp_path, tmp_path / "run")):
        assert run(["diff", *map(str, pair)]) == 2
        assert f"{tmp_path} is no run folder, it has no run.json" in capsys.readouterr().err


def test_one_run_alone_is_not_compared_and_no_engines_are_asked_for(tmp_path, capsys):
    assert validate("--out", tmp_path / "run", "--budget", "2k") == 3
    capsys.readouterr()
    assert run(["diff", str(tmp_path / "run")]) == 2
    shown = capsys.readouterr().err
    assert f"{tmp_path / 'run'} is a run, which is compared with another: ordinate diff RUN_BEFORE RUN_AFTER" in shown
    assert "--engines" not in shown


def test_lengths_are_compared_with_the_shortest_in_whatever_order(tmp_path, capsys):
    assert validate("--out", tmp_path / "run", "--lengths", "1200,700", "--budget", "2k") == 3
    (trial,) = read_manifest(tmp_path / "run").trials
    assert (trial.short, trial.lengths) == (700, (1200,))
    capsys.readouterr()
    assert run(["validate", "--help"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "the others are compared with the shortest." in told
    assert "(k is 1,024)" in told
    assert "128k is 131,072" in told
    assert "An amount is no length: k is 1,000, M 1,000,000." in told
    assert (lengths_of("2k,1M"), tokens("2k"), tokens("1M")) == ((2048, 1048576), 2000, 1000000)


def test_where_all_tasks_are_at_their_floor_no_other_level_makes_a_run_supported(tmp_path):
    asked = preparing.Asked("smoke", lengths=(1024, 2048), tasks=("multi_hop",), filler="noise")
    with opened(Opening(backend="simulated:retrieval_only")) as backend:
        ready = preparing.prepare(backend, asked)
        validating.validate(ready, tmp_path / "run")
    accepted = Claim("L1", "whole prompt", "", 2048, "supported")
    with open_run(tmp_path / "run", ready.manifest) as folder:
        assert {verdict for _, lengths in validating.judge(folder).verdicts for verdict in lengths.values()} == {
            "not applicable"
        }
        assert validating.judge(folder, [accepted]).state == "open"
