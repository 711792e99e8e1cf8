"""One self-contained HTML file from the JSON that commands print: no script, no network, readable on paper."""

from ordinate.report.document import render

__all__ = ["render"]
