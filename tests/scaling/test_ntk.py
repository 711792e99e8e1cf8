import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordinate import InputError
from ordinate.scaling.base import ntk_base
from ordinate.scaling.ntk import Ntk
from ordinate.schemes.rope import Rope


@pytest.mark.parametrize("alpha, base", [(2, 20221.26), (4, 40889.94), (8, 82684.62)])
def test_alpha_raises_the_base_as_exllama_does(alpha, base):
    assert ntk_base(10000.0, 128, alpha) == pytest.approx(base, abs=0.005)
    assert Ntk(alpha).frequencies(Rope(head_dim=128)) == pytest.approx([base ** (-i / 64) for i in range(64)], rel=1e-6)


@given(st.floats(1, 100), st.integers(2, 128), st.floats(100, 1e8))
def test_the_fastest_pair_is_kept_and_the_slowest_divided_by_the_factor(factor, pairs, base):
    rope = Rope(head_dim=2 * pairs, base=base)
    frequencies = Ntk(factor).frequencies(rope)
    assert frequencies[0] == 1.0
    assert frequencies[-1] == pytest.approx(rope.plain()[-1] / factor, rel=1e-12)
    # Between, pair i is divided by factor ** (i / (pairs - 1)): the base's power, written out.
    expected = [rope.plain()[i] / factor ** (i / (pairs - 1)) for i in range(pairs)]
    assert frequencies == pytest.approx(expected, rel=1e-12)


def test_the_exponent_is_of_the_turning_part():
    half = Ntk(4.0).frequencies(Rope(head_dim=128, rotary_dim=64))
    assert half == pytest.approx(Ntk(4.0).frequencies(Rope(head_dim=64)), rel=1e-15)


def test_the_length_changes_nothing():
    assert (Ntk(4.0).frequencies(Rope(head_dim=8), 9) == Ntk(4.0).frequencies(Rope(head_dim=8))).all()
    assert Ntk(4.0).attention_factor(10**6) == 1.0
    assert Ntk.example(2.0) == Ntk(2.0)
    assert Ntk.example() == Ntk(4.0)


def test_a_single_pair_is_refused():
    with pytest.raises(InputError, match=r"NTK scaling needs rotary_dim >= 4, .*, got 2"):
        Ntk(2.0).frequencies(Rope(head_dim=2))
    assert len(Ntk(2.0).frequencies(Rope(head_dim=4))) == 2


@pytest.mark.parametrize("factor", [0.99, 0, float("nan"), "8", True])
def test_a_factor_below_1_or_no_number_is_refused(factor):
    with pytest.raises(InputError, match=r"factor must be (>= 1|a finite number), got"):
        Ntk(factor)


def test_a_factor_whose_base_overflows_is_refused():
    with pytest.raises(InputError, match=r"factor is too large for NTK scaling: .*, got 1e\+200"):
        Ntk(1e200).frequencies(Rope(head_dim=4))
    with pytest.raises(InputError, match="base must be a finite number, got inf"):
        Ntk(1e305).frequencies(Rope(head_dim=1024))
