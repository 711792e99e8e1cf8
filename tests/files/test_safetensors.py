"""The safetensors header reader."""

import json
import struct
import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ordinate.errors import InputError
from ordinate.files.regular import read_range
from ordinate.files.safetensors import BITS, read_header


def stored(header: object, body: bytes = b"") -> bytes:
    data = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(data)) + data + body


def entry(dtype: str, shape: list[int], start: int, end: int) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


@pytest.fixture
def read(tmp_path):
    def read(data: bytes):
        (tmp_path / "model.safetensors").write_bytes(data)
        return read_header(tmp_path / "model.safetensors")

    return read


@pytest.fixture
def refuse(read):
    def refuse(data: bytes, reason: str, *, by_the_library: bool = True) -> None:
        with pytest.raises(InputError, match=reason) as caught:
            read(data)
        assert "model.safetensors" in str(caught.value)
        assert "\n" not in str(caught.value)
        library = pytest.importorskip("safetensors")
        if by_the_library:
            with pytest.raises(library.SafetensorError):
                library.deserialize(data)
        else:
            library.deserialize(data)

    return refuse


def test_what_the_library_writes_is_read(read):
    save = pytest.importorskip("safetensors.numpy").save
    tensors = {
        "a": np.arange(6, dtype=np.float32).reshape(2, 3),
        "b": np.array(7, np.int64),
        "c": np.zeros((0, 4), np.float16),
        "d": np.array([True, False]),
    }
    header = read(save(tensors, {"format": "pt"}))
    assert header.metadata == {"format": "pt"}
    assert header.path.name == "model.safetensors"
    assert {n: (t.dtype, t.shape) for n, t in header.tensors.items()} == {
        "a": ("F32", (2, 3)),
        "b": ("I64", ()),
        "c": ("F16", (0, 4)),
        "d": ("BOOL", (2,)),
    }
    for name, tensor in header.tensors.items():
        assert read_range(header.file, tensor.start, tensor.end).tobytes() == tensors[name].tobytes()


def test_a_file_without_tensors_or_metadata_is_read(read):
    header = read(stored(b"{}   "))
    assert (header.tensors, header.metadata) == ({}, {})


@pytest.mark.parametrize("dtype", BITS)
def test_every_type_takes_what_the_library_says(read, refuse, dtype):
    library = pytest.importorskip("safetensors")
    size = BITS[dtype] // 2
    data = stored({"w": entry(dtype, [4], 0, size)}, b"\0" * size)
    library.deserialize(data)
    assert read(data).tensors["w"].end - read(data).tensors["w"].start == size
    refuse(stored({"w": entry(dtype, [4], 0, size + 1)}, b"\0" * (size + 1)), f"must take {size} bytes")


def test_the_types_are_those_of_the_library():
    library = pytest.importorskip("safetensors")
    with pytest.raises(library.SafetensorError) as caught:
        library.deserialize(stored({"w": entry("F5", [0], 0, 0)}))
    assert set(str(caught.value).split("`")[3::2]) == set(BITS)


def test_an_unknown_type_is_refused(refuse):
    refuse(stored({"w": entry("F5", [0], 0, 0)}), "unknown type 'F5', known are BOOL, ")
    refuse(stored({"w": {"dtype": 1, "shape": [], "data_offsets": [0, 0]}}), "unknown type 1")


def test_what_is_no_safetensors_file_is_refused(refuse):
    refuse(b"", "is empty")
    refuse(b"\1\0\0", "truncated")
    refuse(b"PK\3\4" + b"\0" * 60, "truncated: its header takes")
    refuse(b"\x80\2}q\0ctorch", r"declares a header of .*\(is it a safetensors file\?\)")
    refuse(stored(b"[]"), "must begin with '{'")
    refuse(stored(b' {"a": 1}'), "must begin with '{'")
    refuse(stored(b'{"w": '), "is not valid JSON")


