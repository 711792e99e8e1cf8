"""A tokenizer whose tokens are the bytes of UTF-8."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from ordinate.errors import InputError


@dataclass(frozen=True)
class ByteTokenizer:
    """id = byte + offset.

    Args:
        offset: how many special tokens have the first ids: 0, or 3 as in ByT5 (padding, end, unknown)

    Raises of `decode`:
        InputError: an id that is no byte: a special token has no written form here

    >>> ByteTokenizer(offset=3).encode("ab")
    [100, 101]
    """

    offset: int = 0
    chat_template: str | None = None

    bos = ()

    @property
    def specials(self) -> frozenset[int]:
        """The ids before the first byte."""
        return frozenset(range(self.offset))

    @property
    def sha256(self) -> str:
        """Of the rule in words."""
        return hashlib.sha256(f"UTF-8 bytes, offset {self.offset}".encode()).hexdigest()

    def encode(self, text: str) -> list[int]:
        """The bytes of a text."""
        if not self.offset:
            return list(text.encode())
        return [byte + self.offset for byte in text.encode()]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of bytes; a character that was cut becomes U+FFFD."""
        outside = [number for number in ids if not 0 <= number - self.offset < 256]
        if outside:
            last = self.offset + 255
            raise InputError(f"an id must be one of a byte's, {self.offset} to {last}, got {outside[0]}")
        return bytes(number - self.offset for number in ids).decode(errors="replace")
