"""Whole runs against servers, sound and bad: each ends with the right verdict or a named error, in bounded time."""

import time

import pytest
from oracle_server import serving
from scripted_backend import shared_words

from ordinate.cli import run
from ordinate.validate.store import read_manifest, read_samples
from ordinate.validate.tokenizers import ByteTokenizer

pytest.importorskip("httpx2")

ASKED = ["--suite", "smoke", "--tasks", "passkey", "--lengths", "700,1200", "--filler", "noise", "--concurrency", "4"]
TEMPLATE = "{% for message in messages %}<{{ message.role }}> {{ message.content }}{% endfor %} <assistant>"


@pytest.fixture(autouse=True, scope="module")
def quick():
    with pytest.MonkeyPatch.context() as patch:
        shared_words(patch)
        yield


def validate(url, out, *more):
    return run(
        ["validate", "--url", url, "--model", "oracle", "--tokenizer", "bytes", *ASKED, "--out", str(out), *more]
    )


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """The samples of a sound server."""
    out = tmp_path_factory.mktemp("sound") / "run"
    with serving() as (url, _):
        assert validate(url, out) == 0
    return (out / "samples.jsonl").read_bytes()


def test_a_sound_server_is_supported_and_counts_what_was_sent(sound):
    assert sound.count(b'"outcome":"right"') == 100


def test_a_server_that_is_busy_half_the_time_gives_the_same_samples(sound, tmp_path):
    with serving(busy=True) as (url, _):
        assert validate(url, tmp_path / "run") == 0
    assert (tmp_path / "run" / "samples.jsonl").read_bytes() == sound


@pytest.mark.parametrize("admits", [True, False])
def test_a_server_that_truncates_in_silence_is_refuted(tmp_path, capsys, admits):
    with serving(keeps=750, admits=admits) as (url, _):
        assert validate(url, tmp_path / "run") == 1
    assert "at 1,200 tokens: refuted" in capsys.readouterr().out
    why = {sample.why for sample in read_samples(tmp_path / "run") if sample.cell.length == 1200}
    if admits:
        assert why == {"the engine counted 750 prompt tokens, not 1200"}


def test_a_server_that_stalls_ends_the_run_with_a_named_error_and_the_run_goes_on_later(sound, tmp_path, capsys):
    out, began = tmp_path / "run", time.monotonic()
    with serving() as (url, state):
        state.stalls = 60
        assert validate(url, out, "--wait", "0.5") == 3
        shown = capsys.readouterr().out
        assert "ended early: 8 faults in a row; the last: " in shown
        assert "did not answer in full within 0.5 s" in shown
        assert time.monotonic() - began < 60  # 8 faults of 0.5 s, 4 at a time, and a busy machine
        assert 20 < len(read_samples(out)) < 60
        state.stalls = None
        assert run(["validate", "--resume", str(out)]) == 0
    assert (out / "samples.jsonl").read_bytes() == sound


def test_a_server_that_returns_nonsense_is_at_the_floor(tmp_path, capsys):
    with serving(says="the the the") as (url, _):
        assert validate(url, tmp_path / "run") == 3
    assert "not applicable" in capsys.readouterr().out
    assert {sample.cell.length for sample in read_samples(tmp_path / "run")} == {700}  # nothing longer is asked


def test_a_server_that_returns_no_json_is_named(tmp_path, capsys):
    with serving() as (url, state):
        assert validate(url, tmp_path / "run", "--budget", "9k") == 3
        state.body = "<html>fine</html>"
        assert run(["validate", "--resume", str(tmp_path / "run")]) == 3
    shown = capsys.readouterr()
    assert "must answer with JSON" in shown.out + shown.err


def test_a_server_that_lies_about_counts_is_named_with_both(tmp_path, capsys):
    with serving(adds=7) as (url, _):
        assert validate(url, tmp_path / "run") == 3
    shown = " ".join(capsys.readouterr().out.split())
    assert "passkey, demonstrations 1, others 0 at 700 tokens: inconclusive; no baseline at 700 tokens" in shown
    assert "50 of 50 requests were refused or ended in an error; the first: the engine counted 707 prompt" in shown
    assert "not applicable;" not in shown
    assert {sample.outcome for sample in read_samples(tmp_path / "run")} == {"error"}


def test_a_template_of_the_servers_own_counts_the_same_for_every_prompt(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "ordinate.validate.backends.selection.ByteTokenizer", lambda: ByteTokenizer(chat_template=TEMPLATE)
    )
    with serving(template=4) as (url, _):
        assert validate(url, tmp_path / "run", "--mode", "chat") == 0
    (first, *_) = samples = read_samples(tmp_path / "run")
    assert {sample.outcome for sample in samples} == {"right"}
    assert first.counted == 700 + int(read_manifest(tmp_path / "run").subject["added"])


def test_a_server_that_is_not_there_is_named(tmp_path, capsys):
    assert validate("http://127.0.0.1:9/v1", tmp_path / "run") == 3
    assert "127.0.0.1:9" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
