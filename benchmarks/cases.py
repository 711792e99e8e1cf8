"""Everything `make bench` times: what the package can time itself, and what needs this repository or the extra [bench].

Modules are imported when a case is made, in the process that times it.
"""

from dataclasses import dataclass
from functools import partial
from importlib import import_module

from ordinate import bench
from ordinate.bench.case import Case

DEFAULT: dict[str, str] = {}
REUSED = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**40)}
"""The C library as it is, which gives large memory back and faults it in again, and one that keeps what it has."""

ROTATE = ("tests/ops/test_rotate.py", "tests/ops/test_rotate_cpu.py")
GRADIENTS = (*ROTATE, "tests/ops/test_rotate_autograd.py")
GRAPHS = (*ROTATE, "tests/ops/test_rotate_graphs.py")
ATTEND = ("tests/ops/test_attend.py", "tests/ops/test_attend_cpu.py")


@dataclass(frozen=True)
class Entry:
    """A case, the tests that must pass before it is timed, and the settings of malloc it is timed under.

    Both settings where contenders make large memory anew: there the worse result counts.
    """

    make: partial[Case]
    tests: tuple[str, ...]
    mallocs: tuple[dict[str, str], ...] = (DEFAULT,)


BOTH = (DEFAULT, REUSED)


def _made(module: str, function: str, *given: object) -> Case:
    return getattr(import_module(module), function)(*given)


CASES: dict[str, Entry] = {
    "dequantise": Entry(partial(_made, "files_and_tables", "dequantise"), ("tests/files/test_dequantise.py",)),
    "table": Entry(partial(_made, "files_and_tables", "table"), ("tests/test_precision.py",)),
}
for _name, _make in bench.CASES.items():
    if not _name.startswith("rotate_transformers"):
        CASES[_name] = Entry(_make, ROTATE if _name.startswith("rotate") else ATTEND)
for _shape in ("p128", "p64"):
    for _dtype in ("float32", "bfloat16", "float16"):
        _make = partial(_made, "ordinate.bench.rotate", "against_transformers", _shape, _dtype, True)
        CASES[f"rotate_transformers_{_shape}_{_dtype}"] = Entry(_make, ROTATE, BOTH)
for _dtype in ("float32", "bfloat16", "float16"):
    CASES[f"rotate_two_threads_{_dtype}"] = Entry(partial(_made, "rotate_cases", "two_threads", _dtype), ROTATE)
for _shape, _dtype in (("p128", "bfloat16"), ("p64", "float32")):
    _make = partial(_made, "rotate_cases", "out_of_place", _shape, _dtype)
    CASES[f"rotate_out_of_place_{_shape}_{_dtype}"] = Entry(_make, GRADIENTS, BOTH)
CASES["rotate_graph"] = Entry(partial(_made, "rotate_cases", "graph"), GRAPHS)
for _dtype in ("float32", "bfloat16"):
    CASES[f"attend_flex_{_dtype}"] = Entry(partial(_made, "attend_cases", "flex", 2048, _dtype), ATTEND)
    CASES[f"attend_masks_{_dtype}"] = Entry(partial(_made, "attend_cases", "masks", 1024, _dtype), ATTEND, BOTH)
    CASES[f"attend_two_threads_{_dtype}"] = Entry(partial(_made, "attend_cases", "two_threads", 2048, _dtype), ATTEND)
