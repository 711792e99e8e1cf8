import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers.models.qwen2_vl.configuration_qwen2_vl import Qwen2VLConfig
from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VLModel

from ordinate import InputError, positions

texts = st.tuples(st.just("text"), st.integers(0, 5))
images = st.tuples(st.just("image"), st.tuples(st.just(1), st.integers(1, 4), st.integers(1, 4)))
videos = st.tuples(st.just("video"), st.tuples(*[st.integers(1, 4)] * 3))
rows = st.lists(st.one_of(texts, images, videos), max_size=5)


@pytest.fixture(scope="module")
def qwen2_vl():
    text = {
        "hidden_size": 8,
        "intermediate_size": 8,
        "num_hidden_layers": 0,
        "num_attention_heads": 1,
        "num_key_value_heads": 1,
        "vocab_size": 8,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]},
    }
    vision = {"depth": 0, "embed_dim": 8, "num_heads": 1, "hidden_size": 8, "spatial_merge_size": 2}
    return Qwen2VLModel(Qwen2VLConfig(text_config=text, vision_config=vision))


def of_transformers(model, parts):
    """What transformers' own code numbers this row with: [3, tokens], delta."""
    kinds = {"text": 0, "image": 1, "video": 2}
    types = []
    for kind, size in parts:
        types += [kinds[kind]] * (size if kind == "text" else int(np.prod(size)))
    merge = np.array([1, 2, 2])
    grids = {kind: [np.array(size) * merge for k, size in parts if k == kind] for kind in ("image", "video")}
    as_tensor = {kind: torch.tensor(np.array(sizes)) if sizes else None for kind, sizes in grids.items()}
    ids, delta = model.get_rope_index(
        torch.zeros(1, len(types), dtype=torch.long),
        torch.tensor([types]),
        image_grid_thw=as_tensor["image"],
        video_grid_thw=as_tensor["video"],
    )
    return ids[:, 0].numpy(), int(delta)


def test_text_alone_has_the_same_position_on_every_axis():
    ids, delta = positions.multimodal([("text", 4), ("text", 2)])
    assert ids.dtype == np.int64
    assert ids.tolist() == [[0, 1, 2, 3, 4, 5]] * 3
    assert delta == 0


def test_text_goes_on_after_the_largest_coordinate_of_an_image():
    ids, delta = positions.multimodal([("text", 2), ("image", (1, 2, 3)), ("text", 2)])
    assert ids.tolist() == [
        [0, 1, 2, 2, 2, 2, 2, 2, 5, 6],
        [0, 1, 2, 2, 2, 3, 3, 3, 5, 6],
        [0, 1, 2, 3, 4, 2, 3, 4, 5, 6],
    ]
    # Ten tokens so far, and the next position is 7.
    assert delta == -3


def test_frames_are_apart_by_their_interval_rounded_down():
    ids, delta = positions.multimodal([("text", 1), ("video", (3, 1, 1), 1.5), ("text", 1)])
    assert ids[0].tolist() == [0, 1, 2, 4, 5]
    assert ids[1].tolist() == [0, 1, 1, 1, 5]
    assert delta == 1
    still, _ = positions.multimodal([("video", (2, 1, 1), 0)])
    assert still[0].tolist() == [0, 0]


@settings(max_examples=20)
@given(st.integers(1, 5), st.sampled_from([0.5, 1.0, 1.5, 2.0, 50.0]), st.integers(0, 9))
def test_intervals_are_those_of_qwen2_5_vl(qwen2_vl, frames, interval, start):
    ids, _ = positions.multimodal([("text", start), ("video", (frames, 2, 3), interval)])
    expected = qwen2_vl.get_vision_position_ids(start, torch.tensor([frames, 4, 6]), 1, 2, time_interval=interval)
    assert ids[:, start:].tolist() == expected.tolist()


@given(rows)
def test_the_delta_leads_to_the_position_after_the_largest(parts):
    ids, delta = positions.multimodal(parts)
    longer, later = positions.multimodal([*parts, ("text", 2)])
    assert later == delta
    assert longer[:, :-2].tolist() == ids.tolist()
    assert longer[:, -2:].tolist() == [[ids.shape[1] + delta + step for step in range(2)]] * 3
    if ids.size:
        assert ids.shape[1] + delta == ids.max() + 1


@settings(max_examples=40)
@given(st.lists(st.one_of(texts.filter(lambda part: part[1] > 0), images), min_size=1, max_size=6))
def test_images_are_numbered_as_qwen2_vl_numbers_them(qwen2_vl, parts):
    # Two images side by side are one run of one modality to transformers: a word stands between.
    separated = [part for image_or_text in parts for part in (image_or_text, ("text", 1))]
    ids, delta = positions.multimodal(separated)
    expected, expected_delta = of_transformers(qwen2_vl, separated)
    assert ids.tolist() == expected.tolist()
    assert delta == expected_delta


def test_videos_are_numbered_as_qwen2_vl_numbers_them_while_they_are_short(qwen2_vl):
    row = [("text", 3), ("video", (2, 2, 3)), ("text", 1), ("image", (1, 3, 1)), ("text", 2)]
    ids, delta = positions.multimodal(row)
    expected, expected_delta = of_transformers(qwen2_vl, row)
    assert ids.tolist() == expected.tolist()
    assert delta == expected_delta


def test_text_after_a_long_video_does_not_repeat_its_positions_as_transformers_does(qwen2_vl):
    row = [("video", (4, 1, 1)), ("text", 2)]
    ids, delta = positions.multimodal(row)
    assert ids[:, -2:].tolist() == [[4, 5]] * 3
    assert delta == 0
    # Four frames of one patch: transformers 5.24 numbers the text from 1, inside the video.
    expected, _ = of_transformers(qwen2_vl, row)
    assert expected[:, -2:].tolist() == [[1, 2]] * 3


def test_an_empty_row_has_no_positions():
    ids, delta = positions.multimodal([])
    assert ids.shape == (3, 0)
    assert delta == 0


@pytest.mark.parametrize(
    "part, message",
    [
        ("text", "part 1 must be a pair such as"),
        (("text",), "part 1 must be a pair such as"),
        (("sound", 3), "part 1: kind must be one of text, image, video, got 'sound'"),
        (("text", -1), "part 1: tokens must be an integer >= 0, got -1"),
        (("text", 1, 1), "part 1: only a video has a third entry"),
        (("image", (1, 2, 2), 1.0), "part 1: only a video has a third entry"),
        (("video", (1, 2, 2), 1.0, 1.0), "part 1: only a video has a third entry"),
        (("image", 4), r"part 1: image must have a size \(time, height, width\), got 4"),
        (("video", (2, 2)), r"part 1: video must have a size \(time, height, width\), got \(2, 2\)"),
        (("image", (1, 0, 2)), "height must be an integer >= 1, got 0"),
        (("video", (1, 2, 2), -1.0), "part 1: interval must be >= 0, got -1"),
        (("video", (1, 2, 2), float("nan")), "part 1: interval must be a finite number, got nan"),
    ],
)
def test_parts_of_another_kind_are_refused(part, message):
    with pytest.raises(InputError, match=message):
        positions.multimodal([("text", 1), part])
