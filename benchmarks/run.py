"""Tests first, then times: `make bench` writes benchmarks/results/NAME.json.

A case that is timed under two settings of malloc has a process for each; others share one by kind. Contenders take
turns; a figure is read off each round, and its median over the rounds stands with a bootstrap interval of 95 %.

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
MARK = "measured "
"""What a line of a child begins with: others print too."""


def tested(entry: Entry, passed: set[str]) -> bool:
    """Whether the tests that a case needs pass; each file is run once."""
    files = [path for path in entry.tests if path not in passed]
    if files:
        command = [sys.executable, "-m", "pytest", "-q", "-m", "not slow", *(str(ROOT / path) for path in files)]
        if subprocess.run(command, cwd=ROOT).returncode:
            return False
        passed.update(files)
    return True


def timed(names: list[str], malloc: dict[str, str], rounds: int) -> dict[str, Any]:
    """Measurements by name in a process of their own; without those that failed."""
    # What the caller has set would be taken for the setting that is named.
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith("MALLOC_") and key != "GLIBC_TUNABLES"
    }
    command = [sys.executable, __file__, "--child", "--rounds", str(rounds), *names]
    with subprocess.Popen(command, cwd=ROOT, env=kept | malloc, stdout=subprocess.PIPE, text=True) as process:
        lines = [line for line in process.stdout or () if line.startswith(MARK)]
    return {made["name"]: made["measurement"] for made in (json.loads(line.removeprefix(MARK)) for line in lines)}


def child(names: list[str], rounds: int) -> int:
    """Measure here and print a line of JSON for each."""
    import torch

    torch.set_num_threads(1)
    code = 0
    for name in names:
        try:
            made = measure(CASES[name].make(), rounds) | machine()
        except (Inaccurate, Unavailable) as error:
            print(error, file=sys.stderr)
            code = 1
            continue
        print(MARK + json.dumps({"name": name, "measurement": made}), flush=True)
    return code


def groups(names: list[str]) -> list[list[str]]:
    """Names that share a process: cases of one kind that are timed once. Those timed twice have one each."""
    made: dict[object, list[str]] = {}
    for name in names:
        entry = CASES[name]
        kind = (entry.make.args[:2], entry.tests) if len(entry.mallocs) == 1 else name
        made.setdefault(kind, []).append(name)
    return list(made.values())


def main() -> int:
    """Run every case that is asked for and whose tests pass; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=[""])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        return child(given.names, given.rounds)
    try:
        names = asked(given.names, list(CASES))
    except InputError as error:
        parser.error(str(error))
    passed: set[str] = set()
    failed: list[str] = []
    for group in groups(names):
        entry = CASES[group[0]]
        if not tested(entry, passed):
            failed += group
            print(f"{', '.join(group)}: tests fail, so nothing is timed", file=sys.stderr)
            continue
        start = time.monotonic()
        found = [timed(group, malloc, given.rounds) for malloc in entry.mallocs]
        print(f"{', '.join(group)}: {time.monotonic() - start:.0f} s", flush=True)
        for name in group:
            measurements = [made[name] for made in found if name in made]
            if len(measurements) < len(found):
                failed.append(name)
                continue
            print(name)
            for measurement in measurements:
                show(measurement)
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
