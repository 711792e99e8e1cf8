"""The GGUF header reader, on files written byte by byte, by the gguf package, and on a real model."""

import math
import struct
import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ordinate.errors import InputError, finite
from ordinate.files.dequantise import read_tensor
from ordinate.files.gguf import GgufFile, read_gguf
from ordinate.files.gguf_values import GgufArray
from ordinate.files.tensor_types import TYPES


@pytest.fixture
def read(tmp_path):
    """Write bytes to a file and read it."""

    def read(data: bytes) -> GgufFile:
        path = tmp_path / "model.gguf"
        path.write_bytes(data)
        return read_gguf(path)

    return read


@pytest.fixture
def refuse(read):
    """Read bytes, which must be refused in one line that names the file."""

    def refuse(data: bytes, reason: str) -> None:
        with pytest.raises(InputError, match=reason) as caught:
            read(data)
        assert "model.gguf" in str(caught.value)
        assert "\n" not in str(caught.value)

    return refuse


def load_everything(file: GgufFile) -> None:
    for value in file.metadata.values():
        if isinstance(value, GgufArray):
            assert len(list(value)) == len(value)
    for name, info in file.tensors.items():
        assert read_tensor(file, name).shape == info.shape


def test_a_small_file_is_read_with_every_kind_of_value(read, gguf):
    file = read(gguf.small())
    arrays = {key: value for key, value in file.metadata.items() if isinstance(value, GgufArray)}
    assert {key: value for key, value in file.metadata.items() if key not in arrays} == {
        "general.architecture": "llama",
        "general.alignment": 32,
        "llama.rope.freq_base": 100000.0,
        "a.bool": True,
        "a.double": -0.5,
        "a.long": -7,
    }
    assert file.metadata["a.bool"] is True
    assert list(arrays["a.sections"]) == [16, 24, 24, 0]
    assert arrays["a.sections"].load().dtype == np.int32
    assert arrays["a.tokens"].load() == ["a", "", "é"]
    assert [list(inner) for inner in arrays["a.nested"].load()] == [[1, 2], ["deep"]]
    assert [len(array) for array in arrays.values()] == [4, 3, 2]
    assert (file.version, file.alignment, file.path.name) == (3, 32, "model.gguf")
    assert list(file.tensors) == ["rope_freqs.weight", "w"]
    assert file.tensors["w"].shape == (2, 32)
    assert (file.tensors["w"].type_name, file.tensors["w"].nbytes) == ("Q4_0", 36)
    assert file.tensors["w"].offset == file.file.size - 36
    np.testing.assert_array_equal(read_tensor(file, "rope_freqs.weight"), [1, 2, 3, 4])


def test_version_2_is_read_like_version_3(read, gguf):
    data = gguf.small()
    assert read(data[:4] + struct.pack("<I", 2) + data[8:]).tensors == read(data).tensors


@pytest.mark.parametrize(
    "kind,value",
    [(0, 200), (1, -3), (2, 60000), (3, -300), (4, 2**31), (5, -(2**31)), (7, 0), (10, 2**64 - 1), (11, -(2**63))],
)
def test_every_integer_type_is_read_exactly(read, gguf, kind, value):
    file = read(gguf.file((gguf.key("k", kind, value),)))
    assert file.metadata["k"] == value


@pytest.mark.parametrize("kind", [6, 12])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_rope_base_that_is_not_finite_reads_as_a_float_and_is_refused_by_its_reader(read, gguf, kind, value):
    base = read(gguf.file((gguf.key("llama.rope.freq_base", kind, value),))).metadata["llama.rope.freq_base"]
    assert isinstance(base, float)
    with pytest.raises(InputError, match=r"freq_base must be a finite number"):
        finite("freq_base", base)


