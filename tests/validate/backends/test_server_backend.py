"""A server as a backend: what is sent, what comes back, and log-probabilities where they can be had."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from fake_language_model import Cache, Model, decode, encode
from fake_server import Fault, Features, Handler, serving
from validate.backends.characters import CharacterTokenizer
from validate.backends.given import prompt

from ordinate.audit.server import Budget
from ordinate.audit.server.client import ServerFault
from ordinate.errors import InputError, Unavailable
from ordinate.validate.backends import Refusal
from ordinate.validate.backends.scoring import forced
from ordinate.validate.backends.server import OutOfBudget, Server

TEXT = "The weather was fine, and so they walked to the river."
ASKED = prompt(encode(TEXT), TEXT)


def opened(url, **settings):
    return Server(url, "tiny", CharacterTokenizer(), **settings)


def greedy(ids, steps):
    ids, said = list(ids), []
    for _ in range(steps):
        said.append(int(Model().read(ids + said, Cache(), 0).argmax()))
    return decode(said)


def logs(ids):
    """Log-probabilities behind ids."""
    values = Model().read(list(ids), Cache(), 0)
    return values - values.max() - np.log(np.exp(values - values.max()).sum())


@pytest.mark.parametrize("ids", [True, False])
@pytest.mark.parametrize("streams", [True, False])
def test_a_plain_prompt_goes_to_completions(ids, streams):
    with serving(features=Features(ids=ids, streams=streams)) as fake, opened(fake.url) as used:
        assert used.found.ids == ids
        assert used.identity["sent"] == ("ids" if ids else "text")
        assert ("completions" in used.streams) == streams
        reply = used.answer(ASKED, 6)
        assert reply.text == greedy(ASKED.ids, 6)
        assert (reply.finish, reply.tokens, reply.prompt_tokens) == ("length", 6, len(TEXT))
        assert (reply.first is not None) == streams


def test_the_first_token_is_seen_where_the_server_streams():
    with serving(features=Features(streams=True, between=0.03)) as fake, opened(fake.url) as used:
        reply = used.answer(ASKED, 8)
        assert reply.first is not None
        assert reply.first < reply.seconds - 5 * 0.03


def test_a_message_goes_to_chat_as_it_is():
    asked = prompt((1, 2, 3), TEXT, mode="chat")
    around = encode(f"<user>{TEXT}\n<assistant>")
    for streams in (True, False):
        with serving(features=Features(streams=streams)) as fake, opened(fake.url) as used:
            reply = used.answer(asked, 5)
            assert reply.text == greedy(around, 5)
            assert reply.prompt_tokens == len(around)


def test_an_answer_ends_before_a_stop_string_that_the_server_overlooks():
    with serving() as fake, opened(fake.url) as used:
        whole = greedy(ASKED.ids, 6)
        end = whole[3:]
        reply = used.answer(ASKED, 6, stop=("never", end))
        assert (reply.text, reply.finish) == (whole[: whole.index(end)], "stop")


@pytest.mark.parametrize("features", [Features(), Features(forces=True, echo=False)])
def test_choices_are_the_sums_of_their_tokens(features):
    options = (" no", " yes", "x")
    expected = []
    for option in options:
        ids, more = list(ASKED.ids), encode(option)
        expected.append(sum(logs(ids + more[:at])[more[at]] for at in range(len(more))))
    with serving(features=features) as fake, opened(fake.url) as used:
        assert used.found.echo != used.forces
        assert used.choices(ASKED, options) == pytest.approx(expected)
        with pytest.raises(InputError, match="at least one token"):
            used.choices(ASKED, ("a", ""))


@pytest.mark.parametrize("features", [Features(), Features(forces=True, echo=False)])
def test_losses_come_from_an_echo_or_token_by_token(features):
    expected = [-logs(ASKED.ids[:at])[ASKED.ids[at]] for at in range(len(TEXT) - 20, len(TEXT))]
    best = [int(logs(ASKED.ids[:at]).argmax()) == ASKED.ids[at] for at in range(len(TEXT) - 20, len(TEXT))]
    best_one = int(logs(ASKED.ids).argmax())
    with serving(features=features) as fake, opened(fake.url) as used:
        found = used.losses(ASKED.ids, 20)
        assert found.nats.tolist() == pytest.approx(expected)
        assert found.top1.tolist() == best
        sure = used.losses((*ASKED.ids, best_one), 1)
        assert sure.top1.tolist() == [True]
        assert used.losses(ASKED.ids, len(TEXT) - 1).nats.shape == (len(TEXT) - 1,)
        with pytest.raises(InputError, match="last must be between"):
            used.losses(ASKED.ids, len(TEXT))


@pytest.mark.parametrize("settings", [{"cache": False}, {"cached_tokens": False}])
def test_tokens_are_not_asked_one_by_one_of_a_server_that_reads_the_prompt_each_time(settings):
    with serving(features=Features(forces=True, echo=False, **settings)) as fake, opened(fake.url) as used:
        assert not used.forces
        assert used.offers == {"answer"}


@pytest.mark.parametrize("features", [Features(), Features(forces=True, echo=False)])
def test_log_probabilities_of_a_prompt_that_was_cut_are_a_named_fault(features):
    ids = encode(TEXT) * 20
    with serving(Fault(cut="head", admits=True), features) as fake, opened(fake.url) as used:
        assert used.losses(ids[:600], 3).nats.shape == (3,)
        with pytest.raises(ServerFault, match=r"640|639"):
            used.losses(ids[:900], 3)


def test_a_token_without_text_is_no_token_by_id(monkeypatch):
    named = Handler.choice

    def choice(*given, **more):
        found = named(*given, **more)
        for top in (found.get("logprobs") or {}).get("top_logprobs") or ():
            if top is not None:
                top[""] = -9.0
        return found

    monkeypatch.setattr(Handler, "choice", choice)
    with serving(features=Features(echo=False)) as fake, opened(fake.url) as used:
        assert not used.forces


@pytest.mark.parametrize("features", [Features(forces=True, biased=True, echo=False), Features(echo=False)])
def test_a_bias_that_moves_the_log_probabilities_themselves_is_not_used(features):
    with serving(features=features) as fake, opened(fake.url) as used:
        assert not used.forces
        assert used.offers == {"answer"}


def test_a_token_that_no_bias_brings_about_is_a_named_fault():
    def ask(ids, settings):
        assert settings["logit_bias"] == {"7": 100.0}
        other = {"id": 8, "token": "h", "logprob": -0.1}
        return {"choices": [{"index": 0, "text": "h", "logprobs": {"content": [{**other, "top_logprobs": [other]}]}}]}

    with pytest.raises(ServerFault, match="token 7 was asked for by a bias of 100, and the server made token 8"):
        forced(ask, [1, 2], 7)


def test_what_is_not_offered_says_so():
    with serving(features=Features(echo=False, chat=False)) as fake, opened(fake.url) as used:
        assert used.offers == {"answer"}
        with pytest.raises(Unavailable, match="gives no log-probabilities of choices"):
            used.choices(ASKED, ("a",))
        with pytest.raises(Unavailable, match="gives no log-probabilities of prompts"):
            used.losses(ASKED.ids, 3)
        with pytest.raises(Unavailable, match="offers no chat, which the mode 'chat' needs"):
            used.answer(prompt((1,), TEXT, mode="chat"), 1)


def test_a_refusal_has_its_reason():
    long = prompt(encode("x" * 700), "x" * 700)
    with serving() as fake, opened(fake.url) as used:
        assert used.limit == Features().window
        with pytest.raises(Refusal, match="700 tokens exceed the window of 640") as refused:
            used.answer(long, 4)
        assert refused.value.status == 400


def test_the_limit_is_the_stated_one_before_the_declared():
    with serving(features=Features(declares=False)) as fake:
        with opened(fake.url) as used:
            assert used.limit is None
        with opened(fake.url, limit=512) as used:
            assert used.limit == 512


def test_a_wrong_key_is_no_refusal_of_a_prompt():
    with serving(features=Features(key="right")) as fake:
        with pytest.raises(Unavailable, match="401") as fault:
            opened(fake.url, key="wrong")
        assert not isinstance(fault.value, Refusal)
        with opened(fake.url, key="right") as used:
            assert used.answer(ASKED, 2).text


class PairTokenizer(CharacterTokenizer):
    """Another's: two letters may be a token."""

    def encode(self, text):
        return super().encode(text.replace("th", "t"))


