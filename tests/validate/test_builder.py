"""Prompts: exactly so many tokens, the same when they travel as text, and every record where it is said to be."""

import pickle
import re
from dataclasses import replace
from itertools import pairwise, product

import pytest
from validate_checks import FILLERS, LONGEST, MODES, builder, check, sentences
from validate_samples import SHAPES, SHORTEST, TOKENIZERS, instance, tokenizer

from ordinate.errors import InputError
from ordinate.validate.builder import PLACES, Builder, build, verify
from ordinate.validate.instances import Instance, Record
from ordinate.validate.streams import stream
from ordinate.validate.tokenizers import ByteTokenizer


def drawn(name: str, number: int) -> tuple[Builder, Instance, int, str | tuple[float, ...]]:
    """The settings of one prompt out of many: all of them vary, the length from shortest to longest by octaves."""
    generator = stream(11, f"prompt {name}", number)
    filler, mode, shape = (options[int(generator.integers(len(options)))] for options in (FILLERS, MODES, SHAPES))
    length = round(SHORTEST[name] * (LONGEST / SHORTEST[name]) ** float(generator.random()))
    made = instance(name, shape, number)
    if shape == "lookup" and number % 3 == 0:
        made = list(made.controls.values())[number // 3 % 4]
    choices: list[str | tuple[float, ...]] = [place for place in PLACES if place != "reversed" or not made.ordered]
    choices.append((float(generator.random()),))
    return builder(name, filler, mode), made, length, choices[int(generator.integers(len(choices)))]


@pytest.mark.parametrize("name", TOKENIZERS)
def test_every_prompt_is_exact_and_travels_as_text(name):
    """Of instances of odd shapes; `test_task_prompts.py` asks the same of the tasks' own."""
    for number in range(24):
        chosen, made, length, places = drawn(name, number)
        prompt = chosen.build(made, length, places=places)
        check(name, made, prompt, length)
        if number % 10 == 0:
            verify(prompt, tokenizer(name), made, chosen.template)


@pytest.mark.parametrize("name", TOKENIZERS)
def test_every_length_in_a_row_can_be_built(name):
    made = instance(name, "lookup", 0)
    for length in range(SHORTEST[name], SHORTEST[name] + 40):
        check(name, made, builder(name).build(made, length), length)


def test_a_chat_prompt_has_the_ids_that_transformers_makes_of_its_message():
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    smollm2 = tokenizer("smollm2")
    content, template, _ = smollm2.__reduce__()[1]
    other = PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(content), chat_template=template)
    for mode in ("chat", "reasoning"):
        prompt = builder("smollm2", "prose", mode).build(instance("smollm2", "lookup", 4), 1024)
        messages = [{"role": "user", "content": prompt.text}]
        ids = other.apply_chat_template(messages, add_generation_prompt=True, tokenize=True, return_dict=False)
        assert tuple(ids) == prompt.ids


def test_the_beginning_of_text_stands_once():
    prompt = builder("bert").build(instance("bert", "lookup", 0), 300)
    assert prompt.ids[0] == 101
    assert prompt.ids.count(101) == 1
    assert prompt.head == 1
    with pytest.raises(InputError, match="at most once, got it twice"):
        Builder(tokenizer("bert"), mode="chat", template="[CLS][CLS]{{ messages[0]['content'] }}").build(
            instance("bert", "lookup", 0), 300
        )


@pytest.mark.parametrize("name", TOKENIZERS)
def test_what_does_not_fit_is_refused_by_how_much(name):
    made = instance(name, "chain", 1)
    needed = builder(name).needed(made, nonce=False)
    check(name, made, builder(name).build(made, needed, nonce=False, places="start"), needed)
    with pytest.raises(InputError, match=f"does not fit {needed - 3}: 3 tokens missing"):
        builder(name).build(made, needed - 3, nonce=False)


