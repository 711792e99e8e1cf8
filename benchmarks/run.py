"""Tests first, then times: `make bench` writes benchmarks/results/NAME.json.

Contenders are interleaved in one process on one thread; a figure is the ratio of the product's CPU time to its
rival's in the same round, and the median of these over the rounds.
"""

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import torch
from cases import CASES, Case

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 9


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
        rival: statistics.median(a / b for a, b in zip(seconds[product], seconds[rival], strict=True))
        for rival in rivals
    }
    return {
        "case": case.name,
        "cpu_seconds": {name: [min(s), statistics.median(s), max(s)] for name, s in seconds.items()},
        f"ratio of {product} to": ratios,
        "difference": case.difference,
        "difference is": case.measure,
    }


def main() -> int:
    """Run every case whose tests pass; return the exit code."""
    torch.set_num_threads(1)
    machine = {
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "threads": 1,
        "rounds": ROUNDS,
        "seconds are": "minimum, median, maximum of CPU time",
        "versions": {name: version(name) for name in ("ordinate", "numpy", "gguf", "torch", "transformers")},
    }
    for name, make in CASES.items():
        case = make()
        tests = [str(ROOT / path) for path in case.tests]
        if subprocess.run([sys.executable, "-m", "pytest", "-q", "-m", "not slow", *tests], cwd=ROOT).returncode:
            print(f"{name}: its tests fail, so it is not timed", file=sys.stderr)
            return 1
        result = measure(case)
        print(json.dumps(result, indent=2))
        file = ROOT / "benchmarks" / "results" / f"{name}.json"
        file.write_text(json.dumps(result | machine, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
