import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_transformers import scaled

from ordinate import InputError
from ordinate.scaling.linear import Linear
from ordinate.schemes.rope import Rope


def test_position_8_under_factor_8_has_the_angle_of_position_1():
    frequencies = Linear(8.0).frequencies(Rope(head_dim=64))
    assert Rope(head_dim=64).angles([8], frequencies)[0] == pytest.approx(Rope(head_dim=64).angles([1])[0], rel=1e-15)


def test_factor_4_is_a_frequency_scale_of_a_quarter():
    rope = Rope(head_dim=128, base=1e6)
    assert (Linear(4).frequencies(rope) == 0.25 * rope.plain()).all()


@settings(max_examples=25)
@given(st.floats(1, 64), st.integers(1, 64), st.sampled_from([1e4, 5e5, 1e7]), st.sampled_from([None, 1, 9000]))
def test_it_agrees_with_transformers(factor, pairs, base, length):
    frequencies, attention_factor = scaled("linear", head_dim=2 * pairs, base=base, length=length, factor=factor)
    scaling = Linear(factor)
    assert scaling.frequencies(Rope(head_dim=2 * pairs, base=base), length) == pytest.approx(frequencies, rel=2e-6)
    assert scaling.attention_factor(length) == attention_factor == 1.0


def test_every_rotary_frequency_can_be_divided_those_of_0_too():
    rope = Rope(head_dim=16, rotary_dim=8, part="proportional")
    frequencies = Linear(2.0).frequencies(rope)
    assert (frequencies[4:] == 0).all()
    assert frequencies == pytest.approx(rope.plain() / 2)


def test_a_factor_of_1_is_the_least():
    assert (Linear(1).frequencies(Rope(head_dim=8)) == Rope(head_dim=8).plain()).all()
    assert Linear.example(3.0) == Linear(3.0)
    assert Linear.example() == Linear(4.0)


@pytest.mark.parametrize("factor", [0.999, 0, -2, float("nan"), float("inf"), "2", True, np.array([2.0])])
def test_a_factor_below_1_or_no_number_is_refused(factor):
    with pytest.raises(InputError, match=r"factor must be (>= 1|a finite number), got"):
        Linear(factor)
