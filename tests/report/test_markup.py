import json
from html.parser import HTMLParser

from hypothesis import example, given
from hypothesis import strategies as st

from ordinate.report.markup import Markup, data_block, element, escape, table


class Reader(HTMLParser):
    """What a browser would find: tags, attributes and text."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.text = [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text.append(data)


PLAIN = st.text(st.characters(exclude_categories=["Cs", "Cc"]))


@given(PLAIN, PLAIN)
@example("\"'<&>", "\"'<&>")
def test_text_and_attributes_come_back_as_they_were(text, attribute):
    found = Reader(element("p", text, title=attribute))
    assert "".join(found.text) == text
    assert found.tags == [("p", {"title": attribute})]


@given(PLAIN)
def test_a_script_element_ends_only_at_its_own_end(text):
    written = str(data_block("data", {"name": text, "hostile": "</script><!--<script>]]>"}))
    assert written.count("</") == 1
    assert not any(
        character in written[written.index(">") + 1 : written.rindex("<")] for character in "<>&\u2028\u2029"
    )
    inside = written[written.index(">") + 1 : written.rindex("<")]
    assert json.loads(inside) == {"name": text, "hostile": "</script><!--<script>]]>"}


def test_markup_is_not_escaped_twice():
    assert element("p", element("b", "a & b"), " <c>") == "<p><b>a &amp; b</b> &lt;c&gt;</p>"
    assert escape(escape("<")) == "&lt;"
    assert isinstance(element("p"), Markup)


def test_attributes_are_written_as_html_spells_them():
    assert (
        element("a", class_="x", aria_label="y", left_out=None, x=1.50, n=3)
        == '<a class="x" aria-label="y" x="1.5" n="3"></a>'
    )
    assert element("meta", charset="utf-8") == '<meta charset="utf-8">'


def test_a_table_names_its_rows_and_columns():
    found = Reader(table("What", ["a", "b"], [["x", "1"], ["y", "2"]]))
    assert [tag for tag in found.tags if tag[0] == "th"] == [
        ("th", {"scope": "col"}),
        ("th", {"scope": "col"}),
        ("th", {"scope": "row"}),
        ("th", {"scope": "row"}),
    ]
    assert "".join(found.text) == "Whatabx1y2"


def test_a_table_that_a_narrow_page_has_no_room_for_says_in_each_cell_of_which_column_it_is():
    wide = ["a verdict that is long", "the reason for it, which is longer"]
    found = Reader(table("What", ["Task", "Verdict", "Why"], [["x", *wide]]))
    assert [(tag, dict(a)) for tag, a in found.tags if tag in ("table", "td") or "data-label" in a] == [
        ("table", {"role": "table", "class": "stack"}),
        ("th", {"role": "rowheader", "scope": "row", "data-label": "Task"}),
        ("td", {"role": "cell", "data-label": "Verdict"}),
        ("td", {"role": "cell", "data-label": "Why"}),
    ]


def test_markup_takes_no_room_and_a_name_with_its_value_has_enough():
    marked = element("span", "1", class_="a class whose name is longer than a narrow page")
    for header, row in ((["a", "b", "c"], ["x", marked, "2"]), (["a", "b"], ["x", "long " * 20])):
        assert "data-label" not in table("What", header, [row])