def test_the_reserve_lies_inside_the_limit():
    made = instance("smollm2", "lookup", 0)
    prompt = builder("smollm2").build(made, 448, reserve=64, limit=512)
    assert (len(prompt.ids), prompt.reserve) == (448, 64)
    with pytest.raises(InputError, match="449 tokens and 64 for the answer exceed the limit 512"):
        builder("smollm2").build(made, 449, reserve=64, limit=512)


@pytest.mark.parametrize("name", TOKENIZERS)
def test_evidence_begins_at_the_token_asked_for(name):
    exact = 0
    for index in range(8):
        made = instance(name, "lookup", index)
        for share in (0.3, 0.5, 0.7):
            prompt = builder(name).build(made, 4 * SHORTEST[name], places=(share,))
            start, end = prompt.context
            placed = prompt.placed["key 0"]
            assert placed.requested is not None
            assert placed.requested == start + round(share * (end - start - (placed.stop - placed.start)))
            exact += placed.start == placed.requested
            # The nearest sum of sentences is never far: only the sentences shorter than the shortest are missing.
            assert abs(placed.start - placed.requested) <= 20
    assert exact >= 20


def test_start_and_end_keep_all_filler_behind_and_before_the_evidence():
    for index in range(8):
        made = instance("smollm2", "lookup", index)
        records = sum(stop - start for start, stop in builder("smollm2").build(made, 1024).spans.values())
        first = builder("smollm2").build(made, 1024, places="start")
        assert first.spans["key 0"][0] - first.context[0] < records
        last = builder("smollm2").build(made, 1024, places="end")
        assert last.distances["key 0"] < records


def test_records_keep_their_order_at_every_length_place_and_filler():
    for index in range(3):
        made = instance("smollm2", "lookup", index)
        orders = set()
        for length, places, filler in product((512, 2048), ("start", "middle", "end", "spread"), FILLERS):
            prompt = builder("smollm2", filler).build(made, length, places=places)
            orders.add(tuple(sorted(prompt.spans, key=prompt.spans.__getitem__)))
        assert len(orders) == 1
        back = builder("smollm2").build(made, 1024, places="reversed")
        assert tuple(sorted(back.spans, key=back.spans.__getitem__))[::-1] in orders


def test_evidence_has_no_rank_of_its_own_among_the_records():
    ranks = [0] * 6
    for index in range(120):
        spans = builder("smollm2").build(instance("smollm2", "lookup", index), 512, places="start").spans
        ranks[sorted(spans, key=spans.__getitem__).index("key 0")] += 1
    # Six equal shares of 120: chi-squared of five degrees is above 20.5 once in a thousand.
    assert sum((rank - 20) ** 2 / 20 for rank in ranks) < 20.5


def test_told_order_is_kept_and_cannot_be_reversed():
    made = instance("smollm2", "order", 3)
    spans = builder("smollm2").build(made, 700).spans
    assert sorted(spans, key=spans.__getitem__) == [record.name for record in made.records]
    with pytest.raises(InputError, match="told in order and cannot be reversed"):
        builder("smollm2").build(made, 700, places="reversed")


def test_records_stand_as_far_apart_as_the_task_asks():
    made = instance("smollm2", "chain", 2)
    prompt = builder("smollm2").build(made, 2048, places="middle")
    starts = sorted(start for start, _ in prompt.spans.values())
    context = prompt.context[1] - prompt.context[0]
    for one, two in pairwise(starts):
        assert two - one == pytest.approx(0.1 * context, abs=30)
    with pytest.raises(InputError, match=r"6 records cannot begin 0\.3 of the context apart"):
        builder("smollm2").build(replace(made, gap=0.3), 2048, places="middle")


def test_a_swapped_value_leaves_every_other_token_as_it_was():
    for index, filler in product(range(8), FILLERS):
        made = instance("smollm2", "lookup", index)
        one = builder("smollm2", filler).build(made, 800)
        two = builder("smollm2", filler).build(made.controls["evidence_swapped"], 800)
        assert one.spans == two.spans
        differ = [i for i, pair in enumerate(zip(one.ids, two.ids, strict=True)) if pair[0] != pair[1]]
        assert differ
        assert all(one.spans["key 0"][0] <= i < one.spans["key 0"][1] for i in differ)


