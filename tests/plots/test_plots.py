"""What holds of every plot."""

import json
import re
import subprocess
import sys

import pytest
from matplotlib.text import Text

from ordinate.describe.chart import COLOURS
from ordinate.plots import caption, facts, plain, plot, plots, save, source_reader
from ordinate.plots.base import word

EXAMPLES = {
    "alibi_penalties": (["alibi:heads=12"], {}),
    "alibi_slopes": (["alibi:heads=12"], {}),
    "attention_decay": (["{plain}"], {"to": 8192, "tokens": 2000}),
    "depth_by_length": (["{validate}"], {}),
    "engines": (["{yarn}"], {}),
    "fire": (["fire:heads=2"], {}),
    "kerple": (["kerple:heads=3,variant=power"], {}),
    "loss_by_position": (["{prove}"], {}),
    "memory": (["{plan}"], {}),
    "rotation": (["{llama}"], {"positions": [0, 100]}),
    "scaling_bands": (["{plain}"], {"to": 16384}),
    "similarity": (["{plain}"], {"tokens": 40}),
    "sinusoid_curves": (["sinusoidal:dim=32"], {"dimensions": [0, 1, 9]}),
    "sinusoid_matrix": (["sinusoidal:dim=32"], {}),
    "spec_difference": (["{plain}", "{yarn}"], {}),
    "stale_keys": (["rope:head_dim=16"], {"drop": 5, "tokens": 60}),
    "t5_buckets": (["t5:bidirectional=false"], {}),
    "transformer_xl": (["transformer_xl:heads=2,head_dim=8"], {}),
    "wavelengths": (["{llama}"], {"to": 200000}),
}
UNITLESS = {"channel", "pair", "pair, from the fastest to the slowest", "head", "bucket", "evidence stands at"}


@pytest.fixture(scope="module")
def draw(configs, results, tmp_path_factory):
    """Draw the example of a plot, as `ordinate plot` does."""
    from ordinate.plan import Request, plan

    file = tmp_path_factory.mktemp("plan") / "plan.json"
    file.write_text(json.dumps(plan("llama-2-7b", Request(contexts=(4096, 8192), batches=(1, 2))).to_dict()))
    places = {**configs, **results, "plan": str(file)}

    def drawn(name, **more):
        sources, options = EXAMPLES[name]
        with plain():
            return source_reader(name)([source.format(**places) for source in sources], **options, **more)

    return drawn


@pytest.fixture(scope="module")
def figures(draw):
    return {name: draw(name) for name in EXAMPLES}


def test_every_plot_has_an_example():
    assert list(EXAMPLES) == plots()


@pytest.mark.parametrize("name", EXAMPLES)
def test_axes_carry_units(name, figures):
    ax = figures[name].axes[0]
    if name == "rotation":
        assert "[rad/token]" in " ".join(text.get_text() for text in ax.texts)
        return
    for label in (ax.get_xlabel(), ax.get_ylabel()):
        assert label in UNITLESS or re.search(r"\[(1|token|logit|logit/token|nat/token|GiB)\]", label), label


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_caption_with_numbers_comes_with_each(name, figures):
    said = caption(figures[name])
    assert re.search(r"\d", said)
    assert said.endswith(".")
    assert "nan" not in said.lower().split()
    assert not re.search(r"  |\.\.|\bNone\b|\[\]", said)
    # Powers of ten as they are printed, not as Python writes them.
    words = [text.get_text() for text in figures[name].findobj(Text)]
    assert not re.search(r"\de[+-]\d", " ".join([said, *words]))


@pytest.mark.parametrize("name", EXAMPLES)
def test_lines_are_told_apart_without_colour(name, figures):
    ax = figures[name].axes[0]
    named = [line for line in ax.get_lines() if not str(line.get_label()).startswith("_")]
    looks = [(str(n._dash_pattern), n.get_marker(), str(n.get_markerfacecolor()) == "white") for n in named]
    assert len(set(looks)) == len(looks)


