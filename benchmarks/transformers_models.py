"""SmolLM2 in transformers, its attention and tables by Ordinate, against the same model with "sdpa" and "eager".

`python benchmarks/transformers_models.py [--rounds N]` writes benchmarks/results/transformers.json once the tests pass:
prefill takes seconds a round and has 5, decoding has 31. With fewer rounds it is a trial that writes nothing.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import transformers
from run import show
from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache, StaticCache

from ordinate import texts
from ordinate.bench import machine, measure
from ordinate.bench.case import Case, speed
from ordinate.transformers import accelerate
from ordinate.transformers.convert import converted

ROOT = Path(__file__).resolve().parent.parent
TESTS = ("tests/transformers_/test_attention.py", "tests/transformers_/test_acceleration.py")
TOKENS = 2048
ROUNDS = {"prefill": 5, "decode": 31}
TOLERANCE = {"float32": 1e-3, "bfloat16": 0.5}
"""Of a logit; transformers' own sdpa and eager differ by 0.4 in bfloat16."""
CACHES: dict[str, Callable[[Any], Any]] = {
    "dynamic cache": lambda config: DynamicCache(config=config),
    "static cache": lambda config: StaticCache(config=config, max_cache_len=TOKENS),
}


def cases(dtype: str) -> Iterator[tuple[str, Case]]:
    """Prefill and decode of one dtype, each with the kind that its rounds go by."""
    directory = converted("smollm2")
    tokenizer = AutoTokenizer.from_pretrained(directory)
    ids = tokenizer(texts.read("emma").body[10000:30000], return_tensors="pt").input_ids[:, :TOKENS]
    kind = getattr(torch, dtype)
    models = {name: AutoModelForCausalLM.from_pretrained(directory, dtype=kind).eval() for name in ("ordinate", "own")}
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

    title = f"SmolLM2-135M in transformers, {TOKENS} tokens, {dtype}"
    difference = float((prefill("ordinate").float() - prefill("eager").float()).abs().max())
    checked = difference, "largest difference of a logit from eager", TOLERANCE[dtype]
    runs: dict[str, Callable[[], Any]] = {name: lambda n=name: prefill(n) for name in ("ordinate", "sdpa")}
    yield "prefill", Case(f"{title}: prefill", runs, [speed("ordinate", "sdpa", 1.0)], *checked)
    for cache_kind, make in CACHES.items():
        caches = {}
        for name in ("ordinate", "sdpa"):
            caches[name] = make(models["own"].config)
            model(name)(input_ids=ids[:, :-1], cache=caches[name], logits_to_keep=1)
        caches["eager"] = caches["sdpa"]
        runs = {name: lambda n=name, c=cache: decode(n, c) for name, cache in caches.items()}
        figures = [speed("ordinate", "sdpa", 1.15), speed("ordinate", "eager", 1.5)]
        yield "decode", Case(f"{title}: one token decoded, {cache_kind}", runs, figures, *checked)


@torch.inference_mode()
def main() -> int:
    """Measure where the tests pass; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=max(ROUNDS.values()))
    rounds = parser.parse_args().rounds
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    torch.set_num_threads(1)
    if subprocess.run([sys.executable, "-m", "pytest", "-q", "-m", "not slow", *TESTS], cwd=ROOT).returncode:
        print("transformers: its tests fail, so it is not timed", file=sys.stderr)
        return 1
    measurements = []
    for dtype in TOLERANCE:
        for kind, case in cases(dtype):
            measurements.append(measure(case, min(rounds, ROUNDS[kind])) | machine())
            print(case.name)
            show(measurements[-1])
    if rounds >= max(ROUNDS.values()):
        text = json.dumps({"name": "transformers", "measurements": measurements}, indent=2)
        (ROOT / "benchmarks" / "results" / "transformers.json").write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
