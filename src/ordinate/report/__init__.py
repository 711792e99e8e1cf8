"""One self-contained HTML file from the JSON that commands print: no script, no network, readable on paper."""

from ordinate.report.page import render

__all__ = ["render"]
