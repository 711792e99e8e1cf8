"""The shipped novels are whole, say where they come from, and a damaged one is refused."""

import bz2
import hashlib
import json
import re
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from ordinate import texts
from ordinate.errors import InputError, Unavailable
from ordinate.texts import local, shipped

# Name: title, year of publication, Project Gutenberg number, chapters, first and last words of the prose. From the
# printed novels, with the line breaks of the shipped text taken for spaces.
NOVELS = {
    "emma": (
        "Emma",
        1815,
        158,
        55,
        "Emma Woodhouse, handsome, clever, and rich, with a comfortable home and happy disposition, seemed to unite "
        "some of the best blessings of existence;",
        "the small band of true friends who witnessed the ceremony, were fully answered in the perfect happiness of "
        "the union.",
    ),
    "mansfield_park": (
        "Mansfield Park",
        1814,
        141,
        48,
        "About thirty years ago Miss Maria Ward, of Huntingdon, with only seven thousand pounds, had the good luck to "
        "captivate Sir Thomas Bertram,",
        "as everything else within the view and patronage of Mansfield Park had long been.",
    ),
    "northanger_abbey": (
        "Northanger Abbey",
        1818,
        121,
        31,
        "No one who had ever seen Catherine Morland in her infancy would have supposed her born to be an heroine.",
        "whether the tendency of this work be altogether to recommend parental tyranny, or reward filial disobedience.",
    ),
    "persuasion": (
        "Persuasion",
        1818,
        105,
        24,
        "Sir Walter Elliot, of Kellynch Hall, in Somersetshire, was a man who, for his own amusement, never took up "
        "any book but the Baronetage;",
        "more distinguished in its domestic virtues than in its national importance.",
    ),
    "pride_and_prejudice": (
        "Pride and Prejudice",
        1813,
        1342,
        61,
        "It is a truth universally acknowledged, that a single man in possession of a good fortune, must be in want of "
        "a wife.",
        "who, by bringing her into Derbyshire, had been the means of uniting them.",
    ),
    "sense_and_sensibility": (
        "Sense and Sensibility",
        1811,
        161,
        50,
        "The family of Dashwood had long been settled in Sussex. Their estate was large, and their residence was at "
        "Norland Park,",
        "they could live without disagreement between themselves, or producing coolness between their husbands.",
    ),
}
HEADING = re.compile(r"(?im)^chapter ([0-9]+|[ivxl]+)\.?$")
FOLDER = files("ordinate.texts") / "austen"


def unwrap(text):
    return re.sub(r"\s+", " ", text)


@pytest.fixture
def copy(tmp_path):
    shutil.copytree(Path(str(FOLDER)), tmp_path / "austen")
    return tmp_path


def test_the_six_novels_are_named_in_alphabetical_order():
    assert texts.names() == list(NOVELS)


@pytest.mark.parametrize("name", NOVELS)
def test_a_novel_has_its_title_year_and_gutenberg_number(name):
    text = texts.read(name)
    assert (text.name, text.author) == (name, "Jane Austen")
    assert (text.title, text.year, text.provenance.gutenberg) == NOVELS[name][:3]
    assert text.text.split("\n", 1)[0].casefold() == text.title.casefold()


@pytest.mark.parametrize("name", NOVELS)
def test_a_body_runs_from_the_first_sentence_to_the_last(name):
    body = unwrap(texts.read(name).body)
    assert body.startswith(NOVELS[name][4])
    assert body.endswith(NOVELS[name][5])


@pytest.mark.parametrize("name", NOVELS)
def test_a_novel_has_all_its_chapters_and_its_body_all_headings_but_the_first(name):
    text = texts.read(name)
    assert len(HEADING.findall(text.text)) == NOVELS[name][3]
    assert len(HEADING.findall(text.body)) == NOVELS[name][3] - 1


@pytest.mark.parametrize("name", NOVELS)
def test_sha256_and_counts_are_those_of_the_packed_file(name):
    data = bz2.decompress((FOLDER / f"{name}.txt.bz2").read_bytes())
    record = next(r for r in json.loads((FOLDER / "provenance.json").read_bytes())["texts"] if r["name"] == name)
    text = texts.read(name)
    assert text.text.encode("utf-8") == data
    assert text.sha256 == record["sha256"] == hashlib.sha256(data).hexdigest()
    assert record["bytes"] == len(data)
    assert record["characters"] == len(text.text)
    assert record["lines"] == data.count(b"\n")
    assert text.text.endswith("\n")
    assert max(map(len, text.text.split("\n"))) <= 76


def test_the_novels_are_the_4_million_characters_of_the_source_and_pack_below_1500000_bytes():
    # 4,025,028 characters come out of the R package; the editor's note left out is 433 of them.
    assert sum(len(texts.read(name).text) for name in texts.names()) == 4_025_028 - 433
    assert sum(len(file.read_bytes()) for file in FOLDER.iterdir()) < 1_500_000


def test_no_word_of_project_gutenberg_or_of_the_modern_editor_stands_in_a_text():
    for name in texts.names():
        assert not re.search(r"(?i)gutenberg|\be-?text|signet|copyright", texts.read(name).text)


