"""What each part of a run took: CPU time of all threads, time on the clock, memory."""

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ordinate.prove.result import Cost, Role


def available_cores() -> int:
    """Cores that this process may use, which can be fewer than the machine has."""
    affinity = getattr(os, "sched_getaffinity", None)  # absent on macOS and Windows
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def peak_memory() -> int | None:
    """The process's highest resident memory so far, [byte]; None where the system does not say (Windows)."""
    status = Path("/proc/self/status")
    if status.exists():
        # Of this program alone: Linux's ru_maxrss may also hold what the process was before it became this program.
        found = re.search(r"^VmHWM:\s+(\d+) kB$", status.read_text(), re.MULTILINE)
        if found:
            return int(found[1]) * 1024
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


@contextmanager
def measured(costs: list[Cost], model: Role, part: str) -> Iterator[None]:
    """Append what the body of a `with` statement took."""
    cpu, clock = time.process_time(), time.perf_counter()
    yield
    seconds = time.perf_counter() - clock
    costs.append(Cost(model, part, time.process_time() - cpu, seconds, peak_memory()))
