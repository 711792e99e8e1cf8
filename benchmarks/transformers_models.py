"""SmolLM2 in transformers, its attention and tables by Ordinate, against the same model with "sdpa" and "eager".

`python benchmarks/transformers_models.py` writes benchmarks/results/transformers.json. Contenders are interleaved in
one process on one thread; a figure is the ratio of a rival's CPU time to the product's in the same round, and the
median of these over the rounds with a bootstrap interval of 95 %. Nothing is timed unless the tests pass.
"""

import json
import os
import platform
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache, StaticCache

from ordinate import texts
from ordinate.ops.backends import compiled
from ordinate.transformers import accelerate
from ordinate.transformers.convert import converted

ROOT = Path(__file__).resolve().parent.parent
TESTS = ("tests/transformers_/test_attention.py", "tests/transformers_/test_acceleration.py")
TOKENS = 2048
ROUNDS = {"prefill": 5, "decode": 31}
CACHES: dict[str, Callable[[Any], Any]] = {
    "dynamic cache": lambda config: DynamicCache(config=config),
    "static cache": lambda config: StaticCache(config=config, max_cache_len=TOKENS),
}


def timed(contenders: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """CPU seconds of each contender in each round, after one that warms caches up."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds + 1):
        for name, run in contenders.items():
            start = time.thread_time()
            run()
            if number:
                seconds[name].append(time.thread_time() - start)
    return seconds


def compared(seconds: dict[str, list[float]]) -> dict[str, Any]:
    """How many times as long each rival takes."""
    product, *rivals = seconds
    generator = random.Random(0)  # noqa: S311 - resampling is no secret
    faster = {}
    for rival in rivals:
        ratios = [b / a for a, b in zip(seconds[product], seconds[rival], strict=True)]
        medians = sorted(statistics.median(generator.choices(ratios, k=len(ratios))) for _ in range(1000))
        faster[rival] = {"median": statistics.median(ratios), "interval": [medians[25], medians[974]]}
    return {
        "cpu_seconds": {name: [min(s), statistics.median(s), max(s)] for name, s in seconds.items()},
        "rounds": len(seconds[product]),
        "times as fast as": faster,
    }


@torch.inference_mode()
def measure(dtype: torch.dtype) -> dict[str, Any]:
    """Prefill and decode of one dtype."""
    directory = converted("smollm2")
    tokenizer = AutoTokenizer.from_pretrained(directory)
    ids = tokenizer(texts.read("emma").body[10000:30000], return_tensors="pt").input_ids[:, :TOKENS]
    models = {name: AutoModelForCausalLM.from_pretrained(directory, dtype=dtype).eval() for name in ("ordinate", "own")}
    accelerate(models["ordinate"], float32_angles=True)

    def model(name: str) -> Any:
        if name == "ordinate":
            return models["ordinate"]
        models["own"].set_attn_implementation(name)
        return models["own"]

    def prefill(name: str) -> Any:
        return model(name)(input_ids=ids, use_cache=False, logits_to_keep=1).logits

    def decode(name: str, cache: Any) -> Any:
        logits = model(name)(input_ids=ids[:, -1:], cache=cache).logits
        cache.crop(-1)
        return logits

    found: dict[str, Any] = {}
    expected = prefill("eager").float()
    found["largest difference of a logit from eager"] = {
        name: float((prefill(name).float() - expected).abs().max()) for name in ("ordinate", "sdpa")
    }
    found["prefill"] = compared(timed({n: lambda n=n: prefill(n) for n in ("ordinate", "sdpa")}, ROUNDS["prefill"]))
    for kind, make in CACHES.items():
        caches = {}
        for name in ("ordinate", "sdpa"):
            caches[name] = make(models["own"].config)
            model(name)(input_ids=ids[:, :-1], cache=caches[name], logits_to_keep=1)
        caches["eager"] = caches["sdpa"]
        runs = {name: lambda n=name, c=cache: decode(n, c) for name, cache in caches.items()}
        found[f"decode, {kind}"] = compared(timed(runs, ROUNDS["decode"]))
    return found


def main() -> int:
    """Measure where the tests pass; return the exit code."""
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    torch.set_num_threads(1)
    if subprocess.run([sys.executable, "-m", "pytest", "-q", "-m", "not slow", *TESTS], cwd=ROOT).returncode:
        print("transformers: its tests fail, so it is not timed", file=sys.stderr)
        return 1
    result = {
        "case": f"SmolLM2-135M, one sequence of {TOKENS} tokens: prefill, and decoding one token",
        **{str(dtype).removeprefix("torch."): measure(dtype) for dtype in (torch.float32, torch.bfloat16)},
        "seconds are": "minimum, median, maximum of CPU time",
        "processor": platform.processor() or platform.machine(),
        "instruction set": None if compiled is None else compiled.instruction_set(),
        "cores": os.cpu_count(),
        "threads": 1,
        "versions": {name: version(name) for name in ("ordinate", "torch", "transformers")},
    }
    print(json.dumps(result, indent=2))
    file = ROOT / "benchmarks" / "results" / "transformers.json"
    file.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
