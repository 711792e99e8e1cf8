"""The longest text that fits into memory: bisection, each try in a process of its own that has a limit."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ordinate.errors import InputError, Unavailable, positive, positive_integer

Ended = Literal["fits", "memory", "late", "error"]
"""fits: it ended well; memory: for want of memory; late: it was ended, the time being up; error: otherwise."""

SHORT_OF_MEMORY = 77
"""The exit code by which a program says that memory did not suffice."""

_SIGNS = (
    "MemoryError",
    "bad_alloc",
    "allocate memory",
    "not enough memory",
    "out of memory",
    "OutOfMemory",
    "Resource temporarily unavailable",  # no room for the stack of another thread
)
_SIGNALS = tuple(-int(number) for number in (signal.SIGABRT, signal.SIGSEGV))
if sys.platform != "win32":
    _SIGNALS += (-int(signal.SIGKILL), -int(signal.SIGBUS))
_TOLD = 4000
_LIMITED = Path(__file__).with_name("limited.py")


@dataclass(frozen=True)
class Probe:
    """One try.

    Args:
        length: [token]
        ended: how
        why: the program's last words, where it did not fit
        output: what it wrote
        seconds: it took, [s]
    """

    length: int
    ended: Ended
    why: str = ""
    output: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Boundary:
    """Between what fits and what does not.

    Args:
        fits: the longest length that fitted; None where none did, [token]
        fails: the shortest that did not; None where all did, [token]
        probes: in the order of trying
        why: it ended before the two were a step apart; else empty
    """

    fits: int | None
    fails: int | None
    probes: tuple[Probe, ...]
    why: str = ""


def run_limited(command: Sequence[str], length: int, *, limit: int | None, seconds: float) -> Probe:
    """Run a program to its end in a process of its own, which is ended when its time is up.

    Args:
        command: the program and its arguments
        length: that it tries, [token]
        limit: of its memory; None for none, [byte]
        seconds: at most, [s]

    Raises:
        Unavailable: this system limits no process's memory
    """
    positive("seconds", seconds)
    if limit is not None:
        if sys.platform in ("win32", "darwin"):
            raise Unavailable(f"{sys.platform} does not limit the memory of a process")
        # As a file, and without its folder in the search path: nothing else is imported before the limit stands.
        command = [sys.executable, "-P", str(_LIMITED), str(limit), *command]
    began = time.monotonic()
    with subprocess.Popen(  # noqa: S603 - the caller's own program, no shell
        list(command),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as process:
        try:
            output, told = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return Probe(length, "late", f"not done within {seconds:.3g} s", "", time.monotonic() - began)
    took = time.monotonic() - began
    code, lines = process.returncode, told[-_TOLD:].split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    if code == 0:
        return Probe(length, "fits", "", output, took)
    short = code == SHORT_OF_MEMORY or any(sign in told[-_TOLD:] for sign in _SIGNS)
    if short or (limit is not None and code in _SIGNALS) or code == -9:
        return Probe(length, "memory", last or f"ended by signal {-code}", output, took)
    return Probe(length, "error", last or f"exit code {code}", output, took)


def find_boundary(
    probe: Callable[[int], Probe], shortest: int, longest: int, *, step: int = 1, most: int = 24
) -> Boundary:
    """The longest length that fits, between two lengths, to a step.

    First the shortest is tried, then twice as much again and again; between the last that fits and the first that
    does not the middle is tried, until they are a step apart.

    Args:
        probe: tries a length
        shortest, longest: lengths looked at, [token]
        step: how close the boundary is wanted, [token]
        most: tries

    Returns:
        what was found until a try ended otherwise than by fitting or for want of memory, or until there were `most`

    Raises:
        InputError: lengths that do not rise, or a count below 1
    """
    shortest, longest = positive_integer("shortest", shortest), positive_integer("longest", longest)
    step, most = positive_integer("step", step), positive_integer("most", most)
    if shortest > longest:
        raise InputError(f"shortest must be at most longest, got {shortest} and {longest}")
    probes: list[Probe] = []
    fits: int | None = None
    fails: int | None = None
    length = shortest
    while len(probes) < most:
        found = probe(length)
        probes.append(found)
        if found.ended == "fits":
            fits = length
        elif found.ended == "memory":
            fails = length
        else:
            return Boundary(fits, fails, tuple(probes), f"{length} tokens: {found.ended}: {found.why}")
        if fits is None or fits == longest or (fails is not None and fails - fits <= step):
            return Boundary(fits, fails, tuple(probes))
        length = min(2 * fits, longest) if fails is None else fits + max(step, (fails - fits) // 2 // step * step)
    return Boundary(fits, fails, tuple(probes), f"{most} tries did not bring it to {step} tokens")
