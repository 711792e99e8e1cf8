"""Pages in a real browser: they show what they must, ask the network for nothing, and can be read by everyone."""

import importlib.util
import json
from pathlib import Path

import msgspec
import pytest
from chromium import Browser, need_chromium
from report.test_pages import HOSTILE, attacked_result
from stored_results import NAMES, many, stored

from ordinate.report import render


@pytest.fixture(scope="module")
def browser():
    need_chromium()
    found = Browser()
    yield found
    found.close()


@pytest.fixture(scope="module")
def axe():
    """The program of axe-core, which `make setup` installs inside a package; nothing of the package is imported."""
    found = importlib.util.find_spec("axe_playwright_python")
    if found is None:
        pytest.fail("axe-core is not here: `make setup` installs it")
    return Path(found.submodule_search_locations[0], "axe.min.js").read_text(encoding="utf-8")


def violations(browser, axe, *, within="document", only=(), without=()):
    """What axe finds wrong with the page as it is shown, or with parts of it, by these rules alone or without those."""
    # The shade at a table's edge is a picture behind text, of which axe cannot tell the colour: without it, it can.
    browser.run(
        "document.adoptedStyleSheets = [new CSSStyleSheet()];"
        "document.adoptedStyleSheets[0].replaceSync('.scroll { background: none !important }')"
    )
    browser.run(f"window.axe || {axe};0")
    # No selectors: for thousands of cells they take as long as the rules.
    options = {
        "resultTypes": ["violations"],
        "selectors": False,
        "rules": {rule: {"enabled": False} for rule in without},
    }
    if only:
        options["runOnly"] = list(only)
    program = f"axe.run({within}, {json.dumps(options)}).then(found => JSON.stringify(found.violations))"
    found = json.loads(browser.run(program))
    return [(one["id"], one["nodes"][0]["html"], one["nodes"][0]["failureSummary"]) for one in found]


# Of the thousands of cells of a page one of each look on each ground, whose colours axe is to judge.
ONE_OF_EACH_LOOK = """(() => {
  const found = new Map();
  const ground = one => {
    const { backgroundColor } = getComputedStyle(one);
    return backgroundColor === 'rgba(0, 0, 0, 0)' && one.parentElement ? ground(one.parentElement) : backgroundColor;
  };
  for (const one of document.querySelectorAll('body *:not(script)')) {
    const { color, fontSize, fontWeight } = getComputedStyle(one);
    found.set([one.localName, one.getAttribute('class'), color, ground(one), fontSize, fontWeight].join(), one);
  }
  return { include: [...found.values()] };
})()"""


def write(folder, *results):
    page = folder / "report.html"
    page.write_text(render(*results), encoding="utf-8")
    return page.as_uri()


def long_card():
    """A validation with verdicts at more lengths than a page has room for."""
    card = stored("validate")
    first = next(claim for claim in card["claims"] if claim["level"] == "L3" and claim["length"] is not None)
    card["claims"] += [first | {"length": 2**power} for power in range(9, 24)]
    return card


