"""What is wrong or risky in a model's positional settings: one kind of fault, one file."""

from ordinate.rules._machines import to_github, to_json, to_sarif
from ordinate.rules._run import Report, check, engines, find_engine, find_rule, has_rules, rules
from ordinate.rules._text import explain, shown, to_text

__all__ = [
    "Report",
    "check",
    "engines",
    "explain",
    "find_engine",
    "find_rule",
    "has_rules",
    "rules",
    "shown",
    "to_github",
    "to_json",
    "to_sarif",
    "to_text",
]
