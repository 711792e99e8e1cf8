"""A run asks what is undecided, ends where it must, and keeps what it has."""

import threading
import time

import pytest
from scripted_backend import Scripted, folder, gone, manifest, material, right, sampler, trial

from ordinate.errors import InputError, Unavailable
from ordinate.validate.backends import Refusal, Reply
from ordinate.validate.cells import Request
from ordinate.validate.running import FAULTS, Limits, run
from ordinate.validate.sampling import Material, Sampler
from ordinate.validate.store import read_samples
from ordinate.validate.tokenizers import ByteTokenizer

TEMPLATE = "{% for message in messages %}[{{ message.role }}] {{ message.content }} {% endfor %}[assistant]"


def ran(path, backend, *trials, limits=None, **given):
    found = folder(path, *trials, **given)
    try:
        return run(sampler(backend), found, limits=limits), found
    finally:
        found.close()


def outcomes(path):
    return [sample.outcome for sample in read_samples(path)]


def test_a_run_asks_the_short_length_first_and_longer_ones_where_it_is_above_the_floor(tmp_path):
    backend = Scripted()
    course, found = ran(tmp_path, backend)
    assert (course.ended, course.taken) == ("complete", 48)
    assert [len(prompt.ids) for prompt in backend.calls] == [700] * 24 + [900] * 24
    assert outcomes(tmp_path) == ["right"] * 48
    assert course.tokens == sum(len(prompt.ids) + 16 for prompt in backend.calls)
    assert len(found.samples) == 48


def test_a_task_at_its_floor_costs_its_short_cells_alone(tmp_path):
    backend = Scripted(lambda _number, prompt, _answer: Reply(" 11111", "stop", prompt_tokens=len(prompt.ids)))
    course, _ = ran(tmp_path, backend, trial(controls=("no_context",)))
    assert course.ended == "complete"
    assert outcomes(tmp_path) == ["wrong"] * 24


def test_controls_are_asked_at_the_short_length_where_the_task_is_above_its_floor(tmp_path):
    ran(tmp_path, Scripted(), trial(controls=("no_context", "evidence_only"), control_units=3))
    asked = [sample for sample in read_samples(tmp_path) if sample.cell.control]
    assert [(one.cell.control, one.cell.length, one.outcome) for one in asked] == [
        *[("no_context", 700, "unparsed")] * 3,
        *[("evidence_only", 700, "right")] * 3,
    ]


def test_samples_end_in_the_order_of_the_plan_whatever_order_they_came_in(tmp_path):
    together = threading.Barrier(4, timeout=60)

    def jumbled(number, prompt, answer):
        if number < 4:
            together.wait()
        time.sleep(0.02 if number % 3 == 0 else 0)
        return right(number, prompt, answer)

    backend = Scripted(jumbled, concurrency=4)
    ran(tmp_path / "many", backend)
    ran(tmp_path / "one", Scripted())
    assert backend.most == 4
    assert (tmp_path / "many" / "samples.jsonl").read_bytes() == (tmp_path / "one" / "samples.jsonl").read_bytes()


def test_a_sample_says_what_was_asked_answered_and_counted(tmp_path):
    ran(tmp_path, Scripted())
    sample = read_samples(tmp_path)[0]
    request = Request(sample.cell, sample.seed, sample.index)
    assert sample.key == request.key(manifest().subject)
    instance = material().instance("passkey", 0, 0, {"demonstrations": 1})
    assert sample.answer == instance.answer == sample.parsed
    assert sample.counted == 700
    (start, stop), distance = sample.facts["evidence"][0], sample.facts["distance"][0]
    text = material().builder("noise", "base").build(instance, 700, places="start", reserve=16).text
    assert text[start:stop] == " " + instance.evidence[0].text
    assert text[stop + distance :].startswith("\n\nQuestion:")


def test_a_finished_run_asks_nothing_more(tmp_path):
    ran(tmp_path, Scripted())
    before = (tmp_path / "samples.jsonl").read_bytes()
    backend = Scripted()
    course, _ = ran(tmp_path, backend)
    assert (course.ended, course.taken, backend.calls) == ("complete", 0, [])
    assert (tmp_path / "samples.jsonl").read_bytes() == before


def test_a_budget_ends_a_run_and_a_larger_one_goes_on(tmp_path):
    course, _ = ran(tmp_path, Scripted(), limits=Limits(tokens=10 * 716 + 5))
    assert (course.ended, course.taken, course.tokens) == ("budget", 10, 7160)
    assert "7.17k tokens" in course.why
    again, _ = ran(tmp_path, Scripted(), limits=Limits(tokens=7165))
    assert (again.ended, again.taken) == ("budget", 0)
    last, _ = ran(tmp_path, Scripted())
    assert (last.ended, last.taken) == ("complete", 38)


def test_time_ends_a_run(tmp_path):
    def slow(number, prompt, answer):
        time.sleep(0.05)
        return right(number, prompt, answer)

    course, _ = ran(tmp_path, Scripted(slow), limits=Limits(seconds=0.15))
    assert course.ended == "budget"
    assert 0 < course.taken < 48


@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_server_that_is_gone_ends_the_run_and_is_asked_again_when_it_is_resumed(tmp_path, concurrency):
    def dies(number, prompt, answer):
        return right(number, prompt, answer) if number < 30 else gone(number, prompt, answer)

    backend = Scripted(dies, concurrency=concurrency)
    course, _ = ran(tmp_path, backend)
    assert course.ended == "faults"
    assert course.why == f"{FAULTS} faults in a row; the last: the server is gone"
    assert len(backend.calls) <= 30 + FAULTS + 2 * concurrency
    assert outcomes(tmp_path) == ["right"] * 30
    again, _ = ran(tmp_path, Scripted())
    assert (again.ended, again.taken) == ("complete", 18)
    assert outcomes(tmp_path) == ["right"] * 48


