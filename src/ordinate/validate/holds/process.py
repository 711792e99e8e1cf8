"""Read N tokens with a model in a fresh process, and say what it took: `python -m ordinate.validate.holds.process JOB`.

The job and what is written are JSON; where memory does not suffice the exit code is `boundary.SHORT_OF_MEMORY`.
"""

import gc
import json
import re
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from ordinate.errors import InputError
from ordinate.validate.holds.boundary import SHORT_OF_MEMORY


@dataclass(frozen=True)
class Job:
    """What is run.

    Args:
        directory: of the model, as transformers reads it
        tokens: read, [token]
        dtype: of weights and computation; as the files have it where None
        device: as torch names it
        attention: transformers' name of an implementation
        chunk: tokens read at a time
        turns: how often the same is done, each time from an empty cache
    """

    directory: str
    tokens: int
    dtype: str | None = None
    device: str = "cpu"
    attention: str | None = None
    chunk: int = 1024
    turns: int = 1

    def command(self) -> list[str]:
        """The program and its argument."""
        return [sys.executable, "-m", "ordinate.validate.holds.process", json.dumps(asdict(self))]


@dataclass(frozen=True)
class Used:
    """What it took.

    Args:
        tokens: read, [token]
        loaded: resident memory with the model loaded; None where the system does not say, [byte]
        peak: the highest resident memory from then on, [byte]
        after: resident memory after each turn, its cache let go of, [byte]
        device_peak: the highest use of a graphics card's memory, weights included; None on a CPU, [byte]
        kv: of keys and values when all tokens were read, [byte]
        rows: the most tokens of which logits were made at once
        vocabulary: logits of each
        value_bytes: of one number in the cache, [byte]
        seconds: of each turn, [s]
    """

    tokens: int
    loaded: int | None
    peak: int | None
    after: tuple[int, ...]
    device_peak: int | None
    kv: int
    rows: int
    vocabulary: int
    value_bytes: int
    seconds: tuple[float, ...]


def read_used(output: str) -> Used:
    """What a process wrote.

    Raises:
        InputError: something else
    """
    lines = [line for line in output.splitlines() if line.strip()]
    try:
        return msgspec.json.decode(lines[-1].encode() if lines else b"", type=Used)
    except msgspec.DecodeError as error:
        raise InputError(f"the process must write what it used as JSON, got {output[-60:]!r}: {error}") from error


def resident(name: str = "VmRSS", process: int | str = "self") -> int | None:
    """A process's resident memory, now ("VmRSS") or at most ("VmHWM"), [byte]; None where the system does not say."""
    status = Path(f"/proc/{process}/status")
    try:
        found = re.search(rf"^{name}:\s+(\d+) kB$", status.read_text(), re.MULTILINE)
    except OSError:
        return None
    return None if found is None else int(found[1]) * 1024


def cache_bytes(cache: Any) -> int:
    """What the tensors of a transformers cache take, [byte]."""
    total = 0
    for layer in getattr(cache, "layers", ()):
        for name in ("keys", "values"):
            held = getattr(layer, name, None)
            if held is not None and hasattr(held, "element_size"):
                total += held.numel() * held.element_size()
    return total


def use(job: Job) -> Used:
    """Load the model, read the tokens, and predict one more."""
    import torch

    from ordinate.transformers.loading import load
    from ordinate.transformers.prefill import prefill

    dtype = None if job.dtype is None else getattr(torch, job.dtype)
    model, _ = load(job.directory, dtype=dtype, attention=job.attention)
    model = model.to(job.device)
    card = torch.device(job.device).type == "cuda"
    if card:
        torch.cuda.reset_peak_memory_stats(job.device)
    vocabulary = int(model.get_input_embeddings().num_embeddings)
    most = 0

    def watch(_module: Any, _values: Any, output: Any) -> None:
        nonlocal most
        most = max(most, int(output.numel() // output.shape[-1]))

    model.get_output_embeddings().register_forward_hook(watch)
    loaded = resident()
    _forget_peak()
    after, seconds, held, width = [], [], 0, 0
    for turn in range(job.turns):
        began = time.monotonic()
        ids = torch.randint(8, vocabulary, (job.tokens,), generator=torch.Generator().manual_seed(turn))
        with torch.inference_mode():
            cache = prefill(model, ids.to(job.device)[:-1], chunk=job.chunk).cache if job.tokens > 1 else None
            given: dict[str, Any] = {} if cache is None else {"cache": cache}
            found = model(input_ids=ids[None, -1:].to(job.device), use_cache=True, **given)
        kept = found.cache
        held, width = cache_bytes(kept), _width(kept)
        seconds.append(time.monotonic() - began)
        del cache, found, kept, given
        gc.collect()
        after.append(resident() or 0)
    peak = torch.cuda.max_memory_allocated(job.device) if card else None
    return Used(
        job.tokens, loaded, resident("VmHWM"), tuple(after), peak, held, most, vocabulary, width, tuple(seconds)
    )


def _forget_peak() -> None:
    """Let Linux count the highest resident memory from now on, so that loading has no part in it."""
    with suppress(OSError):  # without it the peak of loading counts, which is no more than what it takes
        Path("/proc/self/clear_refs").write_text("5")


def _width(cache: Any) -> int:
    sizes = [layer.keys.element_size() for layer in cache.layers if getattr(layer, "keys", None) is not None]
    return max(sizes, default=0)


def main(arguments: list[str]) -> int:
    """Do the job."""
    job = msgspec.json.decode(arguments[0], type=Job)
    try:
        used = use(job)
    except MemoryError:
        return SHORT_OF_MEMORY
    except RuntimeError as error:
        # torch has no class of its own for this on a CPU; on a graphics card it is one of RuntimeError's.
        if not any(sign in str(error) for sign in ("allocate memory", "not enough memory", "out of memory")):
            raise
        print(str(error).splitlines()[0], file=sys.stderr)
        return SHORT_OF_MEMORY
    print(msgspec.json.encode(used).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
