"""What is drawn of a model is what its formulas give, worked out here once more."""

import dataclasses
import math

import numpy as np
import pytest

from ordinate.dialects import configuration, read
from ordinate.errors import InputError
from ordinate.plots import caption, plot
from ordinate.plots.scaling_bands import scaling_bands
from ordinate.plots.stale_keys import compute
from ordinate.schemes.alibi import Alibi
from ordinate.schemes.multimodal import Multimodal
from ordinate.schemes.rope import Rope
from ordinate.schemes.xpos import Xpos
from ordinate.spec import LayerGroup
from ordinate.translate import compare

close = pytest.approx


def plain(base, pairs):
    return np.array([base ** (-i / pairs) for i in range(pairs)])


def llama3(frequencies, factor=8.0, low=1.0, high=4.0, trained=8192):
    """Meta's apply_scaling, pair by pair."""
    found = []
    for frequency in frequencies:
        wavelength = 2 * math.pi / frequency
        if wavelength < trained / high:
            found.append(frequency)
        elif wavelength > trained / low:
            found.append(frequency / factor)
        else:
            smooth = (trained / wavelength - low) / (high - low)
            found.append((1 - smooth) * frequency / factor + smooth * frequency)
    return np.array(found)


def yarn(frequencies, base, factor, trained, fast=32, slow=1):
    """The authors' code: a ramp over the pair's index between two ends rounded outwards."""
    dim = 2 * len(frequencies)
    low, high = (dim * math.log(trained / (turns * 2 * math.pi)) / (2 * math.log(base)) for turns in (fast, slow))
    low, high = max(math.floor(low), 0), min(math.ceil(high), dim - 1)
    ramp = np.array([min(max((i - low) / (high - low), 0.0), 1.0) for i in range(len(frequencies))])
    return frequencies / factor * ramp + frequencies * (1 - ramp)


def test_hands_point_where_position_times_frequency_says():
    group = LayerGroup("full_attention", Rope(head_dim=16, base=500.0))
    ax = plot("rotation")(group, (5, 77), pairs=[0, 3, 7]).axes[0]
    hands = [line.get_data() for line in ax.get_lines() if line.get_label() != "_circle"]
    assert len(hands) == 6
    for index, pair in enumerate((0, 3, 7)):
        for hand, position in enumerate((5, 77)):
            (x0, x1), (y0, y1) = hands[2 * index + hand]
            angle = position * 500.0 ** (-pair / 8)
            assert (x1 - x0, y1 - y0) == close((math.cos(angle), math.sin(angle)))


def test_a_rotation_says_by_how_much_the_first_and_last_pair_turn():
    said = caption(plot("rotation")(LayerGroup("g", Rope(head_dim=8)), (3, 11)))
    assert f"pair 0 turns by 8 rad ({8 / (2 * math.pi):.3g} turns) and pair 3 by 0.008 rad" in said


def test_similarity_of_a_rope_is_a_mean_of_cosines():
    drawn = np.asarray(plot("similarity")(LayerGroup("g", Rope(head_dim=8)), 10).axes[0].images[0].get_array())
    turns = plain(10000.0, 4)
    assert drawn == close(np.array([[np.cos((p - q) * turns).mean() for q in range(10)] for p in range(10)]))


def points(ax, words):
    """Pairs and wavelengths of the points that a legend calls so."""
    return next(line.get_data() for line in ax.get_lines() if words in str(line.get_label()))


def test_wavelengths_are_those_of_meta_and_unfinished_ones_are_hollow(configs):
    spec = read(configs["llama"])
    ax = plot("wavelengths")(spec, 262144).axes[0]
    wanted = 2 * math.pi / llama3(plain(500000.0, 64))
    full, hollow = points(ax, "finishes a turn"), points(ax, "never finishes")
    assert full[1] == close(wanted[wanted <= 8192])
    assert hollow[1] == close(wanted[wanted > 8192])
    assert [*full[0], *hollow[0]] == list(range(64))
    empty = next(line for line in ax.get_lines() if "never finishes" in str(line.get_label()))
    assert empty.get_markerfacecolor() == "white"
    before = points(ax, "before llama3")
    assert before[1] == close(2 * math.pi / plain(500000.0, 64))


