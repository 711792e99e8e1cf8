"""Make the data of `ordinate.texts`: Jane Austen's six novels, out of Debian's package r-cran-janeaustenr.

    apt-get download r-cran-janeaustenr
    python tools/make_texts.py r-cran-janeaustenr_1.0.0-1_all.deb src/ordinate/texts/austen
    python tools/make_texts.py --check r-cran-janeaustenr_1.0.0-1_all.deb src/ordinate/texts/austen

The first call writes `<novel>.txt.bz2` (UTF-8, one line an element of the package's character vector, each ended by
a newline) and `provenance.json`. The second writes nothing and exits 1 where a file there differs from what it would
write: the same .deb and libbz2 give the same bytes. bzip2 and not xz, because at its highest level it is 13 % smaller
on these texts (1.05 MB in all against 1.22 MB).

The novels are in the public domain. The R package's licence, MIT, is for its code and documentation, none of which is
copied; its documentation names the Project Gutenberg number of each novel, and no Project Gutenberg header, licence or
trademark stands in the text. One passage is left out, the "Note on the text" after the end of Northanger Abbey: it is a
paperback editor's of the twentieth century, not Austen's. Needs the standard library alone, and no R.
"""

import argparse
import bz2
import hashlib
import io
import json
import re
import struct
import sys
import tarfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple


class Novel(NamedTuple):
    """What the package's documentation says of a novel, and the words its prose starts and ends with."""

    name: str
    data_set: str
    title: str
    year: int
    gutenberg: int
    first: str
    last: str
    cut: str = ""  # the line from which on the text is left out
    changes: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()  # what is not Austen's and was left in, to leave the lines whole


NOVELS = (
    Novel("emma", "emma", "Emma", 1815, 158, "Emma Woodhouse, handsome,", "perfect happiness of the union."),
    Novel(
        "mansfield_park",
        "mansfieldpark",
        "Mansfield Park",
        1814,
        141,
        "About thirty years ago Miss Maria Ward,",
        "patronage of Mansfield Park had long\nbeen.",
        kept=("after chapter XXIV, four lines in brackets: the end of volume one and its printer",),
    ),
    Novel(
        "northanger_abbey",
        "northangerabbey",
        "Northanger Abbey",
        1818,
        121,
        "No one who had ever seen Catherine Morland",
        "reward filial disobedience.",
        cut="A NOTE ON THE TEXT",
        changes=(
            "'A NOTE ON THE TEXT', a modern editor's paragraph after the end, left out with the blank lines before",
        ),
    ),
    Novel(
        "persuasion",
        "persuasion",
        "Persuasion",
        1818,
        105,
        "Sir Walter Elliot, of Kellynch Hall,",
        "than in its\nnational importance.",
    ),
    Novel(
        "pride_and_prejudice",
        "prideprejudice",
        "Pride and Prejudice",
        1813,
        1342,
        "It is a truth universally acknowledged,",
        "had been the means of uniting them.",
    ),
    Novel(
        "sense_and_sensibility",
        "sensesensibility",
        "Sense and Sensibility",
        1811,
        161,
        "The family of Dashwood",
        "or producing coolness between their husbands.",
        kept=("two lines in brackets, where volumes I and II of the first and second editions end",),
    ),
)
LICENCE = (
    "Public domain: published from 1811 to 1818 by an author who died in 1817. The MIT licence of the R package is for "
    "its code and documentation, of which nothing is copied here. No Project Gutenberg header, licence or trademark "
    "stands in the text."
)


def unpack_deb(deb: bytes) -> dict[str, bytes]:
    """The regular files of a Debian package by path, those of its control archive under `control/`.

    A .deb is an `ar` archive: members of a 60-byte header (size in bytes 48 to 58) and data padded to even length.
    """
    if not deb.startswith(b"!<arch>\n"):
        raise SystemExit("not a Debian package: it does not start with '!<arch>'")
    found = {}
    at = 8
    while at + 60 <= len(deb):
        name, size = deb[at : at + 16].decode().strip(" /"), int(deb[at + 48 : at + 58])
        member = deb[at + 60 : at + 60 + size]
        at += 60 + size + size % 2
        if not name.startswith(("control.tar", "data.tar")):
            continue
        folder = "control/" if name.startswith("control") else ""
        with tarfile.open(fileobj=io.BytesIO(member)) as archive:
            for entry in archive:
                if entry.isfile():
                    found[folder + entry.name.removeprefix("./")] = archive.extractfile(entry).read()  # type: ignore
    return found