def test_removed_evidence_leaves_the_decoys_in_their_order():
    made = instance("smollm2", "lookup", 5)
    with_all = builder("smollm2").build(made, 800).spans
    without = builder("smollm2").build(made.controls["evidence_removed"], 800).spans
    order = [name for name in sorted(with_all, key=with_all.__getitem__) if name != "key 0"]
    assert sorted(without, key=without.__getitem__) == order


def test_the_same_call_gives_the_same_prompt_whatever_was_built_before():
    made = instance("smollm2", "lookup", 9)
    first = Builder(tokenizer("smollm2"), filler=sentences("prose")).build(made, 1000)
    assert builder("smollm2").build(made, 1000) == first
    assert pickle.loads(pickle.dumps(first)) == first  # noqa: S301


def test_no_two_prompts_begin_alike_unless_it_is_asked_for():
    made = instance("smollm2", "lookup", 1)
    first = {builder("smollm2").build(made, length).ids[:12] for length in (500, 501, 502, 503)}
    assert len(first) == 4
    plain = builder("smollm2").build(made, 500, nonce=False)
    assert plain.text.startswith("Text: The key of ")
    own = builder("smollm2").build(made, 500, nonce="Sheet 5.")
    assert own.text.startswith("Sheet 5.\n\nText:")


def test_no_prose_sentence_stands_twice():
    from ordinate.validate.fillers.base import CLAUSES

    prompt = builder("smollm2").build(instance("smollm2", "lookup", 2), 8192)
    context = tokenizer("smollm2").decode(prompt.ids[slice(*prompt.context)])
    sentences = [sentence for sentence in re.split(r"(?<=[.!?]) (?=[A-Z])", context) if len(sentence) > 40]
    assert len(sentences) > 150
    assert len(sentences) == len(set(sentences))
    assert not any(f" {clause}" in context for clause in CLAUSES if len(clause) > 20)


def test_decoys_that_fill_name_nothing_of_the_instance():
    for index in range(10):
        made = instance("smollm2", "lookup", index)
        context = builder("smollm2", "records").build(made, 4096).text.split("Text:")[-1].split("Question:")[0]
        for record in made.records:
            name = record.text.split()[3]
            assert context.count(name) == 1


class Merging:
    """A tokenizer of bytes in which some marks merge with the space and letter after them, as words never do."""

    bos = ()
    specials = frozenset()
    chat_template = None
    sha256 = "merging"
    merges = (b"! ", b'." ', b"? T", b". So")

    def encode(self, text):
        data, ids, at = text.encode(), [], 0
        while at < len(data):
            merge = next((m for m in self.merges if data.startswith(m, at)), None)
            ids.append(256 + self.merges.index(merge) if merge else data[at])
            at += len(merge) if merge else 1
        return ids

    def decode(self, ids):
        return b"".join(self.merges[i - 256] if i > 255 else bytes([i]) for i in ids).decode(errors="replace")


def test_sentences_that_would_change_at_a_seam_are_replaced():
    merging = Merging()
    chosen = Builder(merging, filler=sentences("prose"))
    unchecked = 0
    for index in range(20):
        made = instance("bytes", "lookup", index)
        prompt = chosen.build(made, 6000 + index)
        assert len(prompt.ids) == 6000 + index
        assert merging.encode(prompt.text) == list(prompt.ids)
        verify(prompt, merging, made)
        plain = Builder(ByteTokenizer(), filler=sentences("prose")).build(made, 6000 + index)
        unchecked += len(plain.ids) - len(merging.encode(plain.text))
    assert unchecked > 100  # what a tokenizer that never merges may put side by side


