import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_transformers import scaled

from ordinate import InputError
from ordinate.scaling.proportional import Proportional
from ordinate.schemes.rope import Rope


def test_a_quarter_of_a_head_of_512_has_64_turning_pairs():
    rope = Rope(head_dim=512, rotary_dim=128, base=1e6, part="proportional")
    frequencies = Proportional().frequencies(rope)
    assert len(frequencies) == 256
    # The whole head's frequencies: exponents over 512, not over 128.
    assert frequencies[:64] == pytest.approx([1e6 ** (-2 * i / 512) for i in range(64)], rel=1e-13)
    assert (frequencies[64:] == 0).all()


@settings(max_examples=25)
@given(
    st.sampled_from([16, 64, 256]),
    st.sampled_from([0.25, 0.5, 1.0]),
    st.sampled_from([1e4, 1e6]),
    st.one_of(st.none(), st.floats(1, 16)),
)
def test_it_agrees_with_transformers(head_dim, share, base, factor):
    given_factor = {} if factor is None else {"factor": factor}
    expected, attention_factor = scaled(
        "proportional", head_dim=head_dim, base=base, partial_rotary_factor=share, **given_factor
    )
    rope = Rope(head_dim=head_dim, rotary_dim=int(head_dim * share), base=base, part="proportional")
    scaling = Proportional(**given_factor)
    assert scaling.frequencies(rope) == pytest.approx(expected, rel=2e-6)
    assert scaling.attention_factor() == attention_factor == 1.0


def test_the_factor_is_1_where_not_given():
    assert Proportional() == Proportional(1.0)
    assert Proportional.example(2.0) == Proportional(2.0)
    assert Proportional.example() == Proportional(4.0)


@pytest.mark.parametrize("factor", [0.5, -1, float("nan"), None, False])
def test_a_factor_below_1_or_no_number_is_refused(factor):
    with pytest.raises(InputError, match=r"factor must be (>= 1|a finite number), got"):
        Proportional(factor)
