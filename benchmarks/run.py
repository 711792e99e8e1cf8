"""Tests first, then times: `make bench` writes benchmarks/results/NAME.json.

Contenders are interleaved in one process on one thread; a figure is the ratio of the product's CPU time to its
rival's in the same round, and the median of these over the rounds, with a bootstrap interval of 95 %.

    python benchmarks/run.py [NAME or its beginning ...]
"""

import json
import os
import platform
import random
import statistics
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import torch
from cases import CASES, Case

from ordinate.ops.backends import compiled

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 31


def measure(case: Case) -> dict[str, object]:
    """Time every contender in every round and compare them."""
    seconds: dict[str, list[float]] = {name: [] for name in case.contenders}
    for round_number in range(ROUNDS + 1):
        for name, run in case.contenders.items():
            start = time.process_time()
            run()
            if round_number:  # the first warms caches up
                seconds[name].append(time.process_time() - start)
    product, *rivals = seconds
    ratios = {
        rival: median_of([a / b for a, b in zip(seconds[product], seconds[rival], strict=True)]) for rival in rivals
    }
    return {
        "case": case.name,
        "cpu_seconds": {name: [min(s), statistics.median(s), max(s)] for name, s in seconds.items()},
        f"ratio of {product} to": ratios,
        "difference": case.difference,
        "difference is": case.measure,
    }


def median_of(ratios: list[float]) -> dict[str, object]:
    """The median of some ratios, and how far it would move if other rounds had been drawn."""
    generator = random.Random(0)  # noqa: S311 - statistics, no secret
    medians = sorted(statistics.median(generator.choices(ratios, k=len(ratios))) for _ in range(1000))
    return {"median": statistics.median(ratios), "interval": [medians[25], medians[974]]}


def processor() -> str:
    """Its name as the system knows it, and the flags that change which kernels of others run."""
    information = Path("/proc/cpuinfo")
    if not information.exists():
        return platform.processor() or platform.machine()
    lines = dict(line.split(":", 1) for line in information.read_text().splitlines() if ":" in line)
    fields = {key.strip(): value.strip() for key, value in lines.items()}
    flags = [flag for flag in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if flag in fields.get("flags", "").split()]
    return f"{fields.get('model name', platform.machine())} ({', '.join(flags)})"


def main() -> int:
    """Run every case that is asked for and whose tests pass; return the exit code."""
    torch.set_num_threads(1)
    asked = sys.argv[1:] or [""]
    machine = {
        "processor": processor(),
        "instruction set": compiled.instruction_set() if compiled else None,
        "cores": os.cpu_count(),
        "threads": 1,
        "rounds": ROUNDS,
        "seconds are": "minimum, median, maximum of CPU time",
        "versions": {name: version(name) for name in ("ordinate", "numpy", "gguf", "torch", "transformers")},
    }
    passed: set[tuple[str, ...]] = set()
    for name, make in CASES.items():
        if not any(name.startswith(start) for start in asked):
            continue
        case = make()
        tests = [str(ROOT / path) for path in case.tests]
        if (
            case.tests not in passed
            and subprocess.run([sys.executable, "-m", "pytest", "-q", "-m", "not slow", *tests], cwd=ROOT).returncode
        ):
            print(f"{name}: its tests fail, so it is not timed", file=sys.stderr)
            return 1
        passed.add(case.tests)
        result = measure(case)
        print(json.dumps(result, indent=2))
        file = ROOT / "benchmarks" / "results" / f"{name}.json"
        file.write_text(json.dumps(result | machine, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
