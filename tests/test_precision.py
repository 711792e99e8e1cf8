"""Every table entry against 50 digits: the formulas are written again here, from the papers, in mpmath."""

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf

import ordinate
from ordinate.scaling.abf import Abf
from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.linear import Linear
from ordinate.scaling.llama3 import Llama3
from ordinate.scaling.longrope import LongRope
from ordinate.scaling.ntk import Ntk
from ordinate.scaling.proportional import Proportional
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.axial import Axial
from ordinate.schemes.multimodal import Multimodal
from ordinate.schemes.rope import Rope

POSITIONS = [0, 1, 4095, 131071, 2**20 - 1, 2**23 + 1]
BASES = [1e4, 5e5, 1e7]
WINDOW, FACTOR, LONGEST = 4096, 3.3, 2**23 + 2


@pytest.fixture(autouse=True)
def fifty_digits():
    with mp.workdps(50):
        yield


# The frequency of pair i of n, exactly.


def plain(i, n, base):
    return mpf(base) ** (-mpf(i) / n)


def linear(i, n, base):
    return plain(i, n, base) / mpf(FACTOR)


def abf(i, n, base):
    return plain(i, n, 3 * base)


def ntk(i, n, base, growth=None):
    growth = mpf(FACTOR) if growth is None else growth
    return (mpf(base) * growth ** (mpf(2 * n) / (2 * n - 2))) ** (-mpf(i) / n)


def dynamic_offset(i, n, base):
    return ntk(i, n, base, mpf(FACTOR) * LONGEST / WINDOW - (mpf(FACTOR) - 1))


def dynamic_ratio(i, n, base):
    return ntk(i, n, base, mpf(LONGEST) / WINDOW)


def blended(kept, frequency):
    return kept * frequency + (1 - kept) * frequency / mpf(FACTOR)


def turns(i, n, base):
    return WINDOW * plain(i, n, base) / (2 * mp.pi)


def clipped(value):
    return min(max(value, mpf(0)), mpf(1))


def yarn(i, n, base, rounded=True):
    low, high = (n * mp.log(WINDOW / (2 * mp.pi * count)) / mp.log(base) for count in (32, 1))
    if rounded:
        low, high = mp.floor(low), mp.ceil(high)
    return blended(1 - clipped((i - low) / (high - low)), plain(i, n, base))


def yarn_exact_ends(i, n, base):
    return yarn(i, n, base, rounded=False)


def yarn_over_turns(i, n, base):
    return blended(clipped((turns(i, n, base) - 1) / 31), plain(i, n, base))


def llama3(i, n, base):
    return blended(clipped((turns(i, n, base) - 1) / 3), plain(i, n, base))


def divisors(n):
    return tuple((1 + 0.37 * np.arange(n)).tolist())


def longrope(i, n, base):
    return plain(i, n, base) / mpf(divisors(n)[i])


def proportional(i, n, base):
    return linear(i, n, base) if i < n // 2 else mpf(0)


def no_magnitude():
    return mpf(1)


def magnitude_of_yarn():
    return mp.log(mpf(FACTOR)) / 10 + 1


def magnitude_of_longrope():
    return mp.sqrt(1 + mp.log(mpf(FACTOR)) / mp.log(WINDOW))


# frequency, attention factor, length asked for
EXACT = {
    "plain": (plain, no_magnitude, None),
    "linear": (linear, no_magnitude, None),
    "abf": (abf, no_magnitude, None),
    "ntk": (ntk, no_magnitude, None),
    "dynamic_ntk": (dynamic_offset, no_magnitude, LONGEST),
    "dynamic_ntk ratio": (dynamic_ratio, no_magnitude, LONGEST),
    "yarn": (yarn, magnitude_of_yarn, None),
    "yarn exact ends": (yarn_exact_ends, magnitude_of_yarn, None),
    "yarn over turns": (yarn_over_turns, magnitude_of_yarn, None),
    "llama3": (llama3, no_magnitude, None),
    "longrope": (longrope, magnitude_of_longrope, LONGEST),
    "longrope short": (longrope, magnitude_of_longrope, WINDOW),
    "proportional": (proportional, no_magnitude, None),
}


def stretch(name, n, base):
    """The package's method of this name for n pairs."""
    ones = (1.0,) * n
    return {
        "plain": None,
        "linear": Linear(FACTOR),
        "abf": Abf(3 * base),
        "ntk": Ntk(FACTOR),
        "dynamic_ntk": DynamicNtk(FACTOR, WINDOW),
        "dynamic_ntk ratio": DynamicNtk(FACTOR, WINDOW, "ratio"),
        "yarn": Yarn(FACTOR, WINDOW),
        "yarn exact ends": Yarn(FACTOR, WINDOW, truncate=False),
        "yarn over turns": Yarn(FACTOR, WINDOW, ramp="turns"),
        "llama3": Llama3(FACTOR, WINDOW),
        "longrope": LongRope(ones, divisors(n), FACTOR, WINDOW),
        "longrope short": LongRope(divisors(n), ones, FACTOR, WINDOW),
        "proportional": Proportional(FACTOR),
    }[name]