@pytest.mark.parametrize("name", NOVELS)
def test_provenance_tells_the_source_and_the_public_domain(name):
    provenance = texts.read(name).provenance
    assert "r-cran-janeaustenr 1.0.0-1" in provenance.source
    assert provenance.licence.startswith("Public domain")
    assert ("NOTE ON THE TEXT" in " ".join(provenance.changes)) == (name == "northanger_abbey")


def test_a_text_is_frozen_and_its_repr_is_short():
    text = texts.read("persuasion")
    with pytest.raises(AttributeError):
        text.title = "another"
    assert len(repr(text)) < 2000


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(
        InputError, match=r"unknown text 'emmma'; did you mean 'emma'\? \(choices: emma, mansfield_park"
    ):
        texts.read("emmma")


def test_a_name_is_no_path():
    with pytest.raises(InputError, match="unknown text"):
        texts.read("../austen/emma")


def flip_a_bit(packed):
    return packed[:5000] + bytes([packed[5000] ^ 1]) + packed[5001:]


def change_a_word(packed):
    return bz2.compress(bz2.decompress(packed).replace(b"Anne", b"Anna"))


PACKED = (FOLDER / "persuasion.txt.bz2").read_bytes()


@pytest.mark.parametrize(
    "damaged, message",
    [
        (PACKED[:-1000], r"must hold 466854 bytes, got \d+$"),
        (b"", "must hold 466854 bytes, got 0$"),
        (b"no bzip2 stream", "Invalid data stream$"),
        (flip_a_bit(PACKED), ""),  # what the decompressor makes of it is its own affair
        (change_a_word(PACKED), "its sha256 must be 8061549557aebd2f.*, got"),
        (bz2.compress(bytes(10_000_000)), "must hold 466854 bytes, got more$"),
    ],
    ids=["cut short", "empty", "other format", "bit flipped", "other words", "bomb"],
)
def test_a_damaged_file_is_refused(copy, damaged, message):
    (copy / "austen" / "persuasion.txt.bz2").write_bytes(damaged)
    with pytest.raises(Unavailable, match=f"'persuasion' is damaged, reinstall ordinate: .*{message}"):
        shipped.read_from(copy, "persuasion")
    assert shipped.read_from(copy, "emma").title == "Emma"


def test_an_absent_file_is_named(copy):
    (copy / "austen" / "emma.txt.bz2").unlink()
    with pytest.raises(Unavailable, match=r"'emma' is not installed: .*emma\.txt\.bz2 is absent"):
        shipped.read_from(copy, "emma")


@pytest.mark.parametrize("content", [b"{", b'{"texts": []}', b"\xff", b'{"\xff": 1}', b'{"collection": "\xff"}'])
def test_a_damaged_provenance_is_refused(copy, content):
    (copy / "austen" / "provenance.json").write_bytes(content)
    with pytest.raises(Unavailable, match=r"provenance\.json is damaged"):
        shipped.read_from(copy, "emma")


def test_an_own_file_is_read_as_it_stands(tmp_path):
    file = tmp_path / "notes.txt"
    content = "première ligne\r\n\r\n  second\tline\n"
    file.write_bytes(content.encode("utf-8"))
    text = texts.read_file(file)
    assert text.text == text.body == content
    assert (text.name, text.title, text.author, text.year) == ("notes", "notes.txt", None, None)
    assert text.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    assert text.provenance == texts.Provenance(source=str(file), licence="not stated")
    assert texts.read_file(str(file)) == text


def test_a_byte_order_mark_is_dropped_and_this_is_recorded(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_bytes(b"\xef\xbb\xbfabc")
    assert texts.read_file(file).text == "abc"
    assert texts.read_file(file).provenance.changes == ("a byte-order mark dropped",)


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "must hold text, got nothing"),
        (b"\xef\xbb\xbf", "must hold text, got nothing"),
        (b" \n\t\r\n", "must hold text, got white space only"),
        (b"abc\xe9def", "must be UTF-8: invalid continuation byte at byte 3"),
        ("abc".encode("utf-16"), "must be UTF-8: invalid start byte at byte 0"),
    ],
)
def test_an_own_file_that_is_no_text_is_refused(tmp_path, content, message):
    file = tmp_path / "notes.txt"
    file.write_bytes(content)
    with pytest.raises(InputError, match=message):
        texts.read_file(file)


def test_an_absent_file_or_a_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"absent\.txt must be a regular file, got nothing"):
        texts.read_file(tmp_path / "absent.txt")
    with pytest.raises(InputError, match="must be a regular file, got another kind"):
        texts.read_file(tmp_path)
    with pytest.raises(InputError, match="cannot be read: File name too long"):
        texts.read_file(tmp_path / ("a" * 300))


def test_an_own_file_may_have_64_mebibytes_and_no_byte_more(tmp_path, monkeypatch):
    assert local.LARGEST == 67_108_864
    monkeypatch.setattr(local, "LARGEST", 5)
    file = tmp_path / "notes.txt"
    file.write_bytes(b"abcde")
    assert texts.read_file(file).text == "abcde"
    file.write_bytes(b"abcdef")
    with pytest.raises(InputError, match="must have at most 5 bytes, got more"):
        texts.read_file(file)


def test_reading_a_text_imports_neither_torch_nor_transformers():
    code = "import sys, ordinate.texts as t; t.read('emma'); print({'torch', 'transformers'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
