"""What is drawn of a scheme is its formula, worked out here once more."""

import math

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from ordinate.errors import InputError
from ordinate.plots import caption, plain, plot
from ordinate.schemes.alibi import Alibi
from ordinate.schemes.fire import Fire
from ordinate.schemes.kerple import Kerple
from ordinate.schemes.rope import Rope
from ordinate.schemes.sinusoidal import Sinusoidal
from ordinate.schemes.t5 import T5
from ordinate.schemes.transformer_xl import TransformerXL
from ordinate.spec import LayerGroup

close = pytest.approx


def sinusoid(position, channel, dim, base=10000.0):
    """Vaswani et al. 2017, section 3.5."""
    angle = position / base ** (2 * (channel // 2) / dim)
    return math.cos(angle) if channel % 2 else math.sin(angle)


def test_the_matrix_is_that_of_the_paper():
    figure = plot("sinusoid_matrix")(Sinusoidal(dim=12), 20)
    drawn = np.asarray(figure.axes[0].images[0].get_array())
    assert drawn.shape == (20, 12)
    assert drawn == close(np.array([[sinusoid(p, c, 12) for c in range(12)] for p in range(20)]))


def test_the_matrix_says_how_many_channels_hardly_move():
    table = np.array([[sinusoid(p, c, 128) for c in range(128)] for p in range(128)])
    still = int((table.max(0) - table.min(0) < 0.1).sum())
    assert f"{still} of 128 channels change by less than 0.1" in caption(plot("sinusoid_matrix")(Sinusoidal(dim=128)))


def test_chosen_channels_are_curves_of_their_own(lines):
    drawn = lines(plot("sinusoid_curves")(Sinusoidal(dim=12), [0, 3, 6], 30).axes[0])
    assert [name.split(":")[0] for name in drawn] == ["0", "3", "6"]
    for name, (x, y) in drawn.items():
        channel = int(name.split(":")[0])
        assert x.tolist() == list(range(30))
        assert y == close([sinusoid(p, channel, 12) for p in range(30)])
    wavelength = 2 * math.pi * 10000 ** (2 / 12)
    assert any(f"3: cos, {wavelength:.4g} tokens" == name for name in drawn)


@pytest.mark.parametrize("layout", ["concatenated", "tensor2tensor"])
def test_a_channel_of_another_layout_has_the_name_of_what_it_holds(layout, lines):
    scheme = Sinusoidal(dim=8, layout=layout)
    drawn = lines(plot("sinusoid_curves")(scheme, [1, 5], 9).axes[0])
    (first, (_, sine)), (second, (_, cosine)) = drawn.items()
    frequency = 10000 ** -(2 / 8) if layout == "concatenated" else 10000 ** -(1 / 3)
    assert sine == close([math.sin(p * frequency) for p in range(9)])
    assert cosine == close([math.cos(p * frequency) for p in range(9)])
    assert (first[:6], second[:6]) == ("1: sin", "5: cos")


def test_a_channel_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="a channel must be from 0 to 11, got 12"):
        plot("sinusoid_curves")(Sinusoidal(dim=12), [12])


def test_similarity_of_sinusoids_is_a_mean_of_cosines_of_their_distance():
    figure = plot("similarity")(Sinusoidal(dim=16), 24)
    drawn = np.asarray(figure.axes[0].images[0].get_array())
    turns = [10000 ** (-2 * i / 16) for i in range(8)]
    wanted = [[sum(math.cos((p - q) * f) for f in turns) / 8 for q in range(24)] for p in range(24)]
    assert drawn == close(np.array(wanted), abs=1e-12)
    assert "depends on the distance alone" in caption(figure)


def test_similarity_of_a_table_is_the_cosine_of_its_rows():
    table = np.array([[1.0, 0.0], [3.0, 4.0], [0.0, -2.0]])
    figure = plot("similarity")(table)
    assert np.asarray(figure.axes[0].images[0].get_array()) == close(
        np.array([[1, 0.6, 0], [0.6, 1, -0.8], [0, -0.8, 1]])
    )
    assert "does not depend on the distance alone: equal distances differ by up to 1.4" in caption(figure)


def test_a_position_without_a_vector_is_refused():
    with pytest.raises(InputError, match="length above 0"):
        plot("similarity")(np.zeros((3, 2)))


def test_slopes_are_those_of_the_authors_for_twelve_heads():
    ax = plot("alibi_slopes")(Alibi(heads=12)).axes[0]
    drawn = sorted((x, y) for line in ax.get_lines() for x, y in zip(*line.get_data(), strict=True))
    eight, rest = [2.0**-n for n in range(1, 9)], [2.0 ** -(n + 0.5) for n in range(4)]
    assert drawn == close(np.array(list(enumerate(eight + rest))))
    assert ax.get_yscale() == "log"
    assert "loses a logit in 1.414 tokens, the gentlest in 256" in caption(ax)


def test_penalties_are_slope_times_distance(lines):
    drawn = lines(plot("alibi_penalties")(Alibi(heads=4), 40).axes[0])
    assert len(drawn) == 4
    for name, (x, y) in drawn.items():
        head = int(name.split()[1].rstrip(":"))
        assert y == close(-(2.0 ** -(2 * (head + 1))) * x)
        assert x.tolist() == list(range(41))


def test_of_many_heads_all_are_drawn_and_some_named():
    ax = plot("alibi_penalties")(Alibi(heads=32)).axes[0]
    names = [str(line.get_label()) for line in ax.get_lines()]
    assert len(names) == 32
    assert sum(not name.startswith("_") for name in names) == 8


def mesh_bucket(relative, bidirectional, buckets=32, maximum=128):
    """The relative position bucket of Mesh TensorFlow, one number at a time."""
    n, start = -relative, 0
    if bidirectional:
        buckets //= 2
        start = buckets if n < 0 else 0
        n = abs(n)
    else:
        n = max(n, 0)
    exact = buckets // 2
    if n < exact:
        return start + n
    far = exact + int(np.float32(math.log(n / exact)) / np.float32(math.log(maximum / exact)) * (buckets - exact))
    return start + min(far, buckets - 1)


@pytest.mark.parametrize("bidirectional", [True, False])
def test_buckets_are_those_of_mesh_tensorflow(bidirectional, lines):
    figure = plot("t5_buckets")(T5(bidirectional=bidirectional), 150)
    drawn = lines(figure.axes[0])
    sides = {name: values for name, values in drawn.items() if name.startswith("key")}
    seen = {}
    for x, y in sides.values():
        seen |= dict(zip(x.astype(int).tolist(), y.astype(int).tolist(), strict=True))
    assert sorted(seen) == list(range(-150, 151 if bidirectional else 1))
    assert seen == {relative: mesh_bucket(relative, bidirectional) for relative in seen}
    last = 15 if bidirectional else 31
    first = min(n for n in range(150) if mesh_bucket(-n, bidirectional) == last)
    assert f"from {first} tokens on every distance shares bucket {last}" in caption(figure)
    assert f"distances 0 to {7 if bidirectional else 15} has" in caption(figure)


@pytest.mark.parametrize("variant", ["log", "power"])
def test_kerple_is_its_kernel(variant, lines):
    learned = {"r1": np.array([0.5, -1.5]), "r2": np.array([2.0, 0.25])}
    drawn = lines(plot("kerple")(Kerple(heads=2, variant=variant), learned, 50).axes[0])
    for (x, y), r1, r2 in zip(drawn.values(), (0.5, 1.5), (2.0, 0.25), strict=True):
        wanted = [-r1 * math.log(1 + r2 * n) if variant == "log" else -r1 * n**r2 for n in range(51)]
        assert y == close(np.array(wanted))
        assert x.tolist() == list(range(51))


def test_fire_is_its_network_of_the_share_of_distance(lines):
    scheme = Fire(heads=2, width=3, threshold=16.0)
    learned = scheme.initial(5) | {"c": np.array([0.7]), "multiplier": np.array([1.5])}
    drawn = lines(plot("fire")(scheme, learned, (8, 100), head=1).axes[0])
    for (name, (x, y)), query in zip(drawn.items(), (8, 100), strict=True):
        assert name == f"query at {query}"
        for distance, bias in zip(x, y, strict=True):
            share = math.log(0.7 * distance + 1) / (math.log(0.7 * max(query, 24.0) + 1) + 1e-6)
            hidden = [
                max(0.0, w * share + b) for w, b in zip(learned["hidden_weight"], learned["hidden_bias"], strict=True)
            ]
            wanted = sum(w * h for w, h in zip(learned["output_weight"][1], hidden, strict=True))
            assert bias == close(wanted + learned["output_bias"][1])
        assert {0.0, float(query)} <= set(x.tolist())


def test_transformer_xls_terms_are_the_four_of_the_paper(lines):
    scheme, generator = TransformerXL(heads=2, head_dim=4), np.random.default_rng(3)
    q, k = generator.standard_normal((2, 4)), generator.standard_normal((2, 4))
    learned = {
        "u": generator.standard_normal((2, 4)),
        "v": generator.standard_normal((2, 4)),
        "key_projection": generator.standard_normal((8, 2, 4)),
    }
    drawn = lines(plot("transformer_xl")(scheme, q, k, learned, 12, head=1).axes[0])
    content, position, key_alone, distance_alone = (y for _, y in drawn.values())
    for n in range(13):
        sinusoid = [math.sin(n * 10000 ** (-i / 4)) for i in range(4)]
        sinusoid += [math.cos(n * 10000 ** (-i / 4)) for i in range(4)]
        r = sum(s * learned["key_projection"][c, 1] for c, s in enumerate(sinusoid))
        assert content[n] == close(q[1] @ k[1] / 2)
        assert position[n] == close(q[1] @ r / 2)
        assert key_alone[n] == close(learned["u"][1] @ k[1] / 2)
        assert distance_alone[n] == close(learned["v"][1] @ r / 2)


@pytest.mark.parametrize("pairs", [[0, 3, 7], [0, 1, 2, 3], None])
def test_the_legend_of_a_rotation_lies_over_nothing(pairs):
    with plain():
        figure = plot("rotation")(LayerGroup("full_attention", Rope(head_dim=16)), (5, 6), pairs)
        renderer = FigureCanvasAgg(figure).get_renderer()
        figure.draw(renderer)
        ax = figure.axes[0]
        legend = ax.get_legend().get_window_extent(renderer)
        texts = [text for text in ax.findobj(Text) if text.get_text() and text not in ax.get_legend().findobj(Text)]
        assert any(text.get_text().startswith("Turn of each pair") for text in texts)
        assert [text.get_text() for text in texts if legend.overlaps(text.get_window_extent(renderer))] == []
