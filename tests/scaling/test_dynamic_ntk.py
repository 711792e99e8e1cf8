import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_transformers import scaled

from ordinate import InputError
from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.ntk import Ntk
from ordinate.schemes.rope import Rope


def test_factor_8_over_2048_tokens_raises_the_base_at_16384_as_57_would():
    # 8 * 16384 / 2048 - 7: the factor and the length both grow.
    scaling = DynamicNtk(8.0, window=2048)
    assert scaling.growth(16384) == 57.0
    assert DynamicNtk(8.0, window=2048, form="ratio").growth(16384) == 8.0
    rope = Rope(head_dim=128)
    assert scaling.frequencies(rope, 16384) == pytest.approx(Ntk(57.0).frequencies(rope), rel=1e-15)


def test_both_forms_have_the_base_that_they_say():
    rope = Rope(head_dim=128)
    offset = DynamicNtk(2.0, window=2048)
    ratio = DynamicNtk(2.0, window=2048, form="ratio")
    # 2 * 5000 / 2048 - 1 = 3.8828, and a base of 39673.3 in a head of 128.
    assert offset.growth(5000) == pytest.approx(3.8828, abs=5e-5)
    assert offset.frequencies(rope, 5000) == pytest.approx([39673.3 ** (-i / 64) for i in range(64)], rel=2e-6)
    base = 10000 * (5000 / 2048) ** (128 / 126)
    assert ratio.frequencies(rope, 5000) == pytest.approx([base ** (-i / 64) for i in range(64)], rel=1e-12)


@given(st.integers(1, 4096), st.floats(1, 16), st.sampled_from(["offset", "ratio"]))
def test_nothing_changes_inside_the_window(length, factor, form):
    scaling, rope = DynamicNtk(factor, window=4096, form=form), Rope(head_dim=64)
    for asked in (length, None, 4096):
        assert scaling.growth(asked) == 1.0
        assert (scaling.frequencies(rope, asked) == rope.plain()).all()
    assert scaling.growth(4097) > 1
    assert (scaling.frequencies(rope, 4097)[1:] < rope.plain()[1:]).all()


@given(st.integers(1, 10**6), st.integers(1, 10**4))
def test_the_forms_are_one_where_the_factor_is_1(length, window):
    offset, ratio = (DynamicNtk(1.0, window=window, form=form) for form in ("offset", "ratio"))
    assert offset.growth(length) == pytest.approx(ratio.growth(length), rel=1e-12)


@settings(max_examples=40)
@given(
    st.floats(1, 32),
    st.sampled_from([4, 8, 64, 128]),
    st.sampled_from([1e4, 5e5]),
    st.sampled_from([2048, 4096]),
    st.one_of(st.none(), st.integers(1, 10**5)),
)
def test_the_offset_form_agrees_with_transformers(factor, head_dim, base, window, length):
    expected, attention_factor = scaled(
        "dynamic", head_dim=head_dim, base=base, window=window, length=length, factor=factor
    )
    scaling = DynamicNtk(factor, window=window)
    assert scaling.frequencies(Rope(head_dim=head_dim, base=base), length) == pytest.approx(expected, rel=2e-6)
    assert scaling.attention_factor(length) == attention_factor == 1.0


def test_positions_are_not_squeezed():
    # Pair 0 of position 10 turns by 10 rad whatever the factor: dividing positions is another method.
    rope = Rope(head_dim=64)
    for length in (None, 100, 10**5):
        assert rope.angles([10], DynamicNtk(2.0, window=64).frequencies(rope, length))[0, 0] == 10.0


def test_a_head_of_one_pair_works_until_its_base_must_grow():
    scaling, rope = DynamicNtk(2.0, window=64), Rope(head_dim=2)
    assert scaling.frequencies(rope, 64).tolist() == [1.0]
    with pytest.raises(InputError, match="NTK scaling needs rotary_dim >= 4"):
        scaling.frequencies(rope, 65)


def test_a_length_that_float64_cannot_count_to_is_refused():
    assert DynamicNtk(2.0, window=64).growth(2**53) == 2.0**48 - 1
    with pytest.raises(InputError, match=r"length must be at most 2\*\*53"):
        DynamicNtk(2.0, window=64).growth(2**53 + 1)


def test_the_offset_form_is_the_default():
    assert DynamicNtk(2.0, 64) == DynamicNtk(2.0, window=64, form="offset")
    assert DynamicNtk.example(2.0) == DynamicNtk(2.0, window=64)
    assert DynamicNtk.example() == DynamicNtk(4.0, window=64)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((0.5, 64), "factor must be >= 1, got 0.5"),
        ((float("nan"), 64), "factor must be a finite number, got nan"),
        ((2.0, 0), "window must be an integer >= 1, got 0"),
        ((2.0, 64.0), "window must be an integer >= 1, got 64.0"),
        ((2.0, 64, "slope"), "form must be one of offset, ratio, got 'slope'"),
    ],
)
def test_fields_out_of_range_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        DynamicNtk(*arguments)
