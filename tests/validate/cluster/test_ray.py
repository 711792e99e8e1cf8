"""What runs on a Ray cluster, without one; tests/live has the cluster itself."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest
from scripted_backend import Scripted, right, trial

from ordinate.cli import run
from ordinate.errors import InputError, Unavailable
from ordinate.validate.backends import Refusal
from ordinate.validate.cluster.base import Recipe
from ordinate.validate.cluster.ray import RayCluster
from ordinate.validate.cluster.sharing import share
from ordinate.validate.cluster.worker import Worker
from ordinate.validate.fillers import find
from ordinate.validate.opening import Opening
from ordinate.validate.sampling import Material, Sampler

SMALL = ["--backend", "simulated:oracle", "--suite", "smoke", "--tasks", "passkey", "--lengths", "700,900"]
ORACLE = Opening(backend="simulated:oracle")
GPUS = [{"CPU": 32.0, "GPU": 8.0}, {"CPU": 32.0, "GPU": 4.0}]


def carried(thing):
    """As it comes to another machine."""
    return pickle.loads(pickle.dumps(thing))  # noqa: S301 - written here


@pytest.fixture
def text(tmp_path):
    """A filler whose file is gone: it need not be where a worker is."""
    file = tmp_path / "mine.txt"
    file.write_text("\n\n".join(f"The weather on day {i} was {word}." for i in range(300) for word in ("fine", "wet")))
    found = find("file", str(file))
    file.unlink()
    return found


def test_a_worker_gives_the_samples_that_the_run_itself_would_take(text):
    worker = Worker(carried(ORACLE))
    facts = carried(worker.facts())
    assert (facts.name, facts.limit, facts.concurrency) == ("simulated", None, 1)
    sampler = Sampler(worker._opened(), Material(facts.tokenizer, fillers=(text,)))
    recipe = Recipe(sampler.material.fillers, 0, dict(sampler.subject))
    assert carried(worker.ready(carried(recipe))).differences == ()
    asked = trial(filler=text.identity)
    for request in asked.requests(asked.cell(700, "start"), 0, 3):
        answer = carried(worker.sample(carried(request)))
        assert answer.found == sampler.sample(request)
        assert answer.found.outcome == "right"
        assert answer.seconds >= 0


def test_a_worker_says_where_it_is_not_what_the_run_wants():
    worker = Worker(ORACLE)
    subject = dict(Sampler(worker._opened()).subject)
    assert worker.ready(Recipe((), 0, subject)).differences == ()
    other = {**subject, "reader": "window", "ordinate": "0.0.1"}
    found = worker.ready(Recipe((), 0, other)).differences
    assert found == (f"ordinate: 0.0.1 and {subject['ordinate']}", "reader: window and oracle")
    assert worker.ready(Recipe((), 12, subject)).differences == ("added: None and 12",)


def test_a_worker_asks_no_more_at_a_time_than_its_backend_takes_and_tells_faults():
    def script(number, prompt, answer):
        return Unavailable("no reply") if number == 0 else right(number, prompt, answer)

    backend = Scripted(script, concurrency=2)
    worker = Worker(ORACLE)
    worker._backend = backend
    assert worker.ready(Recipe((), 0, {})).concurrency == 2
    asked = trial(lengths=())
    requests = asked.requests(asked.cell(700, "start"), 0, 12)
    with ThreadPoolExecutor(6) as pool:
        found = [carried(answer.found) for answer in pool.map(worker.sample, requests)]
    assert backend.most <= 2
    faults = [one for one in found if isinstance(one, Unavailable)]
    assert [str(fault) for fault in faults] == ["no reply"]
    assert {one.outcome for one in found if one not in faults} == {"right"}


def test_a_refusal_is_the_same_in_another_process():
    found = carried(Refusal(413, "too long"))
    assert (type(found), found.status, str(found)) == (Refusal, 413, "too long")


@pytest.mark.parametrize(
    ("opening", "nodes", "workers", "expected"),
    [
        (Opening(source="m", device="cuda"), GPUS, None, ({"num_cpus": 1, "num_gpus": 1}, 12)),
        (Opening(source="m", device="cuda"), GPUS, 3, ({"num_cpus": 1, "num_gpus": 1}, 3)),
        (Opening(source="m"), GPUS, None, ({"num_cpus": 32}, 2)),
        (Opening(source="m"), [{"CPU": 8.0}, {"CPU": 4.0}, {"GPU": 1.0}], None, ({"num_cpus": 4}, 2)),
        (Opening(source="m"), GPUS, 5, ({"num_cpus": 10}, 5)),
        (Opening(source="m", threads=12), GPUS, None, ({"num_cpus": 12}, 4)),
        (Opening(source="m", backend="llama_cpp"), GPUS, None, ({"num_cpus": 32}, 2)),
        (Opening(url="http://h/v1"), GPUS, None, ({"num_cpus": 1}, 2)),
        (Opening(url="http://h/v1"), GPUS, 40, ({"num_cpus": 1}, 40)),
        (ORACLE, [{"CPU": 3.0}, {"CPU": 0.0}], None, ({"num_cpus": 1}, 3)),
    ],
)
def test_workers_are_as_many_as_there_is_room_for(opening, nodes, workers, expected):
    assert share(opening, nodes, workers) == expected


@pytest.mark.parametrize(
    ("opening", "nodes", "workers", "message"),
    [
        (
            Opening(source="m", device="cuda"),
            [{"CPU": 8.0}],
            None,
            "must have room for 1 workers with 1 CPU and 1 GPU each, got room for 0",
        ),
        (
            Opening(source="m", device="cuda"),
            GPUS,
            13,
            "room for 13 workers with 1 CPU and 1 GPU each, got room for 12",
        ),
        (Opening(source="m", backend="llama_cpp"), GPUS, 3, "room for 3 workers with 32 CPU each, got room for 2"),
        (ORACLE, [], None, "got room for 0"),
    ],
)
def test_more_workers_than_there_is_room_for_are_refused(opening, nodes, workers, message):
    with pytest.raises(Unavailable, match=message):
        share(opening, nodes, workers)


@pytest.mark.parametrize("address", ["", "local", "127.0.0.1", "127.0.0.1:x", ":6379", "h:99999", "ray://h:10001"])
def test_an_address_that_would_start_a_cluster_or_is_none_is_refused(address):
    with pytest.raises(InputError, match="address must be auto or HOST:PORT"):
        RayCluster(address, ORACLE)


def test_a_worker_knows_one_graphics_card():
    with pytest.raises(InputError, match="one graphics card, which it knows as cuda, got 'cuda:1'"):
        RayCluster("auto", Opening(source="m", device="cuda:1"))


def test_without_ray_the_extra_is_named(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("ordinate.extras.find_spec", lambda _name: None)
    assert run(["validate", *SMALL, "--out", str(tmp_path / "run"), "--ray", "auto"]) == 3
    assert "this needs ray, not installed here: install ordinate with its extra [ray]" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_workers_are_a_clusters(capsys):
    assert run(["validate", *SMALL, "--workers", "2"]) == 2
    assert "--workers are of a Ray cluster" in capsys.readouterr().err
