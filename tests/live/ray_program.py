"""Runs on a Ray cluster of two nodes, some of whose processes are killed; called as a program by the tests.

It must be the first process of a network and process namespace of its own: Ray's daemons listen on all interfaces
whatever they are told, and all of them end with the first process. Arguments: a folder for Ray's files, whose path must
be short, and one for the runs. What happened is printed as JSON.
"""

import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ADDRESS = "127.0.0.1:6379"
MEMORY = 80_000_000  # [byte], the least that Ray takes
PATIENCE = 120.0  # [s]
COMMAND = (sys.executable, "-c", "from ordinate.cli.dispatch import main; main()", "validate")
ASKED = (
    "--backend",
    "simulated:noisy=0.9",
    "--suite",
    "smoke",
    "--tasks",
    "passkey",
    "--filler",
    "noise",
    "--format",
    "json",
)
LENGTHS = ("--lengths", "700,3000,6000,12000")


def raise_loopback() -> None:
    """Bring the namespace's own loopback up (SIOCSIFFLAGS, IFF_UP), and see that there is nothing else."""
    names = [name for _, name in socket.if_nameindex()]
    if names != ["lo"] or os.getpid() != 1:
        sys.exit(f"this must be the first process of namespaces of its own, got {os.getpid()} and interfaces {names}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 1))


def begin_node(*arguments: str) -> None:
    ray = Path(sys.executable).with_name("ray")
    command = [str(ray), "start", *arguments, "--num-cpus=1", f"--object-store-memory={MEMORY}"]
    done = subprocess.run([*command, "--disable-usage-stats"], capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)


def processes(name: str) -> list[int]:
    """The ids of processes whose command line holds a name."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) > 1:
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if name.encode() in line:
                found.append(int(entry.name))
    return sorted(found)


def workers() -> list[int]:
    return processes("ray::Worker")


def machine_of(raylet: int) -> list[int]:
    """The processes of a node, as if its machine were gone."""
    children = Path(f"/proc/{raylet}/task/{raylet}/children").read_text()
    return [raylet, *map(int, children.split())]


def until(true: Callable[[], Any], what: str) -> Any:
    """What becomes true in time."""
    end = time.monotonic() + PATIENCE
    while not (found := true()):
        if time.monotonic() > end:
            shown = subprocess.run(["ps", "-eo", "pid,ppid,stat,args"], capture_output=True, text=True)
            sys.exit(f"not in time: {what}\n{shown.stdout}")
        time.sleep(0.01)
    return found


def lines(out: Path) -> int:
    file = out / "samples.jsonl"
    return file.read_bytes().count(b"\n") if file.exists() else 0


def begin(out: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [*COMMAND, *ASKED, *LENGTHS, "--out", str(out), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> dict[str, Any]:
    said, complained = process.communicate(timeout=PATIENCE)
    course = json.loads(said) if said.startswith("{") else {}
    return {"code": process.returncode, "ended": course.get("ended"), "said": complained}


def two_workers() -> list[int]:
    """The two workers of a run; the first is held until the other is there, lest it answer everything alone."""
    held = set()
    end = time.monotonic() + PATIENCE
    while len(there := workers()) < 2:
        for number in set(there) - held:
            os.kill(number, signal.SIGSTOP)
            held.add(number)
        if time.monotonic() > end:
            sys.exit("not in time: two workers")
        time.sleep(0.01)
    for number in held:
        os.kill(number, signal.SIGCONT)
    return there


def killed(out: Path, at: int, kill: Callable[[int], list[int]], *, again: bool = False) -> dict[str, Any]:
    """A run on the cluster, some of whose processes are killed when it has so many samples.

    Args:
        out: its folder
        at: so many
        kill: which, of the run's process and all others
        again: there are to be two workers again before it ends
    """
    process = begin(out, "--ray", ADDRESS)
    until(lambda: lines(out) >= at or process.poll() is not None, f"{at} samples")
    before = two_workers()
    gone, there = kill(process.pid), lines(out)
    for number in gone:
        os.kill(number, signal.SIGKILL)
    if again:
        until(lambda: not set(gone) & set(workers()), "the killed are gone")
    after = two_workers() if again else []
    found = ended(process)
    until(lambda: not workers(), "the workers end with the run")
    return {**found, "before": before, "gone": gone, "after": after, "there": there}


def main(temporary: str, runs: str) -> None:
    raise_loopback()
    folder, found = Path(runs), {}
    began = time.monotonic()
    begin_node(
        "--head", "--node-ip-address=127.0.0.1", "--port=6379", "--include-dashboard=false", f"--temp-dir={temporary}"
    )
    begin_node(f"--address={ADDRESS}")
    found["started"] = time.monotonic() - began
    found["local"] = ended(begin(folder / "local"))
    found["samples"] = lines(folder / "local")
    quarter = found["samples"] // 4
    found["worker"] = killed(folder / "worker", quarter, lambda _run: workers()[:1], again=True)
    found["driver"] = killed(folder / "driver", quarter, lambda run: [run])
    found["again"] = ended(begin(folder / "driver", "--ray", ADDRESS))
    found["nine"] = ended(begin(folder / "nine", "--ray", ADDRESS, "--workers", "9"))
    found["nowhere"] = ended(begin(folder / "nowhere", "--ray", "127.0.0.1:1"))
    found["few"] = ended(begin(folder / "node", "--budget", "40k"))
    second = processes("raylet/raylet")[1]
    found["node"] = killed(folder / "node", 2 * quarter, lambda _run: machine_of(second))
    found["seconds"] = time.monotonic() - began
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
