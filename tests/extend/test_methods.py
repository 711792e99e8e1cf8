"""Numbers of each method, by hand and by the law that the target is reached."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordinate import scalings
from ordinate.errors import InputError
from ordinate.extend.methods import exact_factor, methods, read_divisors, stretch
from ordinate.schemes.rope import Rope

ROPE = Rope(head_dim=64, base=100000.0)
LISTS = {"short_factor": [1.0] * 32, "long_factor": [1 + i / 8 for i in range(32)]}


def numbers(method, **options):
    return stretch(method, ROPE, trained=8192, to=16384, options=options)


def test_every_method_is_a_scaling():
    assert set(methods()) == set(scalings()) - {"proportional"}


def test_linear_halves_every_frequency():
    found = numbers("linear")
    assert np.allclose(found.scaling.frequencies(ROPE), 100000.0 ** (-np.arange(32) / 32) / 2, rtol=1e-14)
    assert found.maximum == 8192


def test_ntk_keeps_the_fastest_pair_and_halves_the_slowest():
    found = numbers("ntk")
    frequencies = found.scaling.frequencies(ROPE)
    assert frequencies[0] == 1
    assert frequencies[-1] == pytest.approx(100000.0 ** (-31 / 32) / 2, rel=1e-13)
    assert found.maximum == 16384
    assert numbers("ntk", factor=3.0).factor == 3.0


def test_dynamic_ntk_is_plain_inside_the_window():
    found = numbers("dynamic_ntk")
    assert np.array_equal(found.scaling.frequencies(ROPE, 8192), ROPE.plain())
    assert found.maximum == 8192
    # transformers' form: at twice the length with factor 2 the base grows as for factor 2 * 2 - 1.
    grown = 100000.0 * 3 ** (64 / 62)
    assert np.allclose(found.scaling.frequencies(ROPE, 16384), grown ** (-np.arange(32) / 32), rtol=1e-13)


def test_yarn_s_ends_are_the_paper_s():
    found = numbers("yarn")
    # d ln(L / (2 pi turns)) / (2 ln base): 10.33 for 32 turns, 19.96 for 1; rounded outwards.
    assert found.scaling.ramp_ends(ROPE) == (10, 20)
    frequencies, plain = found.scaling.frequencies(ROPE), ROPE.plain()
    assert np.array_equal(frequencies[:11], plain[:11])
    assert np.allclose(frequencies[20:], plain[20:] / 2, rtol=1e-15)
    assert frequencies[15] == pytest.approx(0.75 * plain[15], rel=1e-14)
    assert found.scaling.attention_factor() == pytest.approx(0.1 * math.log(2) + 1, rel=1e-15)
    assert numbers("yarn", attention_factor=1.0).scaling.attention_factor() == 1
    assert numbers("yarn", beta_fast=8.0, beta_slow=2.0).scaling.ramp_ends(ROPE) == (14, 19)


def test_llama3_is_a_factor_between_two_numbers_of_turns():
    frequencies, plain = numbers("llama3").scaling.frequencies(ROPE), ROPE.plain()
    turns = 8192 * plain / (2 * math.pi)
    assert np.allclose(frequencies[turns < 1], plain[turns < 1] / 2, rtol=1e-15)
    assert np.array_equal(frequencies[turns > 4], plain[turns > 4])
    # As in Llama 3.1, whose factor 8 goes with 16 times the length.
    assert stretch("llama3", ROPE, trained=8192, to=131072, options={"factor": 8.0}).factor == 8.0


def test_longrope_takes_the_lists():
    found = numbers("longrope", **LISTS)
    assert np.array_equal(found.scaling.frequencies(ROPE, 8192), ROPE.plain())
    assert np.allclose(found.scaling.frequencies(ROPE, 8193) * LISTS["long_factor"], ROPE.plain(), rtol=1e-15)
    assert found.scaling.attention_factor() == pytest.approx(math.sqrt(1 + math.log(2) / math.log(8192)), rel=1e-15)


def test_abf_moves_the_pair_that_turns_once():
    base = numbers("abf").scaling.base
    # The (fractional) pair whose wavelength is 8192 under the old base has 16384 under the new one.
    pair = math.log(8192 / (2 * math.pi)) / math.log(100000.0)
    assert 2 * math.pi * base**pair == pytest.approx(16384, rel=1e-12)
    assert numbers("abf", base=1e6).scaling.base == 1e6


@given(st.integers(1, 2**20), st.integers(1, 2**20))
def test_the_exact_factor_reaches_the_target_also_when_rounded_down(trained, more):
    factor = exact_factor(trained, trained + more, None)
    assert math.floor(trained * factor) == trained + more
    assert factor == pytest.approx((trained + more) / trained, rel=1e-15)
    assert exact_factor(trained, trained + more, (trained + more) / trained) == factor


@pytest.mark.parametrize(
    "method, options, message",
    [
        ("yran", {}, "unknown method 'yran'; did you mean 'yarn'?"),
        ("proportional", {}, "unknown method 'proportional'"),
        ("yarn", {"base": 1e6}, "method yarn has no base; it takes factor, beta_fast"),
        ("linear", {"beta_fast": 8.0}, "method linear has no beta_fast; it takes factor"),
        ("abf", {"factor": 2.0}, "method abf has no factor; it takes base"),
        ("linear", {"factor": 4.0}, "factor must be 2 to stretch 8192 tokens to 16384, got 4, which leads to 32768"),
        (
            "linear",
            {"factor": 1e308},
            "factor must be 2 to stretch 8192 tokens to 16384, got 1e+308, which leads to inf",
        ),
        ("yarn", {"factor": 1.5}, "factor must be 2"),
        ("dynamic_ntk", {"factor": math.nan}, "factor must be a finite number"),
        ("ntk", {"factor": 1.5}, "factor must be >= 2"),
        ("llama3", {"factor": 4.0}, "factor must be <= 2"),
        ("abf", {"base": 100000.0}, "base must be > the trained base"),
        ("abf", {"base": math.inf}, "base must be a finite number"),
        ("yarn", {"beta_fast": 0.5}, "beta_fast must be >= beta_slow"),
        ("longrope", {}, "method longrope needs short_factor, a list of 32 divisors"),
        ("longrope", {"short_factor": [1.0] * 32}, "method longrope needs long_factor"),
        ("longrope", LISTS | {"long_factor": [1.0] * 31}, "one entry for each of 32 pairs, got 31"),
        ("longrope", LISTS | {"short_factor": [1.0] * 33}, "one entry for each of 32 pairs, got 33"),
        ("longrope", LISTS | {"long_factor": [0.0] * 32}, "must be > 0"),
    ],
)
def test_what_does_not_fit_is_one_line(method, options, message):
    with pytest.raises(InputError) as caught:
        numbers(method, **options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_pair_turns_once_in_six_tokens():
    with pytest.raises(InputError, match="no pair turns once in 6 tokens"):
        stretch("abf", ROPE, trained=6, to=12, options={})


@pytest.mark.parametrize("wrapped", [None, "rope_parameters", "rope_scaling"])
def test_divisors_are_read_from_a_file(tmp_path, wrapped):
    content = LISTS if wrapped is None else {wrapped: LISTS | {"rope_type": "longrope"}}
    (tmp_path / "lists.json").write_text(json.dumps(content))
    assert read_divisors(tmp_path / "lists.json") == LISTS


@pytest.mark.parametrize(
    "content, message",
    [
        ({"short_factor": [1.0]}, "long_factor must be a list of divisors"),
        ({"short_factor": [1.0], "long_factor": 2}, "long_factor must be a list"),
        ({"short_factor": [1.0, "2"], "long_factor": [1.0]}, r"short_factor\[1\] must be a finite number"),
        ({"short_factor": [1.0], "long_factor": [-1.0]}, r"long_factor\[0\] must be > 0"),
    ],
)
def test_a_file_without_divisors_is_refused(tmp_path, content, message):
    (tmp_path / "lists.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=message):
        read_divisors(tmp_path / "lists.json")
