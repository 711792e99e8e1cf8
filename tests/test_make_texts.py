"""The script that made the shipped texts reads R's serialisation and makes the same records again."""

import importlib.util
import json
import struct
from importlib.resources import files
from pathlib import Path

import pytest

from ordinate import texts

FOLDER = files("ordinate.texts") / "austen"


@pytest.fixture(scope="module")
def make_texts():
    path = Path(__file__).parents[1] / "tools" / "make_texts.py"
    specification = importlib.util.spec_from_file_location("make_texts", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def serialise(*items):
    """R's header for XDR version 3 (R 4.2.1, from R 3.5.0, UTF-8) and the items' words and strings."""
    header = b"X\n" + struct.pack(">iii", 3, 0x040201, 0x030500) + struct.pack(">i", 5) + b"UTF-8"
    return header + b"".join(i if isinstance(i, bytes) else struct.pack(">i", i) for i in items)


def test_the_script_reads_a_character_vector_of_r(make_texts):
    data = serialise(16, 3, 0x40009, 3, b"one", 0x40009, 0, 0x8009, 2, "£".encode())
    assert make_texts.Serialised(data).item() == ["one", "", "£"]


def test_the_script_refuses_a_missing_string_and_other_types(make_texts):
    with pytest.raises(ValueError, match="missing string"):
        make_texts.Serialised(serialise(16, 1, 9, -1)).item()
    with pytest.raises(ValueError, match="type 14"):
        make_texts.Serialised(serialise(14, 0)).item()


@pytest.mark.parametrize("name", texts.names())
def test_the_script_makes_the_shipped_record_from_the_shipped_lines(make_texts, name):
    shipped_text = texts.read(name)
    novel = next(n for n in make_texts.NOVELS if n.name == name)
    lines = shipped_text.text.removesuffix("\n").split("\n")
    after = ["", novel.cut, "", "Other words."] if novel.cut else []
    text, record = make_texts.compose(novel, lines + after)
    stored = next(r for r in json.loads((FOLDER / "provenance.json").read_bytes())["texts"] if r["name"] == name)
    assert text == shipped_text.text
    assert record == stored
