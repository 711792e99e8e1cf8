"""Dequantisation, bit for bit against the gguf package and by hand."""

import struct

import numpy as np
import pytest

from ordinate.errors import InputError
from ordinate.files.dequantise import dequantise, read_tensor
from ordinate.files.gguf import read_gguf
from ordinate.files.tensor_types import TYPES

SUPPORTED = ["F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q6_K"]
BY_NAME = {tensor_type.name: tensor_type for tensor_type in TYPES.values()}


def by_the_package(raw: np.ndarray, type_name: str, shape: tuple[int, ...]) -> np.ndarray:
    package = pytest.importorskip("gguf")
    rows = raw.reshape(*shape[:-1], -1)
    with np.errstate(all="ignore"):
        return package.quants.dequantize(rows, package.GGMLQuantizationType[type_name])


def same_bits(actual: np.ndarray, expected: np.ndarray) -> None:
    """Equal in every bit, signs of zeros included; where one is NaN both are."""
    assert (actual.dtype, actual.shape) == (np.float32, expected.shape)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(~np.isnan(actual), numbers)
    np.testing.assert_array_equal(actual.view(np.uint32)[numbers], expected.view(np.uint32)[numbers])


@pytest.mark.parametrize("type_name", SUPPORTED)
@pytest.mark.parametrize("seed", range(20))
def test_any_bytes_give_what_the_gguf_package_gives(type_name, seed):
    tensor_type = BY_NAME[type_name]
    generator = np.random.default_rng(seed)
    shape = (*generator.integers(1, 6, size=seed % 3), int(generator.integers(1, 9)) * tensor_type.values)
    raw = generator.integers(0, 256, int(np.prod(shape)) // tensor_type.values * tensor_type.nbytes, np.uint8)
    before = raw.copy()
    same_bits(dequantise(raw, type_name, shape), by_the_package(raw, type_name, shape))
    np.testing.assert_array_equal(raw, before)


@pytest.mark.parametrize("type_name", SUPPORTED)
@pytest.mark.parametrize("values", [2**16 - 256, 2**16, 2**16 + 256, 3 * 2**16 + 512])
def test_tensors_longer_than_one_step_are_whole(type_name, values):
    tensor_type = BY_NAME[type_name]
    raw = np.random.default_rng(values).integers(0, 256, values // tensor_type.values * tensor_type.nbytes, np.uint8)
    same_bits(dequantise(raw, type_name, (values,)), by_the_package(raw, type_name, (values,)))


@pytest.mark.parametrize("type_name", SUPPORTED)
def test_every_second_byte_of_a_buffer_is_read_as_well(type_name):
    tensor_type = BY_NAME[type_name]
    buffer = np.random.default_rng(3).integers(0, 256, 4 * tensor_type.nbytes, np.uint8)
    shape = (2, tensor_type.values)
    same_bits(dequantise(buffer[::2], type_name, shape), by_the_package(buffer[::2].copy(), type_name, shape))


@pytest.mark.parametrize("type_name", ["F32", "F16", "BF16"])
def test_the_result_is_no_view_of_the_bytes(type_name):
    raw = np.zeros(BY_NAME[type_name].nbytes * 4, np.uint8)
    dequantise(raw, type_name, (4,))[:] = 1
    assert not raw.any()


def test_a_q4_0_block_by_hand():
    # d = 0.5; byte i holds value i in its low half and value i + 16 in its high half.
    raw = np.frombuffer(struct.pack("<e", 0.5) + bytes(i | (15 - i) << 4 for i in range(16)), np.uint8)
    expected = [0.5 * (i - 8) for i in range(16)] + [0.5 * (7 - i) for i in range(16)]
    np.testing.assert_array_equal(dequantise(raw, "Q4_0", (32,)), np.array(expected, np.float32))


def test_a_q5_1_block_by_hand():
    # d = 2, m = -1; the fifth bits are set for values 0 and 31 only.
    raw = np.frombuffer(struct.pack("<eeI", 2.0, -1.0, 1 << 31 | 1) + b"\x21" * 16, np.uint8)
    expected = [2 * 17 - 1] + [2 * 1 - 1] * 15 + [2 * 2 - 1] * 15 + [2 * 18 - 1]
    np.testing.assert_array_equal(dequantise(raw, "Q5_1", (32,)), np.array(expected, np.float32))


def test_a_tensor_without_values_has_none():
    assert dequantise(np.empty(0, np.uint8), "Q4_0", (0, 32)).shape == (0, 32)


def test_an_unsupported_type_is_named_with_those_that_are():
    with pytest.raises(InputError, match=r"'IQ2_XXS' is not supported, those that are: F32, F16, BF16, Q4_0, .*Q6_K"):
        dequantise(np.empty(66, np.uint8), "IQ2_XXS", (256,))


@pytest.mark.parametrize("size", [0, 17, 19, 36])
def test_bytes_that_do_not_fit_the_shape_are_refused(size):
    with pytest.raises(InputError, match=f"must have 18 bytes .* got {size}"):
        dequantise(np.zeros(size, np.uint8), "Q4_0", (32,))


@pytest.mark.parametrize("raw", [np.zeros(18, np.int8), b"\0" * 18, [0] * 18])
def test_what_is_not_an_array_of_bytes_is_refused(raw):
    with pytest.raises(InputError, match="raw must be a NumPy array of uint8"):
        dequantise(raw, "Q4_0", (32,))


@pytest.mark.parametrize("shape", [(-1, -32), (32.0,), (True, 32)])
def test_a_shape_that_is_none_is_refused(shape):
    with pytest.raises(InputError, match="shape must hold integers >= 0"):
        dequantise(np.zeros(18, np.uint8), "Q4_0", shape)


def test_rows_are_whole_blocks():
    with pytest.raises(InputError, match="multiple of 32 values, got 16"):
        dequantise(np.zeros(18, np.uint8), "Q4_0", (2, 16))


@pytest.fixture
def small(tmp_path, gguf):
    tensors = (gguf.tensor("a", (2,), 0, 0), gguf.tensor("b", (256,), 16, 32))
    (tmp_path / "model.gguf").write_bytes(gguf.file((), tensors, struct.pack("<2f", 3.0, -4.0) + b"\0" * 90))
    return read_gguf(tmp_path / "model.gguf")


def test_a_tensor_is_read_by_its_name(small):
    np.testing.assert_array_equal(read_tensor(small, "a"), np.array([3, -4], np.float32))


def test_a_tensor_that_is_not_there_is_named(small):
    with pytest.raises(InputError, match=r"model\.gguf has no tensor 'c'"):
        read_tensor(small, "c")


def test_a_tensor_of_an_unsupported_type_is_named_with_its_file(small):
    with pytest.raises(InputError, match=r"model\.gguf: tensor 'b' is stored as IQ2_XXS, which is not supported"):
        read_tensor(small, "b")


def test_a_tensor_of_a_file_changed_since_is_refused(small):
    small.path.write_bytes(small.path.read_bytes() + b"\0")
    with pytest.raises(InputError, match="was changed after its header was read"):
        read_tensor(small, "a")


def test_every_tensor_of_the_real_model_is_what_the_gguf_package_gives(smollm2_path, smollm2_by_the_package):
    quants = pytest.importorskip("gguf.quants")
    file = read_gguf(smollm2_path)
    assert len(smollm2_by_the_package.tensors) == len(file.tensors) == 272
    for tensor in smollm2_by_the_package.tensors:
        actual, expected = read_tensor(file, tensor.name), quants.dequantize(tensor.data, tensor.tensor_type)
        assert np.array_equal(actual.view(np.uint32), expected.view(np.uint32)), tensor.name