def test_trained_declared_and_target_are_lines(configs):
    ax = plot("wavelengths")(read(configs["llama"]), 262144).axes[0]
    levels = {float(line.get_ydata()[0]) for line in ax.get_lines() if len(set(line.get_ydata())) == 1}
    assert {8192.0, 131072.0, 262144.0} <= levels
    assert {"trained 8,192", "declared 131,072", "target 262,144"} <= {text.get_text() for text in ax.texts}


def test_the_caption_counts_the_pairs_that_never_finish_a_turn(configs):
    turning = 2 * math.pi / llama3(plain(500000.0, 64))
    said = caption(plot("wavelengths")(read(configs["llama"]), 262144))
    assert f"trained 8,192 tokens {int((turning > 8192).sum())} never finish a turn" in said
    assert f"within 262,144 tokens {int((turning > 262144).sum())} do not" in said


def test_pairs_that_stand_still_are_crosses_at_the_top(configs):
    spec = read(configs["plain"])
    group = LayerGroup("full_attention", Rope(head_dim=16, rotary_dim=4, part="proportional"))
    figure = plot("wavelengths")(dataclasses.replace(spec, groups={"full_attention": group}))
    crosses = next(line for line in figure.axes[0].get_lines() if "does not turn" in str(line.get_label()))
    assert crosses.get_xdata().tolist() == [2, 3, 4, 5, 6, 7]
    assert crosses.get_marker() == "x"
    assert "6 pairs of 8 do not turn at all" in caption(figure)


def test_layers_that_turn_alike_are_drawn_once_and_others_apart():
    alike = plot("wavelengths")(read("gpt-oss-20b"))
    assert "In full_attention" not in caption(alike)
    one = plot("wavelengths")(read("gpt-oss-20b"), group="full_attention")
    assert len(alike.axes[0].lines) == len(one.axes[0].lines)
    apart = plot("wavelengths")(read("gemma-3-27b"))
    assert "In full_attention: " in caption(apart)
    assert "In sliding_attention: " in caption(apart)


def test_a_model_without_rotation_has_no_wavelengths(configs):
    spec = read(configs["plain"])
    biased = dataclasses.replace(spec, groups={"full_attention": LayerGroup("full_attention", Alibi(heads=4))})
    with pytest.raises(InputError, match="no pairs that turn: its scheme is alibi"):
        plot("wavelengths")(biased)


def test_each_method_slows_each_pair_as_its_formula_says(lines):
    rope, trained, target = Rope(head_dim=128), 4096, 16384
    ax = scaling_bands(rope, trained, target).axes[0]
    drawn, frequencies = lines(ax), plain(10000.0, 64)

    def raised(growth):
        return 10000.0 * growth ** (128 / 126)

    once = math.log(target / (2 * math.pi)) / math.log(trained / (2 * math.pi))
    wanted = {
        "linear": np.full(64, 4.0),
        "ntk": frequencies / plain(raised(4), 64),
        # At n = 4 L with factor 4: 4 * 4 - 3.
        "dynamic_ntk": frequencies / plain(raised(13), 64),
        "yarn": frequencies / yarn(frequencies, 10000.0, 4.0, trained),
        "llama3": frequencies / llama3(frequencies, 4.0, trained=trained),
        "abf": frequencies / plain(10000.0**once, 64),
    }
    assert set(wanted) <= set(drawn)
    for name, values in wanted.items():
        assert drawn[name][1] == close(values), name
        assert drawn[name][0].tolist() == list(range(64))


