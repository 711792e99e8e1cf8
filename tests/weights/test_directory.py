"""Directories that appear whole or not at all."""

import errno
import os

import pytest

from ordinate.errors import InputError
from ordinate.weights.directory import new_directory


def test_the_directory_has_its_name_only_once_it_is_complete(tmp_path):
    target = tmp_path / "deep" / "model"
    with new_directory(target) as partial:
        (partial / "a").write_text("1")
        assert not target.exists()
        assert partial.parent == target.parent
    assert (target / "a").read_text() == "1"
    assert os.listdir(target.parent) == ["model"]


@pytest.mark.parametrize("fault", [ValueError, KeyboardInterrupt])
def test_an_error_leaves_nothing_behind(tmp_path, fault):
    def make():
        with new_directory(tmp_path / "model") as partial:
            (partial / "a").write_text("1")
            raise fault

    with pytest.raises(fault):
        make()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("kind", ["file", "directory", "dangling link"])
def test_what_exists_is_never_overwritten(tmp_path, kind):
    target = tmp_path / "model"
    if kind == "file":
        target.write_text("mine")
    elif kind == "directory":
        target.mkdir()
    else:
        target.symlink_to(tmp_path / "nowhere")
    before = os.listdir(tmp_path)
    with pytest.raises(InputError, match="exists already"), new_directory(target):
        pass
    assert os.listdir(tmp_path) == before


def test_another_that_was_made_meanwhile_stays(tmp_path):
    target = tmp_path / "model"

    def make():
        with new_directory(target) as partial:
            (partial / "a").write_text("mine")
            target.mkdir()
            (target / "b").write_text("theirs")

    with pytest.raises(InputError, match="cannot be made"):
        make()
    assert os.listdir(target) == ["b"]
    assert os.listdir(tmp_path) == ["model"]


def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path):
    def make():
        with new_directory(tmp_path / "model") as partial:
            (partial / "a").write_text("1")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(InputError, match=r"cannot be made: .*No space left on device"):
        make()
    assert os.listdir(tmp_path) == []


def test_a_parent_that_is_a_file_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be made"), new_directory(tmp_path / "file" / "model"):
        pass
