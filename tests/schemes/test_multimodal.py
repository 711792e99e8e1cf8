import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from reference_attention import rotate, turning_channels

from ordinate import InputError, positions
from ordinate.schemes.multimodal import Multimodal
from ordinate.schemes.rope import Rope

PLACES, _ = positions.multimodal([("text", 3), ("video", (2, 3, 4), 5), ("text", 2)])


def tables(embedding, places):
    """cos and sin of transformers, as far as the first channels of the pairs: [tokens, channels]."""
    ids = torch.tensor(places)[:, None]
    return [table[0].double().numpy() for table in embedding(torch.zeros(1), ids)]


def test_chunked_sections_are_those_of_qwen2_vl():
    from transformers.models.qwen2_vl.configuration_qwen2_vl import Qwen2VLTextConfig
    from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VLRotaryEmbedding, apply_rotary_pos_emb

    rope = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [16, 24, 24]}
    config = Qwen2VLTextConfig(hidden_size=256, num_attention_heads=2, num_key_value_heads=2, rope_parameters=rope)
    cos, sin = tables(Qwen2VLRotaryEmbedding(config), PLACES)
    scheme = Multimodal(head_dim=128, sections=(16, 24, 24), base=1e6)
    angles = scheme.angles(PLACES)
    assert cos[:, :64] == pytest.approx(np.cos(angles), abs=1e-5)
    assert sin[:, :64] == pytest.approx(np.sin(angles), abs=1e-5)
    vectors = np.random.default_rng(3).standard_normal((1, 2, PLACES.shape[1], 128))
    whole = [torch.tensor(table)[None] for table in (cos, sin)]
    turned, _ = apply_rotary_pos_emb(torch.tensor(vectors), torch.tensor(vectors), *whole)
    assert turned.numpy() == pytest.approx(rotate(vectors, angles, turning_channels(scheme)), abs=1e-4)


def test_interleaved_sections_are_those_of_qwen3_vl():
    from transformers.models.qwen3_vl.configuration_qwen3_vl import Qwen3VLTextConfig
    from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLTextRotaryEmbedding

    rope = {"rope_type": "default", "rope_theta": 5e6, "mrope_section": [24, 20, 20], "mrope_interleaved": True}
    config = Qwen3VLTextConfig(hidden_size=256, num_attention_heads=2, head_dim=128, rope_parameters=rope)
    cos, sin = tables(Qwen3VLTextRotaryEmbedding(config), PLACES)
    angles = Multimodal(head_dim=128, sections=(24, 20, 20), base=5e6, layout="interleaved").angles(PLACES)
    assert cos[:, :64] == pytest.approx(np.cos(angles), abs=1e-5)
    assert sin[:, :64] == pytest.approx(np.sin(angles), abs=1e-5)


def test_chunked_sections_with_interleaved_channels_are_those_of_glm4v():
    from transformers.models.glm4v.configuration_glm4v import Glm4vTextConfig
    from transformers.models.glm4v.modeling_glm4v import Glm4vTextRotaryEmbedding

    rope = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [8, 12, 12], "partial_rotary_factor": 0.5}
    config = Glm4vTextConfig(hidden_size=256, num_attention_heads=2, rope_parameters=rope)
    cos, sin = tables(Glm4vTextRotaryEmbedding(config), PLACES)
    scheme = Multimodal(head_dim=128, rotary_dim=64, sections=(8, 12, 12), pairing="interleaved")
    assert cos[:, ::2] == pytest.approx(np.cos(scheme.angles(PLACES)), abs=1e-5)
    assert sin[:, ::2] == pytest.approx(np.sin(scheme.angles(PLACES)), abs=1e-5)


def test_time_last_is_the_layout_of_ernie_4_5_vl():
    from transformers.models.ernie4_5_vl_moe.configuration_ernie4_5_vl_moe import Ernie4_5_VLMoeTextConfig
    from transformers.models.ernie4_5_vl_moe.modeling_ernie4_5_vl_moe import Ernie4_5_VLMoeTextRotaryEmbedding

    rope = {"rope_type": "default", "rope_theta": 5e5, "mrope_section": [22, 22, 20]}
    config = Ernie4_5_VLMoeTextConfig(hidden_size=256, num_attention_heads=2, rope_parameters=rope)
    cos, sin = tables(Ernie4_5_VLMoeTextRotaryEmbedding(config), PLACES)
    scheme = Multimodal(head_dim=128, sections=(20, 22, 22), base=5e5, layout="time-last", pairing="interleaved")
    assert cos[:, ::2] == pytest.approx(np.cos(scheme.angles(PLACES)), abs=1e-5)
    assert sin[:, ::2] == pytest.approx(np.sin(scheme.angles(PLACES)), abs=1e-5)


def test_two_interleaved_axes_are_those_of_neomme():
    scheme = Multimodal(head_dim=16, sections=(4, 4), layout="interleaved")
    assert scheme.axis_of_pair.tolist() == [0, 1] * 4


