"""Workers that may be lost answer a run as threads do."""

import random
import threading

import pytest
from losing_crew import LosingCrew
from scripted_backend import Scripted, folder, gone, right, sampler, trial

from ordinate.cli.dispatch import COMPUTING
from ordinate.errors import InputError, Unavailable
from ordinate.validate.claims import Claim
from ordinate.validate.cluster.base import Cluster, Greeting
from ordinate.validate.cluster.workers import LOSSES, Workers
from ordinate.validate.executing import AHEAD, Threads
from ordinate.validate.opening import Opening, opened
from ordinate.validate.preparing import Asked, prepare
from ordinate.validate.running import FAULTS, run
from ordinate.validate.sampling import Sampler
from ordinate.validate.store import read_samples
from ordinate.validate.validating import validate


def crew_of(fate=lambda *_: False, *, script=None, concurrency=1, **given):
    return LosingCrew(lambda: sampler(Scripted(script, concurrency=concurrency)), fate, **given)


def ran(path, crew, count, *trials, **given):
    found = folder(path, *trials)
    try:
        return run(sampler(Scripted()), found, executor=Workers(crew, count, **given))
    finally:
        found.close()


def samples(path):
    return (path / "samples.jsonl").read_bytes()


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """The samples of a run in threads."""
    path = tmp_path_factory.mktemp("local")
    found = folder(path)
    assert run(sampler(Scripted()), found).ended == "complete"
    found.close()
    return samples(path)


@pytest.mark.parametrize(("count", "concurrency"), [(1, 1), (2, 1), (3, 2), (100, 1)])
def test_workers_give_the_samples_that_threads_give(tmp_path, local, count, concurrency):
    crew = crew_of(concurrency=concurrency)
    course = ran(tmp_path, crew, count)
    assert (course.ended, course.taken) == ("complete", 48)
    assert samples(tmp_path) == local
    assert sum(map(len, crew.had)) == 48
    assert max(crew.together.values()) <= AHEAD * concurrency
    assert crew.dismissed == set(range(count))


def test_every_worker_has_its_share(tmp_path):
    crew = crew_of()
    ran(tmp_path, crew, 3)
    assert min(map(len, crew.had)) >= 8


@pytest.mark.parametrize("seed", range(12))
def test_what_a_lost_worker_had_is_asked_of_another_alone_whatever_else_there_is_to_do(tmp_path, seed):
    crew = crew_of(lambda worker, had, _request: worker < 6 and had == 7, concurrency=3, seed=seed)
    assert ran(tmp_path, crew, 2).ended == "complete"
    assert len(crew.company()) >= 3
    assert set(crew.company()) == {1}


@pytest.mark.parametrize("seed", range(12))
def test_whatever_workers_are_lost_and_whenever_the_samples_are_the_same(tmp_path, local, seed):
    chance = random.Random(seed)  # noqa: S311 - moments, not secrets
    losses = {(worker, chance.randrange(8)) for worker in range(12)}
    crew = crew_of(lambda worker, had, _request: (worker, had) in losses, seed=seed)
    assert ran(tmp_path, crew, 3).ended == "complete"
    assert len(crew.lost) >= 6
    assert len(crew.samplers) == 3 + len(crew.lost), "each that was lost is replaced"
    assert samples(tmp_path) == local


def test_what_a_lost_worker_had_is_asked_once_more(tmp_path, local):
    crew = crew_of(lambda worker, had, _request: worker == 0 and had == 4)
    ran(tmp_path, crew, 2)
    again = [request for request in crew.had[0] if any(request in had for had in crew.had[1:])]
    assert 1 <= len(again) <= AHEAD
    assert crew.company() == [1] * len(again)
    assert sum(map(len, crew.had)) == 48 + len(again)
    assert samples(tmp_path) == local


def test_a_request_that_kills_whoever_reads_it_is_an_error_and_takes_no_other_with_it(tmp_path):
    crew = crew_of(lambda _worker, _had, request: request.index == 5)
    course = ran(tmp_path, crew, 2, trial(lengths=()))
    assert course.ended == "complete"
    found = read_samples(tmp_path)
    assert [sample.index for sample in found if sample.outcome != "right"] == [5]
    assert found[5].outcome == "error"
    assert found[5].why.startswith(f"{LOSSES} workers were lost over it: worker ")
    assert crew.company() == [1] * len(crew.company())
    # as a fault it is asked once more after all others
    assert sum(request.index == 5 for had in crew.had for request in had) == 2 * LOSSES


