"""Files written anew: whatever the size of rows, each byte is read once, and little is in memory."""

import json
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordinate.errors import InputError
from ordinate.files.safetensors import read_header
from ordinate.weights import rewriting
from ordinate.weights.cuts import Turning
from ordinate.weights.rewriting import rewrite
from ordinate.weights.safetensors import encode_header


def write(path, tensors):
    header, place = {}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": "U8", "shape": list(tensor.shape), "data_offsets": [place, place + tensor.size]}
        place += tensor.size
    path.write_bytes(encode_header(header) + b"".join(tensor.tobytes() for tensor in tensors.values()))
    return read_header(path)


def read(path):
    header = read_header(path)
    data = path.read_bytes()
    return {
        name: np.frombuffer(data[tensor.start : tensor.end], np.uint8).reshape(tensor.shape)
        for name, tensor in header.tensors.items()
    }


@given(
    heads=st.integers(1, 5),
    pairs=st.integers(1, 4),
    gap=st.integers(0, 3),
    row=st.integers(1, 9),
    block=st.integers(1, 40),
    most=st.integers(1, 80),
)
def test_any_size_of_blocks_gives_the_same_rows(tmp_path_factory, heads, pairs, gap, row, block, most):
    directory = tmp_path_factory.mktemp("rewriting")
    width = 2 * pairs
    head = width + gap
    turning = Turning(heads * head, np.arange(heads) * head + gap, width)
    values = np.random.default_rng(0).integers(0, 256, (turning.rows, row)).astype(np.uint8)
    others = {"a": values[:1] + 1, "q": values, "z": values + 1}
    header = write(directory / "a", others)
    expected = values.copy()
    for start in turning.starts:
        expected[start : start + width] = np.concatenate(
            [values[start : start + width : 2], values[start + 1 : start + width : 2]]
        )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rewriting, "_BLOCK_BYTES", block)
        patch.setattr(rewriting, "_MOST_BYTES", most)
        told = []
        length = rewrite(header, directory / "b", {"q": turning}, "half", {}, told.append)
        rewrite(read_header(directory / "b"), directory / "c", {"q": turning}, "interleaved", {})
    found = read(directory / "b")
    assert np.array_equal(found["q"], expected)
    assert np.array_equal(found["a"], others["a"])
    assert np.array_equal(found["z"], others["z"])
    assert length == (directory / "b").stat().st_size
    assert sum(told) == sum(tensor.size for tensor in others.values())
    assert np.array_equal(read(directory / "c")["q"], values)


def test_no_more_than_some_blocks_are_in_memory(tmp_path):
    values = np.arange(64 * 2**20, dtype=np.uint32).view(np.uint8)[: 64 * 2**20].reshape(64, 2**20)
    header = write(tmp_path / "a", {"x": values, "q": values})
    # A head of 64 MiB cannot be held: its rows come one by one.
    tracemalloc.start()
    rewrite(header, tmp_path / "b", {"q": Turning(64, np.array([0]), 64)}, "half", {})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * 2**20
    assert np.array_equal(read(tmp_path / "b")["q"], np.concatenate([values[::2], values[1::2]]))


def test_each_byte_is_read_once(tmp_path, monkeypatch):
    values = np.random.default_rng(0).integers(0, 256, (48, 1000)).astype(np.uint8)
    header = write(tmp_path / "a", {"x": values, "q": values, "y": values})
    count = np.zeros(header.file.size, int)
    plain = rewriting._Source.fill

    def counted(self, start, into):
        count[start : start + len(into)] += 1
        plain(self, start, into)

    monkeypatch.setattr(rewriting._Source, "fill", counted)
    monkeypatch.setattr(rewriting, "_BLOCK_BYTES", 5000)
    rewrite(header, tmp_path / "b", {"q": Turning(48, np.arange(6) * 8, 8)}, "half", {})
    begin = min(tensor.start for tensor in header.tensors.values())
    assert set(count[begin:].tolist()) == {1}
    assert set(count[:begin].tolist()) == {0}


def test_a_file_that_changed_since_its_header_was_read_is_refused(tmp_path):
    header = write(tmp_path / "a", {"x": np.zeros((4, 4), np.uint8)})
    (tmp_path / "a").write_bytes((tmp_path / "a").read_bytes() + b"more")
    with pytest.raises(InputError, match="was changed after its header was read"):
        rewrite(header, tmp_path / "b", {}, "half", {})


def test_a_file_without_tensors_is_written(tmp_path):
    header = write(tmp_path / "a", {})
    rewrite(header, tmp_path / "b", {}, "half", {"format": "pt"})
    assert read_header(tmp_path / "b").metadata == {"format": "pt"}


def test_the_order_of_the_header_is_kept_though_bytes_lie_otherwise(tmp_path):
    entries = {
        "z": {"dtype": "U8", "shape": [2], "data_offsets": [3, 5]},
        "a": {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]},
        "none": {"dtype": "U8", "shape": [0, 7], "data_offsets": [5, 5]},
    }
    text = json.dumps(entries).encode()
    (tmp_path / "a").write_bytes(len(text).to_bytes(8, "little") + text + b"abcde")
    rewrite(read_header(tmp_path / "a"), tmp_path / "b", {}, "half", {"format": "pt"})
    header = read_header(tmp_path / "b")
    assert list(header.tensors) == ["z", "a", "none"]
    assert {n: v.tobytes() for n, v in read(tmp_path / "b").items()} == {"z": b"de", "a": b"abc", "none": b""}
    assert min(tensor.start for tensor in header.tensors.values()) % 8 == 0