def test_a_113_byte_file_with_an_array_of_a_tebibyte_is_refused_at_once(read, refuse, gguf):
    # Magic, version, counts: 24 bytes; key: 8 + 65; type 4; element type and length 12.
    data = gguf.file((gguf.key("k" * 65, 9, gguf.array(0, 2**40)),))
    assert len(data) == 113
    refuse(data, "an array of 1099511627776 elements of type uint8, at byte 113 takes 1099511627776 bytes")
    tracemalloc.start()
    start = time.process_time()
    with pytest.raises(InputError):
        read(data)
    duration, (_, peak) = time.process_time() - start, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert duration < 0.05
    assert peak < 100_000


@pytest.mark.parametrize("kind", [*range(13)])
@pytest.mark.parametrize("count", [2**24, 2**32 + 1, 2**61, 2**63, 2**64 - 1])
def test_an_array_longer_than_the_file_is_refused_whatever_its_elements(refuse, gguf, kind, count):
    refuse(gguf.file((gguf.key("k", 9, gguf.array(kind, count, b"\0" * 64)),)), f"an array of {count} elements")


def test_an_inner_array_longer_than_the_file_is_refused(refuse, gguf):
    inner = gguf.array(4, 2, struct.pack("<II", 1, 2)) + gguf.array(4, 3, struct.pack("<II", 1, 2))
    refuse(gguf.file((gguf.key("k", 9, gguf.array(9, 2, inner)),)), "an array of 3 elements of type uint32")


def test_arrays_nest_four_levels_and_no_deeper(read, refuse, gguf):
    def nested(levels: int) -> bytes:
        data = gguf.array(0, 1, b"\x07")
        for _ in range(levels - 1):
            data = gguf.array(9, 1, data)
        return gguf.file((gguf.key("k", 9, data),))

    assert [i.tolist() for ((i,),) in read(nested(4)).metadata["k"]] == [[7]]
    refuse(nested(5), "nests arrays deeper than 4 levels")
    refuse(nested(10_000), "nests arrays deeper than 4 levels")


def test_strings_and_inner_arrays_are_bounded_in_number_over_the_whole_file(read, refuse, gguf):
    def strings(first: int, second: int) -> bytes:
        inner = gguf.array(8, second, bytes(8 * second))
        return gguf.file(
            (gguf.key("a", 9, gguf.array(8, first, bytes(8 * first))), gguf.key("b", 9, gguf.array(9, 1, inner)))
        )

    assert len(read(strings(2**22 - 3, 2)).metadata["a"]) == 2**22 - 3
    refuse(strings(2**22 - 3, 3), "more than 4194304 strings and inner arrays")
    refuse(strings(2**22 + 1, 0), "more than 4194304 strings and inner arrays")


def test_names_are_read_to_65535_bytes(read, refuse, gguf):
    assert list(read(gguf.file((gguf.key("k" * 65535, 4, 1),))).metadata) == ["k" * 65535]
    refuse(gguf.file((gguf.key("k" * 65536, 4, 1),)), "key number 0 declares 65536 bytes, at most 65535")
    assert list(read(gguf.file((), (gguf.tensor("t" * 65535, (1,), 0, 0),), bytes(4))).tensors) == ["t" * 65535]
    refuse(gguf.file((), (gguf.tensor("t" * 65536, (1,), 0, 0),), bytes(4)), "declares 65536 bytes, at most 65535")


@pytest.mark.parametrize(
    "kind,layout", [(0, "B"), (1, "b"), (2, "H"), (3, "h"), (4, "I"), (5, "i"), (10, "Q"), (11, "q")]
)
def test_an_array_that_ends_with_the_file_is_read(read, refuse, gguf, kind, layout):
    largest = 2 ** (8 * struct.calcsize(layout) - layout.islower()) - 1
    data = gguf.file((gguf.key("k", 9, gguf.array(kind, 3, struct.pack(f"<3{layout}", 0, 1, largest))),))
    assert list(read(data).metadata["k"]) == [0, 1, largest]
    refuse(data[:-1], "an array of 3 elements")


