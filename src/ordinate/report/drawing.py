"""The frame of every picture in SVG: how large it is, and what it shows, said to who does not see it."""

from collections.abc import Iterable

from ordinate.report.markup import Markup, element


def drawing(
    name: str, title: str, parts: Iterable[str], *, width: int, height: int, summary: str = "", form: str | None = None
) -> Markup:
    """An SVG image.

    Args:
        name: unique in the page, to which "-title" and "-summary" are added
        title: what it shows
        parts: what is drawn, from the back to the front
        width, height: in CSS pixels, for which the size of the letters is right
        summary: what is to be seen, in one sentence
        form: the element's class, a word for its size

    >>> drawing("a", "A title", [], width=2, height=1)
    '<svg role="img" aria-labelledby="a-title" viewBox="0 0 2 1"><title id="a-title">A title</title></svg>'
    """
    said = [element("title", title, id=f"{name}-title")]
    if summary:
        said.append(element("desc", summary, id=f"{name}-summary"))
    named = f"{name}-title {name}-summary" if summary else f"{name}-title"
    return element(
        "svg", *said, *parts, class_=form, role="img", aria_labelledby=named, viewBox=f"0 0 {width} {height}"
    )
