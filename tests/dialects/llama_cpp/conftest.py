"""GGUF files made by the public `gguf` package, the reader's counterpart."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGUFWriter

from ordinate.dialects import llama_cpp
from ordinate.files.gguf import read_gguf
from ordinate.spec import Spec

SMALL = {
    "block_count": 4,
    "context_length": 4096,
    "embedding_length": 512,
    "attention.head_count": 8,
    "attention.head_count_kv": 2,
}
"""What every model below has where it says nothing else: heads of 64 channels."""


@pytest.fixture
def gguf_path(tmp_path: Path) -> Callable[..., Path]:
    """Write a GGUF file: keys under the architecture's prefix, None to leave one out; tensors in float32."""

    def write(architecture: str, tensors: dict[str, Any] | None = None, **keys: Any) -> Path:
        path = tmp_path / f"{architecture}.gguf"
        writer = GGUFWriter(path, architecture)
        for key, value in {**SMALL, **keys}.items():
            full = key.removeprefix("general:") if key.startswith("general:") else f"{architecture}.{key}"
            if isinstance(value, bool):
                writer.add_bool(full, value)
            elif isinstance(value, int):
                writer.add_uint32(full, value) if value >= 0 else writer.add_int32(full, value)
            elif isinstance(value, float):
                writer.add_float32(full, value)
            elif isinstance(value, str):
                writer.add_string(full, value)
            elif value is not None:
                writer.add_array(full, value)
        for name, values in (tensors or {}).items():
            writer.add_tensor(name, np.asarray(values, dtype=np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path

    return write


@pytest.fixture
def gguf_spec(gguf_path: Callable[..., Path]) -> Callable[..., Spec]:
    """Write a GGUF file as `gguf_path` does, and read it."""

    def read(architecture: str, tensors: dict[str, Any] | None = None, **keys: Any) -> Spec:
        return llama_cpp.read(read_gguf(gguf_path(architecture, tensors, **keys)), name="a model")

    return read
