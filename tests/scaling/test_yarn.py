import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_transformers import scaled

from ordinate import InputError
from ordinate.scaling.yarn import Yarn, magnitude
from ordinate.schemes.rope import Rope

QWEN = Rope(head_dim=128, base=1e6)
GPT_OSS = Rope(head_dim=64, base=150000.0)


def by_hand(rope, factor, length, fast=32.0, slow=1.0, truncate=True):
    """The authors' code, pair by pair: a ramp over the pair's index."""
    d = rope.rotary_dim

    def pair(turns):
        return d * math.log(length / (turns * 2 * math.pi)) / (2 * math.log(rope.base))

    low, high = pair(fast), pair(slow)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, d - 1)
    if low == high:
        high += 0.001
    frequencies = []
    for i in range(d // 2):
        kept = 1 - min(max((i - low) / (high - low), 0), 1)
        frequency = rope.base ** (-2 * i / d)
        frequencies.append(frequency / factor * (1 - kept) + frequency * kept)
    return frequencies


def test_qwens_ramp_runs_from_pair_23_to_pair_40():
    assert Yarn(4.0, 32768).ramp_ends(QWEN) == (23, 40)
    # The lengths that are taken for it by mistake: the declared one, and the stretched one.
    assert Yarn(4.0, 40960).ramp_ends(QWEN) == (24, 41)
    assert Yarn(4.0, 131072).ramp_ends(QWEN) == (30, 47)


def test_pairs_before_the_ramp_are_plain_and_pairs_after_it_divided_by_the_factor():
    frequencies = Yarn(4.0, 32768).frequencies(QWEN)
    plain = QWEN.plain()
    assert (frequencies[:24] == plain[:24]).all()
    assert frequencies[40:] == pytest.approx(plain[40:] / 4, rel=1e-15)
    assert frequencies[40] != pytest.approx(plain[40] / 1.25, rel=0.1)
    assert ((frequencies[24:40] < plain[24:40]) & (frequencies[24:40] > plain[24:40] / 4)).all()


def test_taking_the_stretched_length_for_the_trained_one_is_far_off_at_pair_40():
    right, wrong = (Yarn(4.0, length).frequencies(QWEN)[40] for length in (32768, 131072))
    assert wrong / right - 1 == pytest.approx(1.24, abs=0.005)


def test_the_end_of_the_ramp_is_bounded_by_the_channels_and_not_by_the_pairs():
    rope = Rope(head_dim=64)
    scaling = Yarn(4.0, 131072, truncate=False)
    assert scaling.index(rope, 1.0) == pytest.approx(34.55, abs=0.005)
    assert scaling.ramp_ends(rope)[1] == pytest.approx(34.55, abs=0.005)
    assert Yarn(4.0, 131072).ramp_ends(rope)[1] == 35


def test_gpt_oss_does_not_round_the_ends_of_its_ramp():
    exact, rounded = (Yarn(32.0, 4096, truncate=truncate) for truncate in (False, True))
    low, high = exact.ramp_ends(GPT_OSS)
    assert low == pytest.approx(32 * math.log(4096 / (64 * math.pi)) / math.log(150000), rel=1e-14)
    assert high == pytest.approx(32 * math.log(4096 / (2 * math.pi)) / math.log(150000), rel=1e-14)
    assert rounded.ramp_ends(GPT_OSS) == (8, 18)
    ratio = exact.frequencies(GPT_OSS)[17] / rounded.frequencies(GPT_OSS)[17]
    assert abs(ratio - 1) == pytest.approx(0.43, abs=0.005)


def test_the_factor_divides_the_frequency_and_is_not_inside_the_power():
    # Pair 20 of gpt-oss lies past its ramp: base ** (-40 / 64) / 32, not (32 base) ** (-40 / 64).
    frequency = Yarn(32.0, 4096, truncate=False).frequencies(GPT_OSS)[20]
    assert frequency == pytest.approx(150000 ** (-40 / 64) / 32, rel=1e-14)
    assert Rope(head_dim=64, base=150000.0).plain()[16] / 32 == pytest.approx(8.0687e-5, rel=1e-5)


def test_half_way_frequencies_are_blended_and_not_wavelengths():
    # Half a factor of 4 away: 0.5 + 0.5 / 4 = 0.625. Blended wavelengths would give 1 / 2.5 = 0.4.
    scaling = Yarn(4.0, 32768, truncate=False, beta_fast=32.0, beta_slow=1.0)
    rope = Rope(head_dim=128)
    low, high = scaling.ramp_ends(rope)
    middle = (low + high) / 2
    below = int(middle)
    ratio = scaling.frequencies(rope) / rope.plain()
    at_middle = ratio[below] + (ratio[below + 1] - ratio[below]) * (middle - below)
    assert at_middle == pytest.approx(0.625, rel=1e-12)


@given(
    st.sampled_from([4, 8, 64, 128]),
    st.sampled_from([100.0, 1e4, 5e5, 1e7]),
    st.floats(1, 64),
    st.integers(16, 10**6),
    st.floats(0.5, 4),
    st.floats(0.1, 60),
    st.booleans(),
)
def test_it_is_the_authors_ramp_over_the_index(head_dim, base, factor, length, slow, width, truncate):
    rope = Rope(head_dim=head_dim, base=base)
    scaling = Yarn(factor, length, beta_fast=slow + width, beta_slow=slow, truncate=truncate)
    expected = by_hand(rope, factor, length, slow + width, slow, truncate)
    assert scaling.frequencies(rope) == pytest.approx(expected, rel=1e-9)


@settings(max_examples=60)
@given(
    st.sampled_from([8, 64, 96, 128]),
    st.sampled_from([1e4, 5e5, 1e7]),
    st.floats(1, 64),
    st.sampled_from([64, 2048, 4096, 32768, 10**6]),
    st.sampled_from([{}, {"beta_fast": 16.0}, {"beta_slow": 2.0}, {"beta_fast": 8.0, "beta_slow": 0.25}]),
    st.sampled_from([{}, {"truncate": False}, {"truncate": True}]),
    st.sampled_from(
        [
            {},
            {"attention_factor": 1.1},
            {"mscale": 0.707},
            {"mscale_all_dim": 0.707},
            {"mscale": 0.707, "mscale_all_dim": 0.707},
            {"mscale": 1.0, "mscale_all_dim": 0.5},
            {"mscale": 0.707, "mscale_all_dim": 0.0},
            {"mscale": 0.0, "mscale_all_dim": 1.0},
            {"mscale": 1.0, "mscale_all_dim": 0.5, "attention_factor": 0.9},
        ]
    ),
)
def test_it_agrees_with_transformers(head_dim, base, factor, length, betas, truncate, magnitudes):
    expected, attention_factor = scaled(
        "yarn",
        head_dim=head_dim,
        base=base,
        factor=factor,
        original_max_position_embeddings=length,
        **betas,
        **truncate,
        **magnitudes,
    )
    ours = {{"attention_factor": "magnitude_factor"}.get(key, key): value for key, value in magnitudes.items()}
    scaling = Yarn(factor, length, **betas, **truncate, **ours)
    assert scaling.frequencies(Rope(head_dim=head_dim, base=base), 10**6) == pytest.approx(expected, rel=2e-6)
    assert scaling.attention_factor(10**6) == pytest.approx(attention_factor, rel=1e-12)


def test_the_ramp_starts_at_the_first_pair_at_the_earliest():
    # In 64 tokens no pair turns 32 times: the ramp's start would be before pair 0.
    rope = Rope(head_dim=64)
    assert Yarn(4.0, 64).index(rope, 32.0) < -3
    assert Yarn(4.0, 64).ramp_ends(rope)[0] == 0
    assert Yarn(4.0, 64, truncate=False).ramp_ends(rope)[0] == 0


def test_a_ramp_without_length_is_a_step():
    # Both ends fall on the last channel.
    rope = Rope(head_dim=8, base=100.0)
    assert Yarn(4.0, 10**6).ramp_ends(rope) == (7, 7.001)
    # Six tokens are less than a turn of any pair: both ends fall on pair 0, which alone is kept.
    low, high = Yarn(4.0, 6).ramp_ends(Rope(head_dim=8))
    assert (low, high) == (0, 0.001)
    assert Yarn(4.0, 6).frequencies(Rope(head_dim=8)) == pytest.approx([1, 0.1 / 4, 0.01 / 4, 0.001 / 4], rel=1e-12)


def test_the_papers_ramp_runs_over_turns():
    rope = Rope(head_dim=128, base=1e6)
    scaling = Yarn(8.0, 32768, ramp="turns")
    expected = []
    for frequency in rope.plain():
        turns = 32768 * frequency / (2 * math.pi)
        kept = min(max((turns - 1) / 31, 0), 1)
        expected.append((1 - kept) * frequency / 8 + kept * frequency)
    assert scaling.frequencies(rope) == pytest.approx(expected, rel=1e-12)
    # Up to 2.3 times from the ramp that checkpoints use.
    ratio = Yarn(8.0, 32768).frequencies(rope) / scaling.frequencies(rope)
    assert max(ratio.max(), 1 / ratio.min()) == pytest.approx(2.3, abs=0.05)


@given(st.floats(1, 40), st.integers(64, 10**5), st.floats(0.5, 3), st.floats(0.5, 40))
def test_the_papers_ramp_has_its_bounds_where_it_says(factor, length, slow, width):
    rope = Rope(head_dim=64)
    scaling = Yarn(factor, length, beta_fast=slow + width, beta_slow=slow, ramp="turns")
    turns = length * 10000 ** (-np.arange(32) / 32) / (2 * math.pi)
    interpolated = scaling.interpolated(rope)
    assert interpolated == pytest.approx(1 - np.clip((turns - slow) / width, 0, 1), abs=1e-9)
    assert (interpolated[turns > slow + width] == 0).all()
    assert (interpolated[turns < slow] == 1).all()


def test_magnitudes():
    assert magnitude(2.0) == pytest.approx(1.0693, abs=5e-5)
    assert magnitude(40.0, 0.707) == pytest.approx(0.1 * 0.707 * math.log(40) + 1, rel=1e-15)
    assert magnitude(1.0) == 1.0
    assert magnitude(1.0, 5.0) == 1.0
    assert magnitude(0.5) == 1.0


def test_the_attention_factor_is_given_or_a_ratio_or_the_papers():
    assert Yarn(4.0, 4096).attention_factor() == pytest.approx(0.1 * math.log(4) + 1, rel=1e-15)
    assert Yarn(4.0, 4096, magnitude_factor=0.5).attention_factor(9) == 0.5
    assert Yarn(4.0, 4096, magnitude_factor=2, mscale=1.0, mscale_all_dim=0.3).attention_factor() == 2.0
    # DeepSeek: equal weights cancel; a weight of 0 counts as absent.
    assert Yarn(40.0, 4096, mscale=0.707, mscale_all_dim=0.707).attention_factor() == 1.0
    assert Yarn(40.0, 4096, mscale=0.707, mscale_all_dim=0.0).attention_factor() == pytest.approx(1.3689, abs=5e-5)
    assert Yarn(40.0, 4096, mscale=0.0, mscale_all_dim=0.707).attention_factor() == pytest.approx(1.3689, abs=5e-5)
    ratio = (0.1 * 1.2 * math.log(40) + 1) / (0.1 * 0.8 * math.log(40) + 1)
    assert Yarn(40.0, 4096, mscale=1.2, mscale_all_dim=0.8).attention_factor() == pytest.approx(ratio, rel=1e-15)


def test_the_usual_values_are_the_defaults():
    scaling = Yarn(4.0, 4096)
    assert scaling == Yarn(4.0, 4096, None, 32.0, 1.0, None, None, True, "index")
    assert Yarn.example(2.0) == Yarn(2.0, original_max_position_embeddings=4096)
    assert Yarn.example() == Yarn(4.0, original_max_position_embeddings=4096)


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"factor": 0.5}, r"factor must be >= 1, got 0\.5"),
        ({"factor": None}, "factor must be a finite number, got None"),
        ({"original_max_position_embeddings": None}, "original_max_position_embeddings must be an integer >= 1"),
        ({"original_max_position_embeddings": 0}, "original_max_position_embeddings must be an integer >= 1, got 0"),
        ({"magnitude_factor": 0.0}, r"attention_factor must be > 0, got 0\.0"),
        ({"magnitude_factor": -1.0}, r"attention_factor must be > 0, got -1\.0"),
        ({"beta_fast": 0.0}, r"beta_fast must be > 0, got 0\.0"),
        ({"beta_slow": 0.0}, r"beta_slow must be > 0, got 0\.0"),
        ({"beta_fast": 1.0, "beta_slow": 32.0}, "beta_fast must be >= beta_slow 32, got 1"),
        (
            {"beta_fast": 2.0, "beta_slow": 2.0, "ramp": "turns"},
            "beta_fast must be > beta_slow 2 for a ramp over turns",
        ),
        ({"mscale": float("nan")}, "mscale must be a finite number, got nan"),
        ({"mscale": -0.1}, r"mscale must be >= 0, got -0\.1"),
        ({"mscale_all_dim": -1.0}, r"mscale_all_dim must be >= 0, got -1\.0"),
        ({"mscale_all_dim": "1"}, "mscale_all_dim must be a finite number, got '1'"),
        ({"truncate": 1}, "truncate must be true or false, got 1"),
        ({"truncate": "false"}, "truncate must be true or false, got 'false'"),
        ({"ramp": "wavelength"}, "ramp must be one of index, turns, got 'wavelength'"),
    ],
)
def test_fields_out_of_range_are_refused(fields, message):
    with pytest.raises(InputError, match=message):
        Yarn(**{"factor": 4.0, "original_max_position_embeddings": 4096, **fields})


