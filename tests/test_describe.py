"""A spec as JSON, as text and as a picture, against numbers made here."""

import dataclasses
import json
import math
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import ordinate
from ordinate import registry
from ordinate.describe import to_dict, to_svg, to_text
from ordinate.describe.wavelengths import turns, unfinished, wavelengths
from ordinate.describe.words import number, printable, ranges
from ordinate.fingerprint import fingerprint
from ordinate.scaling.longrope import LongRope
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.alibi import Alibi
from ordinate.schemes.none import NoPosition
from ordinate.schemes.rope import Rope
from ordinate.spec import Heads, LayerGroup, Spec, Window
from ordinate.temperature import QueryTemperature

HEADS = Heads(9, 3, 64, 64)
WINDOW = Window(8192, 8192)
SVG = "{http://www.w3.org/2000/svg}"


def spec_of(*groups: LayerGroup, window: Window = WINDOW, **changes) -> Spec:
    return Spec("a model", "llama", "huggingface", {g.layer_type: g for g in groups}, window, **changes)


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)  # noqa: S314 - our own output


PLAIN = LayerGroup("full_attention", Rope(64, base=1e5), None, "half", (0, 1, 2), HEADS)
STRETCHED = dataclasses.replace(PLAIN, stretch=Yarn(2.0, 8192))
LOCAL = LayerGroup("sliding_attention", Rope(64), None, "half", (3, 4), HEADS, sliding_window=512)
SLOPED = LayerGroup("full_attention", Alibi(8))
STILL = LayerGroup("full_attention", NoPosition())
EVERY_SCHEME = [
    LayerGroup("full_attention", registry.lookup("ordinate.schemes", name, "scheme").example())
    for name in registry.names("ordinate.schemes")
]


def test_wavelengths_are_turns_turned_over():
    by_hand = np.array([2 * math.pi * 1e5 ** (i / 32) for i in range(32)])
    np.testing.assert_allclose(wavelengths(PLAIN), by_hand, rtol=1e-13)
    np.testing.assert_allclose(turns(PLAIN, 8192), 8192 / by_hand, rtol=1e-13)


def test_pairs_with_a_wavelength_past_the_window_never_finish_a_turn():
    # 2 pi 1e5^(i / 32) > 8192 from i = 32 ln(8192 / 2 pi) / ln 1e5 = 19.93 on.
    assert unfinished(PLAIN, 8192) == 12
    assert unfinished(PLAIN, 2**30) == 0
    assert unfinished(PLAIN, 1) == 32


def test_pairs_that_do_not_turn_have_no_wavelength_and_are_not_counted():
    group = LayerGroup("full_attention", Rope(64, rotary_dim=32, part="proportional"), None, "half")
    assert np.isinf(wavelengths(group)[16:]).all()
    assert unfinished(group, 1) == 16


def test_the_dict_has_what_the_spec_says():
    found = to_dict(spec_of(STRETCHED, window=Window(8192, 16384), layers=3, sources={"a": "b"}, warnings=("c",)))
    assert found["schema_version"] == 1
    assert (found["name"], found["architecture"], found["container"]) == ("a model", "llama", "huggingface")
    assert (found["layers"], found["length"]) == (3, None)
    assert found["window"] == {"trained": 8192, "declared": 16384}
    assert (found["sources"], found["warnings"]) == ({"a": "b"}, ["c"])
    group = found["groups"]["full_attention"]
    assert (group["scheme"], group["scaling"], group["pairing"]) == ("rope", "yarn", "half")
    assert (group["rotary_dim"], group["pairs"], group["base"]) == (64, 32, 1e5)
    assert group["scaling_parameters"]["factor"] == 2.0
    assert group["scaling_parameters"]["original_max_position_embeddings"] == 8192
    assert group["layers"] == [0, 1, 2]
    assert group["heads"] == {
        "query": 9,
        "key_value": 3,
        "head_dim": 64,
        "value_dim": 64,
        "latent_dim": None,
        "rotary_key_dim": None,
        "kind": "GQA",
    }
    # Pair 0 turns often and is kept, pair 31 is divided by the factor; the magnitude is 1 + ln(2) / 10.
    assert group["frequencies"][0] == 1.0
    assert group["frequencies"][31] == pytest.approx(1e5 ** (-31 / 32) / 2, rel=1e-13)
    assert group["wavelengths"][31] == pytest.approx(4 * math.pi * 1e5 ** (31 / 32), rel=1e-13)
    assert group["turns_in_trained_window"][0] == pytest.approx(8192 / (2 * math.pi), rel=1e-13)
    assert group["attention_factor"] == pytest.approx(1.0693147180559945, rel=1e-15)
    assert group["slopes"] is None