def test_bands_are_counted_by_turns_in_the_trained_length():
    turns = 4096 * plain(10000.0, 64) / (2 * math.pi)
    said = caption(scaling_bands(Rope(head_dim=128), 4096, 16384))
    counts = int((turns > 32).sum()), int(((turns <= 32) & (turns >= 1)).sum()), int((turns < 1).sum())
    assert "{} more than 32 turns, {} 1 to 32 turns, {} less than 1 turn".format(*counts) in said
    assert "linear slows the fastest pair by 4 and the slowest by 4" in said
    assert "ntk slows the fastest pair by 1 and the slowest by 4" in said


def test_a_target_within_the_trained_length_is_refused():
    with pytest.raises(InputError, match="longer than the trained 4096 tokens, got 4096"):
        scaling_bands(Rope(head_dim=8), 4096, 4096)


def test_the_score_is_the_mean_of_cosines_over_neighbouring_distances(configs, lines):
    before = read(configs["plain"]).group
    after = read(configs["yarn"]).group
    ax = plot("attention_decay")(before, after, 2000).axes[0]
    drawn, distance = lines(ax), np.arange(1, 2001)
    frequencies, magnitude = plain(10000.0, 64), 0.1 * math.log(4) + 1
    scores = {
        "before scaling": np.cos(distance[:, None] * frequencies).mean(1),
        "after scaling": magnitude**2 * np.cos(distance[:, None] * yarn(frequencies, 10000.0, 4.0, 4096)).mean(1),
    }
    bands = [band.get_paths()[0].vertices[:, 1] for band in ax.collections]
    for (name, score), band in zip(scores.items(), bands, strict=True):
        x, y = drawn[name]
        # Near distances have a bin each.
        assert x[:8] == close(np.arange(1, 9))
        assert y[:8] == close(score[:8])
        assert (band.min(), band.max()) == close((score.min(), score.max()))
        rises = int((np.diff([magnitude**2 if "after" in name else 1.0, *score]) > 0).sum())
        assert f"{rises} of 2,000 steps" in caption(ax) or f"{rises:,} of 2,000 steps" in caption(ax)


def test_a_reach_of_one_distance_is_refused(configs):
    with pytest.raises(InputError, match="reach must be from 2"):
        plot("attention_decay")(read(configs["plain"]).group, None, 1)


def test_one_model_against_another_is_the_ratio_of_their_frequencies(configs, lines):
    figure = plot("spec_difference")(read(configs["plain"]), read(configs["yarn"]))
    x, y = lines(figure.axes[0])["a yarn / a plain one"]
    frequencies = plain(10000.0, 64)
    share = yarn(frequencies, 10000.0, 4.0, 4096) / frequencies
    assert y == close(share)
    assert x.tolist() == list(range(64))
    changed = int((np.abs(share - 1) > 1e-6).sum())
    assert f"{changed} of 64 pairs turn at another rate, from 0.25 to 1" in caption(figure)
    assert f"the magnitude 1 becomes {0.1 * math.log(4) + 1:.5f}" in caption(figure)


def test_a_model_against_itself_turns_alike(configs):
    spec = read(configs["yarn"])
    assert caption(plot("spec_difference")(spec, spec)) == "All 64 pairs turn alike."


def test_engines_stand_where_translate_puts_them(configs, lines):
    spec, config = read(configs["yarn"]), configuration(configs["yarn"])
    rows = compare(spec, ["huggingface", "vllm", "meta", "exllamav2", "torchtitan"], 16384, None, config)
    ax = plot("engines")(spec, [row.engine for row in rows], config=config, length=16384).axes[0]
    drawn = lines(ax)
    for row in rows:
        name = next(label for label in drawn if row.engine in label.split(";")[0].split(", "))
        (proof,) = row.proof
        assert np.abs(drawn[name][1] - 1).max() == close(proof.frequency_error, abs=1e-9)
        magnitude = proof.magnitudes[1]
        assert (f"magnitude {magnitude:g}" in name) == (proof.magnitude_error > 1e-6)
    # Meta's code knows no YaRN: every pair turns as before.
    frequencies = plain(10000.0, 64)
    meta = next(y for label, (_, y) in drawn.items() if "meta" in label)
    assert meta == close(frequencies / yarn(frequencies, 10000.0, 4.0, 4096))


