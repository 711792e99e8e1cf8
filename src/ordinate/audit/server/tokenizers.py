"""What turns text into token ids: a tokenizer on this machine, or the server's own."""

import json
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from ordinate.audit.server.client import Client
from ordinate.errors import InputError
from ordinate.validate.tokenizers import HuggingFaceTokenizer

_SAMPLE = "The weather was fine, and they walked."


class Tokenizer(ABC):
    """Text to ids and back; `source` says whose, `independent` whether it is not the server itself that counts."""

    source: str
    independent: bool
    prefix: tuple[int, ...] = ()
    """Special tokens that it puts before a text."""

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """The ids of a text, without special tokens."""

    @abstractmethod
    def decode(self, ids: list[int]) -> str:
        """The text of ids."""


class LocalTokenizer(Tokenizer):
    """The tokenizer of a Hugging Face directory, a tokenizer.json, a GGUF file or a named model.

    Args:
        source: where it is

    Raises:
        InputError: there is none, or it cannot be read
        Unavailable: the package `tokenizers` is not installed
    """

    independent = True

    def __init__(self, source: str | Path) -> None:
        content = _content(source)
        try:
            self._tokenizer = HuggingFaceTokenizer(content)
        except InputError as error:
            raise InputError(f"{source}: its tokenizer cannot be read: {error}") from error
        self.source, self.prefix = str(source), self._tokenizer.bos

    def encode(self, text: str) -> list[int]:
        return self._tokenizer.encode(text)

    def decode(self, ids: list[int]) -> str:
        return self._tokenizer.decode(ids)


class ServerTokenizer(Tokenizer):
    """The server's own `/tokenize` and `/detokenize`, as llama.cpp and vLLM offer them beside the API.

    Args:
        client: of the server
        model: its name there
    """

    independent = False
    source = "the server's /tokenize"

    def __init__(self, client: Client, model: str) -> None:
        self._client, self._model = client, model
        plain, whole = self.encode(_SAMPLE), self._ids(_SAMPLE, special=True)
        if len(whole) > len(plain) and whole[len(whole) - len(plain) :] == plain:
            self.prefix = tuple(whole[: len(whole) - len(plain)])
        if self.decode(plain) != _SAMPLE:
            raise InputError("the server's /detokenize does not give back what /tokenize was given")

    def encode(self, text: str) -> list[int]:
        return self._ids(text, special=False)

    def _ids(self, text: str, *, special: bool) -> list[int]:
        # llama.cpp reads the first three names, vLLM the others.
        body = {"content": text, "add_special": special, "parse_special": False}
        body |= {"model": self._model, "prompt": text, "add_special_tokens": special}
        found = self._answer("/tokenize", body, "tokens")
        if not isinstance(found, list) or not all(isinstance(number, int) for number in found):
            raise InputError("the server's /tokenize does not answer with a list of ids")
        return found

    def decode(self, ids: list[int]) -> str:
        found = self._answer("/detokenize", {"tokens": ids, "model": self._model}, "content", "prompt")
        if not isinstance(found, str):
            raise InputError("the server's /detokenize does not answer with text")
        return found

    def _answer(self, path: str, body: dict[str, Any], *names: str) -> Any:
        answer = self._client.post(path, body, base=self._client.root)
        if answer.status != 200 or not isinstance(answer.data, dict):
            raise InputError(f"the server offers no {path}: {answer.status}")
        return next((answer.data[name] for name in names if name in answer.data), None)


def _content(source: str | Path) -> str:
    """The text of a tokenizer.json."""
    from ordinate import models

    path = Path(source)
    if isinstance(source, str) and not path.exists() and source in models.names():
        path = models.find(source).path
    if path.is_dir() and (path / "tokenizer.json").is_file():
        path = path / "tokenizer.json"
    if path.suffix == ".json" and path.is_file():
        return path.read_text(encoding="utf-8")
    if path.is_dir() or path.suffix != ".gguf":
        raise InputError(f"{source} must be a directory with tokenizer.json, a tokenizer.json, a GGUF file or a name")
    from ordinate.files.gguf import read_gguf
    from ordinate.transformers.gguf_tokenizer import read_tokenizer

    return json.dumps(read_tokenizer(read_gguf(path).metadata, name=str(path)))
