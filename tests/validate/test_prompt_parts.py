"""Streams, fresh words, tokenizers and fillers: what prompts are made of."""

import hashlib
import pickle
import re

import numpy as np
import pytest
from validate_samples import TOKENIZERS, instance, tokenizer, words

from ordinate.errors import InputError
from ordinate.texts import names as texts
from ordinate.texts import read
from ordinate.validate.fillers import find, names
from ordinate.validate.instances import Instance, Record
from ordinate.validate.streams import stream
from ordinate.validate.tokenizers import ByteTokenizer, HuggingFaceTokenizer, continuation


def test_a_stream_is_philox_keyed_by_the_sha256_of_its_name():
    key = np.frombuffer(hashlib.sha256(b"3|passkey|41").digest()[:16], dtype="<u8")
    expected = np.random.Generator(np.random.Philox(key=key)).integers(0, 2**60, 50)
    assert np.array_equal(stream(3, "passkey", 41).integers(0, 2**60, 50), expected)
    firsts = {
        int(stream(*name).integers(2**62))
        for name in [(3, "a", 1), (3, "a", 11), (31, "a", 1), (3, "b", 1), (3, "a", 1, "x")]
    }
    assert len(firsts) == 5


@pytest.mark.parametrize("name", [(-1, "a", 0), (0, "a|b", 0), (0, "a", -1), (True, "a", 0), (0, "a", 0, "b|c")])
def test_a_stream_without_a_name_of_its_own_is_refused(name):
    with pytest.raises(InputError):
        stream(*name)


@pytest.mark.parametrize("name", TOKENIZERS)
def test_fresh_words_take_equally_many_tokens_wherever_a_task_may_put_them(name):
    read_words = set(re.findall(r"[a-z]+", " ".join(read(text).text for text in texts()).lower()))
    source, written = words(name), tokenizer(name)
    for kind in (source.names, source.nouns, lambda generator, count: source.numbers(generator, count, 5)):
        found = kind(stream(1, "example", 0), 40)
        assert len(set(found)) == 40
        assert found == kind(stream(1, "example", 0), 40)
        assert found[:10] == kind(stream(1, "example", 0), 10)
        for before, after in (
            ("The key of", "is lost."),
            ("It was", "."),
            ("Is", "?"),
            ("I saw", "'s dog,"),
            ("to", ","),
        ):
            counts = {
                len(written.encode(f"{before} {word}{'' if after[0] in '.?,' + chr(39) else ' '}{after}"))
                for word in found
            }
            assert len(counts) == 1, (before, after)
        assert not read_words.intersection(word.lower() for word in found)


def test_there_are_only_so_many_numbers():
    source = words("bytes")
    assert sorted(source.numbers(stream(0, "a", 0), 9, 1)) == list("123456789")
    with pytest.raises(InputError, match="there are 9 numbers of 1 digits, got 10"):
        source.numbers(stream(0, "a", 0), 10, 1)


def test_truncation_and_padding_of_a_file_are_off():
    bert = tokenizer("bert")  # its file asks for 128 tokens, always
    assert len(bert.encode("yes " * 500)) == 500
    assert bert.encode("Yes.") == [2748, 1012]
    assert bert.bos == (101,)
    assert {0, 100, 101, 102, 103} == bert.specials


def test_a_tokenizer_goes_to_another_process_whole():
    for name in TOKENIZERS:
        first = tokenizer(name)
        second = pickle.loads(pickle.dumps(first))  # noqa: S301
        text = "Mr. Bennet's 12 letters."
        assert second.encode(text) == first.encode(text)
        assert (second.bos, second.specials, second.sha256) == (first.bos, first.specials, first.sha256)


