"""Which implementation of an operation runs where, which are absent, and why."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from types import ModuleType
from typing import Literal

from ordinate.errors import InputError, Unavailable, one_of
from ordinate.registry import suggestion

try:
    from ordinate.ops import _cpu as _compiled  # pyright: ignore[reportAttributeAccessIssue] - built, not written
except ImportError:
    _compiled = None

compiled: ModuleType | None = _compiled
"""The module of C++ kernels, or None where the package was installed without a compiler."""

Arrays = Literal["numpy", "torch"]

BACKENDS = ("reference", "eager", "cpu", "gpu")
"""reference: NumPy, the definition. eager: PyTorch's own operators. cpu: compiled C++. gpu: Triton."""

DTYPES = {
    "numpy": ("float16", "float32", "float64"),
    "torch": ("float16", "bfloat16", "float32", "float64"),
}

KERNEL_DTYPES = ("float16", "bfloat16", "float32")
"""What compiled kernels take: their arithmetic is float32."""

NOT_COMPILED = (
    "the compiled kernels are not part of this installation: install a C++17 compiler (g++ or clang++) "
    "and install ordinate again"
)


@dataclass(frozen=True)
class Choice:
    """The backend in use, and for each of the others why it is not."""

    name: str
    absent: Mapping[str, str]


def choose(device: str, dtype: str, *, arrays: Arrays = "torch", backend: str = "auto") -> Choice:
    """Say which backend serves these arrays.

    Args:
        device: where the arrays are, such as "cpu" or "cuda"; NumPy's are always on "cpu"
        dtype: their type, such as "bfloat16"
        arrays: whose arrays they are
        backend: "auto", or the name of the one to use

    Raises:
        InputError: an unknown backend or library, or a dtype that no backend takes
        Unavailable: the backend asked for by name cannot serve these arrays; the message says why

    >>> choose("cpu", "float64", arrays="numpy").name
    'reference'
    """
    one_of("arrays", arrays, ("numpy", "torch"))
    if dtype not in DTYPES[arrays]:
        raise InputError(f"dtype must be one of {', '.join(DTYPES[arrays])}, got {dtype}")
    if arrays == "numpy" and device != "cpu":
        raise InputError(f"NumPy arrays are on the cpu, got device {device!r}")
    if backend != "auto" and backend not in BACKENDS:
        raise InputError(f"unknown backend {backend!r}{suggestion(backend, ('auto', *BACKENDS))}")
    reasons = {name: why for name in BACKENDS if (why := _obstacle(name, arrays, device, dtype)) is not None}
    if backend in reasons:
        raise Unavailable(f"backend {backend!r} cannot serve {arrays} arrays on {device!r}: {reasons[backend]}")
    present = [name for name in BACKENDS if name not in reasons]
    if not present:
        raise Unavailable(f"no backend serves {arrays} arrays: {'; '.join(reasons.values())}")
    name = present[-1] if backend == "auto" else backend
    return Choice(name, reasons | {other: "not chosen" for other in present if other != name})


def _obstacle(backend: str, arrays: Arrays, device: str, dtype: str) -> str | None:
    """Why a backend cannot serve these arrays, or None where it can."""
    if backend == "reference":
        return None if arrays == "numpy" else "reference takes NumPy arrays"
    if backend == "eager":
        if arrays == "numpy":
            return "eager takes torch tensors"
        return None if find_spec("torch") else "eager needs PyTorch: install ordinate with its extra [torch]"
    if backend == "cpu":
        if device != "cpu":
            return f"cpu takes what is on the cpu, got {device!r}"
        if dtype not in KERNEL_DTYPES:
            return f"cpu takes {', '.join(KERNEL_DTYPES)}, got {dtype}"
        return None if compiled is not None else NOT_COMPILED
    return f"{backend} is not part of this version"
