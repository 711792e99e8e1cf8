"""A GGUF file's copy: other keys and tensors, all else byte for byte, in files made without the writer under test."""

import struct
from pathlib import Path

import numpy as np
import pytest

from ordinate.errors import InputError
from ordinate.files import gguf_copy
from ordinate.files.gguf import read_gguf
from ordinate.files.gguf_copy import Change, copy_gguf
from ordinate.files.regular import read_range


@pytest.fixture
def source(gguf, tmp_path) -> Path:
    path = tmp_path / "source.gguf"
    path.write_bytes(gguf.small())
    return path


def test_a_copy_without_changes_is_the_file_itself(source, tmp_path):
    out = tmp_path / "copy.gguf"
    before = source.read_bytes()
    copy_gguf(read_gguf(source), out, Change({}))
    # The last tensor is padded to the alignment, as ggml does.
    assert out.read_bytes() == before + b"\0" * (-len(before) % 32)
    assert source.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.gguf", "source.gguf"]


def test_keys_and_tensors_are_changed_added_and_left_out(source, tmp_path):
    out = tmp_path / "copy.gguf"
    change = Change(
        {"llama.rope.freq_base": 5e5, "new.word": "yarn", "new.number": 7, "new.flag": True},
        frozenset({"a.tokens"}),
        {"rope_freqs.weight": np.array([8.0, 9.0], np.float32), "extra": np.ones((2, 3), np.float32)},
    )
    copy_gguf(read_gguf(source), out, change)
    old, new = read_gguf(source), read_gguf(out)
    assert list(new.metadata) == [*(k for k in old.metadata if k != "a.tokens"), "new.word", "new.number", "new.flag"]
    assert new.metadata["llama.rope.freq_base"] == 5e5
    assert [new.metadata[f"new.{word}"] for word in ("word", "number", "flag")] == ["yarn", 7, True]
    assert list(new.metadata["a.sections"]) == [16, 24, 24, 0]
    inner, words = new.metadata["a.nested"]
    assert (list(inner), words) == ([1, 2], ["deep"])
    assert list(new.tensors) == ["rope_freqs.weight", "w", "extra"]
    assert new.tensors["extra"].shape == (2, 3)
    w_old, w_new = (file.tensors["w"] for file in (old, new))
    assert (w_new.shape, w_new.type_name) == (w_old.shape, w_old.type_name)
    kept = [read_range(f.file, w.offset, w.offset + w.nbytes).tobytes() for f, w in ((old, w_old), (new, w_new))]
    assert kept[0] == kept[1] == bytes(range(36))
    factors = new.tensors["rope_freqs.weight"]
    assert struct.unpack("<2f", read_range(new.file, factors.offset, factors.offset + 8).tobytes()) == (8.0, 9.0)


def test_a_tensor_is_left_out_and_the_others_move_up(source, tmp_path):
    out = tmp_path / "copy.gguf"
    copy_gguf(read_gguf(source), out, Change({}, without_tensors=frozenset({"rope_freqs.weight"})))
    assert list(read_gguf(out).tensors) == ["w"]


def test_the_gguf_packages_own_reader_finds_the_same(source, tmp_path):
    package = pytest.importorskip("gguf")
    out = tmp_path / "copy.gguf"
    copy_gguf(read_gguf(source), out, Change({"general.architecture": "qwen2", "a.bool": False}))
    found = package.GGUFReader(out)
    assert found.fields["general.architecture"].contents() == "qwen2"
    assert found.fields["a.bool"].contents() is False
    assert found.fields["a.tokens"].contents() == ["a", "", "é"]
    tensors = {tensor.name: tensor for tensor in found.tensors}
    assert tensors["w"].data.tobytes() == bytes(range(36))
    assert tensors["rope_freqs.weight"].data.tolist() == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize("alignment", [8, 64, 4096])
def test_the_alignment_is_kept(gguf, tmp_path, alignment):
    path, out = tmp_path / "a.gguf", tmp_path / "b.gguf"
    data = b"\1\2\3\4" + b"\0" * (alignment - 4) + b"\5\6\7\x08"
    tensors = (gguf.tensor("x", (1,), 0, 0), gguf.tensor("y", (1,), 0, alignment))
    keys = (gguf.key("general.alignment", 4, alignment),)
    path.write_bytes(gguf.file(keys, tensors, data, alignment=alignment))
    copy_gguf(read_gguf(path), out, Change({"k": 1}, tensors={"z": np.ones(3, np.float32)}))
    copied = read_gguf(out)
    assert copied.alignment == alignment
    assert all(info.offset % alignment == 0 for info in copied.tensors.values())
    y = copied.tensors["y"]
    assert read_range(copied.file, y.offset, y.offset + 4).tobytes() == b"\5\6\7\x08"


