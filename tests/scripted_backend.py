"""A backend whose replies are scripted, and small runs for the tests of runs."""

import threading
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pytest

from ordinate.errors import Unavailable
from ordinate.validate.backends import Backend, Reply
from ordinate.validate.builder import Prompt
from ordinate.validate.readers import Oracle
from ordinate.validate.sampling import Material, Sampler
from ordinate.validate.store import Manifest, RunFolder
from ordinate.validate.tokenizers import ByteTokenizer
from ordinate.validate.trials import Trial
from ordinate.validate.words import Words

Script = Callable[[int, Prompt, str], Reply | Exception]
"""From the number of the call, the prompt and the right answer: the reply, or what is raised."""


class Scripted(Backend):
    """Says what the script says; the right answer is an oracle's."""

    name = "scripted"

    def __init__(self, script: Script | None = None, *, concurrency: int = 1, limit: int | None = None) -> None:
        self.script, self.concurrency = script or right, concurrency
        self.calls: list[Prompt] = []
        self.flying = self.most = 0
        self._limit, self._lock, self._oracle = limit, threading.Lock(), Oracle()

    @property
    def identity(self) -> Mapping[str, str]:
        return {"engine": "scripted"}

    @property
    def tokenizer(self) -> ByteTokenizer:
        return ByteTokenizer()

    @property
    def limit(self) -> int | None:
        return self._limit

    def answer(self, prompt: Prompt, tokens: int, *, stop=()) -> Reply:
        del tokens, stop
        with self._lock:
            number = len(self.calls)
            self.calls.append(prompt)
            self.flying += 1
            self.most = max(self.most, self.flying)
        try:
            found = self.script(number, prompt, self._oracle.answer(prompt.ids, self.tokenizer))
        finally:
            with self._lock:
                self.flying -= 1
        if isinstance(found, Exception):
            raise found
        return found


def right(number: int, prompt: Prompt, answer: str) -> Reply:
    del number
    return Reply(f" {answer}", "stop", prompt_tokens=len(prompt.ids))


def gone(number: int, prompt: Prompt, answer: str) -> Exception:
    del number, prompt, answer
    return Unavailable("the server is gone")


@cache
def words(tokenizer: ByteTokenizer, texts: tuple[str, ...] = ()) -> Words:
    """Fresh words, made once for all tests: reading the novels takes most of a small run's time."""
    return Words(tokenizer, texts)


def shared_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every run of a test take its words from `words`."""
    monkeypatch.setattr(
        "ordinate.validate.sampling.material.Words", lambda tokenizer, texts=(): words(tokenizer, tuple(texts))
    )


@cache
def material() -> Material:
    return Material(ByteTokenizer())


def trial(**given) -> Trial:
    """A small one: passkey, noise, 700 and 900 bytes."""
    settings = {"task": "passkey", "short": 700, "lengths": (900,), "places": ("start",), "filler": "noise"}
    return Trial(**{**settings, "difficulty": (("demonstrations", 1),), "reserve": 16, "units": 24, **given})


def sampler(backend: Backend, added: int = 0) -> Sampler:
    return Sampler(backend, material(), added=added)


def manifest(*trials: Trial, **given) -> Manifest:
    subject = dict(sampler(Scripted()).subject)
    return Manifest(**{"suite": "test", "subject": subject, "seed": 0, "trials": trials, **given})


def folder(path: Path, *trials: Trial, **given) -> RunFolder:
    return RunFolder(path, manifest(*(trials or (trial(),)), **given))
