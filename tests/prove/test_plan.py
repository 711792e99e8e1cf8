import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordinate.errors import InputError
from ordinate.prove.plan import ROOM, plan


def test_smollm2_stretched_to_twice_its_window_is_read_to_14336():
    chosen = plan(8192, 16384)
    assert chosen.length == 14336
    assert chosen.edges == (0, 256, 1024, 2048, 4096, 6144, 8192, 10240, 12288, 14336)
    assert chosen.asked_at == (2048, 4096, 8128, 12288, 14336)
    assert chosen.contexts == (512, 1024, 2048, 4096, 8192)
    assert (chosen.scored, chosen.passage) == (256, 768)
    assert chosen.distances == (384, 4096, 8192, 12288, 16384, 32768)


def test_full_goes_to_the_target():
    chosen = plan(8192, 16384, full=True)
    assert chosen.length == 16384 - ROOM
    assert chosen.edges[-2:] == (14336, 16384 - ROOM)
    assert chosen.contexts == (512, 1024, 2048, 4096, 8192, 16384)


def test_a_given_length_is_taken():
    chosen = plan(8192, 16384, length=9000)
    assert (chosen.length, chosen.edges[-3:], chosen.asked_at) == (9000, (6144, 8192, 9000), (2048, 4096, 8128, 9000))


@given(st.integers(128, 40000), st.floats(1.0, 40.0), st.booleans())
def test_every_plan_fits_its_windows(window, factor, full):
    target = max(int(window * factor), window)
    chosen = plan(window, target, full=full)
    assert chosen.edges[0] == 0
    assert chosen.edges[-1] == chosen.length == chosen.asked_at[-1]
    for ascending in (chosen.edges, chosen.asked_at, chosen.contexts, chosen.distances):
        assert list(ascending) == sorted(set(ascending))
    # A question at the end, and one asked "within the window", stay within.
    assert chosen.length + ROOM <= target
    assert all(n + ROOM <= window or n > window - ROOM for n in chosen.asked_at)
    assert chosen.contexts[-1] == (target if full else window)
    assert chosen.scored < chosen.contexts[0]
    assert chosen.distances[0] == chosen.passage // 2
    assert chosen.passage <= window


@pytest.mark.parametrize(
    "window, target, options, words",
    [
        (32, 64, {}, "at least 64 tokens, got 32"),
        (8192, 4096, {}, "at least the original's 8192 tokens, got 4096"),
        (8192, 16384, {"length": 16384}, "between 64 and 16320"),
        (8192, 16384, {"length": 10}, "got 10"),
        (8192, 16384, {"length": 9000, "full": True}, "must not be given together"),
        (64, 100, {}, "between 64 and 36"),
    ],
)
def test_impossible_plans_are_refused(window, target, options, words):
    with pytest.raises(InputError, match=words):
        plan(window, target, **options)
