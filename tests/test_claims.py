"""The numbers that settle the claims are right: each is worked out here by other means."""

import importlib.util
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent


def tool(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return module


@pytest.fixture(scope="module")
def claims():
    return tool("claims")


def frequencies(pairs, base=10000.0):
    return np.array([base ** (-i / pairs) for i in range(pairs)])


def turned(x, angles, pairing):
    """x, [tokens, dim], rotated as complex numbers."""
    if pairing == "half":
        first, second = np.split(x, 2, axis=1)
    else:
        first, second = x[:, 0::2], x[:, 1::2]
    return (first + 1j * second) * np.exp(1j * angles)


def softmax_attention(q, k, v):
    scores = q @ k.T / math.sqrt(q.shape[1])
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True) @ v


def test_attention_of_a_permuted_sentence_is_permuted(claims):
    found, generator = claims.permuted(), np.random.default_rng(0)
    q, k, v = (generator.standard_normal((1, 8, 1, 64))[0, :, 0] for _ in range(3))
    order = generator.permutation(8)
    plain, moved = softmax_attention(q, k, v), softmax_attention(q[order], k[order], v[order])
    assert np.abs(moved - plain[order]).max() < found["permuted"] == 1e-12
    assert found["apart"] == pytest.approx(np.abs(moved - plain).max())
    angles = np.arange(8)[:, None] * frequencies(32)

    def rotated(q, k, v):
        q, k = turned(q, angles, "half"), turned(k, angles, "half")
        return softmax_attention(np.hstack([q.real, q.imag]), np.hstack([k.real, k.imag]), v)

    with_rope = np.abs(rotated(q[order], k[order], v[order]) - rotated(q, k, v)[order]).max()
    assert found["with_rope"] == pytest.approx(with_rope, rel=1e-5)
    assert with_rope > 0.1


def test_a_raw_index_drowns_a_word(claims):
    found = claims.raw_index()
    words = 0.02 * np.random.default_rng(0).standard_normal((2, 768)).astype(np.longdouble)
    a, b = (word + 511 for word in words)
    assert found["index"] == pytest.approx(511 * math.sqrt(768))
    assert found["ratio"] == pytest.approx(511 / 0.02)
    assert found["word"] == pytest.approx(math.sqrt(float((words[0] ** 2).sum())))
    assert found["alike_before"] == pytest.approx(np.corrcoef(*words.astype(float))[0, 1], abs=0.01)
    # 1 - cos is half the square of the distance of two unit vectors.
    apart = a / np.sqrt((a**2).sum()) - b / np.sqrt((b**2).sum())
    assert found["unlike_after"] == pytest.approx(float((apart**2).sum() / 2), rel=1e-5)
    # sin^2 + cos^2 = 1 in each of 384 pairs.
    assert found["sinusoid"] == pytest.approx(math.sqrt(384))


def test_the_slowest_sinusoid_is_base_to_minus_510_by_512(claims):
    assert claims.slowest() == pytest.approx({"frequency": 10000 ** (-510 / 512), "other_layout": 1e-4})


def test_the_fastest_pair_makes_a_turn_in_two_pi_positions(claims):
    assert claims.fastest() == pytest.approx({"turns": 0.15915494309189535, "positions": 2 * math.pi})


def test_one_matrix_shifts_all_sinusoids(claims):
    found, turns = claims.relative(), frequencies(64)
    for position in (0, 1, 5000, 9999):
        a, b = position * turns, 7 * turns
        assert np.sin(a) * np.cos(b) + np.cos(a) * np.sin(b) == pytest.approx(np.sin((position + 7) * turns), abs=1e-10)
    assert found == {"error": 1e-10, "shift": 7.0, "positions": 10_000.0}


def test_scores_of_rope_rise_at_about_half_of_all_steps(claims):
    found = claims.decay()
    scores = np.array([np.cos(n * frequencies(64)).mean() for n in range(4097)])
    assert found["rises"] == (scores[1:] > scores[:-1]).sum()
    near, far = int(found["near"]), int(found["far"])
    assert near < far
    assert (found["near_score"], found["far_score"]) == pytest.approx((scores[near], scores[far]))
    assert scores[far] > scores[near] + 0.1


