"""What the builder asks of a tokenizer."""

from collections.abc import Sequence
from typing import Protocol

ANCHOR = "a"


class Tokenizer(Protocol):
    """Text to token ids and back."""

    @property
    def bos(self) -> tuple[int, ...]:
        """The ids that begin every text of the model; () where it has none."""
        ...

    @property
    def specials(self) -> frozenset[int]:
        """The ids that no text of the user's may hold: control tokens, padding, and the unknown token."""
        ...

    @property
    def chat_template(self) -> str | None:
        """The model's own, in Jinja; None where none is known."""
        ...

    @property
    def sha256(self) -> str:
        """Of all that decides its ids, in hexadecimal."""
        ...

    def encode(self, text: str) -> list[int]:
        """The ids of a text, nothing added; the written form of a special token becomes that token, as on servers."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, special tokens written out."""
        ...


def continuation(tokenizer: Tokenizer, text: str) -> tuple[int, ...]:
    """The ids of a text that continues another, not of one that begins: some tokenizers put a space before all.

    >>> from ordinate.validate.tokenizers import ByteTokenizer
    >>> continuation(ByteTokenizer(), " b")
    (32, 98)
    """
    start = tokenizer.encode(ANCHOR)
    whole = tokenizer.encode(ANCHOR + text)
    # Where the anchor itself changes, `text` joins the word before it; whoever places it finds that at the seam.
    return tuple(whole[len(start) :])
