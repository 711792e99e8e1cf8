"""A text file of the user's."""

from os import PathLike

from ordinate.errors import InputError
from ordinate.texts import read_file
from ordinate.validate.fillers._paragraphs import Paragraphs
from ordinate.validate.fillers._sentences import cut, paragraphs
from ordinate.validate.fillers._vocabulary import words
from ordinate.validate.instances import Instance


class File(Paragraphs):
    """The sentences of a UTF-8 file in their order; paragraphs are parted by empty lines.

    Sentences that hold a word of an instance's answer or choices are left out of that instance's text; give the file
    to `Words` too, so that no name is drawn that stands in it.

    Args:
        path: of the file

    Raises:
        InputError: no readable file, or one without sentences
    """

    name = "file"
    size = 4

    def __init__(self, path: str | PathLike[str]) -> None:
        self.text = read_file(path)
        if not self.paragraphs:
            raise InputError(f"text file {self.text.provenance.source} must hold paragraphs of sentences, got none")

    def read_paragraphs(self) -> list[str]:
        """Those that hold a sentence."""
        return [paragraph for paragraph in paragraphs(self.text.text) if cut(paragraph)]

    @property
    def identity(self) -> str:
        """The name and the text's sha256."""
        return f"file:{self.text.sha256}"

    def forbidden(self, instance: Instance) -> frozenset[str]:
        """The words of the answer and the choices, those of three letters and fewer left out."""
        return frozenset(
            word for text in (*instance.answer, *instance.choices) for word in words(text) if len(word) > 3
        )
