"""A text and where it comes from."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a text comes from, under which licence, and what was done to it.

    Args:
        source: the package and data set, or the path, that the text was read from.
        licence: what allows its use, in words; "not stated" for a user's own file.
        gutenberg: the Project Gutenberg number, where there is one.
        changes: what was changed on the way from the source.
        kept: what is not the author's and was left in.
    """

    source: str
    licence: str
    gutenberg: int | None = None
    changes: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Text:
    """A text, its title and its origin; `body` is its prose alone.

    Args:
        name: the word that `ordinate.texts.read` knows it by, or a file's name without its suffix.
        title: the title.
        author: the author; None where it is not known.
        year: the year of first publication; None where it is not known.
        text: the whole text.
        sha256: of `text` in UTF-8, in hexadecimal.
        provenance: where it comes from.
        span: [start, end) of the prose in `text`, in characters.
    """

    name: str
    title: str
    author: str | None
    year: int | None
    text: str = field(repr=False)
    sha256: str
    provenance: Provenance
    span: tuple[int, int]

    @property
    def body(self) -> str:
        """The prose, from the first word of the first chapter to the end of the last, without title page and "Finis".

        Headings of the chapters after the first stand in it. A user's own file is all body.
        """
        start, end = self.span
        return self.text[start:end]
