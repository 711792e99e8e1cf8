"""What a time depends on beside the code."""

import os
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

VERSIONS = ("ordinate", "torch", "numpy", "transformers", "gguf")
FLAGS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")


def machine(packages: Sequence[str] = VERSIONS) -> dict[str, Any]:
    """The processor, how memory is taken and given back, and versions of what is installed."""
    from ordinate.ops.backends import compiled

    return {
        "processor": processor(),
        "instruction set": None if compiled is None else compiled.instruction_set(),
        "cores": os.cpu_count(),
        "malloc": malloc(),
        "versions": {"python": platform.python_version(), **_versions(packages)},
    }


def processor() -> str:
    """Its name as the system knows it, and the flags that change which kernels of others run."""
    information = Path("/proc/cpuinfo")
    if not information.exists():
        return platform.processor() or platform.machine()
    lines = (line.split(":", 1) for line in information.read_text(encoding="utf-8").splitlines() if ":" in line)
    fields = {key.strip(): value.strip() for key, value in lines}
    flags = [flag for flag in FLAGS if flag in fields.get("flags", "").split()]
    name = fields.get("model name", platform.machine())
    return f"{name} ({', '.join(flags)})" if flags else name


def malloc() -> str:
    """The settings of the C library's allocator that the environment changes."""
    given = {
        name: value for name, value in os.environ.items() if name.startswith("MALLOC_") or name == "GLIBC_TUNABLES"
    }
    return " ".join(f"{name}={value}" for name, value in sorted(given.items())) or "default"


def _versions(packages: Sequence[str]) -> dict[str, str]:
    found = {}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
