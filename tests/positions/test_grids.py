import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.models.qwen2_vl.configuration_qwen2_vl import Qwen2VLVisionConfig
from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VisionTransformerPretrainedModel

from ordinate import InputError, positions

sizes = st.integers(1, 4)


def test_an_image_is_read_row_by_row():
    assert positions.grid(2, 3).tolist() == [[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2]]


def test_a_video_is_read_frame_by_frame():
    assert positions.grid(2, 1, 2).tolist() == [[0, 0, 1, 1], [0, 0, 0, 0], [0, 1, 0, 1]]


@given(st.one_of(st.tuples(sizes, sizes), st.tuples(sizes, sizes, sizes)))
def test_every_patch_has_its_own_coordinates_in_reading_order(shape):
    found = positions.grid(*shape)
    assert found.dtype == np.int64
    assert [tuple(patch) for patch in found.T] == list(np.ndindex(*shape))


@given(st.tuples(st.integers(1, 2), sizes, sizes), st.integers(1, 3))
def test_merging_lists_the_same_patches_square_by_square(shape, merge):
    time, height, width = shape
    found = positions.grid(time, height * merge, width * merge, merge=merge)
    expected = [
        (t, h * merge + down, w * merge + right)
        for t in range(time)
        for h in range(height)
        for w in range(width)
        for down in range(merge)
        for right in range(merge)
    ]
    assert [tuple(patch) for patch in found.T] == expected


def test_merged_order_is_the_one_of_qwen2_vl():
    # What its vision tower would give its rotary embedding, caught on the way.
    config = Qwen2VLVisionConfig(depth=0, embed_dim=16, num_heads=2, hidden_size=16, patch_size=2, in_channels=1)
    tower = Qwen2VisionTransformerPretrainedModel(config)
    seen = []
    tower.rotary_pos_emb.register_forward_hook(lambda _module, arguments, _result: seen.append(arguments[1]))
    patches = torch.zeros(2 * 4 * 6, 1 * config.temporal_patch_size * 2 * 2)
    tower(patches, grid_thw=torch.tensor([[2, 4, 6]]))
    assert positions.grid(2, 4, 6, merge=2)[1:].tolist() == seen[0].T.tolist()


def test_grids_of_other_sizes_are_refused():
    with pytest.raises(InputError, match=r"a grid has 2 or 3 axes .*, got 1"):
        positions.grid(4)
    with pytest.raises(InputError, match="got 4"):
        positions.grid(1, 1, 1, 1)
    with pytest.raises(InputError, match="width must be an integer >= 1, got 0"):
        positions.grid(2, 0)
    with pytest.raises(InputError, match=r"time must be an integer >= 1, got 1\.5"):
        positions.grid(1.5, 2, 2)
    with pytest.raises(InputError, match="height must be a multiple of merge 2, got 3"):
        positions.grid(3, 4, merge=2)
    with pytest.raises(InputError, match="width must be a multiple of merge 2, got 5"):
        positions.grid(1, 4, 5, merge=2)
    with pytest.raises(InputError, match="merge must be an integer >= 1, got 0"):
        positions.grid(2, 2, merge=0)