def test_a_base_just_above_one_is_taken():
    rope = Rope(head_dim=8, base=1.5)
    index = Yarn(factor=2.0, original_max_position_embeddings=64).index(rope, 1.0)
    assert index == pytest.approx(8 * math.log(64 / (2 * math.pi)) / (2 * math.log(1.5)))


def test_a_base_that_has_no_logarithm_to_divide_by_is_refused():
    for base in (1.0, 0.5):
        with pytest.raises(InputError, match=f"YaRN needs a base > 1, .*, got {base:g}"):
            Yarn(4.0, 4096).frequencies(Rope(head_dim=8, base=base))


@pytest.mark.parametrize("betas", [(32.0, 5e-324), (1e308, 1.0)])
def test_turns_that_leave_float64_are_refused(betas):
    with pytest.raises(InputError, match="beta_fast and beta_slow must leave a wavelength within float64"):
        Yarn(4.0, 4096, beta_fast=betas[0], beta_slow=betas[1]).frequencies(Rope(head_dim=64))


def test_equal_betas_are_a_step():
    """Kimi K2; transformers 5.24 divides pairs 0 to 19 by 1 and the rest by 32."""
    rope = Rope(head_dim=64, base=50000.0)
    scaling = Yarn(32.0, 4096, beta_fast=1.0, beta_slow=1.0)
    assert (rope.plain() / scaling.frequencies(rope)).round(6).tolist() == [1.0] * 20 + [32.0] * 12
