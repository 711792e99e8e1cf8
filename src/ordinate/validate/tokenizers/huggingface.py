"""A tokenizer of Hugging Face's `tokenizers`: out of a model's folder, a `tokenizer.json`, or a GGUF file."""

import hashlib
import json
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from ordinate.errors import InputError
from ordinate.extras import need

_SAMPLE = "The weather was fine, and they walked."
LARGEST = 256 * 2**20  # byte, of a JSON file


class HuggingFaceTokenizer:
    """A tokenizer that `tokenizers` runs; truncation and padding, which some files ask for, are off.

    Args:
        content: of a `tokenizer.json`, as text
        chat_template: in Jinja; None where there is none
        bos_token: the token that begins a text by `tokenizer_config.json`; where None, what the file itself puts before
            every text

    Raises:
        Unavailable: `tokenizers` is not installed
        InputError: the content is no tokenizer, or has no token of this name
    """

    def __init__(self, content: str, *, chat_template: str | None = None, bos_token: str | None = None) -> None:
        need("transformers", "tokenizers")
        from tokenizers import Tokenizer

        try:
            tokenizer: Any = Tokenizer.from_str(content)
        except Exception as error:  # the library raises this very class, and none finer, for a fault of the content
            if type(error) is not Exception:
                raise
            raise InputError(f"tokenizer.json must hold a tokenizer: {str(error).splitlines()[0]}") from error
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self._content = content
        self.chat_template = chat_template
        added = tokenizer.get_added_tokens_decoder()
        unknown = getattr(tokenizer.model, "unk_token", None)
        special = {number for number, token in added.items() if token.special}
        if unknown is not None and tokenizer.token_to_id(unknown) is not None:
            special.add(tokenizer.token_to_id(unknown))
        self.specials: frozenset[int] = frozenset(special)
        self.bos: tuple[int, ...] = self._beginning(bos_token)

    @classmethod
    def read(cls, path: str | PathLike[str]) -> "HuggingFaceTokenizer":
        """Out of a folder with `tokenizer.json` (and `tokenizer_config.json`), the file itself, or a GGUF file.

        Raises:
            InputError: nothing of this kind is there, or it is damaged
            Unavailable: `tokenizers` is not installed
        """
        file = Path(path)
        if file.suffix == ".gguf":
            return cls._read_gguf(file)
        file = file / "tokenizer.json" if file.is_dir() else file
        content = _read_text(file)
        beside = file.with_name("tokenizer_config.json")
        settings = _read_settings(beside) if beside.is_file() else {}
        template = settings.get("chat_template")
        jinja = file.with_name("chat_template.jinja")
        if template is None and jinja.is_file():
            template = _read_text(jinja)
        if isinstance(template, list):  # several named templates
            template = next((entry.get("template") for entry in template if entry.get("name") == "default"), None)
        token = settings.get("bos_token") if settings.get("add_bos_token") else None
        token = token.get("content") if isinstance(token, dict) else token
        return cls(content, chat_template=template, bos_token=token)

    @classmethod
    def _read_gguf(cls, file: Path) -> "HuggingFaceTokenizer":
        from ordinate.files.gguf import read_gguf
        from ordinate.transformers.gguf_tokenizer import read_tokenizer

        metadata = read_gguf(file).metadata
        content = json.dumps(read_tokenizer(metadata, name=file.name))
        return cls(content, chat_template=metadata.get("tokenizer.chat_template"))

    @property
    def sha256(self) -> str:
        """Of what `tokenizer.json` says, however it is spaced, of the chat template, and of what begins a text."""
        said = json.dumps(json.loads(self._content), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(f"{said}\0{self.chat_template}\0{self.bos}".encode()).hexdigest()

    def encode(self, text: str) -> list[int]:
        """The ids of a text, nothing added; the written form of a special token becomes that token."""
        return self._tokenizer.encode(text, add_special_tokens=False).ids

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, special tokens written out."""
        return self._tokenizer.decode(list(ids), skip_special_tokens=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Made again from its content in another process."""
        return _remade, (self._content, self.chat_template, self.bos)

    def _beginning(self, token: str | None) -> tuple[int, ...]:
        if token is not None:
            number = self._tokenizer.token_to_id(token)
            if number is None:
                raise InputError(f"bos_token must be a token of the tokenizer, got {token!r}")
            return (number,)
        alone, with_specials = self.encode(_SAMPLE), self._tokenizer.encode(_SAMPLE).ids
        at = [i for i in range(len(with_specials)) if with_specials[i : i + len(alone)] == alone]
        if not alone or not at:
            raise InputError("the tokenizer must leave a text as it is when it adds special tokens, got other tokens")
        return tuple(with_specials[: at[0]])


def _remade(content: str, chat_template: str | None, bos: tuple[int, ...]) -> HuggingFaceTokenizer:
    tokenizer = HuggingFaceTokenizer(content, chat_template=chat_template)
    tokenizer.bos = bos
    return tokenizer


def _read_text(file: Path) -> str:
    try:
        if file.stat().st_size > LARGEST:
            raise InputError(f"{file} must have at most {LARGEST} bytes, got {file.stat().st_size}")
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the tokenizer's file {file} cannot be read: {error}") from error


def _read_settings(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(_read_text(file))
    except ValueError as error:
        raise InputError(f"{file} must be JSON: {error}") from error
    if not isinstance(content, dict):
        raise InputError(f"{file} must hold a JSON object, got {type(content).__name__}")
    return content