def check_every_size(browser, axe, address):
    # What the theme changes is colour alone: each size is looked at in one of them, with tables closed or open.
    for width, dark in ((360, False), (1440, True)):
        assert browser.open(address, width=width, dark=dark) == ([], [])
        assert browser.run("matchMedia('(prefers-color-scheme: dark)').matches") == dark
        assert browser.run("document.documentElement.scrollWidth") == width
        if dark:
            assert violations(browser, axe, without=["color-contrast"]) == []
        browser.run("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert browser.run("document.documentElement.scrollWidth") == width
        if not dark:
            assert violations(browser, axe, without=["color-contrast"]) == []
        assert violations(browser, axe, within=ONE_OF_EACH_LOOK, only=["color-contrast"]) == []
        assert (browser.asked(address), browser.said()) == ([], [])


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_page_of_every_kind_asks_for_nothing_complains_of_nothing_and_is_accessible(name, browser, axe, tmp_path):
    check_every_size(browser, axe, write(tmp_path, stored(name)))


def test_a_page_of_all_kinds_together_too(browser, axe, tmp_path):
    check_every_size(browser, axe, write(tmp_path, *map(stored, NAMES)))


def test_a_page_of_one_result_too(browser, axe, tmp_path):
    check_every_size(browser, axe, write(tmp_path, stored("plan")))


def test_curves_and_tables_of_a_proof_are_there(result, browser, tmp_path):
    browser.open(write(tmp_path, result))
    drawn = browser.run("[...document.querySelectorAll('svg.wide')].map(one => one.getAttribute('aria-labelledby'))")
    assert drawn == [f"{name}-wide-title {name}-wide-summary" for name in ("loss", "difference", "context", "gap")]
    seen = "[...document.querySelectorAll('svg.wide, svg.narrow')].filter(one => one.getClientRects().length).length"
    assert browser.run(seen) == 4
    assert browser.run("document.querySelectorAll('g.original > polyline.fine').length") == 2
    text = browser.run("document.body.textContent")
    assert "0 of 3 (0 to 56 %)" in text
    assert "384 (contiguous)" in text


@pytest.mark.parametrize("name", NAMES)
def test_a_script_in_a_name_is_only_a_word(name, browser, tmp_path):
    requested, said = browser.open(write(tmp_path, attacked_result(name)), width=360)
    assert (requested, said) == ([], [])
    assert browser.run("typeof window.hit") == "undefined"
    assert browser.run("document.images.length") == 0
    assert HOSTILE.split("\x1b")[0] in browser.run("document.body.textContent")


def test_a_proof_with_a_hostile_name_is_only_words(proof, browser, tmp_path):
    named = msgspec.structs.replace(proof, original=msgspec.structs.replace(proof.original, name=HOSTILE))
    assert browser.open(write(tmp_path, msgspec.to_builtins(named))) == ([], [])
    assert browser.run("typeof window.hit") == "undefined"


def test_the_keys_lead_from_the_top_to_the_content_and_into_wide_tables(browser, tmp_path):
    browser.open(write(tmp_path, stored("engines"), stored("plan")), width=360)
    focused = "(document.activeElement.getAttribute('href') || document.activeElement.getAttribute('class') || '')"
    browser.press("Tab", 9)
    assert browser.run(focused) == "#main"
    assert browser.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    found = []
    for _ in range(12):
        browser.press("Tab", 9)
        found.append(browser.run(focused))
    assert found[:2] == ["#result-1", "#result-2"]
    assert "scroll" in found


@pytest.mark.parametrize("name", NAMES)
def test_on_a_narrow_page_every_cell_of_every_table_is_in_sight(name, browser, tmp_path):
    browser.open(write(tmp_path, stored(name)), width=360)
    browser.run("document.querySelectorAll('details').forEach(one => one.open = true)")
    out = """[...document.querySelectorAll('caption, tbody th, td')].filter(one => {
      const { left, right, width } = one.getBoundingClientRect();
      return width && (left < 0 || right > 360);
    }).map(one => one.textContent)"""
    assert browser.run(out) == []


@pytest.mark.parametrize("width", [360, 1440])
def test_a_cell_stands_behind_the_word_of_its_column_on_a_narrow_page_alone(width, browser, tmp_path):
    browser.open(write(tmp_path, stored("validate")), width=width)
    said = "getComputedStyle([...document.querySelectorAll('#claims td')][2], '::before').content"
    # The alternative text, said to who hears the page, is empty: there the column's own header is said.
    assert browser.run(said) == ('"Verdict: " / ""' if width == 360 else "none")


def test_a_wide_table_is_a_table_to_who_hears_it_however_it_is_laid_out(browser, tmp_path):
    found = {}
    for width in (360, 1440):
        browser.open(write(tmp_path, stored("validate")), width=width)
        nodes = browser.ask("Accessibility.getFullAXTree")["nodes"]
        named = [(node["role"]["value"], node.get("name", {}).get("value")) for node in nodes if not node["ignored"]]
        roles = ("table", "row", "columnheader", "rowheader", "cell")
        found[width] = [(role, name) for role, name in named if role in roles]
    assert found[360] == found[1440]
    for cell in [("columnheader", "Verdict"), ("rowheader", "L3 uses"), ("cell", "✓ supported")]:
        assert cell in found[360]


def test_a_caption_and_the_names_of_rows_stay_in_sight_however_far_a_table_is_scrolled(browser, tmp_path):
    browser.open(write(tmp_path, long_card()), width=360)
    browser.run("document.querySelector('.map').closest('.scroll').scrollLeft = 200")
    browser.settle()
    for part in (".map caption", ".map tbody th"):
        box = browser.run(f"JSON.stringify(document.querySelector('{part}').getBoundingClientRect())")
        assert json.loads(box)["left"] >= 0
        assert json.loads(box)["right"] <= 360


def test_the_tiles_of_all_lengths_are_equally_wide(browser, tmp_path):
    for width in (360, 1440):
        browser.open(write(tmp_path, stored("validate")), width=width)
        widths = "[...document.querySelectorAll('.map tr:last-child td')].map(one => one.getBoundingClientRect().width)"
        found = browser.run(widths)
        assert len(found) == 2
        assert max(found) - min(found) < 1


def test_fifty_results_are_shown_with_their_charts(browser, tmp_path):
    requested, said = browser.open(write(tmp_path, *many(50)))
    assert (requested, said) == ([], [])
    assert browser.run("document.querySelectorAll('article').length") == 50
    # What is far from the window is laid out when it comes near.
    assert browser.run("getComputedStyle(document.querySelector('.result')).contentVisibility") == "auto"


def test_the_log_would_show_a_request_and_the_console_a_complaint(browser, tmp_path):
    """The same browser and the same reading, on a page that does ask for something and does complain."""
    page = tmp_path / "page.html"
    page.write_text(
        '<!doctype html><title>x</title><img src="http://127.0.0.1:9/asked.png"><script>console.error("no")</script>'
    )
    requested, said = browser.open(page.as_uri())
    assert requested == ["http://127.0.0.1:9/asked.png"]
    assert any("no" in json.dumps(one) for one in said)


def test_verdicts_at_many_lengths_scroll_in_their_table_and_not_with_the_page(browser, tmp_path):
    """The words of its tiles for the ear alone must not stand beyond the table's edge."""
    browser.open(write(tmp_path, long_card()), width=360)
    assert browser.run("document.querySelector('.map').closest('.scroll').scrollWidth") > 700
    assert browser.run("document.documentElement.scrollWidth") == 360


def test_axe_would_find_what_is_wrong(browser, axe, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(
        '<!doctype html><title>x</title><img src="data:,"><p style="color: #bbb; background: #fff">pale</p>'
        '<details open><summary>x</summary><p style="color: #bbb; background: #fff">pale</p></details>'
    )
    browser.open(page.as_uri())
    pale = violations(browser, axe, within=ONE_OF_EACH_LOOK, only=["color-contrast"])
    assert [name for name, _, _ in pale] == ["color-contrast"]
    assert {name for name, _, _ in violations(browser, axe)} >= {"image-alt", "html-has-lang", "color-contrast"}
