import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordinate import InputError
from ordinate.scaling.abf import Abf
from ordinate.schemes.rope import Rope


def test_the_base_it_names_replaces_the_one_it_had():
    # Code Llama: the last frequency of a head of 128 under base 1e6, and under the base it was not trained with.
    rope = Rope(head_dim=128)
    assert Abf(1e6).frequencies(rope)[-1] == pytest.approx(1.24094e-6, rel=1e-5)
    assert rope.plain()[-1] == pytest.approx(1.15478e-4, rel=1e-5)
    # Llama 3: the second frequency.
    assert Abf(5e5).frequencies(rope)[1] == pytest.approx(0.81462, abs=5e-6)
    assert rope.plain()[1] == pytest.approx(0.86596, abs=5e-6)


@given(st.floats(2, 1e9), st.sampled_from([2, 8, 64, 128]), st.sampled_from([None, 1, 10**6]))
def test_frequencies_are_powers_of_the_new_base(base, head_dim, length):
    expected = [base ** (-2 * i / head_dim) for i in range(head_dim // 2)]
    assert Abf(base).frequencies(Rope(head_dim=head_dim, base=77.0), length) == pytest.approx(expected, rel=1e-12)
    assert Abf(base).attention_factor(length) == 1.0


def test_the_example_multiplies_the_usual_base():
    assert Abf.example(8.0) == Abf(80000.0)
    assert Abf.example() == Abf(40000.0)


@pytest.mark.parametrize("base", [0, -1.0, float("inf"), float("nan"), "1e6", True, None])
def test_a_base_that_is_not_a_positive_number_is_refused(base):
    with pytest.raises(InputError, match=r"base must be (> 0|a finite number), got"):
        Abf(base)
