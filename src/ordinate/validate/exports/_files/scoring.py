"""How the answers to these documents are judged and counted; the file needs nothing but Python.

The rule is Ordinate's. A response has one slot for its answer, and the answer is what stands there, all of it:

1. A response in a code fence is what the fence holds. One that begins with "{" must be one JSON object and nothing
   more, and the slot is its "answer".
2. Elsewhere the slot is the line behind the first "Answer:". Where the prompt itself ended with "Answer:" (`continues`
   in the document), the slot is the response's first line, unless the response begins with "Answer:" once more.
   Where a model thinks first (`thinks`), all up to its last "</think>" is left out; thinking without end is no answer.
3. Marks of emphasis and quotation around the slot, one full stop, capital letters and the amount of white space do not
   matter. Everything else does: a second answer beside the right one is wrong.
4. A set (`form` in the document) is parted by commas, semicolons and "and"; it is right when every member stands there
   once, in any order, and nothing else does.

What has no readable slot is wrong. Documents with the same `unit` are a minimal pair, right when both members are.
"""

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

LEAD = re.compile(r"(?<![a-z0-9])([*_]{0,8})answer(?:[ \t]*:\1|\1[ \t]*:|([ \t]*:))", re.IGNORECASE)
SEPARATOR = re.compile(r"\s*(?:[,;]\s*and\b|[,;]|\band\b)\s*", re.IGNORECASE)
HALVES = re.compile(r"[\ud800-\udfff]")
PAIRS = ("**", "**"), ("`", "`"), ('"', '"'), ("'", "'"), ("“", "”")
TWO_SIDED = 1.959963984540054  # the normal distribution's 97.5 % point


def judged(document: Mapping[str, Any], response: str) -> tuple[bool, bool]:
    """Whether a response is right, and whether there was an answer to read at all."""
    spoken = said(response) if document["thinks"] else response
    given = None if spoken is None else slot(spoken, document["form"], bool(document["continues"]))
    if given is None:
        return False, False
    wanted = [plain(part) for part in document["answer"]]
    if document["form"] == "set":
        return len(given) == len(set(given)) and set(given) == set(wanted), True
    return given == wanted, True


def said(response: str) -> str | None:
    """What a response says after its thinking; None where the thinking has no end."""
    thinking, end, rest = response.rpartition("</think>")
    del thinking
    return rest if end or "<think>" not in rest else None


def slot(response: str, form: str, continues: bool) -> list[str] | None:
    """The parts of the answer that a response gives; None where it gives none."""
    text = response.strip()
    opening, _, inside = text.partition("\n")
    if re.fullmatch("```[a-z]*", opening) and inside.endswith("```"):
        text = inside[:-3].strip()
    if text.startswith("{"):
        return from_json(text, form)
    lead = LEAD.search(text)
    if lead and continues and text[: lead.start()].strip("*_ \t\n"):
        lead = None  # it goes on with something else: its first line is the answer
    if lead is None and not continues:
        return None
    line = text[lead.end() if lead else 0 :].split("\n", 1)[0]
    if lead and lead[2] is not None and line.rstrip().endswith(lead[1]):
        line = lead[1] + line.lstrip(" \t")  # "**Answer: Tova**": the mark that was opened before closes behind
    line = bare(line)
    return parts(line, form) if line else None


def from_json(text: str, form: str) -> list[str] | None:
    """The parts of the answer in a JSON object."""
    try:
        whole, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None
    answer = None if text[end:].strip() else whole.get("answer")
    if form == "set" and isinstance(answer, list):
        return [plain(str(part)) for part in answer] if answer and all(map(simple, answer)) else None
    if not simple(answer) or not str(answer).strip():
        return None
    return parts(bare(str(answer)), form)


def simple(value: object) -> bool:
    """Whether a JSON value is text, without halves of characters, or a whole number."""
    if isinstance(value, str):
        return not HALVES.search(value)
    return isinstance(value, int) and not isinstance(value, bool)


def parts(line: str, form: str) -> list[str] | None:
    """A slot in its parts: one, or a set's members; None where a member is empty."""
    found = [plain(part) for part in (SEPARATOR.split(" ".join(line.split())) if form == "set" else [line])]
    return None if form == "set" and not all(found) else found


def plain(part: str) -> str:
    """A part as it is compared: bare, in lower case, single spaces."""
    return " ".join(bare(part).casefold().split())


def bare(text: str) -> str:
    """A text without what may stand around it, taken off until nothing more comes off."""
    while True:
        less = text.strip()
        for left, right in PAIRS:
            if less.startswith(left) and less.endswith(right) and len(less) > len(left + right):
                inside = less[len(left) : -len(right)]
                # Marks that close and open again between, as in **A**, **B**, are those of parts.
                nested = inside.startswith(left) and inside.endswith(right)
                if nested or not (left in inside or right in inside):
                    less = inside
        if less.endswith(".") and not less.endswith(".."):
            less = less[:-1]
        if less == text:
            return less
        text = less


def units(rows: Iterable[Sequence[Any]]) -> list[bool]:
    """Whether each unit is right: all of its members are. Units of which a member was not asked are left out.

    Args:
        rows: of each document asked: its unit, how many members a unit has, and whether it was right
    """
    asked: dict[Any, list[bool]] = defaultdict(list)
    members = 1
    for unit, members, right in rows:  # noqa: B007 - the same in every row
        asked[unit].append(bool(right))
    return [all(answers) for answers in asked.values() if len(answers) == members]


def share(rows: Iterable[Sequence[Any]]) -> float:
    """The share of units that are right."""
    right = units(rows)
    return sum(right) / len(right) if right else math.nan


def lower(rows: Iterable[Sequence[Any]]) -> float:
    """The lower end of Wilson's 95 % interval of that share."""
    return wilson(units(rows))[0]


def upper(rows: Iterable[Sequence[Any]]) -> float:
    """The upper end of Wilson's 95 % interval of that share."""
    return wilson(units(rows))[1]


def wilson(right: Sequence[bool]) -> tuple[float, float]:
    """Wilson's two-sided 95 % interval."""
    n, square = len(right), TWO_SIDED**2
    if not n:
        return math.nan, math.nan
    middle = (sum(right) + square / 2) / (n + square)
    half = TWO_SIDED / (n + square) * math.sqrt(sum(right) * (n - sum(right)) / n + square / 4)
    return middle - half if any(right) else 0.0, 1.0 if all(right) else middle + half


def read(file: str) -> list[dict[str, Any]]:
    """The documents of a file beside this one."""
    with Path(__file__).with_name(file).open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
