"""How fast the operations are on a machine."""

from typing import Literal

from ordinate.results.base import Record, Version

COMMAND = "ordinate bench --format json"
BEFORE = {"machine", "measurements", "not timed"}


class Contender(Record, frozen=True, rename={"seconds": "seconds, minimum, median and maximum"}):
    """What one contender took.

    Args:
        threads: that it had
        seconds: of a call, over the rounds, [s]
    """

    threads: int
    seconds: tuple[float, float, float]


class Figure(Record, frozen=True, omit_defaults=True, rename={"at_most": "at most", "at_least": "at least"}):
    """A number that every round gives.

    Args:
        name: what it is
        unit: "x" for a ratio, "us" for microseconds
        median: over the rounds
        interval: of the median, at 95 %
        at_most: the bar, where it is from above
        at_least: the bar, where it is from below
        bar: whether it is met
    """

    name: str
    unit: Literal["x", "us"]
    median: float
    interval: tuple[float, float]
    at_most: float | None = None
    at_least: float | None = None
    bar: str | None = None


class Measurement(Record, frozen=True, rename={"difference_is": "difference is"}):
    """One comparison on the same input.

    Args:
        name: of the benchmark
        case: what is done
        clock: what was read
        rounds: how often each contender ran
        contenders: by name
        figures: read off their times
        difference: how far the product's result is from the right one
        difference_is: what that is
        tolerance: the largest difference with which times mean anything
    """

    name: str
    case: str
    clock: str
    rounds: int
    contenders: dict[str, Contender]
    figures: list[Figure]
    difference: float
    difference_is: str
    tolerance: float


class Machine(Record, frozen=True, rename={"instruction_set": "instruction set"}):
    """What a time depends on beside the code.

    Args:
        processor: its name and the flags that matter
        instruction_set: of the compiled kernels; null where there are none
        cores: how many; null where the system does not say
        malloc: settings of the C library's allocator
        versions: of what is installed, by name
    """

    processor: str
    instruction_set: str | None
    cores: int | None
    malloc: str
    versions: dict[str, str]


class Bench(Record, frozen=True, rename={"not_timed": "not timed"}):
    """How fast the operations are on a machine.

    Args:
        schema_version: of this schema
        kind: "bench"
        machine: what a time depends on beside the code
        measurements: one a benchmark
        not_timed: what was not accurate, a sentence each
    """

    schema_version: Version
    kind: Literal["bench"]
    machine: Machine
    measurements: list[Measurement]
    not_timed: list[str]


FORM = Bench