def test_rotation_keeps_norms(claims):
    assert claims.norms() == {"change": 1e-7}
    x = np.random.default_rng(1).standard_normal((3, 128))
    angles = np.array([[4095.0], [131071.0], [2.0**20]]) * frequencies(64)
    assert np.linalg.norm(np.abs(turned(x, angles, "half")), axis=1) == pytest.approx(np.linalg.norm(x, axis=1))


def test_the_slow_pairs_meet_new_angles(claims):
    turns = 4096 * frequencies(64) / (2 * math.pi)
    first = next(i for i in range(64) if 2 * math.pi * 10000 ** (i / 64) > 4096)
    wanted = {"pairs": 64, "unseen": 64 - first, "first": first, "fastest_turns": turns[0], "slowest_turns": turns[-1]}
    assert claims.unseen() == pytest.approx(wanted)
    assert (first, round(turns[0])) == (46, 652)


def test_interpolation_divides_every_frequency_by_four(claims):
    assert claims.interpolated() == {"least": 0.25, "most": 0.25}


def test_ntk_slows_the_slowest_pair_by_the_factor(claims):
    base = 10000 * math.exp(128 / 126 * math.log(4))
    wanted = {
        "fastest": 1.0,
        "slowest": (base / 10000) ** (126 / 128),
        "base": base,
        "by_base_times_4": 4 ** (126 / 128),
    }
    assert claims.ntk() == pytest.approx(wanted)
    assert wanted["slowest"] == pytest.approx(4)


def test_the_pairings_agree_where_channels_are_renamed(claims):
    found = claims.pairings()
    q, k = np.random.default_rng(0).standard_normal((2, 1, 16, 1, 64))[:, 0, :, 0]
    angles = np.arange(16)[:, None] * frequencies(32)

    def scores(q, k, pairing):
        return (turned(q, angles, pairing) @ turned(k, angles, pairing).conj().T).real / 8

    half = scores(q, k, "half")
    assert found["same_weights"] == pytest.approx(np.abs(scores(q, k, "interleaved") - half).max(), rel=1e-5)
    renamed = [channel for i in range(32) for channel in (i, i + 32)]
    assert np.abs(scores(q[:, renamed], k[:, renamed], "interleaved") - half).max() < 1e-12
    assert found["permuted_weights"] == 1e-12


def test_a_learned_table_can_be_interpolated_and_is_refused_unasked(claims):
    assert claims.stretched() == pytest.approx({"refused": 1.0, "step": 511 / 1023, "parameters": 512 * 768})


def test_alibi_leaves_a_weight_at_any_distance(claims):
    wanted = {"gentlest": 4096 / 256, "weight": math.exp(-16), "nearer": math.exp(-0.25), "steepest": 2048.0}
    assert claims.far() == pytest.approx(wanted)


def test_an_error_beyond_rounding_is_a_fault(claims):
    assert claims.within(1e-13, 1e-12) == 1e-12
    for error in (1e-11, math.nan):
        with pytest.raises(ArithmeticError):
            claims.within(error, 1e-12)


def test_the_page_has_every_claim_and_ten_questions(claims):
    page = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    assert len(claims.CLAIMS) == 13
    for number, claim in enumerate(claims.CLAIMS, 1):
        assert f"## {number}. {claim.said}\n" in page
        assert claim.text() in page
        assert not re.search(r"\de[+-]?\d", claim.text())
        used = set(re.findall(r"\{(\w+)[:}]", claim.why))
        assert used <= claim.numbers().keys()
    questions = re.findall(r"^### \d+\. (.*)\n\n.*\n\n(```|!\[)", page, flags=re.MULTILINE)
    assert len(questions) == 10
    assert all(asked.endswith("?") for asked, _ in questions)