def worst(entries, exact):
    """The largest error of float32 entries in units of what is allowed: max(1 ulp, 4e-9)."""
    shares = []
    for entry, true in zip(np.ravel(entries), exact, strict=True):
        assert entry.dtype == np.float32
        allowed = max(float(np.spacing(np.abs(np.float32(true)))), 4e-9)
        shares.append(float(abs(mpf(float(entry)) - true)) / allowed)
    return max(shares)


def check(name, head_dim, base, positions):
    frequency, magnitude, length = EXACT[name]
    n = head_dim // 2
    part = {"rotary_dim": n, "part": "proportional"} if name == "proportional" else {}
    rope = Rope(head_dim=head_dim, base=base, **part)
    cos, sin = ordinate.LayerGroup("full_attention", rope, stretch(name, n, base)).table(positions, length=length)
    frequencies = [frequency(i, n, base) for i in range(n)]
    angles = [position * turn for position in positions for turn in frequencies]
    assert worst(cos, [magnitude() * mp.cos(angle) for angle in angles]) <= 1
    assert worst(sin, [magnitude() * mp.sin(angle) for angle in angles]) <= 1


def test_every_scaling_method_is_held_to_the_bound():
    assert {name.split()[0] for name in EXACT} == {"plain", *ordinate.scalings()}


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("name", EXACT)
def test_every_pair_of_a_head_of_96_is_within_an_ulp(name, base):
    # 48 pairs: their exponents are no binary fractions, so that nothing is exact by luck.
    check(name, 96, base, POSITIONS)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("head_dim", [64, 128, 256])
def test_every_pair_of_plain_rope_is_within_an_ulp(head_dim, base):
    check("plain", head_dim, base, POSITIONS)


@pytest.mark.slow
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("head_dim", [32, 64, 80, 128, 192, 256])
@pytest.mark.parametrize("name", EXACT)
def test_every_pair_of_every_head_is_within_an_ulp(name, head_dim, base):
    check(name, head_dim, base, POSITIONS)


@pytest.mark.slow
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("name", EXACT)
def test_positions_anywhere_below_2_to_the_23_are_within_an_ulp(name, base):
    check(name, 128, base, np.random.default_rng(23).integers(0, 2**23, 100).tolist())


def test_the_last_position_of_131072_turns_pair_0_as_far_as_it_should():
    cos, sin = ordinate.LayerGroup("full_attention", Rope(head_dim=128)).table([131071, 15962])
    assert cos[0, 0] == pytest.approx(-0.817983499, abs=3e-8)
    assert sin[0, 0] == pytest.approx(-0.575241684, abs=3e-8)
    # What positions in bfloat16 make of 15962 is 15936, with a cosine of -0.26795.
    assert cos[1, 0] == pytest.approx(-0.90802, abs=5e-6)


def test_neighbouring_positions_never_share_an_entry_of_the_fastest_pair():
    cos, sin = ordinate.LayerGroup("full_attention", Rope(head_dim=64)).table(np.arange(2**23 - 2048, 2**23))
    assert (np.abs(np.diff(cos[:, 0])) + np.abs(np.diff(sin[:, 0])) > 0.9).all()


@pytest.mark.parametrize("spectrum, layout", [("shared", "blocks"), ("split", "alternating")])
def test_axes_are_as_exact(spectrum, layout):
    scheme = Axial(head_dim=72, spectrum=spectrum, layout=layout)
    places = np.array([POSITIONS, POSITIONS[::-1]])
    cos, sin = ordinate.LayerGroup("full_attention", scheme).table(places)
    angles = []
    for token in range(len(POSITIONS)):
        for pair in range(36):
            axis, j = divmod(pair, 18) if layout == "blocks" else (pair % 2, pair // 2)
            exponent = mpf(j) / 18 if spectrum == "shared" else mpf(2 * j + axis) / 36
            angles.append(int(places[axis, token]) * mpf(10000) ** -exponent)
    assert worst(cos, [mp.cos(angle) for angle in angles]) <= 1
    assert worst(sin, [mp.sin(angle) for angle in angles]) <= 1


def test_multimodal_sections_are_as_exact():
    scheme = Multimodal(head_dim=128, sections=(16, 24, 24), base=1e6)
    places = np.array([POSITIONS, POSITIONS[::-1], POSITIONS[3:] + POSITIONS[:3]])
    cos, sin = ordinate.LayerGroup("full_attention", scheme).table(places)
    axis_of = [0] * 16 + [1] * 24 + [2] * 24
    angles = [int(places[axis_of[i], token]) * plain(i, 64, 1e6) for token in range(len(POSITIONS)) for i in range(64)]
    assert worst(cos, [mp.cos(angle) for angle in angles]) <= 1
    assert worst(sin, [mp.sin(angle) for angle in angles]) <= 1


def test_the_bound_would_notice_float32_angles():
    # What peers compute: an error of a thousandth and more at 131071. A test that allowed it would be no test.
    angles = np.float32(131071) * (np.float32(1e4) ** -(np.arange(64, dtype=np.float32) / np.float32(64)))
    exact = [mpmath.cos(131071 * plain(i, 64, 1e4)) for i in range(64)]
    assert worst(np.cos(angles.astype(np.float32)), exact) > 1000
