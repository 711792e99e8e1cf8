"""A run that is killed at any moment, and begun again, ends with the same samples, byte for byte."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

if not hasattr(os, "fork"):
    pytest.skip("processes are forked here", allow_module_level=True)

HERE = Path(__file__).parent
COMMAND = (sys.executable, "-c", "from ordinate.cli.dispatch import main; main()")
READER, TASKS, LENGTHS = "simulated:noisy=0.9", "passkey", "700,900"


class Runs:
    """Begins runs in processes of their own."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            (sys.executable, str(HERE / "killed_run.py"), READER, TASKS, LENGTHS),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._line() == "ready"

    def ended(self, out: Path, place: str = "nowhere", number: int = 0, size: int = 0) -> int:
        """How a run ended: its exit code, or minus the signal."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{out}\t{place}\t{number}\t{size}\n")
        self.process.stdin.flush()
        return int(self._line())

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@pytest.fixture(scope="module")
def runs():
    found = Runs()
    yield found
    found.close()


@pytest.fixture(scope="module")
def whole(runs, tmp_path_factory):
    """The samples of a run that nobody disturbed, and how long it took, [ms]."""
    out = tmp_path_factory.mktemp("whole") / "run"
    began = time.monotonic()
    assert runs.ended(out) == 0
    found = (out / "samples.jsonl").read_bytes()
    assert found.count(b"\n") >= 98
    return found, 1000 * (time.monotonic() - began)


def tear(out: Path, chance: random.Random) -> None:
    """What a loss of power could leave: files cut anywhere, or parts of files that were never put in place."""
    for name in ("samples.jsonl", "cells.sqlite", "cells.sqlite-wal"):
        file = out / name
        if file.exists() and chance.random() < 0.4:
            size = file.stat().st_size
            left = size - chance.randrange(1500) if name == "samples.jsonl" else chance.randrange(size + 1)
            os.truncate(file, max(0, left))
    if chance.random() < 0.2 and out.exists():
        (out / "samples.jsonl.part").write_bytes(b'{"key":')


def kill_and_compare(runs: Runs, folder: Path, whole: tuple[bytes, float], kills: int, seed: int) -> str:
    """Kill runs so many times, each up to a dozen times before it is let end, and compare what they end with."""
    chance, done, inside, begun = random.Random(seed), 0, 0, 0  # noqa: S311 - moments, not secrets
    samples, milliseconds = whole
    while done < kills:
        out = folder / f"run {begun}"
        begun += 1
        for _ in range(min(kills - done, 1 + chance.randrange(12))):
            if chance.random() < 0.25:
                found = runs.ended(out, "write", chance.randrange(40), chance.randrange(600))
                inside += found == -signal.SIGKILL
            else:
                found = runs.ended(out, "moment", int(chance.random() * milliseconds / 2))
            done += found == -signal.SIGKILL
            tear(out, chance)
        assert runs.ended(out) == 0
        assert (out / "samples.jsonl").read_bytes() == samples
        assert begun < 10 * kills
    return f"{done} kills, {inside} of them inside a write, in {begun} runs"


def test_a_run_killed_at_random_moments_ends_as_if_nothing_had_happened(runs, whole, tmp_path):
    kill_and_compare(runs, tmp_path, whole, 5, 1)


@pytest.mark.slow
def test_so_does_one_killed_200_times(runs, whole, tmp_path):
    print(kill_and_compare(runs, tmp_path, whole, 200, 2))


@pytest.mark.parametrize(
    "place", [("write", 0, 0), ("write", 3, 1), ("write", 90, 200), ("replace", 0), ("replace", 1)]
)
def test_a_kill_inside_a_write_loses_that_line_alone(runs, whole, tmp_path, place):
    out = tmp_path / "run"
    assert runs.ended(out, *place) == -signal.SIGKILL
    if place[0] == "write":
        left = (out / "samples.jsonl").read_bytes()
        assert left.count(b"\n") == place[1]
        assert len(left.rpartition(b"\n")[2]) == place[2]
    assert runs.ended(out) == 0
    assert (out / "samples.jsonl").read_bytes() == whole[0]


def test_the_same_command_goes_on(whole, tmp_path):
    asked = ["validate", "--backend", READER, "--suite", "smoke", "--tasks", TASKS, "--lengths", LENGTHS]
    command = [*COMMAND, *asked, "--filler", "noise", "--out", str(tmp_path / "run")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert any("tokens/s" in line for line in process.stderr)  # it says what it will take, and begins
        time.sleep(0.1)
        process.kill()
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert ended.returncode in (0, 1, 3), ended
    assert (tmp_path / "run" / "samples.jsonl").read_bytes() == whole[0]
