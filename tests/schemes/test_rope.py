import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_attention import rotate, turning_channels

from ordinate import InputError, LayerGroup
from ordinate.schemes.rope import Rope


def full_width(scheme, positions):
    """cos and sin as transformers keeps them: each pair's entry at both of its channels, float32."""
    cos, sin = LayerGroup("full_attention", scheme).table(positions)
    return [torch.tensor(np.concatenate([table, table], -1))[None] for table in (cos, sin)]


def test_the_first_pair_turns_by_a_radian_a_token_and_the_last_by_almost_a_base_th():
    frequencies = Rope(head_dim=128).plain()
    assert frequencies.dtype == np.float64
    assert frequencies[0] == 1.0
    assert frequencies[1] == pytest.approx(0.86596, abs=5e-6)
    assert frequencies[-1] == pytest.approx(1.15478e-4, rel=1e-5)


@given(st.integers(1, 256), st.floats(1, 1e8), st.integers(-(2**23), 2**23))
def test_angles_are_the_papers(pairs, base, position):
    angles = Rope(head_dim=2 * pairs, base=base).angles([position])
    assert angles.shape == (1, pairs)
    # Equation 15 with d = 2 pairs: theta_i = base ** (-2 (i - 1) / d), i from 1.
    expected = [position * base ** (-2 * (i - 1) / (2 * pairs)) for i in range(1, pairs + 1)]
    assert angles[0] == pytest.approx(expected, rel=1e-12)


def test_half_pairs_are_those_of_llama_in_transformers():
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    scheme, positions = Rope(head_dim=16, base=5e5), np.array([0, 9, 4095])
    vectors = np.random.default_rng(0).standard_normal((1, 2, 3, 16))
    turned, _ = apply_rotary_pos_emb(torch.tensor(vectors), torch.tensor(vectors), *full_width(scheme, positions))
    expected = rotate(vectors, scheme.angles(positions), turning_channels(scheme))
    assert turned.numpy() == pytest.approx(expected, abs=1e-6)


def test_interleaved_pairs_are_those_of_gpt_j_in_transformers():
    from transformers.models.gptj.modeling_gptj import apply_rotary_pos_emb

    scheme, positions = Rope(head_dim=16, pairing="interleaved"), np.array([0, 9, 4095])
    vectors = np.random.default_rng(1).standard_normal((1, 3, 2, 16))
    cos, sin = (torch.tensor(table)[None] for table in LayerGroup("full_attention", scheme).table(positions))
    turned = apply_rotary_pos_emb(torch.tensor(vectors), sin, cos).numpy()
    expected = rotate(vectors.swapaxes(1, 2), scheme.angles(positions), turning_channels(scheme)).swapaxes(1, 2)
    assert turned == pytest.approx(expected, abs=1e-6)


def test_the_opposite_direction_is_that_of_nanochat_in_transformers():
    from transformers.models.nanochat.modeling_nanochat import apply_rotary_pos_emb

    vectors, positions = np.random.default_rng(2).standard_normal((1, 2, 3, 16)), np.array([0, 9, 4095])
    upright = full_width(Rope(head_dim=16), positions)
    turned, _ = apply_rotary_pos_emb(torch.tensor(vectors), torch.tensor(vectors), *upright)
    scheme = Rope(head_dim=16, direction=-1)
    expected = rotate(vectors, scheme.angles(positions), turning_channels(scheme))
    assert turned.numpy() == pytest.approx(expected, abs=1e-6)
    # The sign lies in sin: a table of direction -1 turns the other way under the same rotation.
    cos, sin = LayerGroup("full_attention", scheme).table(positions)
    assert torch.equal(torch.tensor(cos), upright[0][0, :, :8])
    assert torch.equal(torch.tensor(sin), -upright[1][0, :, :8])


def test_a_part_of_the_head_has_frequencies_over_its_own_width():
    whole, part = Rope(head_dim=32), Rope(head_dim=128, rotary_dim=32)
    assert (part.plain() == whole.plain()).all()
    assert part.pairs == 16
    last = Rope(head_dim=128, rotary_dim=32, part="last")
    assert (last.plain() == whole.plain()).all()
    assert turning_channels(last)[0].tolist() == list(range(96, 112))


def test_a_proportional_part_has_frequencies_over_the_whole_head_and_partners_half_a_head_away():
    scheme = Rope(head_dim=512, rotary_dim=128, part="proportional")
    frequencies = scheme.plain()
    assert scheme.pairs == len(frequencies) == 256
    assert (frequencies > 0).sum() == 64
    assert frequencies[:64] == pytest.approx([10000 ** (-2 * i / 512) for i in range(64)], rel=1e-14)
    first, second = turning_channels(scheme)
    assert (first[0], second[0]) == (0, 256)