@pytest.mark.parametrize("kind,layout", [(6, "f"), (12, "d")])
def test_an_array_of_floats_that_ends_with_the_file_is_read(read, refuse, gguf, kind, layout):
    data = gguf.file((gguf.key("k", 9, gguf.array(kind, 2, struct.pack(f"<2{layout}", 0.5, math.inf))),))
    assert list(read(data).metadata["k"]) == [0.5, math.inf]
    refuse(data[:-1], "an array of 2 elements")


@pytest.mark.parametrize("kind", range(13))
def test_an_empty_array_of_any_type_has_no_elements(read, gguf, kind):
    array = read(gguf.file((gguf.key("k", 9, gguf.array(kind, 0)),))).metadata["k"]
    assert (len(array), list(array), len(array.load())) == (0, [], 0)


def test_strings_that_end_with_the_file_are_read(read, refuse, gguf):
    data = gguf.file((gguf.key("k", 9, gguf.array(8, 3, gguf.string("ab") + gguf.string("") + gguf.string(""))),))
    assert list(read(data).metadata["k"]) == ["ab", "", ""]
    refuse(data[:-1], "truncated or not sound")
    data = gguf.file((gguf.key("k", 9, gguf.array(8, 2, gguf.string("") + gguf.string("ab"))),))
    assert list(read(data).metadata["k"]) == ["", "ab"]
    refuse(data[:-1], "a string in key 'k' at byte 65 takes 2 bytes, and the file holds 1 more")


def test_a_header_ends_within_256_mebibytes_and_tensors_may_lie_beyond(tmp_path, gguf):
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf.file((gguf.key("k", 9, gguf.array(0, 2**28)),)))
    with open(path, "r+b") as handle:
        handle.truncate(2**28 + 100)  # a hole in the file, which takes no room on the disk
    with pytest.raises(InputError, match="the header may hold 268435407 more"):
        read_gguf(path)

    path.write_bytes(gguf.file((), (gguf.tensor("w", (2,), 0, 2**28),)))
    with open(path, "r+b") as handle:
        handle.truncate(size := 64 + 2**28 + 8)
    assert read_gguf(path).tensors["w"].offset + 8 == size
    np.testing.assert_array_equal(read_tensor(read_gguf(path), "w"), [0, 0])


@pytest.mark.parametrize("length", [60, 2**32, 2**63, 2**64 - 1])
def test_a_string_longer_than_the_file_is_refused_wherever_it_stands(refuse, gguf, length):
    wrong = struct.pack("<Q", length) + b"12345678"
    beyond = "takes 60 bytes|declares"
    refuse(gguf.file((wrong + b"\0" * 5,)), beyond)
    refuse(gguf.file((gguf.key("k", 8, wrong),)), beyond)
    refuse(gguf.file((gguf.key("k", 9, gguf.array(8, 2, gguf.string("ok") + wrong)),)), beyond)
    refuse(gguf.file((), (wrong + b"\0" * 16,)), beyond)


def test_strings_that_are_not_utf8_are_refused(read, refuse, gguf):
    refuse(gguf.file((gguf.key(b"\xff", 4, 1),)), "key number 0 must be UTF-8")
    refuse(gguf.file((gguf.key("name", 8, gguf.string(b"ab\xff")),)), "key 'name' must be UTF-8, and its byte 2 is not")
    array = read(gguf.file((gguf.key("tokens", 9, gguf.array(8, 1, gguf.string(b"\xc3"))),))).metadata["tokens"]
    with pytest.raises(InputError, match="a string in key 'tokens' must be UTF-8"):
        array.load()


def test_a_name_with_line_breaks_is_reported_in_one_line(refuse, gguf):
    refuse(gguf.file((gguf.key("a\nb", 13, b""),)), r"key 'a\\nb' has the unknown value type 13")


