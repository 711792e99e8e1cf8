"""Readers by name: what is written wrongly is answered with how it is written."""

import pytest

from ordinate.errors import InputError
from ordinate.validate.readers.naming import NAMED, named


@pytest.mark.parametrize("text", ["oracle", "window=3000", "noisy=0.9", "suffix", "suffix=300", "retrieval_only"])
def test_a_reader_is_made_of_its_name_and_number(text):
    assert named(text).name == text.partition("=")[0]


@pytest.mark.parametrize(
    "text, said",
    [
        ("window", "must be written as window=3000, tokens that it sees; got 'window'"),
        ("window=", "must be written as window=3000"),
        ("window=wide", "must be written as window=3000"),
        ("noisy", "must be written as noisy=0.9, the share that it answers rightly; got 'noisy'"),
        ("oracle=3", "must be written as oracle; got 'oracle=3'"),
        ("lost_in_the_middle=2", "must be written as lost_in_the_middle; got"),
        ("suffix=x", "must be written as suffix, or suffix=3000"),
        ("", "the backend 'simulated' needs a reader, as in simulated:oracle"),
        ("orcale", "unknown reader 'orcale'"),
    ],
)
def test_a_reader_that_is_written_wrongly_is_told_how_it_is_written(text, said):
    with pytest.raises(InputError) as error:
        named(text)
    assert said in str(error.value)
    assert "lambda" not in str(error.value)
    assert "__init__" not in str(error.value)


@pytest.mark.parametrize("name", NAMED)
def test_every_reader_can_be_made_as_its_own_example_says(name):
    written = NAMED[name].written.split(",")[0]
    assert written.partition("=")[0] == name
    assert named(written).name == name
