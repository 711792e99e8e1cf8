"""A spec and its groups, built by hand."""

import dataclasses

import numpy as np
import pytest

from ordinate.errors import InputError
from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.alibi import Alibi
from ordinate.schemes.rope import Rope
from ordinate.schemes.xpos import Xpos
from ordinate.spec import Heads, LayerGroup, Spec, Window
from ordinate.temperature import QueryTemperature


def spec(**groups: LayerGroup) -> Spec:
    return Spec("model", "llama", "huggingface", groups, Window(None, None))


def test_a_table_is_cos_and_sin_times_the_magnitude_rounded_once():
    group = LayerGroup("full_attention", Rope(head_dim=64, base=1e5), Yarn(2.0, 8192), "half")
    cos, sin = group.table([0, 5])
    factor = 0.1 * np.log(2) + 1
    assert cos.dtype == sin.dtype == np.float32
    assert cos.shape == sin.shape == (2, 32)
    np.testing.assert_array_equal(cos[0], np.float32(factor))
    np.testing.assert_array_equal(sin[0], 0)
    assert cos[1, 0] == np.float32(np.cos(5.0) * factor)
    assert group.attention_factor() == pytest.approx(factor, rel=1e-15)


def test_a_table_of_a_reversed_direction_has_its_sign_in_sin():
    forward, backward = (LayerGroup("full_attention", Rope(head_dim=8, direction=d)).table([3]) for d in (1, -1))
    np.testing.assert_array_equal(forward[0], backward[0])
    np.testing.assert_array_equal(forward[1], -backward[1])
    assert forward[1][0, 0] == np.float32(np.sin(3.0))


def test_the_length_reaches_a_dynamic_method():
    group = LayerGroup("full_attention", Rope(head_dim=64), DynamicNtk(2.0, window=2048))
    assert group.frequencies()[-1] == pytest.approx(10000 ** (-62 / 64), rel=1e-14)
    expected = (10000 * 3 ** (64 / 62)) ** (-62 / 64)
    assert group.frequencies(4096)[-1] == pytest.approx(expected, rel=1e-14)
    assert group.table([1], 4096)[1][0, -1] == np.float32(np.sin(expected))


def test_what_does_not_rotate_has_no_frequencies():
    group = LayerGroup("full_attention", Alibi(heads=4))
    assert group.rotary_dim is None
    assert group.scaling is None
    assert group.attention_factor() == 1.0
    np.testing.assert_array_equal(group.slopes, [2**-2, 2**-4, 2**-6, 2**-8])
    with pytest.raises(InputError, match="group 'full_attention' has no rotary frequencies: its scheme is alibi"):
        group.frequencies()


def test_xpos_has_no_one_table():
    group = LayerGroup("full_attention", Xpos(head_dim=8))
    with pytest.raises(InputError, match="xpos scales q and k apart"):
        group.table([0])


@pytest.mark.parametrize(
    ("heads", "kind"),
    [
        (Heads(8, 8, 64, 64), "MHA"),
        (Heads(8, 2, 64, 64), "GQA"),
        (Heads(8, 1, 64, 64), "MQA"),
        (Heads(128, 128, 192, 128, latent_dim=512, rotary_key_dim=64), "MLA"),
    ],
)
def test_heads_have_their_usual_name(heads, kind):
    assert heads.kind == kind


def test_the_only_group_is_the_group():
    group = LayerGroup("full_attention", Rope(head_dim=8))
    assert spec(full_attention=group).group is group
    both = spec(full_attention=group, sliding_attention=dataclasses.replace(group, layer_type="sliding_attention"))
    with pytest.raises(InputError, match="has 2 layer groups: choose from full_attention, sliding_attention"):
        _ = both.group


def test_a_spec_names_its_groups_as_they_name_themselves():
    with pytest.raises(InputError, match="at least one layer group"):
        spec()
    with pytest.raises(InputError, match="group 'main' calls itself 'full_attention'"):
        spec(main=LayerGroup("full_attention", Rope(head_dim=8)))


def test_a_spec_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        spec(full_attention=LayerGroup("full_attention", Rope(head_dim=8))).layers = 3


@pytest.mark.parametrize(
    ("temperature", "positions", "expected"),
    [
        # Llama 4: ln(floor((p + 1) / 8192) + 1) * 0.1 + 1
        (
            QueryTemperature("llama4", 0.1, 8192),
            [0, 8190, 8191, 16383],
            [1, 1, 1 + 0.1 * np.log(2), 1 + 0.1 * np.log(3)],
        ),
        # Ministral 3: 1 + 0.1 * ln(1 + floor(p / 16384))
        (
            QueryTemperature("ministral3", 0.1, 16384),
            [0, 16383, 16384, 49152],
            [1, 1, 1 + 0.1 * np.log(2), 1 + 0.1 * np.log(4)],
        ),
    ],
)
def test_query_temperature_rises_by_whole_intervals(temperature, positions, expected):
    np.testing.assert_allclose(temperature.factors(positions), expected, rtol=1e-15)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("llama5", 0.1, 1.0), "form must be one of"),
        (("llama4", np.nan, 1.0), "scale"),
        (("llama4", 0.1, 0), "interval"),
    ],
)
def test_a_query_temperature_out_of_range_is_refused(arguments, words):
    with pytest.raises(InputError, match=words):
        QueryTemperature(*arguments)
