"""Readers as backends: replies from ids alone, a declared limit, log-probabilities of what they would say."""

import math
import time
from functools import cache

import numpy as np
import pytest
from scripted_backend import words

from ordinate.errors import InputError, Unavailable
from ordinate.validate.backends import Refusal
from ordinate.validate.backends.simulated import Simulated
from ordinate.validate.builder import Builder
from ordinate.validate.builder.templates import read_template
from ordinate.validate.readers import Noisy, Oracle
from ordinate.validate.readers.copying import SuffixReader
from ordinate.validate.tasks.base import task
from ordinate.validate.tokenizers import ByteTokenizer
from ordinate.validate.words import Words

TOKENIZER = ByteTokenizer()
TEMPLATE = "{% for message in messages %}<{{ message.role }}> {{ message.content }}{% endfor %} <assistant>"


@cache
def prompt():
    instance = task("passkey", Words(TOKENIZER)).instance(0, 0)
    return Builder(TOKENIZER).build(instance, 2048, reserve=32), instance


def test_an_oracle_answers_and_counts():
    asked, instance = prompt()
    reply = Simulated(Oracle()).answer(asked, 32)
    assert reply.text.strip() == instance.answer[0]
    assert (reply.finish, reply.prompt_tokens, reply.tokens) == ("stop", 2048, len(TOKENIZER.encode(reply.text)))


def test_an_answer_is_cut_at_the_tokens_allowed():
    asked, _ = prompt()
    whole = Simulated(Oracle()).answer(asked, 32).text
    cut = Simulated(Oracle()).answer(asked, 2)
    assert (cut.text, cut.finish, cut.tokens) == (whole[:2], "length", 2)


def test_an_answer_ends_before_a_stop_string():
    asked, _ = prompt()
    whole = Simulated(Oracle()).answer(asked, 32).text
    assert Simulated(Oracle()).answer(asked, 32, stop=("?", whole[3:])).text == whole[:3]


@pytest.mark.parametrize("limit, fits", [(2080, True), (2079, False)])
def test_the_limit_holds_prompt_and_answer(limit, fits):
    backend = Simulated(Oracle(), limit=limit)
    asked, _ = prompt()
    if fits:
        assert backend.answer(asked, 32).text
    else:
        with pytest.raises(Refusal, match="2048 tokens and 32 for the answer exceed the limit 2079"):
            backend.answer(asked, 32)


def test_a_backend_that_cuts_reads_less_and_admits_it_only_where_asked():
    def tail(ids, left):
        return ids[:left]

    asked, instance = prompt()
    for admits, counted in ((False, 2048), (True, 1000)):
        reply = Simulated(Oracle(), limit=1032, cut=tail, admits=admits).answer(asked, 32)
        assert reply.prompt_tokens == counted
        assert reply.text.strip() != instance.answer[0]  # the question is gone


def test_what_the_reader_would_say_is_the_likeliest_choice():
    asked, instance = prompt()
    options = (" 00000", f" {instance.answer[0]}", " 11111")
    found = Simulated(Oracle(), sure=0.8).choices(asked, options)
    assert found == pytest.approx((math.log(0.1), math.log(0.8), math.log(0.1)))
    none = Simulated(Oracle()).choices(asked, (" 00000", " 11111"))
    assert none[0] == none[1] == pytest.approx(-math.log(2))


@pytest.mark.parametrize("mode", ["base", "chat", "reasoning"])
@pytest.mark.parametrize("name", ["near_key", "indirect", "multi_hop", "state_at_time", "citation"])
def test_an_oracle_is_right_and_foretells_the_answer_in_every_mode(name, mode):
    kind = task(name, words(TOKENIZER))
    instance = kind.instance(0, 0)
    template = None if mode == "base" else read_template(TEMPLATE, TOKENIZER)
    asked = Builder(TOKENIZER, mode=mode, template=template).build(instance, 3000, reserve=64)
    reply = Simulated(Oracle()).answer(asked, 64)
    assert kind.score(reply.text, instance, continues=mode == "base").right
    lead = "" if mode == "base" else instance.lead
    options = [f"{lead} {kind.write(one.answer)}" for one in (instance, instance.controls["evidence_swapped"])]
    right, wrong = Simulated(Oracle(), sure=0.8).choices(asked, options)
    if name != "citation":  # a set, which may be written in another order
        assert (right, wrong) == (pytest.approx(math.log(0.8)), pytest.approx(math.log(0.2)))


def test_losses_are_low_where_the_reader_foretells():
    ids = (1, 2, 3, 4, 9, 1, 2, 3, 4)
    found = Simulated(SuffixReader(1), sure=0.9, vocabulary=11).losses(ids, 4)
    assert found.top1.tolist() == [False, True, True, True]
    assert np.allclose(found.nats, [-math.log(1 / 11), *[-math.log(0.9)] * 3])


def test_what_is_not_offered_says_so():
    asked, _ = prompt()
    assert Simulated(Oracle()).offers == {"answer", "choices"}
    with pytest.raises(Unavailable, match="gives no log-probabilities of prompts"):
        Simulated(Oracle()).losses((1, 2), 1)
    with pytest.raises(Unavailable, match="gives no log-probabilities of choices"):
        Simulated(SuffixReader(1)).choices(asked, ("a",))


def test_the_identity_holds_what_decides():
    assert Simulated(Noisy(0.5, seed=3)).identity["seed"] == "3"
    assert Simulated(Noisy(0.5)).identity != Simulated(Noisy(0.6)).identity
    assert Simulated(Oracle()).identity != Simulated(Oracle(), limit=4096).identity
    assert Simulated(Oracle()).identity == Simulated(Oracle(), seconds=0.1, concurrency=3).identity


def test_seconds_are_taken():
    asked, _ = prompt()
    began = time.monotonic()
    reply = Simulated(Oracle(), seconds=0.02).answer(asked, 8)
    assert 0.02 <= reply.seconds <= time.monotonic() - began


def test_a_certainty_of_one_is_refused():
    with pytest.raises(InputError, match="sure"):
        Simulated(Oracle(), sure=1.0)