def test_duplicate_names_are_refused(refuse, gguf):
    refuse(gguf.file((gguf.key("a", 4, 1), gguf.key("a", 4, 1))), "duplicate key 'a'")
    twice = (gguf.tensor("w", (1,), 0, 0), gguf.tensor("w", (1,), 0, 32))
    refuse(gguf.file((), twice, b"\0" * 64), "duplicate tensor 'w'")


def test_unknown_types_are_refused(refuse, gguf):
    refuse(gguf.file((gguf.key("k", 13, b""),)), "unknown value type 13")
    refuse(gguf.file((gguf.key("k", 9, gguf.array(14, 0)),)), "unknown value type 14")
    for number in (4, 5, 31, 36, 99, 2**32 - 1):
        refuse(gguf.file((), (gguf.tensor("w", (32,), number, 0),), b"\0" * 64), f"unknown tensor type {number}")


def test_a_bool_is_0_or_1(read, refuse, gguf):
    refuse(gguf.file((gguf.key("k", 7, 2),)), "key 'k' must be 0 or 1 as a bool, got 2")
    array = read(gguf.file((gguf.key("k", 9, gguf.array(7, 3, b"\0\1\1")),))).metadata["k"]
    assert list(array) == [False, True, True]
    array = read(gguf.file((gguf.key("k", 9, gguf.array(7, 3, b"\0\1\2")),))).metadata["k"]
    with pytest.raises(InputError, match="must hold 0 or 1 as bools, got 2"):
        array.load()


def test_what_is_no_little_endian_gguf_of_version_2_or_3_is_refused(refuse, gguf):
    refuse(b"", "is empty")
    refuse(gguf.file(magic=b"GGML"), "must begin with b'GGUF', got b'GGML'")
    refuse(b"GG", "must begin with b'GGUF', got b'GG'")
    refuse(gguf.file(version=struct.unpack(">I", b"\3\0\0\0")[0]), "big-endian")
    for version in (0, 1, 4, 2**32 - 1):
        refuse(gguf.file(version=version), f"must be GGUF version 2 or 3, got {version}")


@pytest.mark.parametrize("count", [2**16 + 1, 2**40, 2**64 - 1])
def test_the_number_of_keys_is_bounded(refuse, gguf, count):
    refuse(gguf.file(key_count=count), f"declares {count} keys, at most 65536")


@pytest.mark.parametrize("count", [2**17 + 1, 2**40, 2**64 - 1])
def test_the_number_of_tensors_is_bounded(refuse, gguf, count):
    refuse(gguf.file(tensor_count=count), f"declares {count} tensors, at most 131072")


def test_counts_are_checked_against_the_file(refuse, gguf):
    refuse(gguf.file(key_count=2**16), "the table of 65536 keys at byte 24 takes")
    refuse(gguf.file(tensor_count=2), "the table of 2 tensors")


@pytest.mark.parametrize("alignment", [0, 3, 24, 2**32 - 1])
def test_an_alignment_that_is_no_power_of_two_is_refused(refuse, gguf, alignment):
    refuse(gguf.file((gguf.key("general.alignment", 4, alignment),)), "general.alignment must be a power of two")


@pytest.mark.parametrize("kind,value", [(8, None), (6, 32.0), (7, 1), (5, -32)])
def test_an_alignment_that_is_no_integer_is_refused(refuse, gguf, kind, value):
    value = gguf.string("32") if value is None else value
    refuse(gguf.file((gguf.key("general.alignment", kind, value),)), "general.alignment must be a power of two")


