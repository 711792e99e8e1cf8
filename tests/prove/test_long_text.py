import numpy as np
import pytest
import torch

from ordinate.errors import InputError
from ordinate.prove.long_text import LongReading, Said, ask, compare_answers, compare_losses, read_long_text
from ordinate.prove.passkeys import Passkey, Placed
from ordinate.prove.plan import Plan
from ordinate.transformers.prefill import prefill

IDS = np.random.default_rng(0).integers(0, 256, 1500).tolist()
SPANS = ((100, 120), (700, 720), (1400, 1420))
SCORED = ((1, 100), (121, 700), (721, 1400), (1421, 1500))
KEYS = [
    Passkey(f"Key{n}", "123456", tuple(IDS[start:stop]), (10 + n, 20, 30, 40), tuple(IDS[stop - 6 : stop]))
    for n, (start, stop) in enumerate(SPANS)
]


@pytest.fixture(scope="module")
def reading(model):
    return read_long_text(model, Placed(tuple(IDS), SPANS, SCORED), KEYS, (110, 720, 1500))


def test_losses_on_the_way_are_those_of_one_forward_pass(model, reading, full_losses):
    expected = full_losses(model, IDS)
    places = [index for start, stop in SCORED for index in range(start, stop)]
    assert reading.places.tolist() == places
    np.testing.assert_allclose(reading.losses, expected[np.array(places) - 1], atol=2e-4)
    assert expected.std() > 0.5


def test_a_key_is_asked_for_once_it_has_been_read(reading):
    asked = [[answer is not None for answer in answers] for answers in reading.answers]
    assert asked == [[False, False, False], [True, True, False], [True, True, True]]


@pytest.mark.parametrize("place, length", [(1, 720), (2, 1500)])
def test_asking_after_forgetting_equals_asking_after_a_shorter_text(model, reading, full_losses, place, length):
    for key, said in zip(KEYS, reading.answers[place], strict=True):
        if said is None:
            continue
        expected = full_losses(model, [*IDS[:length], *key.question, *key.answer])[-6:]
        np.testing.assert_allclose(said.losses, expected, atol=2e-4)
        assert said.ids == greedy(model, [*IDS[:length], *key.question], 6)


def greedy(model, ids, count):
    """Greedy decoding by a whole forward pass a token."""
    ids = list(ids)
    for _ in range(count):
        with torch.inference_mode():
            ids.append(int(model(input_ids=torch.tensor(ids)[None], use_cache=False).logits[0, -1].argmax()))
    return tuple(ids[-count:])


def test_asking_leaves_the_cache_as_it_was(model):
    cache = prefill(model, torch.tensor(IDS[:200])).cache
    before = [layer.keys.clone() for layer in cache.layers]
    first, second = ask(model, cache, KEYS[0]), ask(model, cache, KEYS[0])
    assert first == second
    for layer, keys in zip(cache.layers, before, strict=True):
        assert torch.equal(layer.keys, keys)


@pytest.mark.parametrize("right", range(7))
def test_what_is_said_follows_the_models_own_words(model, right):
    """The answer to a question whose key agrees with the model in its first tokens is still greedy decoding."""
    question = (3, 1, 4)
    own = greedy(model, [*IDS[:50], *question], 6)
    answer = own[:right] + tuple((token + 1) % 256 for token in own[right:])
    cache = prefill(model, torch.tensor(IDS[:50])).cache
    assert ask(model, cache, Passkey("Key", "123456", (), question, answer)).ids == own


def test_losses_that_are_not_finite_are_refused(tiny_model):
    broken = tiny_model()
    with torch.no_grad():
        broken.lm_head.weight[7] = float("nan")
    broken.get_output_embeddings = lambda: broken.lm_head
    with pytest.raises(InputError):
        read_long_text(broken, Placed(tuple(IDS[:50]), (), ((1, 50),)), [], (50,))


@pytest.fixture
def chosen():
    return Plan(
        window=1024,
        target=2048,
        length=1500,
        edges=(0, 32, 1024, 1500),
        asked_at=(800, 1500),
        keys=2,
        contexts=(64, 1024),
        scored=32,
        passage=64,
        passages=1,
        distances=(32, 1024),
        block=8,
    )


def test_ranges_hold_the_positions_from_their_start_to_before_their_stop(chosen):
    places = np.array([1, 31, 32, 1023, 1024, 1499])
    original = LongReading(places, np.array([1.0, 2.0, 10.0, 20.0, 100.0, 200.0]), ())
    extended = LongReading(places, np.array([1.0, 4.0, 10.0, 20.0, 110.0, 170.0]), ())
    found = compare_losses(original, extended, chosen)
    means = [(one.start, one.stop, one.loss.original.mean, one.loss.extended.mean) for one in found.ranges]
    assert means == [(0, 32, 1.5, 2.5), (32, 1024, 15.0, 15.0), (1024, 1500, 150.0, 140.0)]
    assert [one.loss.difference.mean for one in found.ranges] == [1.0, 0.0, -10.0]
    assert [one.loss.original.tokens for one in found.ranges] == [2, 2, 2]
    assert (found.inside.loss.original.mean, found.inside.loss.original.tokens) == (33 / 4, 4)
    assert (found.past.start, found.past.stop, found.past.loss.extended.mean) == (1024, 1500, 140.0)
    assert [(one.start, one.stop) for one in found.fine] == [(0, 32), (32, 64), (992, 1024), (1024, 1056), (1472, 1500)]


def test_without_positions_past_the_window_there_is_no_mean_there(chosen):
    reading = LongReading(np.array([5, 6]), np.array([1.0, 2.0]), ())
    found = compare_losses(reading, reading, chosen)
    assert found.past is None
    assert len(found.ranges) == 1


def test_answers_count_only_when_every_token_is_right(chosen, tokenizer):
    key = [Passkey(name, "123456", (), (1,), (17, 18, 19)) for name in ("A", "B")]
    right, wrong = Said((17, 18, 19), (0.1, 0.2, 0.3)), Said((17, 18, 20), (0.1, 0.2, 3.0))
    original = LongReading(np.array([]), np.array([]), ((wrong, None), (wrong, wrong)))
    extended = LongReading(np.array([]), np.array([]), ((right, None), (right, wrong)))
    placed = Placed((), ((100, 120), (900, 920)), ())
    found = compare_answers(original, extended, placed, key, chosen, tokenizer)
    assert [(one.asked_at, one.original.exact, one.extended.exact, one.extended.asked) for one in found.counts] == [
        (800, 0, 1, 1),
        (1500, 0, 1, 2),
    ]
    assert found.counts[1].extended.interval == pytest.approx((0.0945, 0.9055), abs=1e-4)
    first = found.questions[0]
    assert (first.name, first.start, first.stop, first.asked_at) == ("A", 100, 120, 800)
    assert (first.original.exact, first.extended.exact) == (False, True)
    assert first.original.loss == pytest.approx(1.1)
    assert first.original.said == tokenizer.decode([17, 18, 20])
