"""`ordinate audit` says what to do where it is asked wrongly, and how far it is."""

import io
import subprocess
import sys

import pytest
from audit.audited_models import small
from fake_server import Features, serving

from ordinate.audit import audit_model
from ordinate.audit.server import Budget, audit_server
from ordinate.cli.dispatch import run
from ordinate.cli.progress import progress


def said(capsys, *given):
    assert run(["audit", *given]) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    "given, words",
    [
        (["--model", "tiny"], ["--model goes with --url only", "add the server's address, as in --url http://"]),
        (["--model", "tiny", "--window", "512"], ["--model, --window goes with --url only"]),
        ([], ["needs a model's directory, file or name, or --url and --model"]),
        (["--url", "http://127.0.0.1:9/v1"], ["--url needs --model", "http://127.0.0.1:9/v1/models lists what"]),
        (["--url", "127.0.0.1", "--model", "tiny"], ["url must be an address like http://127.0.0.1:8080/v1"]),
        (["--url", "http://127.0.0.1:99999/v1", "--model", "tiny"], ["url must be an address like", "99999"]),
    ],
)
def test_what_is_asked_wrongly_is_answered_with_what_to_ask(capsys, given, words):
    error = said(capsys, *given)
    assert all(word in error for word in words), error


def test_a_check_that_is_none_is_said_before_torch_is_imported_and_a_model_looked_for():
    code = (
        "import sys; from ordinate.cli.dispatch import run; "
        "got = run(['audit', 'no-such-model', '--checks', 'packed,left-paddin']); "
        "print(got, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["2", "False"]
    assert "unknown check 'left-paddin'; did you mean 'left-padding'?" in done.stderr


def test_a_server_that_is_not_there_is_answered_with_where_to_look(capsys):
    with serving() as server:
        url = server.url
    assert run(["audit", "--url", url, "--model", "tiny"]) == 3
    error = capsys.readouterr().err
    assert "cannot be reached" in error
    assert "start it, or look at the host, the port and the path" in error


def reported(audit):
    told = []
    audit(lambda *one: told.append(one))
    return told


def test_progress_names_the_check_of_a_model_and_how_many_of_how_many():
    names = ["packed", "batch-rows"]
    told = reported(lambda progress: audit_model(small("llama"), checks=names, length=32, progress=progress))
    assert told == [
        ("checks: packed (1 of 2)", 0, 2),
        ("checks: batch-rows (2 of 2)", 1, 2),
        ("checks: done", 2, 2),
    ]


def test_progress_names_the_check_of_a_server_and_how_many_of_how_many():
    with serving(features=Features(window=420)) as server:
        told = reported(
            lambda progress: audit_server(
                server.url, "tiny", budget=Budget(), seed=1, checks=["token_counts", "overrun"], progress=progress
            )
        )
    assert [stage for stage, _, _ in told] == [
        "checks: probing the server",
        "checks: token-counts (1 of 2)",
        "checks: overrun (2 of 2)",
        "checks: done",
    ]


@pytest.mark.parametrize("terminal", [True, False])
def test_stages_of_one_name_are_one_bar_and_none_where_no_terminal_is(monkeypatch, terminal):
    stream = io.StringIO()
    stream.isatty = lambda: terminal
    monkeypatch.setattr("sys.stderr", stream)
    with progress() as report:
        if not terminal:
            assert report is None
        else:
            report("reading", 1, 2)
            report("checks: packed (1 of 2)", 0, 2)
            report("checks: crossing (2 of 2)", 1, 2)
    written = stream.getvalue()
    assert ("checks: crossing (2 of 2)" in written) == terminal
    last = written.split("\x1b[")[-1] if terminal else ""
    assert "packed" not in last
