"""Prompts of tasks that the tests of tasks and readers share."""

from functools import cache

from validate_samples import tokenizer

from ordinate.validate.builder import Builder, Prompt
from ordinate.validate.instances import Instance
from ordinate.validate.tasks import Task, task
from ordinate.validate.tokenizers import Tokenizer
from ordinate.validate.words import Words

BYTES = tokenizer("bytes")


def smollm2() -> Tokenizer:
    """SmolLM2's tokenizer; the test is skipped where its package is not installed."""
    return tokenizer("smollm2")


@cache
def made(name: str, tokens: Tokenizer = BYTES) -> Task:
    """A task with words for a tokenizer."""
    return task(name, words(tokens))


@cache
def words(tokens: Tokenizer) -> Words:
    """The fresh words of a tokenizer."""
    return Words(tokens)


@cache
def builder(tokens: Tokenizer = BYTES, filler: str = "prose") -> Builder:
    """A builder that keeps what it has encoded."""
    return Builder(tokens, filler=filler)


def laid_out(instance: Instance, length: int, places: str = "spread") -> Prompt:
    """A prompt of bytes with prose."""
    return builder().build(instance, length, places=places)