def test_another_models_tokenizer_is_refused():
    with serving() as fake, pytest.raises(InputError, match="tokens of a text, and the server"):
        Server(fake.url, "tiny", PairTokenizer())


def test_a_server_that_counts_wrong_is_opened_all_the_same():
    with serving(Fault(count=lambda n: n - 1)) as fake, opened(fake.url) as used:
        assert used.answer(ASKED, 2).prompt_tokens == len(TEXT) - 1


def test_a_budget_that_is_spent_is_named():
    with serving() as fake:
        with pytest.raises(OutOfBudget, match="budget of 3 requests is spent"):
            opened(fake.url, budget=Budget(requests=3))
        with opened(fake.url, budget=Budget(tokens=3000)) as used:
            left = 3000 - used._client.budget.spent_tokens
            for _ in range(left // (len(TEXT) + 2)):
                used.answer(ASKED, 2)
            with pytest.raises(OutOfBudget, match="3000 tokens"):
                used.answer(ASKED, 2)


def test_no_more_requests_are_in_flight_than_allowed():
    going, most, lock = 0, 0, threading.Lock()

    with serving(features=Features(delay=0.02)) as fake, opened(fake.url, concurrency=3) as used:
        complete = fake.complete

        def counted(*given, **named):
            nonlocal going, most
            with lock:
                going += 1
                most = max(most, going)
            threading.Event().wait(0.02)
            found = complete(*given, **named)
            with lock:
                going -= 1
            return found

        fake.complete = counted
        with ThreadPoolExecutor(8) as pool:
            replies = list(pool.map(lambda _: used.answer(ASKED, 3), range(16)))
    assert {reply.text for reply in replies} == {greedy(ASKED.ids, 3)}
    assert 2 <= most <= 3


def test_the_identity_does_not_hold_the_address():
    with serving() as one, serving() as other, opened(one.url) as first, opened(other.url) as second:
        assert first.identity == second.identity
        assert all(one.url not in value for value in first.identity.values())


def test_a_closed_backend_says_so():
    with serving() as fake:
        with opened(fake.url) as used:
            pass
        used.close()
        with pytest.raises(Unavailable, match="closed"):
            used.answer(ASKED, 1)


def test_nobody_there_is_named():
    with pytest.raises(Unavailable, match="cannot be reached"):
        opened("http://127.0.0.1:9/v1")