def test_data_that_lies_in_another_order_than_the_names_is_put_in_order(gguf, tmp_path):
    path, out = tmp_path / "a.gguf", tmp_path / "b.gguf"
    tensors = (gguf.tensor("second", (1,), 0, 32), gguf.tensor("first", (1,), 0, 0))
    path.write_bytes(gguf.file((), tensors, b"aaaa" + b"\0" * 28 + b"bbbb"))
    copy_gguf(read_gguf(path), out, Change({}))
    copied = read_gguf(out)
    data = {n: read_range(copied.file, t.offset, t.offset + 4).tobytes() for n, t in copied.tensors.items()}
    assert data == {"second": b"bbbb", "first": b"aaaa"}
    assert copied.tensors["second"].offset < copied.tensors["first"].offset


def test_data_longer_than_a_step_goes_through_in_steps(gguf, tmp_path, monkeypatch):
    monkeypatch.setattr(gguf_copy, "STEP", 100)
    path, out = tmp_path / "a.gguf", tmp_path / "b.gguf"
    data = np.arange(1024, dtype="<f4").tobytes()
    path.write_bytes(gguf.file((), (gguf.tensor("x", (1024,), 0, 0),), data))
    copy_gguf(read_gguf(path), out, Change({}))
    x = read_gguf(out).tensors["x"]
    assert out.read_bytes()[x.offset : x.offset + x.nbytes] == data


def test_what_exists_is_never_overwritten(source, tmp_path):
    for out in (source, tmp_path):
        before = source.read_bytes()
        with pytest.raises(InputError, match="exists already"):
            copy_gguf(read_gguf(source), out, Change({}))
        assert source.read_bytes() == before


def test_a_file_that_appears_meanwhile_is_never_overwritten(source, tmp_path):
    out = tmp_path / "copy.gguf"

    def check(partial: Path) -> None:
        assert partial.exists()
        out.write_text("mine")

    with pytest.raises(InputError, match="exists already"):
        copy_gguf(read_gguf(source), out, Change({}), check)
    assert out.read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.gguf", "source.gguf"]


def test_a_copy_that_does_not_pass_its_check_is_dropped(source, tmp_path):
    def check(partial: Path) -> None:
        assert read_gguf(partial).tensors
        raise InputError("it does not say what it should")

    with pytest.raises(InputError, match="does not say"):
        copy_gguf(read_gguf(source), tmp_path / "copy.gguf", Change({}), check)
    assert [path.name for path in tmp_path.iterdir()] == ["source.gguf"]


def test_a_source_that_was_changed_meanwhile_is_refused(source, tmp_path):
    file = read_gguf(source)
    source.write_bytes(source.read_bytes() + b"\0")
    with pytest.raises(InputError, match="was changed"):
        copy_gguf(file, tmp_path / "copy.gguf", Change({}))


@pytest.mark.parametrize(
    "keys, message",
    [
        ({"a": 2**32}, "a must fit into 32 bits"),
        ({"a": -1}, "a must fit into 32 bits"),
        ({"a": 1e39}, "a must fit into float32"),
        ({"a": float("nan")}, "a must fit into float32"),
    ],
)
def test_a_value_that_the_format_cannot_hold_is_refused(source, tmp_path, keys, message):
    with pytest.raises(InputError, match=message):
        copy_gguf(read_gguf(source), tmp_path / "copy.gguf", Change(keys))
    assert [path.name for path in tmp_path.iterdir()] == ["source.gguf"]


def test_a_part_of_a_split_model_is_refused(gguf, tmp_path):
    path = tmp_path / "part.gguf"
    for count, refused in ((2, True), (1, False)):
        path.write_bytes(gguf.file((gguf.key("split.count", 2, count),)))
        if refused:
            with pytest.raises(InputError, match="one of 2 parts of a split model"):
                copy_gguf(read_gguf(path), tmp_path / "copy.gguf", Change({}))
        else:
            copy_gguf(read_gguf(path), tmp_path / "copy.gguf", Change({}))


def test_an_alignment_beyond_all_files_is_refused(gguf, tmp_path):
    path = tmp_path / "a.gguf"
    path.write_bytes(gguf.file((gguf.key("general.alignment", 10, 2**40),)))
    with pytest.raises(InputError, match="alignment must be at most"):
        copy_gguf(read_gguf(path), tmp_path / "copy.gguf", Change({}, tensors={"x": np.ones(1, np.float32)}))


def test_a_directory_that_does_not_exist_is_named(source, tmp_path):
    with pytest.raises(InputError, match="No such file or directory"):
        copy_gguf(read_gguf(source), tmp_path / "nowhere" / "copy.gguf", Change({}))
