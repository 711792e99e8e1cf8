import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_attention import rotate, turning_channels

from ordinate import InputError, LayerGroup
from ordinate.schemes.rope import Rope
from ordinate.schemes.xpos import Xpos

SMALLEST, LARGEST = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)


def by_hand(pair, pairs, distance, gamma=0.4, scale_base=512.0):
    zeta = (2 * pair / (2 * pairs) + gamma) / (1 + gamma)
    return zeta ** (distance / scale_base)


def test_zeta_is_the_papers():
    # Algorithm 1 with gamma 0.4: (0.4 + i / (d / 2)) / 1.4.
    assert Xpos(head_dim=8).zeta == pytest.approx([0.4 / 1.4, 0.65 / 1.4, 0.9 / 1.4, 1.15 / 1.4], rel=1e-15)
    assert Xpos(head_dim=4, gamma=1.0).zeta == pytest.approx([0.5, 0.75], rel=1e-15)


def test_a_query_is_scaled_up_and_a_key_down_by_the_same():
    scheme = Xpos(head_dim=8, scale_base=100.0)
    query, key = scheme.magnitudes([0, 50, 300])
    expected = [[by_hand(i, 4, p, scale_base=100.0) for i in range(4)] for p in (0, 50, 300)]
    assert query == pytest.approx(np.array(expected), rel=1e-13)
    assert query * key == pytest.approx(np.ones((3, 4)), rel=1e-15)


def test_the_magnitudes_are_those_of_the_authors_code_about_its_own_centre():
    # torchscale scales row r of a table of 2 c rows by zeta ** ((r - c) / 512): here for c = 20.
    rows = np.arange(40)
    zeta = (np.arange(0, 16, 2) + 0.4 * 16) / (1.4 * 16)
    query, _ = Xpos(head_dim=16, centre=20).magnitudes(rows)
    assert query == pytest.approx(zeta ** ((rows - 20) / 512)[:, None], rel=1e-13)


@given(st.integers(0, 10**6), st.integers(-100, 2000), st.integers(-3000, 3000))
def test_a_score_fades_with_distance_alone(key_position, distance, centre):
    scheme = Xpos(head_dim=16, centre=key_position + centre)
    generator = np.random.default_rng(distance % 97)
    q, k = generator.standard_normal((2, 1, 16))
    channels, there, here = turning_channels(scheme), [key_position + distance], [key_position]
    query = rotate(q, scheme.angles(there), channels, scheme.magnitudes(there)[0])
    key = rotate(k, scheme.angles(here), channels, scheme.magnitudes(here)[1])
    turned = rotate(q, Rope(head_dim=16).angles([distance]), channels)
    parts = turned[0, channels[0]] * k[0, channels[0]] + turned[0, channels[1]] * k[0, channels[1]]
    faded = sum(part * by_hand(i, 8, distance) for i, part in enumerate(parts))
    assert float((query @ key.T)[0, 0]) == pytest.approx(faded, abs=1e-7)
    assert (scheme.decay([distance])[0] * parts).sum() == pytest.approx(faded, abs=1e-12)


def test_scores_do_not_depend_on_the_centre():
    places = np.arange(200, 208)
    q, k = np.random.default_rng(4).standard_normal((2, 8, 16))
    scores = []
    for centre in (0, 204, 5000):
        scheme = Xpos(head_dim=16, centre=centre)
        query, key = scheme.magnitudes(places)
        channels, angles = turning_channels(scheme), scheme.angles(places)
        scores.append(rotate(q, angles, channels, query) @ rotate(k, angles, channels, key).T)
    assert scores[1] == pytest.approx(scores[0], rel=1e-9)
    assert scores[2] == pytest.approx(scores[0], rel=1e-9)


def test_a_centre_that_moved_between_query_and_key_would_change_scores():
    # A table that grew from 1024 to 2048 rows, centred in the middle: the fault of centring by length.
    query, _ = Xpos(head_dim=16, centre=1024).magnitudes([1500])
    _, old_key = Xpos(head_dim=16, centre=512).magnitudes([500])
    assert query * old_key != pytest.approx(Xpos(head_dim=16).decay([1000]), rel=0.01)
    _, key = Xpos(head_dim=16, centre=1024).magnitudes([500])
    assert query * key == pytest.approx(Xpos(head_dim=16).decay([1000]), rel=1e-12)