def test_requests_that_all_kill_end_the_run_and_are_no_samples(tmp_path, local):
    course = ran(tmp_path, crew_of(lambda *_: True), 2)
    assert course.ended == "faults"
    assert course.why.startswith(f"{FAULTS} faults in a row; the last: {LOSSES} workers were lost over it")
    assert read_samples(tmp_path) == []
    assert ran(tmp_path, crew_of(), 2).ended == "complete"
    assert samples(tmp_path) == local


def test_a_backend_without_a_usable_reply_is_a_fault_and_no_lost_worker(tmp_path):
    crew = crew_of(script=gone)
    course = ran(tmp_path, crew, 2)
    assert (course.ended, course.why) == ("faults", f"{FAULTS} faults in a row; the last: the server is gone")
    assert len(crew.samplers) == 2


@pytest.mark.parametrize(
    ("cannot", "why"),
    [
        (Unavailable("no graphics card"), "no worker is left: no graphics card"),
        (InputError("no such model"), "no worker is left: no such model"),
        (
            Greeting(1, ("weights: 12 and 34",)),
            "no worker is left: what answers there is not what the run wants: weights: 12 and 34",
        ),
    ],
)
def test_workers_that_cannot_begin_are_not_asked_and_not_replaced(tmp_path, local, cannot, why):
    crew = crew_of(cannot=lambda number: cannot if number < 3 else None)
    assert ran(tmp_path / "some", crew, 5).ended == "complete"
    assert samples(tmp_path / "some") == local
    assert [bool(had) for had in crew.had] == [False] * 3 + [True] * 2
    course = ran(tmp_path / "none", crew_of(cannot=lambda _number: cannot), 2)
    assert (course.ended, course.why) == ("faults", why)
    assert read_samples(tmp_path / "none") == []


def test_a_worker_that_is_never_ready_is_not_waited_for_without_end(tmp_path):
    crew = crew_of()
    crew.slow = True
    course = ran(tmp_path, crew, 2, patience=7.0)
    assert (course.ended, course.why) == ("faults", "no worker was ready within 7 s")


def test_faults_of_the_package_itself_are_not_swallowed(tmp_path):
    with pytest.raises(ZeroDivisionError):
        ran(tmp_path, crew_of(script=lambda *_: ZeroDivisionError()), 2)


class Here(Cluster):
    """A cluster whose workers are in this process, and whose first is lost."""

    def __init__(self, opening):
        self.opening, self.measured = opening, []
        self.planning = opened(opening)

    @property
    def backend(self):
        return self.planning

    def executor(self, sampler):
        def fate(worker, had, _request):
            return worker == 0 and had == 20

        made = Sampler(opened(self.opening), sampler.material)
        return Workers(LosingCrew(lambda: made, fate), 2)

    def measure_levels(self, lengths, levels, *, mode, seed, seconds):  # noqa: ARG002 - as it is called
        self.measured.append((*levels, mode, *lengths))
        return (Claim("P", "position numbering", "", None, "supported"),)


def test_a_run_is_planned_here_and_answered_by_a_cluster_its_other_levels_too(tmp_path):
    opening = Opening(backend="simulated:noisy=0.9")
    asked = Asked("smoke", lengths=(700, 900), tasks=("passkey",), filler="noise", levels=("P", "L3"))
    cluster = Here(opening)
    course, judged = validate(prepare(cluster.backend, asked, opening), tmp_path / "there", cluster=cluster)
    assert course.ended == "complete"
    assert cluster.measured == [("P", "base", 700, 900)]
    here, also = validate(prepare(opened(opening), asked, opening), tmp_path / "here")
    assert here == course
    assert judged.verdicts == also.verdicts
    assert samples(tmp_path / "there") == samples(tmp_path / "here")
    assert b"supported" in (tmp_path / "there" / "claims.json").read_bytes()


def test_threads_give_back_what_ended_and_wait_only_where_asked():
    executor = Threads(sampler(Scripted(right, concurrency=2)))
    small = trial(lengths=())
    request = small.requests(small.cell(700, "start"), 0, 1)[0]
    assert executor.room == 2 * AHEAD
    names = [thread.name for thread in threading.enumerate()]
    assert names.count(COMPUTING) >= 2  # by this the command line knows that a library may still compute
    assert executor.ended(wait=False) is None
    executor.submit(request)
    ended = executor.ended(wait=True)
    assert ended is not None
    assert ended[0] == request
    assert executor.ended(wait=False) is None
    executor.close()
