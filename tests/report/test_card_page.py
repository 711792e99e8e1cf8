"""The page of a card: complete, without script, and safe from what servers say."""

import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from ordinate.report import render
from ordinate.report.card import to_html, write
from ordinate.report.curves import Curve, curves
from ordinate.validate.claims import Card, Claim, Failure, Figure, Row

EVIL = "</script><script>alert(1)</script>\x1b[31m\x07<img src=http://example.org/x onerror=alert(2)>"


def claim(length, verdict, subject="near_key", ability="retrieve"):
    evidence = {"chance": 0.25} if ability == "retrieve" else {}
    return Claim("L3", subject, ability, length, verdict, evidence, f"why {verdict} {EVIL}")


@pytest.fixture
def card():
    rows = [
        Row("near_key", "retrieve", "answer", length, place, 50, value, value - 0.1, min(1, value + 0.05))
        for length, value in ((256, 0.95), (1024, 0.9), (131072, 0.4))
        for place in ("start", EVIL)
    ]
    rows += [Row("copy", "copying", "copy", length, "start", 24, 8.0, 7.5, 8.5, "supported") for length in (256, 1024)]
    return Card(
        model={"model": EVIL, "seed": 0},
        suite=EVIL,
        claims=(
            claim(256, "supported"),
            claim(1024, "inconclusive"),
            claim(131072, "refuted"),
            claim(256, "not applicable", "order"),
            Claim("L1", "exact", "", 4096, "supported", {}, "accepted"),
        ),
        rows=tuple(rows),
        outcomes={"right": 3, "error": 1},
        failures=(Failure("error", "near_key", 256, "start", 7, EVIL, EVIL),),
        compatibility=(Figure("RULER 85.6", EVIL, 1024, "token", "a rule"), Figure("NoLiMa", "x", None, "token", "r")),
        caveats=(EVIL,),
    )


class Tags(HTMLParser):
    """Every tag with its attributes, the text between, and whether all are closed in order."""

    def __init__(self):
        super().__init__()
        self.tags, self.open, self.text = [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in ("meta", "br", "hr", "col", "wbr"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        self.text.append(text)


def read(card):
    page = Tags()
    page.feed(to_html(card))
    assert not page.open
    return page


def test_the_page_holds_no_program_and_loads_nothing(card):
    page = read(card)
    assert [attributes["type"] for tag, attributes in page.tags if tag == "script"] == ["application/json"]
    for tag, attributes in page.tags:
        assert tag not in ("img", "link", "iframe", "object", "embed")
        assert not any(name.startswith("on") or name in ("src", "style") for name in attributes)
        assert attributes.get("href", "#").startswith("#")
    (policy,) = [a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")


def test_no_control_character_reaches_the_page(card):
    assert all(character.isprintable() or character == "\n" for character in to_html(card))


def test_every_verdict_has_a_sign_and_a_word_of_its_own(card):
    page = read(card)
    text = " ".join(page.text)
    for sign, word in (("✓", "supported"), ("✗", "refuted"), ("?", "inconclusive"), ("–", "not applicable")):
        assert f"{sign} {word}" in text
    looks = [attributes.get("class", "") for tag, attributes in page.tags if tag == "td"]
    assert {"tile yes", "tile no", "tile open", "tile floor"} <= set(looks)


def test_the_page_has_every_part(card):
    sections = [attributes["id"] for tag, attributes in read(card).tags if tag == "section"]
    assert sections == [
        "claim",
        "map",
        "curves",
        "claims",
        "scores",
        "samples",
        "compatibility",
        "method",
        "run",
    ]


def test_curves_and_their_numbers_agree(card):
    page = read(card)
    lines = [a for tag, a in page.tags if tag == "polyline"]
    assert len(lines) == 3  # two places of the one task, one of the other
    first = [tuple(map(float, point.split(","))) for point in lines[0]["points"].split()]
    assert [x for x, _ in first] == sorted(x for x, _ in first)
    assert first[0][1] < first[1][1] < first[2][1]  # 0.95, 0.9 and 0.4, downwards
    # On a scale of doublings 256 to 1024 is two steps, and 1024 to 131072 seven.
    steps = [b[0] - a[0] for a, b in pairwise(first)]
    assert steps[1] / steps[0] == pytest.approx(7 / 2, rel=0.02)


@pytest.mark.parametrize("count", [1, 2, 5, 8, 16])
def test_lines_of_places_differ_in_stroke_or_marker_even_where_they_lie_on_each_other(count):
    cells = [
        Row("t", "retrieve", "answer", length, f"place {i}", 24, 0.9, 0.8, 1.0)
        for i in range(count)
        for length in (1024, 2048)
    ]
    text = curves([Curve("t", "answer", tuple(cells))])
    keys = re.findall(r'<g class="(\w+)"><line class="joined"[^>]*></line>(<[^>]*>)', text)
    assert len(keys) == len(set(keys)) == count
    # The key of a place is its line: same role, same marker.
    drawn = re.findall(r'<g class="(\w+)"><polyline class="joined"[^>]*></polyline><(\w+)', text)
    assert sorted(drawn) == sorted((role, sign.partition(" ")[0].lstrip("<")) for role, sign in keys)
    assert [role for role, _ in drawn].count("extended") == 1
    assert drawn[-1][0] == "extended"


def test_the_page_is_made_of_the_json_too(card):
    import json

    assert render(json.loads(card.to_json())) == to_html(card)


def test_an_empty_card_has_a_page():
    assert "Effective length: none" in to_html(Card({}, "smoke"))


def test_a_folder_gets_all_three_files(tmp_path, card):
    from validate_runs import drawn, trial

    from ordinate.validate.store import Manifest
    from ordinate.validate.store.folder import open_run

    one = trial(units=24)
    with open_run(tmp_path / "run", Manifest("smoke", {"model": "m"}, 0, (one,))) as folder:
        for sample in drawn(one, lambda *_: 1.0):
            folder.add(sample)
    found = write(tmp_path / "run")
    assert (tmp_path / "run" / "card.json").read_text(encoding="utf-8") == found.to_json()
    assert "512 tokens" in (tmp_path / "run" / "card.md").read_text(encoding="utf-8")
    assert (tmp_path / "run" / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
