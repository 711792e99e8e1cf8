"""What each part of a run took: CPU time of all threads, time on the clock, memory."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ordinate.prove.result import Cost, Role


def available_cores() -> int:
    """Cores that this process may use, which can be fewer than the machine has."""
    affinity = getattr(os, "sched_getaffinity", None)  # absent on macOS and Windows
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def peak_memory() -> int | None:
    """The process's highest resident memory so far, [byte]; None where the system does not say (Windows)."""
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