@pytest.mark.parametrize("name", EXAMPLES)
def test_colours_are_those_of_okabe_and_ito_or_greys(name, figures):
    from matplotlib.colors import to_rgb

    safe = {to_rgb(colour) for colour in COLOURS}
    for line in figures[name].axes[0].get_lines():
        red, green, blue = to_rgb(line.get_color())
        assert (red, green, blue) in safe or red == green == blue
    assert {image.get_cmap().name for image in figures[name].axes[0].images} <= {"cividis", "viridis"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_nothing_that_is_drawn_leaves_the_picture(name, figures):
    """All words lie within the page once it is laid out."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text

    figure = figures[name]
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    page = figure.bbox
    for text in figure.findobj(Text):
        if not text.get_visible() or not text.get_text().strip():
            continue
        if (
            text.axes is not None
            and not text.axes.axison
            and text.get_text()
            in (
                text.axes.get_xlabel(),
                text.axes.get_ylabel(),
            )
        ):
            continue
        box = text.get_window_extent(canvas.get_renderer())
        clipped = text.get_clip_on() or box.width == 0
        inside = page.x0 - 1 <= box.x0 and box.x1 <= page.x1 + 1 and page.y0 - 1 <= box.y0 and box.y1 <= page.y1 + 1
        assert inside or clipped or _unused_tick(text), text.get_text()


def _unused_tick(text):
    """Matplotlib keeps labels of ticks beyond an axis's ends, which are not drawn."""
    axes = text.axes
    if axes is None:
        return False
    for axis in (axes.xaxis, axes.yaxis):
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            if text in (tick.label1, tick.label2):
                low, high = sorted(axis.get_view_interval())
                return not low <= tick.get_loc() <= high
    return False


@pytest.mark.parametrize("name", ["alibi_slopes", "similarity"])
def test_axes_that_are_given_are_drawn_into(name, draw):
    from matplotlib.figure import Figure

    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert draw(name, ax=right) is figure
    assert right.get_title(loc="left")
    assert not left.has_data()
    assert caption(left) == ""
    assert caption(figure) == caption(right) != ""


def test_a_file_has_the_caption_and_is_the_same_each_time(draw, tmp_path):
    figures = draw("alibi_slopes"), draw("alibi_slopes")
    for suffix in ("svg", "pdf", "png"):
        first, second = tmp_path / f"first.{suffix}", tmp_path / f"second.{suffix}"
        for figure, file in zip(figures, (first, second), strict=True):
            save(figure, file)
        assert first.read_bytes() == second.read_bytes()
    said = caption(draw("alibi_slopes"))
    text = (tmp_path / "first.svg").read_text()
    assert said in text
    assert "<dc:date>" not in text
    assert said.encode() in (tmp_path / "first.png").read_bytes()


@pytest.mark.parametrize("name", ["a$b$c_x", "_hidden", "\x1b[31mred", "模型", "x" * 300])
def test_a_models_name_is_text_whatever_it_holds(name, tmp_path, configs):
    import dataclasses

    from ordinate.dialects import read

    spec = dataclasses.replace(read(configs["plain"]), name=name)
    figure = plot("spec_difference")(spec, spec)
    save(figure, tmp_path / "picture.svg")
    drawn = figure.axes[0].get_legend().get_texts()[0].get_text()
    assert drawn == f"{word(name)} / {word(name)}"
    assert all(" " <= char <= "ɏ" for char in drawn)


def test_no_plot_imports_matplotlib_or_torch_before_it_draws():
    code = "import sys, ordinate.plots as p; [p.plot(n) for n in p.plots()]; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "ordinate.plots.wavelengths" in loaded
    assert not loaded & {"matplotlib", "torch", "transformers"}


def test_drawing_leaves_no_global_state(tmp_path):
    code = f"""
import sys, matplotlib
before = list(dict.items(matplotlib.rcParams))  # read so that no backend is looked for
from ordinate.plots import plain, save, source_reader
with plain():
    save(source_reader("alibi_slopes")(["alibi:heads=4"]), {str(tmp_path / "x.svg")!r})
assert list(dict.items(matplotlib.rcParams)) == before
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_plot_says_what_it_shows_and_is_drawn_from(name):
    about = facts(name)
    assert about.shows
    assert about.source
    assert 1 <= about.least <= about.most
    assert plot(name).__doc__