def test_magnitudes_stay_normal_as_float32_up_to_their_reach_and_refuse_beyond():
    scheme = Xpos(head_dim=64, centre=1000)
    # ln(2 ** 126) / ln(1.4 / 0.4) * 512
    assert scheme.reach == math.floor(512 * 126 * math.log(2) / math.log(3.5)) == 35694
    for place in (1000 + scheme.reach, 1000 - scheme.reach):
        for magnitude in scheme.magnitudes([place]):
            assert (magnitude >= SMALLEST).all()
            assert (magnitude <= LARGEST).all()
    for place in (1000 + scheme.reach + 1, 1000 - scheme.reach - 1):
        message = f"positions must be within 35694 of xPos' centre 1000, .*, got {place}; `decay` scales by distance"
        with pytest.raises(InputError, match=message):
            scheme.magnitudes([1000, place, 1001])
    # One step further a magnitude is no longer a normal float32.
    assert by_hand(0, 32, scheme.reach + 1) < SMALLEST


def test_decay_never_overflows_and_vanishes_far_away():
    scheme = Xpos(head_dim=64)
    far = scheme.decay([0, 10**6, 10**9])
    assert (far[0] == 1).all()
    assert np.isfinite(far).all()
    assert (far[2] < 1e-300).all()
    future = scheme.decay([-scheme.reach])
    assert (future <= LARGEST).all()
    with pytest.raises(InputError, match=f"distance must be >= -{scheme.reach}, where xPos leaves float32, got -35695"):
        scheme.decay([5, -scheme.reach - 1])


def test_reach_grows_with_scale_base():
    assert Xpos(head_dim=64, scale_base=1024.0).reach == math.floor(1024 * 126 * math.log(2) / math.log(3.5))
    assert Xpos(head_dim=64, gamma=9.0).reach == math.floor(512 * 126 * math.log(2) / math.log(10 / 9))


def test_no_positions_have_no_magnitudes():
    query, key = Xpos(head_dim=8).magnitudes([])
    assert query.shape == key.shape == (0, 4)
    assert Xpos(head_dim=8).decay([]).shape == (0, 4)


def test_angles_are_ropes():
    scheme, rope = Xpos(head_dim=16, rotary_dim=8, base=5e5), Rope(head_dim=16, rotary_dim=8, base=5e5)
    assert (scheme.plain() == rope.plain()).all()
    assert (scheme.plain(7.0) == rope.plain(7.0)).all()
    assert (scheme.angles([3, 10**6]) == rope.angles([3, 10**6])).all()
    assert scheme.angles([2], np.array([1.0, 2.0, 3.0, 4.0])).tolist() == [[2.0, 4.0, 6.0, 8.0]]


def test_a_single_table_is_refused_because_q_and_k_scale_apart():
    with pytest.raises(InputError, match="xpos scales q and k apart"):
        LayerGroup("full_attention", Xpos(head_dim=8)).table([0, 1])


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"head_dim": 0}, "head_dim must be an integer >= 1, got 0"),
        ({"head_dim": 8, "rotary_dim": 5}, "rotary_dim must be even, .*, got 5"),
        ({"head_dim": 8, "rotary_dim": 10}, "rotary_dim must be <= head_dim 8, got 10"),
        ({"head_dim": 8, "base": 0}, "base must be > 0, got 0"),
        ({"head_dim": 8, "pairing": "both"}, "pairing must be one of half, interleaved, got 'both'"),
        ({"head_dim": 8, "scale_base": 0.0}, "scale_base must be > 0, got 0.0"),
        ({"head_dim": 8, "gamma": 0.0}, "gamma must be > 0, got 0.0"),
        ({"head_dim": 8, "centre": 0.5}, "centre must be an integer, got 0.5"),
        ({"head_dim": 8, "centre": True}, "centre must be an integer, got True"),
    ],
)
def test_fields_out_of_range_are_refused(fields, message):
    with pytest.raises(InputError, match=message):
        Xpos(**fields)


def test_defaults_are_the_papers():
    scheme = Xpos(head_dim=8)
    assert (scheme.scale_base, scheme.gamma, scheme.centre, scheme.rotary_dim) == (512.0, 0.4, 0, 8)
    assert (scheme.base, scheme.pairing) == (10000.0, "half")