def test_a_fault_that_comes_alone_is_tried_once_more_and_then_is_an_error(tmp_path):
    def script(number, prompt, answer):
        if prompt.index == 5 or (prompt.index == 7 and number < 24):
            return Unavailable(f"no reply to {prompt.index}")
        return right(number, prompt, answer)

    course, _ = ran(tmp_path, Scripted(script), trial(lengths=()))
    assert course.ended == "complete"
    samples = read_samples(tmp_path)
    assert [sample.index for sample in samples] == list(range(24))
    assert [(one.index, one.outcome, one.why) for one in samples if one.outcome != "right"] == [
        (5, "error", "no reply to 5")
    ]


def test_faults_of_the_package_itself_are_not_swallowed(tmp_path):
    with pytest.raises(ZeroDivisionError):
        ran(tmp_path, Scripted(lambda *_: ZeroDivisionError()))


def test_a_refusal_is_a_result(tmp_path):
    def refuses(number, prompt, answer):
        return Refusal(400, "too long") if len(prompt.ids) > 800 else right(number, prompt, answer)

    course, _ = ran(tmp_path, Scripted(refuses))
    assert course.ended == "complete"
    found = [sample for sample in read_samples(tmp_path) if sample.cell.length == 900]
    assert {(one.outcome, one.why) for one in found} == {("refused", "status 400: too long")}


def test_what_does_not_fit_is_an_error_row_and_is_never_sent_or_cut(tmp_path):
    backend = Scripted(limit=900)
    course, _ = ran(tmp_path, backend)
    assert course.ended == "complete"
    assert {len(prompt.ids) for prompt in backend.calls} == {700}
    found = [sample for sample in read_samples(tmp_path) if sample.cell.length == 900]
    assert {(one.outcome, one.prompt) for one in found} == {("error", "")}
    assert found[0].why == "900 tokens and 16 for the answer exceed the limit 900"


def test_an_engine_that_counts_otherwise_makes_errors_that_name_both_counts(tmp_path):
    backend = Scripted(lambda _number, prompt, answer: Reply(answer, "stop", prompt_tokens=len(prompt.ids) - 300))
    ran(tmp_path, backend)
    assert {(one.outcome, one.why) for one in read_samples(tmp_path)} == {
        ("error", "the engine counted 400 prompt tokens, not 700")
    }


def test_a_search_asks_the_middle_length_first(tmp_path):
    backend = Scripted()
    course, _ = ran(tmp_path, backend, trial(lengths=(800, 900, 1000), units=50), search=True)
    assert course.ended == "complete"
    assert {len(prompt.ids) for prompt in backend.calls} == {700, 900, 1000}


def test_no_more_is_in_flight_than_the_backend_takes(tmp_path):
    together = threading.Barrier(3, timeout=60)

    def waiting(number, prompt, answer):
        if number < 3:  # the first three wait for each other: that many are in flight
            together.wait()
        return right(number, prompt, answer)

    backend = Scripted(waiting, concurrency=3)
    ran(tmp_path, backend)
    assert backend.most == 3


def test_a_template_of_the_servers_own_may_add_the_same_number_to_every_count(tmp_path):
    counts = iter([712, 712, 711, 712])

    def templated(_number, _prompt, answer):
        return Reply(f"Answer: {answer}", "stop", prompt_tokens=next(counts))

    kitchen = Sampler(Scripted(templated), Material(ByteTokenizer(), template=TEMPLATE), added=12)
    chat = trial(mode="chat", reserve=40)
    requests = chat.requests(chat.cell(700, "start"), 0, 3)
    found = [kitchen.sample(request) for request in requests]
    assert [one.outcome for one in found] == ["right", "right", "error"]
    assert found[2].why == "the engine counted 711 prompt tokens, not 712"
    assert kitchen.subject["added"] == "12"
    base = trial()
    plain = kitchen.sample(base.requests(base.cell(700, "start"), 0, 1)[0])
    assert plain.why == "the engine counted 712 prompt tokens, not 700"  # a text that is continued takes no template


def test_a_folder_of_another_run_is_refused_and_it_is_said_in_what_it_differs(tmp_path):
    folder(tmp_path).close()
    with pytest.raises(InputError, match=r"holds another run.*trials: lengths of passkey: \(800,\) and \(900,\)$"):
        folder(tmp_path, trial(lengths=(800,)))
    with pytest.raises(InputError, match="seed: 1 and 0"):
        folder(tmp_path, seed=1)
    with pytest.raises(InputError, match="engine: other and scripted"):
        folder(tmp_path, subject={**manifest().subject, "engine": "other"})


def test_a_reply_that_no_tokens_of_its_reserve_can_say_is_an_error_of_which_the_beginning_is_kept(tmp_path):
    """The right answer, and then megabytes."""

    def endless(number, prompt, answer):
        return Reply(f" {answer}" + "x" * 2_000_000, "length" * 100_000, prompt_tokens=len(prompt.ids))

    ran(tmp_path, Scripted(endless), trial(lengths=()))
    found = read_samples(tmp_path)
    assert {sample.outcome for sample in found} == {"error"}
    assert {sample.why.split(" ", 1)[1] for sample in found} == {"characters are no answer of 16 tokens"}
    assert {len(sample.response) for sample in found} == {4096 + 64 * 16}
    assert {len(sample.facts["finish"]) for sample in found} == {100}


def test_places_that_there_are_not_are_named(tmp_path):
    ran(tmp_path, Scripted(), trial(lengths=(), places=("nowhere",)))
    assert {sample.why for sample in read_samples(tmp_path)} == {
        "places must be one of start, middle, end, spread, reversed, or shares, got 'nowhere'"
    }