def test_the_dict_has_the_fingerprint():
    assert to_dict(spec_of(PLAIN))["fingerprint"] == fingerprint(spec_of(PLAIN))


def test_the_dict_has_temperature_and_slopes():
    group = dataclasses.replace(SLOPED, temperature=QueryTemperature("llama4", 0.1, 8192.0))
    found = to_dict(spec_of(group))["groups"]["full_attention"]
    assert found["slopes"] == [2.0**-i for i in range(1, 9)]
    assert found["temperature"] == {"form": "llama4", "scale": 0.1, "interval": 8192.0}
    assert (found["frequencies"], found["rotary_dim"], found["attention_factor"]) == (None, None, 1.0)


@pytest.mark.parametrize("length, slowest", [(None, 1.0), (8192, 1.0), (8193, 4.0)])
def test_frequencies_are_those_at_the_length(length, slowest):
    group = dataclasses.replace(PLAIN, stretch=LongRope((1.0,) * 32, (4.0,) * 32, 1.0, 8192))
    found = to_dict(spec_of(group), length)
    assert found["length"] == length
    assert found["groups"]["full_attention"]["frequencies"][0] == 1 / slowest


@pytest.mark.parametrize("group", EVERY_SCHEME, ids=lambda group: group.scheme)
@pytest.mark.parametrize("window", [Window(64, 128), Window(None, None)])
def test_every_scheme_can_be_described_in_every_form(group, window):
    spec = spec_of(group, window=window)
    found = json.loads(json.dumps(to_dict(spec), allow_nan=False))
    assert found["groups"]["full_attention"]["scheme"] == group.scheme
    assert set(found["groups"]["full_attention"]) == set(to_dict(spec_of(PLAIN))["groups"]["full_attention"])
    assert group.scheme in to_text(spec)
    parsed(to_svg(spec))


@pytest.mark.parametrize("name", registry.names("ordinate.scaling"))
def test_every_scaling_can_be_described_in_every_form(name):
    stretch = registry.lookup("ordinate.scaling", name, "scaling method").example()
    spec = spec_of(LayerGroup("full_attention", Rope(16), stretch, "half"), window=Window(64, 256))
    json.dumps(to_dict(spec, 128), allow_nan=False)
    assert name in to_text(spec, 128)
    parsed(to_svg(spec, 128))


def test_smollm2_reads_well():
    text = to_text(ordinate.read("smollm2"))
    assert "8,192 tokens" in text
    assert "interleaved" in text
    assert "base 100,000" in text
    assert "12 of 32 never finish a turn in the trained 8,192 tokens" in text
    assert "GQA, 9 query and 3 key-value heads of 64 channels" in text
    assert "beware" not in text


def test_text_fits_a_terminal_and_has_a_block_a_group():
    spec = spec_of(STRETCHED, LOCAL, window=Window(8192, 16384), warnings=("a long warning " * 20,), layers=5)
    text = to_text(spec, sources=True)
    assert max(map(len, text.splitlines())) <= 96
    assert [line for line in text.splitlines() if line in spec.groups] == ["full_attention", "sliding_attention"]
    assert "the last 512 tokens" in text
    assert "16,384 tokens declared, 8,192 trained" in text
    assert "yarn, factor 2" in text
    assert "multiplies cos and sin" in text


def test_text_has_sources_where_asked():
    spec = spec_of(PLAIN, sources={"full_attention.base": "rope_theta"})
    assert "rope_theta" not in to_text(spec)
    assert re.search(r"full_attention\.base +rope_theta", to_text(spec, sources=True))


@pytest.mark.parametrize(
    "window, said",
    [
        (Window(None, None), "not in the file"),
        (Window(None, 4096), "how many of them were trained is not in the file"),
        (Window(8192, None), "how many it serves is not in the file"),
    ],
)
def test_text_says_what_is_not_known_of_the_window(window, said):
    assert said in to_text(spec_of(PLAIN, window=window))


def test_control_characters_from_a_file_do_not_reach_the_terminal():
    hostile = "\x1b[2Jname\u202e\n"
    spec = dataclasses.replace(spec_of(PLAIN), name=hostile, warnings=(hostile,), sources={hostile: hostile})
    for text in (to_text(spec, sources=True), to_svg(spec)):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "\\x1b[2Jname" in text


