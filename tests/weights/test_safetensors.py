"""Our writer of safetensors files against the format's own library."""

import numpy as np
import pytest
from safetensors.numpy import load_file

from ordinate.errors import InputError
from ordinate.files.safetensors import read_header
from ordinate.weights.safetensors import write_safetensors


def tensors(dtype="float32"):
    generator = np.random.default_rng(0)
    return {
        name: (100 * generator.normal(size=shape)).astype(dtype)
        for name, shape in (("scalar", ()), ("row", (3,)), ("none", (0, 4)), ("block", (2, 3, 5)), ("ä", (1, 1)))
    }


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int32", "uint8"])
def test_the_library_reads_what_is_written(tmp_path, dtype):
    values = tensors(dtype)
    shapes = {name: value.shape for name, value in values.items()}
    length = write_safetensors(tmp_path / "a", shapes, values.items(), dtype=dtype, metadata={"format": "pt"})
    found = load_file(tmp_path / "a")
    assert found.keys() == values.keys()
    for name, value in values.items():
        assert found[name].dtype == value.dtype
        assert np.array_equal(found[name], value)
    header = read_header(tmp_path / "a")
    assert header.metadata == {"format": "pt"}
    assert header.file.size == length == (tmp_path / "a").stat().st_size
    assert min(tensor.start for tensor in header.tensors.values()) % 8 == 0


def test_a_transposed_tensor_is_written_by_rows(tmp_path):
    value = np.arange(6, dtype=np.float32).reshape(2, 3).T
    write_safetensors(tmp_path / "a", {"x": (3, 2)}, [("x", value)])
    assert np.array_equal(load_file(tmp_path / "a")["x"], value)


def test_tensors_are_taken_one_by_one(tmp_path):
    alive = []

    def one_by_one():
        for name in "abc":
            # The file already has those before: nothing is gathered first.
            alive.append((tmp_path / "a").stat().st_size)
            yield name, np.zeros(2**20, np.float32)

    write_safetensors(tmp_path / "a", dict.fromkeys("abc", (2**20,)), one_by_one())
    assert alive[2] >= 2 * 2**22


@pytest.mark.parametrize(
    "arriving, message",
    [
        ([("b", np.zeros(2, np.float32))], "'a' of shape"),
        ([("a", np.zeros(3, np.float32))], "'a' of shape"),
        ([("a", np.zeros(2, np.float64))], "type float32 must come next"),
        ([], "'a' must come next, got no more"),
        ([("a", np.zeros(2, np.float32)), ("b", np.zeros(2, np.float32))], "no more tensor"),
    ],
)
def test_tensors_that_were_not_announced_are_refused(tmp_path, arriving, message):
    with pytest.raises(InputError, match=message):
        write_safetensors(tmp_path / "a", {"a": (2,)}, arriving)


def test_an_unknown_type_is_refused(tmp_path):
    with pytest.raises(InputError, match="dtype must be one of"):
        write_safetensors(tmp_path / "a", {}, [], dtype="complex64")