def test_an_engine_that_computes_the_same_shares_its_line(configs, lines):
    ax = plot("engines")(read(configs["plain"]), ["huggingface", "vllm", "mlx"]).axes[0]
    assert list(lines(ax)) == ["huggingface, vllm, mlx"]
    assert "Of 3 engines 3 compute what the files say" in caption(ax)


def errors(angle, count, seed=0, dim=16):
    """How far keys are that are turned by these angles too much or too little: |k e^(i a) - k| / |k|."""
    keys = np.random.default_rng(seed).standard_normal((1, count, 1, dim))[0, :, 0]
    size = keys[:, : dim // 2] ** 2 + keys[:, dim // 2 :] ** 2
    return np.sqrt((size * (2 - 2 * np.cos(angle))).sum(1) / size.sum(1))


def test_keys_under_a_stale_base_are_off_by_the_difference_of_two_angles(lines):
    group = LayerGroup("g", Rope(head_dim=16), pairing="half")
    drawn = lines(plot("stale_keys")(group, base=50000.0, count=40).axes[0])
    (x, stale), (_, turned) = drawn["left as they lay"], drawn["after rebase of the cache"]
    wanted = errors(np.arange(40)[:, None] * (plain(10000.0, 8) - plain(50000.0, 8)), 40)
    assert stale[1:] == close(wanted[1:], rel=1e-4, abs=1e-6)
    assert turned.max() == 1e-6
    assert x.tolist() == list(range(40))
    assert compute(group, base=50000.0, count=40).turned.max() < 5e-7


def test_keys_after_a_shift_are_off_by_the_angle_of_the_shift(lines):
    group = LayerGroup("g", Rope(head_dim=16), pairing="half")
    figure = plot("stale_keys")(group, drop=10, keep_first=3, count=40)
    drawn = lines(figure.axes[0])
    (_, stale), (_, turned) = drawn["left as they lay"], drawn["after shift of the cache"]
    wanted = errors(np.full((40, 8), 10.0) * plain(10000.0, 8), 40)[13:]
    assert stale[3:] == close(wanted, rel=1e-4)
    assert stale[:3].max() == 1e-6
    assert turned.max() == 1e-6
    assert f"{int((wanted > 0.1).sum())} of 30 keys are wrong" in caption(figure)


@pytest.mark.parametrize("changes", [{}, {"base": 2.0, "drop": 1}, {"drop": 40, "keep_first": 4}])
def test_a_change_that_is_none_two_or_too_large_is_refused(changes):
    with pytest.raises(InputError):
        plot("stale_keys")(LayerGroup("g", Rope(head_dim=16)), count=40, **changes)


def test_a_token_of_several_axes_stands_alike_on_all():
    group = LayerGroup("g", Multimodal(head_dim=16, sections=(4, 2, 2)))
    drawn = np.asarray(plot("similarity")(group, 6).axes[0].images[0].get_array())
    wanted = [[np.cos((p - q) * plain(10000.0, 8)).mean() for q in range(6)] for p in range(6)]
    assert drawn == close(np.array(wanted))
    assert "pair 0 turns by 8 rad" in caption(plot("rotation")(group, (3, 11)))


def test_xpos_fades_what_it_turns(lines):
    group = LayerGroup("g", Xpos(head_dim=16))
    x, y = lines(plot("attention_decay")(group, None, 64, names=("xpos", "")).axes[0])["xpos"]
    zeta = (np.arange(8) / 8 + 0.4) / 1.4
    assert y[:6] == close([(np.cos(n * plain(10000.0, 8)) * zeta ** (n / 512)).mean() for n in x[:6]])
    assert "scales q and k by, on top of the turn, is not drawn" in caption(plot("rotation")(group))
