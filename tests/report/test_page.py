import base64
import hashlib
import json
import re
import subprocess
import sys
from html.parser import HTMLParser

import msgspec
import pytest

from ordinate.errors import InputError
from ordinate.report import render

VOID = {"meta", "br", "hr", "col", "wbr"}
HOSTILE = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>&amp;\u2028<!--]]>{{7*7}}"


class Page(HTMLParser):
    """A page read strictly: every element that is opened is closed, in order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.words, self.script = [], [], [], ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), (tag, names)
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.script += data
        elif not self.open or self.open[-1] != "style":
            self.words.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def text(self):
        return " ".join(self.words)


def hostile(value):
    """A result in which every free word is hostile."""
    keep = {"kind", "outcome", "model"}
    if isinstance(value, dict):
        return {name: one if name in keep else hostile(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [hostile(one) for one in value]
    return HOSTILE + value if isinstance(value, str) else value


def test_a_page_is_well_formed_and_has_every_section(result):
    page = Page(render(result))
    assert [one["id"] for one in page.all("section")] == [
        "verdict",
        "loss-by-position",
        "passkeys",
        "growing-context",
        "position-gap",
        "models",
        "run",
        "method",
    ]
    assert page.all("html") == [{"lang": "en"}]
    assert len(page.all("h1")) == 1


def test_ids_are_unique_and_every_label_exists(result):
    page = Page(render(result))
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    labels = [name for _, one in page.tags for name in one.get("aria-labelledby", "").split()]
    assert labels
    assert set(labels) <= set(ids)


def test_every_chart_is_an_image_with_a_name_and_comes_with_its_numbers(result):
    page = Page(render(result))
    charts = [one for one in page.all("svg") if one.get("aria-hidden") != "true"]
    # Four charts in two sizes.
    assert len(charts) == 8
    assert all(one["role"] == "img" and one["aria-labelledby"] for one in charts)
    assert len(page.all("figure")) == len(page.all("figcaption")) == 4
    assert len(page.all("details")) == 5


@pytest.mark.parametrize(
    "number",
    [
        *["4.934 ± 0.051", "3.217 ± 0.052", "−1.717 ± 0.011", "12,288 to 14,336"],
        *["0 of 3 (0 to 56 %)", "3 of 3 (44 to 100 %)", "Submarine-482912", "77 the", "loss 0.26"],
        *["3.250 ± 0.052", "−0.400 ± 0.020", "−0.200 ± 0.020", "32,768", "+2.500 ± 0.060", "384 (contiguous)"],
        *[
            "134,515,008",
            "aaaaaaaaaaaaaaaa",
            "yarn",
            "ordinate prove smollm2 stretched",
            "Jane Austen",
            "101.8",
            "3.00",
        ],
        *["The headline of this proof.", "The second finding.", "Verdict: better"],
    ],
)
def test_the_numbers_of_the_result_are_on_the_page(result, number):
    assert number in " ".join(Page(render(result)).text.split())


def test_summaries_follow_the_numbers(proof):
    before = Page(render(msgspec.to_builtins(proof))).text
    assert "the original’s loss is 4.93 and the extended model’s 3.22" in before
    last = proof.loss_by_position.ranges[-1]
    worse = msgspec.structs.replace(last.loss, extended=msgspec.structs.replace(last.loss.extended, mean=5.5))
    ranges = [*proof.loss_by_position.ranges[:-1], msgspec.structs.replace(last, loss=worse)]
    changed = msgspec.structs.replace(
        proof, loss_by_position=msgspec.structs.replace(proof.loss_by_position, ranges=ranges)
    )
    assert (
        "the original’s loss is 4.93 and the extended model’s 5.50" in Page(render(msgspec.to_builtins(changed))).text
    )


def heights(text, chart, role):
    """Where one line's means stand in a chart, from the top of the paper."""
    drawn = re.search(rf'<svg[^>]*aria-labelledby="{chart}-wide-title.*?</svg>', text, re.DOTALL)[0]
    line = re.search(rf'<g class="{role}">.*?</g>', drawn, re.DOTALL)[0]
    found = re.findall(r'class="mean"[^>]* y1="([\d.]+)"', line) or re.findall(r",([\d.]+)", line.split("joined")[1])
    return [float(y) for y in found]