@pytest.mark.parametrize("alignment", [1, 8, 64, 4096])
def test_tensors_begin_at_multiples_of_the_alignment_that_the_file_declares(read, refuse, gguf, alignment):
    keys = (gguf.key("general.alignment", 4, alignment),)
    one = struct.pack("<f", 1.5)
    place = max(alignment, 4)
    tensors = (gguf.tensor("a", (1,), 0, 0), gguf.tensor("b", (1,), 0, place))
    file = read(gguf.file(keys, tensors, one + b"\0" * (place - 4) + one, alignment=alignment))
    assert file.tensors["a"].offset % alignment == 0
    assert [float(read_tensor(file, name)[0]) for name in ("a", "b")] == [1.5, 1.5]
    if alignment > 1:
        tensors = (gguf.tensor("a", (1,), 0, alignment // 2),)
        refuse(gguf.file(keys, tensors, b"\0" * 8192, alignment=alignment), f"at a multiple of {alignment} bytes")


def test_tensors_over_each_other_are_refused_in_any_order(read, refuse, gguf):
    def pair(first: int, second: int) -> bytes:
        return gguf.file((), (gguf.tensor("a", (9,), 0, first), gguf.tensor("b", (9,), 0, second)), b"\0" * 256)

    assert len(read(pair(0, 64)).tensors) == 2
    assert len(read(pair(64, 0)).tensors) == 2
    for first, second in ((0, 32), (32, 0), (0, 0)):
        refuse(pair(first, second), "lie over each other")


@pytest.mark.parametrize("offset", [64, 2**32, 2**63, 2**64 - 32])
def test_a_tensor_outside_the_file_is_refused(refuse, gguf, offset):
    refuse(gguf.file((), (gguf.tensor("w", (8,), 0, offset),), b"\0" * 64), "tensor 'w' lies at bytes")


@pytest.mark.parametrize("dimensions", [(17,), (2**62, 4), (2**63, 2), (2**32, 2**32), (2**64 - 1,) * 4])
def test_a_tensor_larger_than_the_file_is_refused_without_overflow(refuse, gguf, dimensions):
    refuse(gguf.file((), (gguf.tensor("w", dimensions, 0, 0),), b"\0" * 64), "tensor 'w' lies at bytes")


def test_a_tensor_that_ends_with_the_file_is_read(read, refuse, gguf):
    data = gguf.file((), (gguf.tensor("w", (16,), 0, 0),), b"\0" * 64)
    assert read(data).tensors["w"].nbytes == 64
    refuse(data[:-1], "truncated or not sound")


def test_shapes_have_at_most_four_dimensions_and_values_in_each(read, refuse, gguf):
    file = read(gguf.file((), (gguf.tensor("w", (4, 3, 2, 1), 0, 0), gguf.tensor("s", (), 0, 96)), b"\0" * 100))
    assert (file.tensors["w"].shape, file.tensors["s"].shape) == ((1, 2, 3, 4), ())
    refuse(gguf.file((), (gguf.tensor("w", (1,) * 5, 0, 0),), b"\0" * 64), "declares 5 dimensions")
    refuse(gguf.file((), (gguf.tensor("w", (4, 0), 0, 0),), b"\0" * 64), r"has no values, its shape is \(0, 4\)")


@pytest.mark.parametrize("dimensions", [(16, 2), (33,), ()])
def test_rows_are_whole_blocks(refuse, gguf, dimensions):
    refuse(gguf.file((), (gguf.tensor("w", dimensions, 2, 0),), b"\0" * 64), "multiple of 32 values")


def test_block_sizes_are_those_of_the_format():
    constants = pytest.importorskip("gguf.constants")
    expected = {t.value: (t.name, *constants.GGML_QUANT_SIZES[t]) for t in constants.GGMLQuantizationType}
    assert {number: (t.name, t.values, t.nbytes) for number, t in TYPES.items()} == expected


def test_a_small_file_truncated_at_any_byte_is_refused(refuse, gguf):
    data = gguf.small()
    for length in range(len(data)):
        refuse(data[:length], "is empty|must begin with|truncated or not sound")


def check_damaged(path, data: bytes) -> None:
    """A damaged file reads, in little time and memory, or raises InputError with one line; nothing else."""
    path.write_bytes(data)
    tracemalloc.start()
    start = time.process_time()
    message = ""
    try:
        load_everything(read_gguf(path))
    except InputError as error:
        message = str(error)
    finally:
        duration, (_, peak) = time.process_time() - start, tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert "\n" not in message
    assert len(message) < 500
    assert duration < 1
    assert peak < 2_000_000


@pytest.fixture(scope="module")
def damaged_path(tmp_path_factory):
    return tmp_path_factory.mktemp("damaged") / "model.gguf"


@given(st.data())
@settings(max_examples=400, deadline=None)
def test_a_file_with_bytes_changed_reads_or_is_refused(damaged_path, gguf, data):
    damaged = bytearray(gguf.small())
    for _ in range(data.draw(st.integers(1, 6))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    check_damaged(damaged_path, bytes(damaged))


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_a_file_with_parts_cut_out_or_put_in_reads_or_is_refused(damaged_path, gguf, data):
    whole = gguf.small()
    first, second = sorted(data.draw(st.lists(st.integers(0, len(whole)), min_size=2, max_size=2)))
    check_damaged(damaged_path, whole[:first] + data.draw(st.binary(max_size=24)) + whole[second:])


def test_a_file_with_any_one_byte_turned_round_reads_or_is_refused(damaged_path, gguf):
    whole = gguf.small()
    for place in range(len(whole)):
        check_damaged(damaged_path, whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])


def test_what_the_gguf_package_writes_is_read(tmp_path):
    package = pytest.importorskip("gguf")
    path = tmp_path / "model.gguf"
    writer = package.GGUFWriter(path, "llama")
    writer.add_custom_alignment(64)
    writer.add_rope_freq_base(500000.0)
    writer.add_token_list(["a", "é", "<|end|>"])
    writer.add_token_scores([0.5, -1.0, 2.0])
    writer.add_bool("a.bool", False)
    writer.add_uint64("a.uint64", 2**63)
    generator = np.random.default_rng(1)
    values = {f"w{i}": generator.standard_normal((3, 5 - i, 64)).astype(np.float32) for i in range(3)}
    kinds = dict(zip(values, (package.GGMLQuantizationType[n] for n in ("F32", "Q8_0", "Q5_1")), strict=True))
    for name, value in values.items():
        writer.add_tensor(name, package.quants.quantize(value, kinds[name]), raw_dtype=kinds[name])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()

    file = read_gguf(path)
    assert file.alignment == 64
    assert file.metadata["llama.rope.freq_base"] == 500000.0
    assert file.metadata["tokenizer.ggml.tokens"].load() == ["a", "é", "<|end|>"]
    assert list(file.metadata["tokenizer.ggml.scores"]) == [0.5, -1.0, 2.0]
    assert file.metadata["a.bool"] is False
    assert file.metadata["a.uint64"] == 2**63
    for name, value in values.items():
        stored = package.quants.dequantize(package.quants.quantize(value, kinds[name]), kinds[name])
        np.testing.assert_array_equal(read_tensor(file, name), stored)


def test_the_real_model_reads_as_the_gguf_package_reads_it(smollm2_path, smollm2_by_the_package):
    file = read_gguf(smollm2_path)
    fields = {key: field for key, field in smollm2_by_the_package.fields.items() if not key.startswith("GGUF.")}
    assert list(file.metadata) == list(fields)
    for key, field in fields.items():
        value = file.metadata[key]
        assert (list(value) if isinstance(value, GgufArray) else value) == field.contents()
    assert {
        t.name: (tuple(t.shape[::-1]), t.tensor_type.name, t.data_offset, t.n_bytes)
        for t in smollm2_by_the_package.tensors
    } == {t.name: (t.shape, t.type_name, t.offset, t.nbytes) for t in file.tensors.values()}


def test_the_real_model_is_read_within_what_describing_it_may_take(smollm2_path):
    start = time.process_time()
    file = read_gguf(smollm2_path)
    assert time.process_time() - start < 0.3
    assert file.metadata["llama.rope.freq_base"] == 100000.0
    assert len(file.metadata["tokenizer.ggml.tokens"]) == 49152
