"""A tokenizer may put special tokens around a text, and must leave the text itself as it is."""

import json
from copy import copy

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from ordinate.audit.server.tokenizers import LocalTokenizer
from ordinate.errors import InputError
from ordinate.validate.tokenizers import HuggingFaceTokenizer

WORDS = ("<bos>", "<eos>", "The", "weather", "was", "fine", ",", "and", "they", "walked", ".")
ADDED = "tokenizer must leave a text as it is when it adds special tokens, got other tokens"


def content(template):
    """Of a tokenizer of words that puts a text into this template."""
    made = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token=WORDS[1]))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(single=template, special_tokens=[("<bos>", 0), ("<eos>", 1)])
    return made.to_str()


@pytest.mark.parametrize("template", ["$A <eos> $A", "<bos> $A <bos> $A <eos>", "<bos>", "<bos> <eos>"])
def test_a_tokenizer_that_changes_a_text_when_it_adds_special_tokens_is_refused(template, tmp_path):
    with pytest.raises(InputError, match=ADDED):
        HuggingFaceTokenizer(content(template))
    file = tmp_path / "tokenizer.json"
    file.write_text(content(template))
    with pytest.raises(InputError, match=f"{file}: its tokenizer cannot be read: the {ADDED}"):
        LocalTokenizer(file)


@pytest.mark.parametrize(
    ("template", "beginning"),
    [("$A", ()), ("<bos> $A", (0,)), ("<bos> $A <eos>", (0,)), ("<bos> <bos> $A", (0, 0)), ("$A <eos>", ())],
)
def test_what_stands_before_a_text_is_its_beginning(template, beginning, tmp_path):
    assert HuggingFaceTokenizer(content(template)).bos == beginning
    file = tmp_path / "tokenizer.json"
    file.write_text(content(template))
    assert LocalTokenizer(file).prefix == beginning
    assert LocalTokenizer(file).encode("they walked") == [8, 9]


def test_a_tokenizer_is_the_same_however_its_file_is_spaced_and_ordered():
    said = json.loads(content("<bos> $A"))
    other = json.dumps(dict(reversed(said.items())), indent=4)
    assert other != content("<bos> $A")
    assert HuggingFaceTokenizer(other).sha256 == HuggingFaceTokenizer(content("<bos> $A")).sha256
    assert HuggingFaceTokenizer(content("$A")).sha256 != HuggingFaceTokenizer(content("<bos> $A")).sha256
    with_template = HuggingFaceTokenizer(other, chat_template="{{ messages }}")
    assert with_template.sha256 != HuggingFaceTokenizer(other).sha256


def test_what_begins_a_text_makes_another_tokenizer_though_another_file_decides_it():
    begins = {"bos_token": "<bos>"}
    bare, begun = HuggingFaceTokenizer(content("$A")), HuggingFaceTokenizer(content("$A"), **begins)
    assert (bare.bos, begun.bos) == ((), (0,))
    assert bare.sha256 != begun.sha256
    assert copy(begun).sha256 == begun.sha256
    same = HuggingFaceTokenizer(content("<bos> $A"))
    assert HuggingFaceTokenizer(content("<bos> $A"), **begins).sha256 == same.sha256