def test_each_line_shows_its_own_models_numbers(result):
    """In the proof made by hand the original is far worse at the end, and its loss across a gap grows faster."""
    text = render(result)
    original, extended = heights(text, "loss", "original"), heights(text, "loss", "extended")
    assert len(original) == len(extended) == 9
    assert original[-1] < extended[-1] - 50
    assert abs(original[0] - extended[0]) < 5
    difference = heights(text, "difference", "difference")
    assert difference[-1] == max(difference)
    assert all(
        a < b for a, b in zip(heights(text, "gap", "original")[1:], heights(text, "gap", "extended")[1:], strict=True)
    )
    # Lower on the paper: the original gains twice as much from more context.
    assert heights(text, "context", "original")[-1] > heights(text, "context", "extended")[-1] + 50


def test_hostile_words_stay_words(result):
    page = Page(render(hostile(result)))
    assert [one["type"] for one in page.all("script")] == ["application/json"]
    assert page.all("img") == []
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert f"{HOSTILE}stretched" in page.text
    assert json.loads(page.script) == json.loads(json.dumps(hostile(result)))


def test_a_page_without_hostile_words_has_the_same_elements_as_one_with_them(result):
    assert [tag for tag, _ in Page(render(result)).tags] == [tag for tag, _ in Page(render(hostile(result))).tags]


def test_the_data_in_the_page_is_the_result(result):
    assert json.loads(Page(render(result)).script) == json.loads(json.dumps(result))


def test_a_page_points_nowhere(result):
    text = render(result)
    page = Page(text)
    for tag, attributes in page.tags:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base", "form", "image", "use"}
        assert not {"src", "xlink:href", "action", "srcset", "data", "style"} & set(attributes)
        # Links lead to places of the same page.
        assert attributes.get("href", "#").startswith("#")
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    assert "url(" not in style
    assert "@import" not in style
    assert "//" not in style
    assert "http:" not in text
    assert "https:" not in text


def test_the_policy_allows_this_style_and_nothing_else(result):
    text = render(result)
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    allowed = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = next(one for one in Page(text).all("meta") if one.get("http-equiv") == "Content-Security-Policy")
    assert policy["content"].split("; ")[:2] == ["default-src 'none'", f"style-src 'sha256-{allowed}'"]


def test_a_result_read_back_from_its_json_gives_the_same_page(result):
    assert render(json.loads(json.dumps(result))) == render(result)


def test_lengths_on_which_frequencies_depend_are_noted_only_where_they_do(proof):
    assert "Frequencies here depend on the length" not in render(msgspec.to_builtins(proof))
    dynamic = msgspec.structs.replace(proof.extended, scaling={"full_attention": "dynamic_ntk"})
    changed = msgspec.to_builtins(msgspec.structs.replace(proof, extended=dynamic))
    assert "Frequencies here depend on the length" in render(changed)


def test_a_proof_within_the_window_can_be_shown(proof):
    losses = msgspec.structs.replace(proof.loss_by_position, past=None, ranges=proof.loss_by_position.ranges[:1])
    passkeys = msgspec.structs.replace(proof.passkeys, questions=[], counts=[])
    page = Page(render(msgspec.to_builtins(msgspec.structs.replace(proof, loss_by_position=losses, passkeys=passkeys))))
    assert "No key was asked for." in page.text


@pytest.mark.parametrize(
    "change, words",
    [
        ({"kind": "prov"}, "unknown kind of result 'prov'; did you mean 'prove'"),
        ({"kind": 3}, "unknown kind of result 3"),
        ({"schema_version": 2}, "kind 'prove' has schema version 2, and this version of Ordinate reads 1"),
        ({"threads": "two"}, "not a result of kind 'prove' .*threads"),
        ({"added": 1}, "not a result of kind 'prove' .*added"),
    ],
)
def test_what_is_no_result_is_refused_in_one_line(result, change, words):
    with pytest.raises(InputError, match=words) as raised:
        render(result | change)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("given", [[], {}, None, "prove"])
def test_what_is_no_object_with_a_kind_is_refused(given):
    with pytest.raises(InputError, match="must be an object with a kind"):
        render(given)


def test_a_report_is_made_without_torch(result):
    program = (
        "import json, sys; from ordinate.report import render; render(json.load(sys.stdin)); "
        "print({'torch', 'transformers'} & set(sys.modules))"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], input=json.dumps(result), capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "set()"
