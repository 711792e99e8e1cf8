"""The page of every kind of result, and of several together: complete, safe, and the same in every form."""

import json
import re
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from stored_results import NAMES, STORED, many, stored

from ordinate.cli import run
from ordinate.errors import InputError
from ordinate.report import render
from ordinate.report.blocks import Grid, parts
from ordinate.report.markdown import to_markdown
from ordinate.report.page import page_of
from ordinate.report.plain_text import to_text
from ordinate.results import read
from ordinate.validate.written import plain

VOID = {"meta", "br", "hr", "col", "wbr"}
HOSTILE = "</script><script>window.hit=1</script><img src=x onerror=window.hit=1>\x1b[31m| `#1` [x](http://x.example) "


class Tags(HTMLParser):
    """A page read strictly: every element that is opened is closed, in order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.words, self.inside = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        assert len(attributes) == len({name for name, _ in attributes}), tag
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def hostile(result):
    """A result in which every word that its form leaves free is hostile, keys included."""

    def accepted(changed):
        try:
            read(changed)
        except InputError:
            return False
        return True

    def walk(value, put):
        if isinstance(value, dict):
            for key in list(value):
                walk(value[key], lambda new, key=key: value.__setitem__(key, new))
                before = dict(value)
                value.clear()
                value.update({HOSTILE + name if name == key else name: one for name, one in before.items()})
                if not accepted(changed):
                    value.clear()
                    value.update(before)
        elif isinstance(value, list):
            for index, one in enumerate(value):
                walk(one, lambda new, index=index: value.__setitem__(index, new))
        elif isinstance(value, str):
            put(HOSTILE + value)
            if not accepted(changed):
                put(value)

    changed = json.loads(json.dumps(result))
    walk(changed, lambda _: None)
    return changed


@cache
def attacked_result(name):
    """A stored result, hostile: it takes seconds, and no test changes it."""
    return hostile(stored(name))


@pytest.fixture(scope="module", params=NAMES)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def result(name):
    return stored(name)


@pytest.fixture(scope="module")
def attacked(name):
    return attacked_result(name)


def check_places(page):
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    labels = [label for _, one in page.tags for label in one.get("aria-labelledby", "").split()]
    links = [one["href"] for one in page.all("a")]
    assert all(link.startswith("#") for link in links)
    assert {link[1:] for link in links} | set(labels) <= set(ids)
    # Each heading is at most one level below the one before.
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_a_page_is_well_formed_and_its_contents_lead_to_its_sections(result):
    page = Tags(render(result))
    check_places(page)
    sections = [one["id"] for one in page.all("section")]
    assert [one["href"][1:] for one in page.all("a")] == ["main", *sections]
    assert len(sections) >= 2


def test_every_chart_has_a_name_a_sentence_and_its_numbers_as_a_table(result):
    text = render(result)
    figures = re.findall(r"<figure>.*?</figure>", text, re.DOTALL)
    assert len(figures) == text.count("<figure")
    for figure in figures:
        caption = re.search(r"<figcaption>(.*?)</figcaption>", figure, re.DOTALL)[1]
        assert "<strong>" in caption
        for svg in re.findall(r"<svg(?![^>]*aria-hidden)[^>]*>", figure):
            assert 'role="img"' in svg
            assert "aria-labelledby" in svg
        # Small multiples of a card share one sentence and one table.
        assert "<table" in figure or 'class="curves"' in text
    assert all(
        one.get("tabindex") == "0" and one.get("aria-label")
        for one in Tags(text).all("div")
        if one.get("class") == "scroll"
    )


CHARTS = {"audit": 1, "bench": 4, "describe": 1, "describe_groups": 2, "describe_slopes": 1, "plan": 2, "prove": 4}


def test_the_charts_that_there_are(name, result):
    assert render(result).count("<figure>") >= CHARTS.get(name, 0)


def test_hostile_words_stay_words(result, attacked):
    page, plain = Tags(render(attacked)), Tags(render(result))
    assert [one["type"] for one in page.all("script")] == ["application/json"]
    assert page.all("img") == []
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert "<script>window.hit=1</script>" in page.text
    check_places(page)
    # Letters may be broken into more lines, and nothing else is otherwise.
    count = [{tag for tag, _ in one.tags} for one in (page, plain)]
    assert count[0] - count[1] <= {"wbr"}


def test_the_data_in_the_page_is_the_result(attacked):
    text = render(attacked)
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1]
    assert json.loads(data) == attacked


def test_markdown_and_text_say_what_the_page_says(result):
    page = page_of(result)
    markdown, text = to_markdown([page]), to_text([page])
    assert markdown.startswith("# ")
    headings = [line.lstrip("# ") for line in markdown.splitlines() if line.startswith("## ")]
    assert len(headings) == len(page.sections)
    for part in parts(page):
        for block in part.blocks:
            if isinstance(block, Grid):
                assert all(len(row) == len(block.header) for row in block.rows), block.caption
    plain_cells = [c for part in parts(page) for b in part.blocks if isinstance(b, Grid) for row in b.rows for c in row]
    squeezed = "".join(text.split())
    for cell in plain_cells:
        assert "".join(plain(cell).split()) in squeezed


def test_a_fact_as_text_is_its_name_and_its_value():
    text = to_text([page_of(stored("audit"))])
    assert "Value:" not in text
    assert "  Where: from token 7, layer 0, keys\n" in text


def test_a_duration_as_a_bench_says_it_is_in_plain_digits():
    bench = stored("bench")
    bench["measurements"][0]["figures"][0] |= {"median": 5957.0, "interval": [5901.0, 6012.0], "unit": "us"}
    text = to_text([page_of(bench)])
    assert "5,960 µs" in text
    assert "5,900 to 6,010" in text


def test_markdown_and_text_let_nothing_hostile_through(attacked):
    page = page_of(attacked)
    markdown, text = to_markdown([page]), to_text([page])
    assert "\x1b" not in markdown + text
    # Text to be typed stands by itself, four characters in, where nothing is markup.
    outside = re.sub(r"^    .*$", "", markdown, flags=re.MULTILINE)
    assert "<script" not in outside
    assert "<img" not in outside
    assert "](http" not in outside
    for line in markdown.splitlines():
        if line.startswith("| "):
            cells = re.split(r"(?<!\\)\|", line)
            assert cells[0] == cells[-1] == ""


def test_several_results_stand_on_one_page_with_a_list_of_what_was_found():
    results = many(len(NAMES) + 3)
    text = render(*results)
    page = Tags(text)
    check_places(page)
    titles = [page_of(result).title for result in results]
    assert len(page.all("article")) == len(results)
    for number, title in enumerate(titles, 1):
        assert f'href="#result-{number}"' in text
        assert title in page.text
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1]
    assert json.loads(data) == {"schema_version": 1, "kind": "report", "results": results}
    assert Tags(render(json.loads(data))).tags == page.tags


def test_fifty_results_are_a_page_that_a_browser_opens_at_once():
    text = render(*many(50))
    assert len(Tags(text).tags) < 120_000
    assert len(text.encode()) < 8_000_000


def test_nothing_is_refused_on_a_page():
    with pytest.raises(InputError, match="a report needs at least one result"):
        render({"schema_version": 1, "kind": "report", "results": []})


@pytest.mark.parametrize("form", ["html", "markdown", "md", "text", "json"])
def test_the_command_writes_every_form_of_one_result_and_of_several(form, tmp_path, capsys):
    files = [str(STORED / "version_1" / f"{name}.json") for name in ("describe", "plan", "check")]
    begins = {"html": "<!doctype html>", "json": "{"}
    for given in (files[:1], files):
        assert run(["report", *given, "--format", form]) == 0
        printed = capsys.readouterr().out
        title = "Position in model" if len(given) == 1 else "3 results"
        begin = begins.get(form, title if form == "text" else f"# {title}")
        assert printed.startswith(begin)
        assert run(["report", *given, "--format", form, "--out", str(tmp_path / "written")]) == 0
        assert (tmp_path / "written").read_text(encoding="utf-8") == printed
        assert capsys.readouterr().out == f"written: {tmp_path / 'written'}\n"


@pytest.mark.parametrize(
    "ending, begin", [("html", "<!doctype"), ("md", "# Pos"), ("json", "{"), ("txt", "Pos"), ("", "Pos")]
)
def test_the_form_follows_from_the_name_of_the_file(ending, begin, tmp_path):
    out = tmp_path / f"report.{ending}".rstrip(".")
    assert run(["report", str(STORED / "version_1" / "describe.json"), "--out", str(out)]) == 0
    assert out.read_text(encoding="utf-8").startswith(begin)


def test_a_result_from_before_the_schema_is_shown(capsys):
    for file in sorted((STORED / "version_0").glob("*.json")):
        assert run(["report", str(file)]) == 0
        assert len(capsys.readouterr().out.splitlines()) > 8


def test_what_cannot_be_read_is_one_line_and_2(tmp_path, capsys):
    file = tmp_path / "later.json"
    file.write_text(json.dumps(stored("plan") | {"schema_version": 2}))
    assert run(["report", str(file)]) == 2
    error = capsys.readouterr().err
    assert f"{file}: this result of kind 'plan' has schema version 2" in error
    assert "write it again with `ordinate plan MODEL --format json`" in error
    assert run(["report", str(tmp_path / "absent.json")]) == 2
    assert "absent.json" in capsys.readouterr().err


def test_a_sentence_with_braces_and_columns_of_unequal_length_are_no_internal_errors():
    proof, described = stored("prove"), stored("describe")
    proof["passkeys"]["sentence"] = "{name.__class__} {other} {0} {name} is {key}"
    assert "{name.__class__} {other} {0} NAME is 123456" in Tags(render(proof)).text
    next(iter(described["groups"].values()))["turns_in_trained_window"] = []
    with pytest.raises(InputError, match="must be as many as pairs"):
        render(described)


def test_a_chance_that_is_no_number_is_as_if_none_were_known():
    card = stored("validate")
    for claim in card["claims"]:
        claim["evidence"]["chance"] = "a half"
    assert '<div class="curves">' in render(card)


def test_a_plan_of_one_context_is_bars_from_zero_and_names_what_does_not_fit():
    told = stored("plan")
    text = Tags(render(told)).text
    assert "4 of 6 fit in 80 GiB; 32,768 × 16, 131,072 × 16 do not." in text
    told["cells"] = told["cells"][-2:]
    assert {cell["context"] for cell in told["cells"]} == {131072}
    text = Tags(render(told)).text
    assert "Memory of one device at 131,072 tokens." in text
    assert "memory: 80 GiB" in text


def test_the_ways_of_a_plan_are_two_tables():
    text = Tags(render(stored("plan"))).text
    assert "7 methods for positions and 4 ways for memory reach 131,072 tokens; any method goes with any way." in text
    assert "4 of the ways for memory fit." in text


def test_facts_are_in_words():
    told = stored("plan")
    told["requested"] |= {"expand_latent": True}
    assert "expand latent yes" in Tags(render(told)).text
    assert "expand latent no" in Tags(render(stored("plan"))).text


def test_a_report_of_every_kind_imports_neither_torch_nor_matplotlib(tmp_path):
    files = [str(STORED / "version_1" / f"{name}.json") for name in NAMES]
    program = (
        "import sys; from ordinate.cli import run\n"
        f"for form in ('html', 'md', 'text', 'json'):\n"
        f"    assert run(['report', *{files!r}, '--format', form, '--out', {str(tmp_path / 'x')!r}]) == 0\n"
        "print({'torch', 'transformers', 'matplotlib', 'scipy', 'tokenizers', 'safetensors'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[-1] == "set()"


def test_every_colour_of_text_stands_out_from_what_is_behind_it_in_both_themes():
    """Four and a half times as light or as dark, as WCAG 2.2 asks of text (1.4.3)."""
    style = re.search(r"<style>(.*?)</style>", render(stored("describe")), re.DOTALL)[1]
    for theme in re.findall(r":root \{(.*?)\}", style, re.DOTALL)[:2]:
        colours = dict(re.findall(r"--([\w-]+): (#\w{6})", theme))
        for ink in ("ink", "soft", "good", "bad", "link"):
            for paper in ("paper", "panel"):
                light, dark = sorted((luminance(colours[name]) for name in (ink, paper)), reverse=True)
                assert (light + 0.05) / (dark + 0.05) >= 4.5, (ink, paper, theme)
        # Of lines and marks three times (1.4.11).
        for line in ("original", "extended", "difference", "fourth", "fifth"):
            light, dark = sorted((luminance(colours[name]) for name in (line, "paper")), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 3, line


def luminance(colour):
    """Relative luminance of an sRGB colour, as WCAG defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_a_plan_whose_target_does_not_fit_is_not_said_to_fit():
    from ordinate.plan import Request, plan

    asked = {"contexts": (4096,), "memory": 80 * 2**30}
    over = page_of(plan("llama-2-7b", Request(**asked, target=2**20)).to_dict())
    assert "All others fit in 80 GiB" in over.summary
    assert "The target of 1,048,576 tokens does not fit" in over.summary
    assert over.sections[0].class_ == "verdict worse"
    within = page_of(plan("llama-2-7b", Request(**asked, target=8192)).to_dict())
    assert within.summary.startswith("All fit in 80 GiB")
