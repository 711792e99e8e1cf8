"""Tests first, then times: `make bench` writes benchmarks/results/NAME.json.

Each case runs in a process of its own, once for each setting of malloc that it names. Its contenders take turns there;
a figure is read off each round, and its median over the rounds stands with a bootstrap interval of 95 %.

    python benchmarks/run.py [--rounds N] [NAME or its beginning ...]

With fewer than 30 rounds it is a trial: everything is run and printed, nothing is written.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from cases import CASES, Entry

from ordinate.bench import Inaccurate, asked, machine, measure
from ordinate.errors import InputError, Unavailable

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
ROUNDS, LEAST = 31, 30


def tested(entry: Entry, passed: set[str]) -> bool:
    """Whether the tests that a case needs pass; each file is run once."""
    files = [path for path in entry.tests if path not in passed]
    if files:
        command = [sys.executable, "-m", "pytest", "-q", "-m", "not slow", *(str(ROOT / path) for path in files)]
        if subprocess.run(command, cwd=ROOT).returncode:
            return False
        passed.update(files)
    return True


def timed(name: str, malloc: dict[str, str], rounds: int) -> dict[str, Any] | None:
    """One measurement in a process of its own; None where it failed."""
    # What the caller has set would be taken for the setting that is named.
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith("MALLOC_") and key != "GLIBC_TUNABLES"
    }
    command = [sys.executable, __file__, "--child", "--rounds", str(rounds), name]
    ran = subprocess.run(command, cwd=ROOT, env=kept | malloc, stdout=subprocess.PIPE, text=True)
    return None if ran.returncode else json.loads(ran.stdout.splitlines()[-1])


def child(name: str, rounds: int) -> int:
    """Measure here and print one line of JSON."""
    import torch

    torch.set_num_threads(1)
    try:
        print(json.dumps(measure(CASES[name].make(), rounds) | machine()))
    except (Inaccurate, Unavailable) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def main() -> int:
    """Run every case that is asked for and whose tests pass; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=[""])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        return child(given.names[0], given.rounds)
    try:
        names = asked(given.names, list(CASES))
    except InputError as error:
        parser.error(str(error))
    passed: set[str] = set()
    failed: list[str] = []
    for name in names:
        if not tested(CASES[name], passed):
            failed.append(name)
            print(f"{name}: its tests fail, so it is not timed", file=sys.stderr)
            continue
        start = time.monotonic()
        measurements = [timed(name, malloc, given.rounds) for malloc in CASES[name].mallocs]
        if None in measurements:
            failed.append(name)
            print(f"{name}: it could not be timed", file=sys.stderr)
            continue
        print(f"{name} ({time.monotonic() - start:.0f} s)", flush=True)
        for measurement in measurements:
            show(measurement or {})
        if given.rounds >= LEAST:
            text = json.dumps({"name": name, "measurements": measurements}, indent=2)
            (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    if failed:
        print(f"not timed: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


def show(measurement: dict[str, Any]) -> None:
    """A line for each figure."""
    for figure in measurement["figures"]:
        low, high = figure["interval"]
        text = f"  {figure['median']:8.3f} {figure['unit']:2} ({low:.3f} to {high:.3f})  {figure['name']}"
        print(f"{text}  [malloc {measurement['malloc']}]  {figure.get('bar', '')}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