def shapes(svg):
    """The points of a picture: circles and squares, as (filled, height); the legend's are those below the plot."""
    root = parsed(svg)
    return [
        (circle.get("fill") != "#ffffff", float(circle.get("cy")))
        for circle in root.iter(f"{SVG}circle")
        if float(circle.get("cy")) < 440
    ]


def test_the_picture_has_a_point_a_pair_hollow_where_it_never_finishes_a_turn():
    points = shapes(to_svg(spec_of(PLAIN)))
    assert len(points) == 32
    assert [filled for filled, _ in points] == [True] * 20 + [False] * 12


def test_the_picture_goes_up_with_the_wavelength_and_marks_the_window():
    svg = to_svg(spec_of(PLAIN))
    heights = [height for _, height in shapes(svg)]
    assert heights == sorted(heights, reverse=True)
    root = parsed(svg)
    (line,) = (line for line in root.iter(f"{SVG}line") if line.get("stroke-width") == "1.5")
    # The window lies between pair 19, whose wavelength is shorter, and pair 20.
    assert heights[20] < float(line.get("y1")) < heights[19]


def test_a_stretched_picture_has_both_windows_and_the_wavelengths_before():
    svg = to_svg(spec_of(STRETCHED, LOCAL, window=Window(8192, 16384)))
    for said in ("trained 8,192", "declared 16,384", "before scaling", "sliding_attention", "wavelength [token]"):
        assert said in svg
    assert 'stroke-dasharray="7 4"' in svg


def test_the_picture_of_slopes_shows_reaches():
    svg = to_svg(spec_of(SLOPED))
    assert "reach of each head" in svg
    assert len(shapes(svg)) == 8


def test_the_picture_of_neither_says_so():
    assert "Scheme: none" in to_svg(spec_of(STILL))


@pytest.mark.parametrize("group", [PLAIN, STRETCHED, SLOPED, STILL])
def test_a_picture_stands_alone_and_says_what_it_shows(group):
    svg = to_svg(spec_of(group))
    root = parsed(svg)
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    assert root.find(f"{SVG}title").text.startswith("a model")
    assert root.find(f"{SVG}desc").text
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {"svg", "title", "desc", "rect", "line", "path", "circle", "text"}
    assert not re.search(r"href|url\(|<script|javascript", svg)
    assert svg == to_svg(spec_of(group))


def test_names_in_a_picture_are_escaped():
    spec = dataclasses.replace(spec_of(PLAIN), name="<script>&", architecture='"><b>')
    parsed(to_svg(spec))
    assert "<script>" not in to_svg(spec)


def test_points_stay_inside_the_picture():
    for group in (PLAIN, STRETCHED, LayerGroup("full_attention", Rope(64, base=1e30), None, "half")):
        svg = to_svg(spec_of(group, window=Window(1, 2**40)))
        height = float(parsed(svg).get("height"))
        assert all(70 < y < height for _, y in shapes(svg))


@pytest.mark.parametrize(
    "value, written",
    [
        (0, "0"),
        (8192, "8,192"),
        (1e7, "10,000,000"),
        (0.000123456789, "0.000123457"),
        (1234567.891, "1,234,568"),
        (-2.5, "-2.5"),
        (math.inf, "inf"),
        (1e30, "1e+30"),
        (1.0000001, "1"),
    ],
)
def test_numbers_are_written_for_people(value, written):
    assert number(value) == written


@pytest.mark.parametrize(
    "layers, written",
    [
        ((), ""),
        ((3,), "3"),
        (range(30), "0-29"),
        ((0, 2, 3, 9), "0, 2-3, 9"),
        (range(3, 48, 4), "3, 7, ... 47 (every 4th)"),
        ([i for i in range(62) if i % 6 != 5], "0-4, 6-10, 12-16, ... 60-61"),
    ],
)
def test_layers_are_written_in_runs(layers, written):
    assert ranges(layers) == written


def test_printable_text_stays_as_it_is():
    assert printable("Qwen3 8B (base) – π") == "Qwen3 8B (base) – π"


def test_one_of_a_thing_is_not_several():
    from ordinate.describe.words import counted

    assert [counted(number, "token") for number in (0, 1, 2, 2**53)] == [
        "0 tokens",
        "1 token",
        "2 tokens",
        "9,007,199,254,740,992 tokens",
    ]
    assert counted(1.5, "time") == "1.5 times"
