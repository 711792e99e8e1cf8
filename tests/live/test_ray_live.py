"""A Ray cluster of two nodes, some of whose processes are killed half-way, answers as this process does.

Ray's daemons listen on all interfaces, so that the cluster lives in network and process namespaces of its own, and ends
with them.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("ray_program.py")
SPACES = ("--net", "--pid", "--fork", "--kill-child", "--mount-proc")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def told(runs):
    """What the program tells of its runs."""
    unshare = ["unshare", *SPACES] if os.getuid() == 0 else ["unshare", "--map-root-user", *SPACES]
    if subprocess.run([*unshare, "true"], capture_output=True).returncode:
        pytest.skip("no namespaces may be made here, and a cluster would listen on every interface")
    source = PROGRAM.parent.parent.parent / "src"
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp") as short:  # sockets need a short path
        command = [*unshare, sys.executable, str(PROGRAM), short, str(runs)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def local(runs, told):
    """The samples of a run in one process."""
    assert told["local"]["ended"] == "complete", told["local"]
    assert told["samples"] >= 150
    return (runs / "local" / "samples.jsonl").read_bytes()


def test_a_run_whose_worker_is_killed_half_way_ends_with_the_same_samples(runs, told, local):
    found = told["worker"]
    assert found["ended"] == "complete", found
    assert found["code"] == told["local"]["code"]
    assert len(found["before"]) == 2
    assert len(found["gone"]) == 1
    assert len({*found["before"], *found["after"]}) == 3, "a worker that is lost is replaced"
    assert told["samples"] // 4 <= found["there"] < told["samples"]
    assert "workers of a Ray cluster answer: 2, with 1 CPU each" in found["said"]
    assert (runs / "worker" / "samples.jsonl").read_bytes() == local


def test_the_workers_end_with_a_run_that_is_killed_and_the_same_command_goes_on(runs, told, local):
    assert told["driver"]["code"] < 0
    assert told["again"]["ended"] == "complete", told["again"]
    assert (runs / "driver" / "samples.jsonl").read_bytes() == local


def test_a_run_begun_here_goes_on_there_and_survives_the_loss_of_a_machine(runs, told, local):
    assert told["few"]["ended"] == "budget"
    assert len(told["node"]["gone"]) >= 2
    assert told["node"]["ended"] == "complete", told["node"]
    assert (runs / "node" / "samples.jsonl").read_bytes() == local


def test_more_workers_than_there_is_room_for_are_refused(told):
    assert told["nine"]["code"] == 3
    assert "the cluster must have room for 9 workers with 1 CPU each, got room for 2" in told["nine"]["said"]


def test_where_no_cluster_is_it_is_said(told):
    assert told["nowhere"]["code"] == 3
    assert "the Ray cluster at 127.0.0.1:1 cannot be joined" in told["nowhere"]["said"]