@pytest.mark.parametrize("length", [100_000_001, 2**40, 2**63, 2**64 - 1])
def test_a_huge_header_is_refused_before_it_is_read(read, refuse, length):
    data = struct.pack("<Q", length) + b"{}"
    refuse(data, f"declares a header of {length} bytes, at most 100000000")
    tracemalloc.start()
    with pytest.raises(InputError):
        read(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000


def test_a_header_longer_than_the_file_is_refused(refuse):
    refuse(struct.pack("<Q", 3) + b"{}", "truncated: its header takes 3 bytes, and the file holds 2 more")


@pytest.mark.parametrize(
    "header,body",
    [
        (
            b'{"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"w":{"dtype":"I8","shape":[1],"data_offsets":[0,1]}}',
            b"x",
        ),
        (b'{"__metadata__":{"a":"1","a":"2"}}', b""),
    ],
)
def test_duplicate_keys_are_refused_although_the_library_accepts_them(refuse, header, body):
    refuse(stored(header, body), "duplicate key", by_the_library=False)


def test_a_hole_is_refused_before_between_and_after_tensors(refuse):
    refuse(stored({"a": entry("U8", [2], 1, 3)}, b"123"), "a hole")
    refuse(stored({"a": entry("U8", [1], 0, 1), "b": entry("U8", [1], 2, 3)}, b"123"), "a hole")
    refuse(stored({"a": entry("U8", [2], 0, 2)}, b"123"), "a hole")
    refuse(stored({}, b"1"), "a hole")


def test_an_overlap_is_refused_in_any_order(refuse):
    refuse(stored({"a": entry("U8", [2], 0, 2), "b": entry("U8", [2], 1, 3)}, b"123"), "an overlap")
    refuse(stored({"b": entry("U8", [2], 1, 3), "a": entry("U8", [2], 0, 2)}, b"123"), "an overlap")
    refuse(stored({"a": entry("U8", [2], 0, 2), "b": entry("U8", [2], 0, 2)}, b"12"), "an overlap")


def test_tensors_may_stand_in_the_header_in_any_order(read):
    header = read(
        stored({"b": entry("U8", [1], 2, 3), "e": entry("U8", [0], 2, 2), "a": entry("U8", [2], 0, 2)}, b"123")
    )
    assert list(header.tensors) == ["b", "e", "a"]


def test_bytes_outside_the_file_are_refused(refuse):
    refuse(stored({"a": entry("U8", [4], 0, 4)}, b"123"), "truncated: its tensors end at byte")
    refuse(stored({"a": entry("F64", [2**58], 0, 2**61)}), "truncated: its tensors end at byte")


@pytest.mark.parametrize(
    "shape,offsets",
    [
        ([-1], [0, 1]),
        ([True], [0, 1]),
        ([1.0], [0, 1]),
        ("1", [0, 1]),
        ([2**63], [0, 1]),
        ([10**300], [0, 1]),
        ([1], [1, 0]),
        ([1], [0]),
        ([1], [0, 1, 1]),
        ([1], [-1, 0]),
        ([1], None),
        ([2**40, 2**40, 2**40], [0, 0]),
    ],
)
def test_sizes_that_are_none_are_refused(refuse, shape, offsets):
    refuse(stored({"w": {"dtype": "U8", "shape": shape, "data_offsets": offsets}}, b"1"), "tensor 'w' must")


def test_values_that_fill_no_whole_bytes_are_refused(refuse):
    refuse(stored({"w": entry("F4", [3], 0, 1)}, b"1"), "must take whole bytes, got 12 bits")


def test_dimensions_are_bounded_so_that_their_product_is(refuse):
    refuse(stored({"w": entry("U8", [2**62] * 65, 0, 1)}, b"1"), "at most 64 integers")
    start = time.process_time()
    refuse(stored({"w": entry("U8", [2**62] * 200_000, 0, 1)}, b"1"), "at most 64 integers")
    assert time.process_time() - start < 5


@pytest.mark.parametrize("value", [1, [], {}, {"dtype": "U8", "shape": [0]}])
def test_an_entry_without_its_keys_is_refused(refuse, value):
    refuse(stored({"w": value}), "must have dtype, shape and data_offsets")


def test_an_entry_with_an_unknown_key_is_refused(refuse):
    refuse(stored({"w": entry("U8", [0], 0, 0) | {"x": 1}}), "and no more", by_the_library=False)


@pytest.mark.parametrize("value", [1, [], {"a": 1}, {"a": {}}])
def test_metadata_that_is_not_strings_is_refused(refuse, value):
    refuse(stored({"__metadata__": value}), "__metadata__ must hold strings by name")


@pytest.fixture(scope="module")
def damaged_path(tmp_path_factory):
    return tmp_path_factory.mktemp("damaged") / "model.safetensors"


@given(st.data())
@settings(max_examples=400, deadline=None)
def test_a_damaged_file_reads_or_is_refused_and_what_reads_the_library_reads_too(damaged_path, data):
    library = pytest.importorskip("safetensors")
    whole = bytearray(
        stored(
            {"__metadata__": {"format": "pt"}, "a": entry("F32", [2, 1], 0, 8), "b": entry("U8", [3], 8, 11)}, b"x" * 11
        )
    )
    for _ in range(data.draw(st.integers(0, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    damaged = bytes(whole[: data.draw(st.integers(len(whole) - 20, len(whole)) | st.integers(0, len(whole)))])
    damaged_path.write_bytes(damaged)
    try:
        tensors = read_header(damaged_path).tensors
    except InputError as error:
        tensors, message = None, str(error)
    else:
        message = ""
    assert "\n" not in message
    if tensors is not None:
        theirs = {name: (value["dtype"], tuple(value["shape"])) for name, value in library.deserialize(damaged)}
        assert {name: (tensor.dtype, tensor.shape) for name, tensor in tensors.items()} == theirs