class Serialised:
    """A reader of R's serialisation, format XDR version 3, for the few types an index and a text are made of.

    Source: R Internals, section 1.8, Serialization Formats. An item is a flags word (type in the low 8 bits, 0x200 has
    attributes, 0x400 has a tag) and its content; attributes follow a vector and come before a pair.
    """

    def __init__(self, data: bytes):
        if data[:2] != b"X\n" or struct.unpack_from(">i", data, 2)[0] != 3:
            raise ValueError("not R's XDR serialisation, version 3")
        self.data = data
        self.at = 18 + struct.unpack_from(">i", data, 14)[0]  # the writer's native encoding, named by its length
        self.symbols: list[str] = []

    def integer(self) -> int:
        self.at += 4
        return struct.unpack_from(">i", self.data, self.at - 4)[0]

    def item(self) -> Any:
        """The next item: vectors as lists, a vector with names as a dict, pairs as (tag, value) lists."""
        flags = self.integer()
        kind, has_attributes, has_tag = flags & 0xFF, bool(flags & 0x200), bool(flags & 0x400)
        if kind == 254:  # NULL
            return []
        if kind == 255:  # a symbol seen before
            return self.symbols[(flags >> 8) - 1]
        if kind == 1:  # a symbol
            self.symbols.append(self.item())
            return self.symbols[-1]
        if kind == 9:  # a string; length -1 is R's NA, which no text here may hold
            length = self.integer()
            if length < 0:
                raise ValueError("a missing string (NA)")
            self.at += length
            return self.data[self.at - length : self.at].decode("utf-8")
        if kind == 2:  # a pair
            if has_attributes:
                raise ValueError("a pair with attributes")
            return [(self.item() if has_tag else None, self.item()), *self.item()]
        if kind in (10, 13):  # logical, integer
            values = [self.integer() for _ in range(self.integer())]
        elif kind in (16, 19):  # strings, list
            values = [self.item() for _ in range(self.integer())]
        else:
            raise ValueError(f"an item of type {kind}")
        names = dict(self.item()).get("names") if has_attributes else None
        return values if names is None else dict(zip(names, values, strict=True))


def read_data_sets(index: bytes, database: bytes) -> dict[str, list[str]]:
    """The character vectors of an R lazy-load database: `.rdx` says where each lies in `.rdb`, as size and zlib."""
    found = {}
    for name, (offset, length) in Serialised(zlib.decompress(index, wbits=47)).item()["variables"].items():
        data = zlib.decompress(database[offset + 4 : offset + length])
        if len(data) != int.from_bytes(database[offset : offset + 4], "big"):
            raise ValueError(f"{name} has another length than the database says")
        found[name] = Serialised(data).item()
    return found


def find_once(text: str, words: str) -> int:
    """Where `words` stand in `text`; they must stand there exactly once."""
    if text.count(words) != 1:
        raise ValueError(f"{words!r} stands {text.count(words)} times in the text, expected once")
    return text.index(words)


def compose(novel: Novel, lines: list[str]) -> tuple[str, dict[str, Any]]:
    """The text of a novel and its record in provenance.json."""
    if novel.cut:
        lines = lines[: lines.index(novel.cut)]
        while not lines[-1]:
            lines = lines[:-1]
    text = "".join(line + "\n" for line in lines)
    data = text.encode("utf-8")
    record = {
        "name": novel.name,
        "title": novel.title,
        "author": "Jane Austen",
        "year": novel.year,
        "gutenberg": novel.gutenberg,
        "data_set": novel.data_set,
        "sha256": hashlib.sha256(data).hexdigest(),
        "bytes": len(data),
        "characters": len(text),
        "lines": len(lines),
        "body": [find_once(text, novel.first), find_once(text, novel.last) + len(novel.last)],
        "changes": ["a newline after each element of the character vector", *novel.changes],
        "kept": list(novel.kept),
    }
    return text, record


def make(deb: bytes) -> dict[str, bytes]:
    """Every file of the folder, by name."""
    files = unpack_deb(deb)
    control = dict(re.findall(r"(?m)^(\S+): (.*)$", files["control/control"].decode()))
    upstream = dict(re.findall(r"(?m)^(\S+): (.*)$", files["usr/lib/R/site-library/janeaustenr/DESCRIPTION"].decode()))
    at = "usr/lib/R/site-library/janeaustenr/data/Rdata"
    sets = read_data_sets(files[at + ".rdx"], files[at + ".rdb"])
    made, records = {}, []
    for novel in NOVELS:
        text, record = compose(novel, sets[novel.data_set])
        made[f"{novel.name}.txt.bz2"] = bz2.compress(text.encode("utf-8"), 9)
        records.append(record)
    provenance = {
        "collection": "Jane Austen's six completed novels",
        "source": f"Debian package {control['Package']} {control['Version']}",
        "source_sha256": hashlib.sha256(deb).hexdigest(),
        "upstream": f"R package {upstream['Package']} {upstream['Version']} by Julia Silge; texts of Project Gutenberg",
        "licence": LICENCE,
        "made_by": "tools/make_texts.py",
        "texts": records,
    }
    made["provenance.json"] = (json.dumps(provenance, indent=2, ensure_ascii=False) + "\n").encode("utf-8")
    return made


def main() -> int:
    """Write the folder, or with --check compare it."""
    parser = argparse.ArgumentParser(description="Make the texts that ordinate ships.")
    parser.add_argument("deb", type=Path, help="r-cran-janeaustenr_<version>_all.deb")
    parser.add_argument("folder", type=Path, help="src/ordinate/texts/austen")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a file differs")
    arguments = parser.parse_args()
    differing = 0
    for name, data in make(arguments.deb.read_bytes()).items():
        path = arguments.folder / name
        if not arguments.check:
            path.write_bytes(data)
        elif not path.is_file() or path.read_bytes() != data:
            differing += 1
            print(f"{path} differs")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
