"""Passkeys: sentences with random digits between the paragraphs of a text, and the questions for them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ordinate.errors import InputError
from ordinate.prove.plan import ROOM

# The name stands right before the digits, since a small model finds a number again by the word that led to it: with
# "The pass key for NAME is 123456" and several keys, SmolLM2-135M confuses their first digits even in 2,048 tokens.
SENTENCE = "Remember the pass key {name}-{key}. The pass key is {name}-{key}.\n\n"
QUESTION = "\n\nThe pass key is {name}-"
DIGITS = 6

NAMES = (
    "Lighthouse",
    "Aquarium",
    "Submarine",
    "Telescope",
    "Volcano",
    "Locomotive",
    "Satellite",
    "Penguin",
    "Bicycle",
    "Museum",
    "Hospital",
    "Saxophone",
)
"""No two of them end alike, and a text that has one of them does without it."""


@dataclass(frozen=True)
class Passkey:
    """A key and its words as token ids.

    Args:
        name, key: as text
        sentence: what is hidden in the text
        question: what is asked
        answer: what should follow
    """

    name: str
    key: str
    sentence: tuple[int, ...]
    question: tuple[int, ...]
    answer: tuple[int, ...]


@dataclass(frozen=True)
class Placed:
    """A text with passkeys in it.

    Args:
        ids: [tokens]
        spans: [start, stop) of each key's sentence in `ids`, ascending
        scored: ranges [start, stop) of text proper, whose losses count: neither the sentences, nor the first token
            after each, which nothing before it announces
    """

    ids: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]
    scored: tuple[tuple[int, int], ...]


def draw(count: int, seed: int, text: str, encode: Callable[[str], list[int]]) -> list[Passkey]:
    """Draw keys and put them in words.

    Args:
        count: how many
        seed: of the digits
        text: the text they will be hidden in; names that it holds are left out
        encode: text to token ids, without special tokens

    Raises:
        InputError: too few names that the text does not hold, or a question that takes more than 64 tokens
    """
    lower = text.lower()
    names = [name for name in NAMES if name.lower() not in lower][:count]
    if len(names) < count:
        raise InputError(f"{count} passkeys need {count} names that the text does not hold, got {len(names)}")
    generator = np.random.default_rng(seed)
    keys: list[Passkey] = []
    for name in names:
        key = "".join(str(digit) for digit in generator.integers(0, 10, DIGITS))
        question, whole = encode(QUESTION.format(name=name)), encode(QUESTION.format(name=name) + key)
        # Where a tokenizer joins the question's end with the first digit, that token belongs to the answer.
        same = 0
        while same < min(len(question), len(whole)) and question[same] == whole[same]:
            same += 1
        if len(whole) > ROOM or same == 0 or same == len(whole):
            raise InputError(f"a question for a passkey must take 2 to {ROOM} tokens, got {len(whole)}")
        sentence = encode(SENTENCE.format(name=name, key=key))
        keys.append(Passkey(name, key, tuple(sentence), tuple(whole[:same]), tuple(whole[same:])))
    return keys


def place(
    text: Sequence[int],
    starts: Sequence[int],
    sentences: Sequence[Sequence[int]],
    length: int,
    prefix: Sequence[int] = (),
) -> Placed:
    """Put sentences into a text at even depths; the result has exactly `length` tokens and holds each sentence whole.

    Sentence i of n is to begin at (i + 1/2) / n of the length, and does so at the nearest admissible place.

    Args:
        text: token ids, enough of them
        starts: indices into `text` before which a sentence may stand
        sentences: token ids of each
        length: of the result, [token]
        prefix: token ids before everything, such as the beginning-of-text token

    Raises:
        InputError: too little text, or fewer admissible places than sentences
    """
    real = length - len(prefix) - sum(len(sentence) for sentence in sentences)
    if not 0 < real <= len(text):
        raise InputError(f"a long text of {length} tokens needs {max(real, 1)} tokens of text, got {len(text)}")
    # Not before the first token, and not behind the last: a key is always between two pieces of text.
    free = sorted({start for start in starts if 0 < start < real})
    if len(free) < len(sentences):
        raise InputError(
            f"the text must have a place between two paragraphs or lines for each of {len(sentences)} passkeys, "
            f"got {len(free)} in its first {real} tokens"
        )
    ids, spans, scored = list(prefix), [], []
    taken, first = 0, max(1, len(prefix))
    for number, sentence in enumerate(sentences):
        wanted = (number + 0.5) / len(sentences) * length - (len(ids) - taken)
        # A place for each of the sentences to come is left free.
        later = [start for start in free if start > taken]
        cut = min(later[: len(later) - (len(sentences) - number - 1)], key=lambda start: abs(start - wanted))
        ids += text[taken:cut]
        scored.append((first, len(ids)))
        spans.append((len(ids), len(ids) + len(sentence)))
        ids += sentence
        taken, first = cut, len(ids) + 1
    ids += text[taken:real]
    scored.append((first, len(ids)))
    return Placed(tuple(ids), tuple(spans), tuple((start, stop) for start, stop in scored if start < stop))
