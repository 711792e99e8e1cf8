import importlib

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from reference_attention import rotate, turning_channels

from ordinate import InputError, positions
from ordinate.registry import lookup
from ordinate.schemes.axial import Axial
from ordinate.schemes.rope import Rope

PLACES = np.array([[0, 1, 5, 63, 2], [3, 0, 7, 40, 2], [9, 4, 0, 31, 2]])

# family, the scheme that it has, and in which order it takes (time,) height and width
FAMILIES = [
    ("qwen2_vl", "Qwen2VLVision", Axial(head_dim=80), [0, 1]),
    ("sam3", "Sam3ViT", Axial(head_dim=64, pairing="interleaved"), [0, 1]),
    ("sam2_video", "Sam2VideoVision", Axial(head_dim=256, pairing="interleaved"), [0, 1]),
    ("inkling2", "Inkling2Vision", Axial(head_dim=64, pairing="interleaved"), [1, 0]),
    ("step3p7", "Step3p7Vision", Axial(head_dim=96), [1, 0]),
    ("kimi_k25", "Kimi_K25Vision", Axial(head_dim=72, layout="alternating"), [1, 0]),
    ("pixtral", "PixtralVision", Axial(head_dim=64, spectrum="split"), [0, 1]),
    ("minimax_m3_vl", "MiniMaxM3VLVision", Axial(head_dim=80, rotary_dim=78, axes=3), [0, 1, 2]),
]


def of_transformers(family, name):
    """The rotary class of a family of transformers, made from its default configuration, and that."""
    model = importlib.import_module(f"transformers.models.{family}.modeling_{family}")
    configuration = importlib.import_module(f"transformers.models.{family}.configuration_{family}")
    with_parts = f"{name.removesuffix('Vision')}Config"
    config = getattr(configuration, f"{name}Config", None) or getattr(configuration, with_parts)
    return getattr(model, f"{name}RotaryEmbedding")(config())


@pytest.mark.parametrize("family, name, scheme, order", FAMILIES, ids=[f[0] for f in FAMILIES])
def test_angles_are_those_of_the_family_in_transformers(family, name, scheme, order):
    embedding = of_transformers(family, name)
    assert scheme.plain() == pytest.approx(embedding.inv_freq.double().numpy(), rel=2e-6)
    places = PLACES[: scheme.axes]
    rotated = embedding(torch.zeros(1), torch.tensor(places.T))
    tables = [table.double().numpy().reshape(places.shape[1], -1) for table in rotated]
    # Their tables are of full width; the first channel of each pair is enough.
    first = slice(0, None, 2) if scheme.pairing == "interleaved" else slice(0, scheme.pairs)
    angles = scheme.angles(places[order])
    assert tables[0][:, first] == pytest.approx(np.cos(angles), abs=2e-5)
    assert tables[1][:, first] == pytest.approx(np.sin(angles), abs=2e-5)


def test_qwen2_vl_turns_the_same_channels():
    from transformers.models.qwen2_vl.modeling_qwen2_vl import apply_rotary_pos_emb_vision

    scheme = Axial(head_dim=80)
    cos, sin = of_transformers("qwen2_vl", "Qwen2VLVision")(torch.zeros(1), torch.tensor(PLACES[:2].T))
    vectors = np.random.default_rng(1).standard_normal((5, 3, 80))
    turned, _ = apply_rotary_pos_emb_vision(torch.tensor(vectors), torch.tensor(vectors), cos, sin)
    expected = rotate(vectors.swapaxes(0, 1), scheme.angles(PLACES[:2]), turning_channels(scheme)).swapaxes(0, 1)
    assert turned.numpy() == pytest.approx(expected, abs=1e-4)


def test_sam3_turns_the_same_channels():
    from transformers.models.sam3.modeling_sam3 import apply_rotary_pos_emb_2d

    scheme = Axial(head_dim=64, pairing="interleaved")
    cos, sin = of_transformers("sam3", "Sam3ViT")(torch.zeros(1), torch.tensor(PLACES[:2].T))
    vectors = np.random.default_rng(2).standard_normal((2, 5, 64))
    turned, _ = apply_rotary_pos_emb_2d(torch.tensor(vectors), torch.tensor(vectors), cos, sin)
    expected = rotate(vectors, scheme.angles(PLACES[:2]), turning_channels(scheme))
    assert turned.numpy() == pytest.approx(expected, abs=1e-4)


def test_llama4_takes_the_width_first_and_counts_from_1():
    from transformers.models.llama4.configuration_llama4 import Llama4VisionConfig
    from transformers.models.llama4.modeling_llama4 import Llama4VisionRotaryEmbedding

    config = Llama4VisionConfig(image_size=28, patch_size=14, hidden_size=64, num_attention_heads=2)
    table = Llama4VisionRotaryEmbedding(config).freqs_ci.numpy()[:, 0]
    height, width = positions.grid(2, 2) + 1
    angles = Axial(head_dim=32, pairing="interleaved").angles(np.stack([width, height]))
    assert np.exp(1j * angles) == pytest.approx(table[:-1], abs=1e-6)


def test_one_axis_has_18_frequencies_in_a_head_of_72():
    scheme = Axial(head_dim=72)
    assert scheme.pairs == 36
    assert scheme.plain() == pytest.approx([10000.0 ** (-i / 18) for i in range(18)], rel=1e-15)


