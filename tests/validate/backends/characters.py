"""The fake server's tokenizer: a character is a token."""

import hashlib
from collections.abc import Sequence

import fake_language_model


class CharacterTokenizer:
    bos: tuple[int, ...] = ()
    specials: frozenset[int] = frozenset()
    chat_template: str | None = None
    sha256 = hashlib.sha256(fake_language_model.ALPHABET.encode()).hexdigest()

    def encode(self, text: str) -> list[int]:
        return fake_language_model.encode(text)

    def decode(self, ids: Sequence[int]) -> str:
        return fake_language_model.decode(list(ids))
