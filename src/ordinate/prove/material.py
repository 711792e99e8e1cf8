"""A text as token ids, cut into the pieces that a plan reads."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ordinate.errors import InputError
from ordinate.prove import passkeys
from ordinate.prove.passkeys import Passkey, Placed
from ordinate.prove.plan import Plan

# More than any tokenizer in use needs for prose, so that one reading is nearly always enough.
_CHARACTERS_A_TOKEN = 6

# Places that a passkey should be able to choose from, so that it comes near the depth it is meant for.
_CHOICE = 4


@dataclass(frozen=True)
class Material:
    """What both models read.

    Args:
        long_text: the text with its passkeys
        keys: these keys, in the order in which they stand
        growing_context: [tokens], the longest of the growing prompts, without prefix
        passages: [passages][tokens], for the position-gap probe, without prefix
        prefix: special tokens that the tokenizer puts before a text
        places: where in the text the pieces stand, [start, stop), [token]: long text, growing context, passages
    """

    long_text: Placed
    keys: tuple[Passkey, ...]
    growing_context: tuple[int, ...]
    passages: tuple[tuple[int, ...], ...]
    prefix: tuple[int, ...]
    places: tuple[tuple[int, int], ...]


def prepare(text: str, tokenizer: Any, plan: Plan, seed: int) -> Material:
    """Cut a text into the pieces that a plan reads: the long text, then the growing context, then the passages.

    The pieces follow each other in the text and do not overlap.

    Args:
        text: long enough
        tokenizer: of both models
        plan: what is read
        seed: of the passkeys' digits

    Raises:
        InputError: the text has too few tokens, or too few paragraphs for the passkeys
    """

    def encode(some: str) -> list[int]:
        return tokenizer(some, add_special_tokens=False, verbose=False)["input_ids"]

    prefix = special_prefix(tokenizer)
    keys = passkeys.draw(plan.keys, seed, text, encode)
    needed = plan.length + plan.contexts[-1] + plan.passages * plan.passage
    some, ids, offsets = "", list[int](), list[int]()
    characters = needed * _CHARACTERS_A_TOKEN
    while len(ids) < needed:
        if len(some) == len(text):
            raise InputError(f"this run needs a text of at least {needed} tokens, got {len(ids)}: give a longer one")
        some, characters = text[:characters], 2 * characters
        ids, offsets = tokens_of(some, tokenizer)
    read = plan.length - len(prefix) - sum(len(key.sentence) for key in keys)
    starts = places_between(some, offsets[: max(read, 0)], _CHOICE * plan.keys)
    long_text = passkeys.place(ids, starts, [key.sentence for key in keys], plan.length, prefix)
    pieces = [plan.length, plan.contexts[-1], *[plan.passage] * plan.passages]
    places, start = [], 0
    for piece in pieces:
        places.append((start, start + piece))
        start += piece
    context, *passages = (tuple(ids[start:stop]) for start, stop in places[1:])
    return Material(long_text, tuple(keys), context, tuple(passages), tuple(prefix), ((0, read), *places[1:]))


def tokens_of(text: str, tokenizer: Any) -> tuple[list[int], list[int]]:
    """The ids of a text, and the character at which each token begins.

    Raises:
        InputError: a tokenizer that cannot say where its tokens stand in the text
    """
    if not getattr(tokenizer, "is_fast", False):
        raise InputError(f"{type(tokenizer).__name__} does not say where tokens stand: a tokenizer.json is needed")
    read = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    return read["input_ids"], [start for start, _ in read["offset_mapping"]]


def places_between(text: str, offsets: Sequence[int], least: int) -> list[int]:
    r"""The tokens that begin a paragraph, or a line where fewer than `least` paragraphs begin with a token.

    >>> places_between("a b\n\nc d\ne", range(10), least=1)
    [5]
    >>> places_between("a b\n\nc d\ne", range(10), least=2)
    [5, 9]
    """
    starts: list[int] = []
    for separator in (r"\n[^\S\n]*\n\s*(?=\S)", r"\n\s*(?=\S)"):
        begins = {match.end() for match in re.finditer(separator, text)}
        starts = [index for index, start in enumerate(offsets) if start in begins]
        if len(starts) >= least:
            break
    return starts


def special_prefix(tokenizer: Any) -> list[int]:
    """The special tokens that a tokenizer puts before a text, often none or one."""
    sample = "a"
    plain = tokenizer(sample, add_special_tokens=False)["input_ids"]
    whole = tokenizer(sample)["input_ids"]
    for start in range(len(whole) - len(plain) + 1):
        if whole[start : start + len(plain)] == plain:
            return whole[:start]
    raise InputError(f"{type(tokenizer).__name__} changes a text when it adds special tokens: not supported")