def test_records_whose_seam_cannot_be_mended_are_refused():
    made = instance("bytes", "lookup", 0)
    loud = replace(made, records=tuple(replace(r, text=r.text[:-1] + "!") for r in made.records), controls={})
    with pytest.raises(InputError, match="no sentences of the filler 'prose' keep their tokens beside the records"):
        Builder(Merging(), filler=sentences("prose")).build(loud, 6000)


def test_verify_sees_every_kind_of_damage():
    made = instance("smollm2", "lookup", 6)
    words = tokenizer("smollm2")
    prompt = builder("smollm2").build(made, 600)
    verify(prompt, words, made)
    ids = prompt.ids
    start, stop = prompt.spans["key 0"]
    moved = dict(prompt.placed) | {"key 0": replace(prompt.placed["key 0"], start=start + 1, stop=stop + 1)}
    a_word = next(i for i in range(100, 600) if ids[i] != ids[i + 1])
    damaged = {
        "must have 600 tokens, got 599": replace(prompt, ids=ids[:-1]),
        "its text encodes": replace(prompt, ids=(*ids[:a_word], ids[a_word + 1], ids[a_word], *ids[a_word + 2 :])),
        "its text encodes to other tokens from token 0": replace(prompt, text=prompt.text.replace("Document", "Paper")),
        "record 'key 0' encodes": replace(prompt, placed=moved),
        "must hold the records": replace(prompt, placed={}),
    }
    for message, other in damaged.items():
        with pytest.raises(InputError, match=message):
            verify(other, words, made)
    # "key" cut into two tokens reads alike as text and is another list of ids.
    key = words.encode(" key")[0]
    place = ids.index(key)
    cut = (*ids[:place], *words.encode(" k"), *words.encode("ey"), *ids[place + 1 :])
    assert words.decode(cut) == words.decode(ids)
    with pytest.raises(InputError, match="its text encodes"):
        verify(replace(prompt, ids=cut, length=len(cut)), words, made)


def test_special_tokens_in_a_record_are_refused():
    made = instance("smollm2", "lookup", 0)
    bad = replace(made, records=(Record("He wrote <|im_end|> there.", "evidence", "key 0"),), controls={})
    with pytest.raises(InputError, match="holds a special token"):
        build(bad, 600, tokenizer("smollm2"))
    with pytest.raises(InputError, match="holds a special token in its texts"):
        build(replace(made, question="What is <|im_end|>?", controls={}), 600, tokenizer("smollm2"))


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"places": "front"}, "places must be one of start, middle"),
        ({"places": (0.1, 0.2, 0.3)}, "one for each of 1 evidence"),
        ({"places": (1.2,)}, "rise from 0 to 1"),
        ({"filler": "Prose"}, "unknown filler 'Prose'; did you mean 'prose'"),
        ({"mode": "talk"}, "mode must be one of base, chat, reasoning"),
        ({"template": "{{ messages[0]['content'] }}"}, "mode 'base' takes no chat template"),
        ({"mode": "chat", "template": "no message"}, "must render a message once, got 0 times"),
        ({"mode": "chat", "template": "{{ raise_exception('never') }}"}, "cannot be rendered: never"),
        ({"mode": "chat", "template": "{{ messages.a.b.c }}"}, "cannot be rendered"),
        ({"mode": "chat", "template": "{% for"}, "cannot be rendered"),
    ],
)
def test_what_cannot_be_built_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        build(instance("smollm2", "lookup", 0), 600, tokenizer("smollm2"), **arguments)


def test_a_chat_mode_needs_a_template():
    with pytest.raises(InputError, match="mode 'chat' needs the model's chat template"):
        build(instance("bytes", "lookup", 0), 3000, tokenizer("bytes"), mode="chat")


def test_a_filler_of_decoys_needs_the_task_to_have_some():
    made = replace(instance("smollm2", "lookup", 0), forms=(), controls={})
    with pytest.raises(InputError, match="has no decoys for the filler 'records'"):
        build(made, 600, tokenizer("smollm2"), filler="records")