def test_layouts_and_spectra_differ_as_they_say():
    places = [[10], [1000]]
    # Four pairs: two an axis, of frequencies 1 and 1/100 shared, 1, 1/10, 1/100, 1/1000 split.
    expected = {
        ("blocks", "shared"): [10, 0.1, 1000, 10],
        ("alternating", "shared"): [10, 1000, 0.1, 10],
        ("blocks", "split"): [10, 0.1, 100, 1],
        ("alternating", "split"): [10, 100, 0.1, 1],
    }
    for (layout, spectrum), angles in expected.items():
        scheme = Axial(head_dim=8, layout=layout, spectrum=spectrum)
        assert scheme.angles(places)[0] == pytest.approx(angles, rel=1e-14)


def test_three_axes_alternate_in_turn():
    scheme = Axial(head_dim=12, axes=3, layout="alternating")
    assert scheme.axis_of_pair.tolist() == [0, 1, 2, 0, 1, 2]
    assert scheme.index_in_axis.tolist() == [0, 0, 0, 1, 1, 1]
    assert scheme.angles([[1], [2], [3]])[0] == pytest.approx([1, 2, 3, 0.01, 0.02, 0.03], rel=1e-14)


@given(st.sampled_from(["blocks", "alternating"]), st.sampled_from(["shared", "split"]), st.sampled_from([2, 3]))
def test_a_move_along_one_axis_turns_that_axis_pairs_only(layout, spectrum, axes):
    scheme = Axial(head_dim=24, axes=axes, layout=layout, spectrum=spectrum)
    for axis in range(axes):
        place = np.zeros((axes, 1), dtype=np.int64)
        place[axis] = 3
        assert (scheme.angles(place)[0] != 0).sum() == 12 // axes
        assert ((scheme.angles(place)[0] != 0) == (scheme.axis_of_pair == axis)).all()


def test_given_frequencies_replace_its_own():
    scheme = Axial(head_dim=8)
    assert scheme.angles([[2], [3]], np.array([5.0, 7.0])).tolist() == [[10.0, 14.0, 15.0, 21.0]]
    assert scheme.plain(base=16.0) == pytest.approx([1, 0.25])
    assert Axial(head_dim=8, spectrum="split").plain(base=16.0) == pytest.approx([1, 0.25, 0.5, 0.125])


@pytest.mark.parametrize("spectrum, wanted", [("shared", 2), ("split", 4)])
def test_frequencies_of_another_shape_are_refused(spectrum, wanted):
    with pytest.raises(InputError, match=rf"frequencies must have shape \[{wanted}\], got \[1\]"):
        Axial(head_dim=8, spectrum=spectrum).angles([[2], [3]], np.array([5.0]))


def test_what_a_head_cannot_share_is_refused():
    with pytest.raises(InputError, match="rotary_dim must be a multiple of 6, a pair for each of 3 axes, got 80"):
        Axial(head_dim=80, axes=3)
    with pytest.raises(InputError, match="rotary_dim must be a multiple of 4, a pair for each of 2 axes, got 6"):
        Axial(head_dim=8, rotary_dim=6)
    with pytest.raises(InputError, match="rotary_dim must be <= head_dim 8, got 12"):
        Axial(head_dim=8, rotary_dim=12)
    with pytest.raises(InputError, match="rotary_dim must be an integer >= 1, got -4"):
        Axial(head_dim=8, rotary_dim=-4)
    with pytest.raises(InputError, match="head_dim must be an integer >= 1, got 0"):
        Axial(head_dim=0)


@pytest.mark.parametrize("axes", [1, 4, "2"])
def test_other_numbers_of_axes_are_refused(axes):
    with pytest.raises(InputError, match="axes must be 2 or 3, got"):
        Axial(head_dim=24, axes=axes)


@pytest.mark.parametrize(
    "field, value, message",
    [
        ("base", 0.0, "base must be > 0, got 0"),
        ("base", float("nan"), "base must be a finite number"),
        ("pairing", "neox", "pairing must be one of half, interleaved, got 'neox'"),
        ("layout", "rows", "layout must be one of blocks, alternating, got 'rows'"),
        ("spectrum", "odd", "spectrum must be one of shared, split, got 'odd'"),
    ],
)
def test_words_and_numbers_it_does_not_know_are_refused(field, value, message):
    with pytest.raises(InputError, match=message):
        Axial(head_dim=8, **{field: value})


def test_positions_need_one_row_an_axis():
    for wrong in ([1, 2], [[1, 2]], [[1], [2], [3]]):
        with pytest.raises(InputError, match=r"positions must have shape \[2, tokens\]"):
            Axial(head_dim=8).angles(wrong)
    with pytest.raises(InputError, match="positions must be integers"):
        Axial(head_dim=8).angles([[0.5], [0.5]])


@pytest.mark.parametrize("layout", ["blocks", "alternating"])
@pytest.mark.parametrize("name", ["ntk", "yarn", "dynamic_ntk", "llama3", "linear", "abf"])
def test_scaling_counts_the_pairs_of_one_spectrum(name, layout):
    method = lookup("ordinate.scaling", name, "scaling").example()
    length = 8192 if name == "dynamic_ntk" else None
    # An axis of its own 16 channels is a head of 16 channels.
    shared = Axial(head_dim=32, axes=2, layout=layout, spectrum="shared")
    np.testing.assert_array_equal(method.frequencies(shared, length), method.frequencies(Rope(head_dim=16), length))
    # Axes that deal out one head's frequencies keep each what it has there.
    split = Axial(head_dim=32, axes=2, layout=layout, spectrum="split")
    expected = method.frequencies(Rope(head_dim=32), length)
    dealt = np.tile(np.arange(0, 16, 2), 2) + np.repeat([0, 1], 8) if layout == "blocks" else np.arange(16)
    np.testing.assert_array_equal(method.frequencies(split, length), expected[dealt])
