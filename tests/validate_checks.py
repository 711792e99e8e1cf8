"""What is promised of every prompt, and builders that keep what they have encoded."""

import re
from functools import cache

from validate_samples import tokenizer

from ordinate.validate.builder import Builder, Prompt
from ordinate.validate.fillers import Filler, find
from ordinate.validate.instances import Instance

FILLERS = ("prose", "generated", "records", "noise")
MODES = ("base", "chat", "reasoning")
LONGEST = 8192
# SmolLM2 has a template of its own.
TEMPLATES = {
    "bert": "[CLS] user: {{ messages[0]['content'] }} [SEP]",
    "bytes": "<user>{{ messages[0]['content'] | trim }}</user>\n<model>",
}


@cache
def builder(name: str, filler: str = "prose", mode: str = "base") -> Builder:
    template = None if mode == "base" else TEMPLATES.get(name)
    return Builder(tokenizer(name), filler=sentences(filler), mode=mode, template=template)


@cache
def sentences(filler: str) -> Filler:
    return find(filler)


def told(name: str, ids: tuple[int, ...]) -> str:
    """Text as a tokenizer gives it back, spaces made alike: BERT's lowers it and sets marks apart."""
    return re.sub(r"\W+", " ", tokenizer(name).decode(ids)).strip().lower()


def check(name: str, made: Instance, prompt: Prompt, length: int) -> None:
    """What is promised, by the tokenizer alone: nothing here asks the builder."""
    words = tokenizer(name)
    assert len(prompt.ids) == length == prompt.length
    assert words.encode(words.decode(prompt.ids)) == list(prompt.ids)
    middle = prompt.ids[prompt.head : length - prompt.tail]
    assert tuple(words.encode(prompt.text)) == middle
    assert not words.specials.intersection(middle)
    assert set(prompt.spans) == {record.name for record in made.records}
    for record in made.records:
        placed = prompt.placed[record.name]
        assert prompt.context[0] <= placed.start < placed.stop <= prompt.context[1]
        assert placed.distance == prompt.question[0] - placed.stop
        assert told(name, prompt.ids[placed.start : placed.stop]) == re.sub(r"\W+", " ", record.text).strip().lower()
    question = told(name, prompt.ids[slice(*prompt.question)])
    assert re.sub(r"\W+", " ", made.question).strip().lower() in question