def test_bytes_are_bytes():
    assert ByteTokenizer().encode("é") == [0xC3, 0xA9]
    assert ByteTokenizer(offset=3).decode([0xC3 + 3, 0xA9 + 3]) == "é"
    with pytest.raises(InputError, match="must be one of a byte's, 3 to 258, got 2"):
        ByteTokenizer(offset=3).decode([2])


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"model": {"type": "BPE"}}'])
def test_what_is_no_tokenizer_is_refused(content, tmp_path):
    file = tmp_path / "tokenizer.json"
    file.write_text(content)
    with pytest.raises(InputError, match=r"tokenizer\.json must hold a tokenizer"):
        HuggingFaceTokenizer.read(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        HuggingFaceTokenizer.read(tmp_path / "none")


def test_a_folder_s_template_and_beginning_of_text_are_read(tmp_path):
    content, template, _ = tokenizer("smollm2").__reduce__()[1]
    (tmp_path / "tokenizer.json").write_text(content)
    assert HuggingFaceTokenizer.read(tmp_path).bos == ()
    (tmp_path / "tokenizer_config.json").write_text('{"add_bos_token": true, "bos_token": {"content": "<|im_start|>"}}')
    (tmp_path / "chat_template.jinja").write_text(template)
    found = HuggingFaceTokenizer.read(tmp_path)
    assert found.bos == (1,)
    assert found.chat_template == template


def test_a_continuation_is_what_stands_behind_other_words():
    assert continuation(tokenizer("smollm2"), " letter") == tuple(tokenizer("smollm2").encode("a letter")[1:])


def made(filler: str, tmp_path):
    if filler == "file":
        (tmp_path / "mine.txt").write_text(
            "One came. Two went by.\n\nHeading\n\n" * 30 + 'He said "Tavomil." Then he left.'
        )
        return find("file", tmp_path / "mine.txt")
    return find(filler).fitting(instance("bytes", "lookup", 0))


@pytest.mark.parametrize("filler", names())
def test_sentences_of_a_filler_are_whole_and_always_the_same(filler, tmp_path):
    first, second = made(filler, tmp_path), made(filler, tmp_path)
    assert first.identity == second.identity
    assert first.starts >= 1
    last = first.starts if first.blocks is None else first.blocks - 1
    for block in (0, last // 2, last):
        sentences = first.sentences(block)
        assert sentences == second.sentences(block)
        for sentence in sentences:
            assert sentence == sentence.strip()
            assert len(sentence.splitlines()) == 1
    assert sum(len(first.sentences(block)) for block in range(min(20, last + 1))) >= 5


def test_prose_is_cut_at_the_ends_of_sentences():
    prose = find("prose")
    sentences = [sentence for block in range(100) for sentence in prose.sentences(block)]
    assert not [text for text in sentences if re.search(r"\b(Mr|Mrs|Dr)\.$", text)]
    assert not [text for text in sentences if "CHAPTER" in text or "_" in text]
    assert all(re.search(r"[.!?][\"')]*$", text) for text in sentences)
    whole = " ".join(" ".join(read(name).body.replace("_", "").split()) for name in texts())
    assert all(text in whole for text in sentences[::50])


def test_no_generated_sentence_is_a_novel_s():
    generated = find("generated")
    novels = " ".join(" ".join(read(name).body.split()) for name in texts())
    assert not [text for text in generated.sentences(5) if len(text) > 20 and text in novels]


def test_sentences_that_hold_the_answer_are_left_out_of_a_file(tmp_path):
    asked = Instance("ask", 0, 0, (Record("It is Tavomil.", "evidence", "a"),), "Who?", ("Tavomil",))
    assert made("file", tmp_path).forbidden(asked) == {"tavomil"}


def test_a_file_that_is_too_short_says_so(tmp_path):
    from ordinate.validate.builder import Builder

    filler = made("file", tmp_path)
    with pytest.raises(InputError, match="the filler 'file' is too short for this length"):
        Builder(tokenizer("bytes"), filler=filler).build(instance("bytes", "lookup", 0), 8192)


@pytest.mark.parametrize("form", ["{who} went.", "{number:x} went.", "{number:0} went.", "{} went."])
def test_a_gap_of_a_form_has_a_meaning(form):
    from ordinate.validate.fillers.records import Records

    if form.startswith("{}"):
        assert Records((form,)).sentences(0)[0] == form
        return
    with pytest.raises(InputError, match="a gap of a form must be name, noun, number:DIGITS"):
        Records((form,))


@pytest.mark.parametrize(
    "change, message",
    [
        ({"records": (Record("a", "decoy", "x"), Record("b", "decoy", "x"))}, "names of their own, got 'x' twice"),
        ({"gap": 1.5}, "gap must be a share"),
        ({"control": "swapped"}, "control must be one of"),
        ({"question": " What?"}, "question must be text without white space"),
        ({"lead": "Answer:\n"}, "lead must be text without white space"),
    ],
)
def test_an_instance_is_checked_when_it_is_made(change, message):
    given = {"task": "t", "index": 0, "seed": 0, "records": (), "question": "What?", "answer": ("a",)} | change
    with pytest.raises(InputError, match=message):
        Instance(**given)


@pytest.mark.parametrize(
    "record", [("two\nlines", "decoy", "a"), ("one", "fact", "a"), ("one", "decoy", ""), ("", "decoy", "a")]
)
def test_a_record_is_checked_when_it_is_made(record):
    with pytest.raises(InputError):
        Record(*record)
