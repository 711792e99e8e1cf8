"""Regimes and settled lengths: what a length-dependent method is told."""

import numpy as np
import pytest

from ordinate.caches import Frozen, PerRow, Recompute, Stamp, regime
from ordinate.errors import InputError
from ordinate.registry import lookup, names
from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.longrope import LongRope
from ordinate.schemes.alibi import Alibi
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup

METHODS = names("ordinate.scaling")
LENGTHS = (None, 1, 63, 64, 65, 100, 4096, 100_000)


@pytest.mark.parametrize("name", METHODS)
def test_settled_length_turns_as_the_length_does(name):
    method, rope = lookup("ordinate.scaling", name, "scaling").example(), Rope(head_dim=16)
    for length in LENGTHS:
        settled = method.settled(length)
        np.testing.assert_array_equal(method.frequencies(rope, settled), method.frequencies(rope, length))
        assert method.attention_factor(settled) == method.attention_factor(length)
        assert method.settled(settled) == settled


@pytest.mark.parametrize("name", METHODS)
def test_lengths_that_turn_alike_settle_alike(name):
    method, rope = lookup("ordinate.scaling", name, "scaling").example(), Rope(head_dim=16)
    for a in LENGTHS:
        for b in LENGTHS:
            alike = np.array_equal(method.frequencies(rope, a), method.frequencies(rope, b))
            assert alike == (method.settled(a) == method.settled(b))


def test_dynamic_ntk_settles_at_its_window():
    method = DynamicNtk(2.0, window=2048)
    assert [method.settled(n) for n in (None, 1, 2048, 2049, 4096)] == [None, None, None, 2049, 4096]


def test_longrope_has_two_lengths():
    method = LongRope((1.0,) * 4, (2.0,) * 4, factor=2.0, original_max_position_embeddings=4096)
    assert [method.settled(n) for n in (None, 4096, 4097, 131072)] == [None, None, 4097, 4097]


def test_each_regime_says_which_length_a_row_has():
    assert [Frozen(100).length(m, 50) for m in (0, 49)] == [100, 100]
    assert [PerRow().length(m, 50) for m in (0, 49)] == [1, 50]
    assert [Recompute().length(m, 50) for m in (0, 49)] == [50, 50]


def test_frozen_refuses_to_grow_past_its_length():
    assert Frozen(4).length(3, 4) == 4
    with pytest.raises(InputError, match="frozen at length 4 must hold positions below it, got 4"):
        Frozen(4).length(4, 5)


def test_rows_settle_together_inside_the_window():
    rows = PerRow().settled(DynamicNtk(2.0, window=4), np.arange(7), 7)
    assert rows == [None, None, None, None, 5, 6, 7]
    assert Recompute().settled(DynamicNtk(2.0, window=4), np.arange(7), 7) == [7] * 7
    assert PerRow().settled(None, np.arange(3), 3) == [None] * 3


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("forzen",), "did you mean 'frozen'"),
        (("frozen",), "needs the length"),
        (("per_row", 8), "length must be None, got 8"),
        (("frozen", 0), "length must be an integer >= 1, got 0"),
    ],
)
def test_wrong_regimes_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        regime(*arguments)


def test_stamps_say_what_differs():
    one = LayerGroup("full_attention", Rope(head_dim=8, base=1e4), pairing="half", layers=(0, 1))
    other = LayerGroup("sliding_attention", Rope(head_dim=8, base=1e6), pairing="interleaved", layers=(2,))
    stamp = Stamp(one, "rotated", PerRow())
    stamp.check(Stamp(one, "rotated", PerRow()))
    with pytest.raises(InputError) as raised:
        stamp.check(Stamp(other, "unrotated", Frozen(64)))
    for word in ("kept: rotated and unrotated", "regime", "encoding.base: 10000.0 and 1000000.0", "pairing: half and"):
        assert word in str(raised.value)
    assert "layers" not in str(raised.value)


def test_keys_that_nothing_turns_cannot_be_kept_rotated():
    with pytest.raises(InputError, match="alibi rotates nothing"):
        Stamp(LayerGroup("full_attention", Alibi(heads=4)), "rotated", PerRow())
