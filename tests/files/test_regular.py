"""Opening and re-reading files."""

import os

import numpy as np
import pytest

from ordinate.errors import InputError
from ordinate.files.regular import identity, open_regular, read_range


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "ten"
    path.write_bytes(bytes(range(10)))
    with open_regular(path) as handle:
        return identity(handle, path)


def test_a_missing_file_is_named():
    with pytest.raises(InputError, match=r"no/such/file does not exist"):
        open_regular("no/such/file")


def test_a_directory_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be opened: Is a directory"):
        open_regular(tmp_path)


def test_a_path_with_a_zero_byte_is_refused():
    with pytest.raises(InputError, match="is not a path"):
        open_regular("a\0b")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the platform has no named pipes")
def test_a_pipe_is_refused_without_waiting_for_its_writer(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="must be a regular file"):
        open_regular(tmp_path / "pipe")


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="the platform has no /dev/zero")
def test_a_device_is_refused():
    with pytest.raises(InputError, match="must be a regular file"):
        open_regular("/dev/zero")


def test_a_range_is_read_exactly(file):
    np.testing.assert_array_equal(read_range(file, 3, 7), np.array([3, 4, 5, 6], np.uint8))
    assert read_range(file, 10, 10).size == 0


@pytest.mark.parametrize(("start", "end"), [(-1, 3), (5, 4), (0, 11), (11, 11)])
def test_a_range_outside_the_file_is_refused(file, start, end):
    with pytest.raises(InputError, match="outside the file"):
        read_range(file, start, end)


def test_a_file_changed_in_between_is_refused(file):
    os.utime(file.path, ns=(1, 1))
    with pytest.raises(InputError, match="was changed after its header was read"):
        read_range(file, 0, 1)


def test_a_file_replaced_in_between_is_refused(file):
    status = os.stat(file.path)
    other = file.path.with_name("other")
    other.write_bytes(bytes(10))
    os.utime(other, ns=(status.st_mtime_ns, status.st_mtime_ns))
    os.replace(other, file.path)
    with pytest.raises(InputError, match="was changed after its header was read"):
        read_range(file, 0, 1)