@pytest.mark.parametrize(
    "layout, sections, expected",
    [
        ("chunked", (2, 3, 3), [0, 0, 1, 1, 1, 2, 2, 2]),
        ("interleaved", (3, 3, 2), [0, 1, 2, 0, 1, 2, 0, 1]),
        ("interleaved", (4, 2, 2), [0, 1, 2, 0, 1, 2, 0, 0]),
        ("interleaved", (6, 1, 1), [0, 1, 2, 0, 0, 0, 0, 0]),
        ("interleaved", (5, 1, 2), [0, 1, 2, 0, 0, 2, 0, 0]),
        ("interleaved", (5, 2, 1), [0, 1, 2, 0, 1, 0, 0, 0]),
        ("time-last", (2, 3, 3), [1, 2, 1, 2, 1, 2, 0, 0]),
    ],
)
def test_each_layout_gives_each_axis_its_pairs(layout, sections, expected):
    scheme = Multimodal(head_dim=16, sections=sections, layout=layout)
    assert scheme.axis_of_pair.tolist() == expected
    assert scheme.axes == 3
    frequencies = 10000.0 ** (-np.arange(8) / 8)
    places = np.array([[1, 4], [20, 5], [300, 6]])
    assert scheme.angles(places) == pytest.approx(places[expected].T * frequencies, rel=1e-14)


@given(st.sampled_from(["chunked", "interleaved", "time-last"]), st.lists(st.integers(0, 2**23), max_size=5))
def test_equal_positions_on_every_axis_are_plain_rope(layout, row):
    scheme = Multimodal(head_dim=24, rotary_dim=16, sections=(4, 2, 2), layout=layout)
    rope = Rope(head_dim=24, rotary_dim=16)
    assert (scheme.angles(np.array([row] * 3, dtype=np.int64)) == rope.angles(row)).all()
    assert (scheme.plain() == rope.plain()).all()
    assert (scheme.plain(5e5) == rope.plain(5e5)).all()


def test_interleaved_axes_are_not_interleaved_channels():
    axes = Multimodal(head_dim=16, sections=(4, 2, 2), layout="interleaved")
    channels = Multimodal(head_dim=16, sections=(4, 2, 2), pairing="interleaved")
    assert axes.pairing == "half"
    assert channels.layout == "chunked"
    assert axes.axis_of_pair.tolist() != channels.axis_of_pair.tolist()


def test_given_frequencies_replace_its_own():
    scheme = Multimodal(head_dim=8, sections=(2, 1, 1))
    assert scheme.angles([[1], [2], [3]], np.array([1.0, 10.0, 5.0, 7.0])).tolist() == [[1.0, 10.0, 10.0, 21.0]]
    with pytest.raises(InputError, match=r"frequencies must have shape \[4\], got \[1\]"):
        scheme.angles([[1], [2], [3]], np.array([1.0]))


def test_a_list_of_sections_becomes_a_tuple():
    scheme = Multimodal(head_dim=8, sections=[2, 1, 1])
    assert scheme.sections == (2, 1, 1)
    assert scheme == Multimodal(head_dim=8, sections=(2, 1, 1))
    assert hash(scheme)


@pytest.mark.parametrize(
    "sections, layout, message",
    [
        ((16, 24, 24), "chunked", r"sections must add up to 8 pairs, got \[16, 24, 24\]"),
        ((8,), "chunked", r"sections must list the pairs of two axes or more, got \(8,\)"),
        ("2,3,3", "chunked", "sections must list the pairs of two axes or more"),
        ((2, 3, 3.0), "chunked", r"sections\[2\] must be an integer >= 1, got 3.0"),
        ((0, 4, 4), "chunked", r"sections\[0\] must be an integer >= 1, got 0"),
        ((2, 3, 3), "strided", "layout must be one of chunked, interleaved, time-last, got 'strided'"),
        ((1, 2, 5), "interleaved", r"cannot be interleaved over 8 pairs: \[1, 2, 5\] would become \[4, 2, 2\]"),
        ((2, 2, 4), "time-last", r"time-last needs three sections, the last two equal, got \[2, 2, 4\]"),
        ((4, 4), "time-last", "time-last needs three sections"),
        ((2, 2, 2, 2), "time-last", "time-last needs three sections"),
    ],
)
def test_sections_that_do_not_fit_are_refused(sections, layout, message):
    with pytest.raises(InputError, match=message):
        Multimodal(head_dim=16, sections=sections, layout=layout)


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"head_dim": 0}, "head_dim must be an integer >= 1, got 0"),
        ({"head_dim": 16, "rotary_dim": 15}, "rotary_dim must be even, .*, got 15"),
        ({"head_dim": 16, "rotary_dim": 18}, "rotary_dim must be <= head_dim 16, got 18"),
        ({"head_dim": 16, "base": -1.0}, "base must be > 0, got -1"),
        ({"head_dim": 16, "pairing": "unknown"}, "pairing must be one of half, interleaved, got 'unknown'"),
    ],
)
def test_other_fields_are_checked(fields, message):
    with pytest.raises(InputError, match=message):
        Multimodal(sections=(2, 3, 3), **fields)


def test_positions_need_one_row_an_axis():
    scheme = Multimodal(head_dim=8, sections=(2, 1, 1))
    for wrong in ([1, 2], [[1, 2]]):
        with pytest.raises(InputError, match=r"positions must have shape \[3, tokens\]"):
            scheme.angles(wrong)