@settings(max_examples=30)
@given(st.sampled_from([8, 64, 96]), st.sampled_from([0.25, 0.5, 1.0]), st.sampled_from([1e4, 1e6]))
def test_partial_frequencies_agree_with_transformers(head_dim, share, base):
    from reference_transformers import scaled

    for rope_type, part in (("linear", "first"), ("proportional", "proportional")):
        expected, _ = scaled(rope_type, head_dim=head_dim, base=base, factor=1.0, partial_rotary_factor=share)
        scheme = Rope(head_dim=head_dim, rotary_dim=int(head_dim * share), base=base, part=part)
        assert scheme.plain() == pytest.approx(expected, rel=2e-6)


def test_given_frequencies_replace_its_own():
    scheme = Rope(head_dim=4, direction=-1)
    assert scheme.angles([0, 3], np.array([2.0, 5.0])).tolist() == [[0, 0], [-6, -15]]
    assert scheme.plain(base=16.0) == pytest.approx([1, 0.25])


@given(st.integers(0, 2**20), st.integers(0, 2**20), st.sampled_from(["half", "interleaved"]))
def test_a_score_depends_on_the_distance_alone(query, key, pairing):
    scheme = Rope(head_dim=8, pairing=pairing)
    q, k = np.random.default_rng(query % 31).standard_normal((2, 1, 8))
    channels = turning_channels(scheme)
    apart = rotate(q, scheme.angles([query]), channels) @ rotate(k, scheme.angles([key]), channels).T
    at_once = rotate(q, scheme.angles([query - key]), channels) @ k.T
    assert apart[0, 0] == pytest.approx(at_once[0, 0], abs=1e-8)


def test_fields_have_the_usual_values_where_not_given():
    assert Rope(8) == Rope(head_dim=8, rotary_dim=8, base=10000.0, pairing="half", part="first", direction=1)
    assert Rope.example() == Rope(head_dim=16, rotary_dim=8)


def test_an_odd_head_may_turn_an_even_part():
    assert Rope(head_dim=9, rotary_dim=8).pairs == 4
    assert Rope(head_dim=9, rotary_dim=8, part="last").pairs == 4


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"head_dim": 0}, "head_dim must be an integer >= 1, got 0"),
        ({"head_dim": 8.0}, r"head_dim must be an integer >= 1, got 8\.0"),
        ({"head_dim": True}, "head_dim must be an integer >= 1, got True"),
        ({"head_dim": 9}, "rotary_dim must be even, because rotary channels turn in pairs, got 9"),
        ({"head_dim": 8, "rotary_dim": 3}, "rotary_dim must be even, .*, got 3"),
        ({"head_dim": 8, "rotary_dim": -2}, "rotary_dim must be an integer >= 1, got -2"),
        ({"head_dim": 8, "rotary_dim": 10}, "rotary_dim must be <= head_dim 8, got 10"),
        ({"head_dim": 9, "rotary_dim": 8, "part": "proportional"}, "head_dim must be even, .*, got 9"),
        ({"head_dim": 8, "base": 0}, "base must be > 0, got 0"),
        ({"head_dim": 8, "base": -1.0}, r"base must be > 0, got -1\.0"),
        ({"head_dim": 8, "base": float("nan")}, "base must be a finite number, got nan"),
        ({"head_dim": 8, "base": float("inf")}, "base must be a finite number, got inf"),
        ({"head_dim": 8, "base": "10000"}, "base must be a finite number, got '10000'"),
        ({"head_dim": 8, "base": None}, "base must be a finite number, got None"),
        ({"head_dim": 8, "pairing": "neox"}, "pairing must be one of half, interleaved, got 'neox'"),
        ({"head_dim": 8, "part": "middle"}, "part must be one of first, last, proportional, got 'middle'"),
        ({"head_dim": 8, "direction": 0}, "direction must be 1 or -1, got 0"),
        ({"head_dim": 8, "direction": "back"}, "direction must be 1 or -1, got 'back'"),
    ],
)
def test_fields_out_of_range_are_refused(fields, message):
    with pytest.raises(InputError, match=message):
        Rope(**fields)


def test_another_base_on_request_is_checked_too():
    for base in (0, float("nan"), "5e5"):
        with pytest.raises(InputError, match="base must be"):
            Rope(head_dim=8).plain(base)


def test_positions_are_one_row_of_integers():
    for wrong, message in (
        ([0.5], "positions must be integers"),
        ([[1]], r"positions must have shape \[tokens\]"),
        ([[1], [2, 3]], "positions must be an array of integers"),
        ([2**53 + 1], r"positions must lie within 2\*\*53 of 0"),
        (np.array([2**64 - 1], np.uint64), r"positions must lie within 2\*\*53 of 0"),
        ([-(2**63)], r"positions must lie within 2\*\*53 of 0"),
    ):
        with pytest.raises(InputError, match=message):
            Rope(head_dim=8).angles(wrong)


def test_a_table_is_float32_and_turns_from_position_0():
    cos, sin = LayerGroup("full_attention", Rope(head_dim=8)).table([0, 1])
    assert cos.dtype == sin.dtype == np.float32
    assert cos.shape == sin.shape == (2, 4)
    assert cos[0].tolist() == [1.0] * 4
    assert sin[0].tolist() == [0.0] * 4
