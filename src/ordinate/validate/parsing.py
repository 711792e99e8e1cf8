"""The strict parser of answers: one slot, all of it, and nothing beside it."""

import json
import re
from dataclasses import dataclass
from typing import Literal

Form = Literal["one", "set", "line"]
"""One thing; a set of things in any order, each once; or a line of words in order."""

# Marks are bounded, so that a response of nothing else is read in one pass.
_LEAD = re.compile(
    r"(?<![a-z0-9])(?P<mark>[*_]{0,8})answer(?:[ \t]*:(?P=mark)|(?P=mark)[ \t]*:|(?P<open>[ \t]*:))", re.IGNORECASE
)
_FENCE = re.compile(r"\A```[a-z]*\n(.*?)\n?```\Z", re.DOTALL)
_WRAPS = (("**", "**"), ("`", "`"), ('"', '"'), ("'", "'"), ("\u201c", "\u201d"))
_HALVES = re.compile(r"[\ud800-\udfff]")  # JSON can escape half a character, which no text holds
_BETWEEN = re.compile(r"\s*(?:[,;]\s*and\b|[,;]|\band\b)\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Parsed:
    """What stands in the slot.

    Args:
        parts: the answer in canonical form; None where there is no answer to read
        why: why not, in words; empty where there is one
    """

    parts: tuple[str, ...] | None
    why: str = ""


@dataclass(frozen=True)
class Scored:
    """One answer, judged.

    Args:
        right: whether it is the answer, whole and alone
        parsed: what was read in the slot; None where nothing could be
        why: in words, what is wrong; empty where it is right
    """

    right: bool
    parsed: tuple[str, ...] | None
    why: str = ""


def parse(text: str, form: Form = "one", *, continues: bool = False) -> Parsed:
    """Read the one answer slot of a response.

    The slot is the value of {"answer": ...} where the response is a JSON object, else the line after the first
    "Answer:", else nothing. Only the first slot counts, so that an answer cannot be hedged by giving several.

    Args:
        text: the response
        form: what the slot may hold
        continues: the response goes on where the prompt ended with its "Answer:", so that its first line is the slot;
            a response that says "Answer:" again, or is a JSON object, is read as any other

    >>> parse("They met twice.\\nAnswer: **Tova**.").parts
    ('tova',)
    >>> parse("12, 7 and 9", "set", continues=True).parts
    ('12', '7', '9')
    >>> parse("I think it is Tova").why
    'no answer slot'
    """
    body = text.strip()
    fenced = _FENCE.match(body)
    body = fenced.group(1).strip() if fenced else body
    if body.startswith("{"):
        return _json(body, form)
    found = _LEAD.search(body)
    if found and (not continues or not body[: found.start()].strip("*_ \t\n")):
        body = body[found.end() :]
        mark = found["mark"]  # where it is still open, as in "**Answer: Tova**", it is closed behind the answer
        if found["open"] is not None and body.split("\n", 1)[0].rstrip().endswith(mark):
            body = mark + body.lstrip(" \t")
    elif not continues:
        return Parsed(None, "no answer slot")
    lines = body.split("\n", 1)
    slot = _bare(lines[0])
    if not slot:
        return Parsed(None, "an empty answer slot")
    return _split(slot, form)


def judge(text: str, answer: tuple[str, ...], form: Form = "one", *, continues: bool = False) -> Scored:
    """Compare a response with the answer: equal as a whole, without regard to case and white space.

    A set is right when it holds every member once and nothing else, in any order.

    Args:
        text, form, continues: as for `parse`
        answer: the canonical parts

    >>> judge("Answer: Tova, Merin", ("Tova",))
    Scored(right=False, parsed=('tova, merin',), why='another answer')
    """
    parsed = parse(text, form, continues=continues)
    if parsed.parts is None:
        return Scored(False, None, parsed.why)
    wanted = tuple(_canonical(part) for part in answer)
    if form != "set":
        return Scored(parsed.parts == wanted, parsed.parts, "" if parsed.parts == wanted else "another answer")
    missing, more = set(wanted) - set(parsed.parts), set(parsed.parts) - set(wanted)
    twice = len(parsed.parts) - len(set(parsed.parts))
    faults = ((len(missing), "missing"), (len(more), "too many"), (twice, "named twice"))
    why = ", ".join(f"{count} {fault}" for count, fault in faults if count)
    return Scored(not why, parsed.parts, why)


def _json(body: str, form: Form) -> Parsed:
    try:
        value, end = json.JSONDecoder().raw_decode(body)
    except (ValueError, RecursionError):  # the second: nested deeper than anything that is an answer
        return Parsed(None, "not a JSON object")
    if body[end:].strip():
        return Parsed(None, "text after the JSON object")
    value = value.get("answer")
    if isinstance(value, list) and form == "set":
        if all(_scalar(part) for part in value) and value:
            return Parsed(tuple(_canonical(str(part)) for part in value))
        return Parsed(None, "an answer of the wrong type")
    if not _scalar(value) or not str(value).strip():
        return Parsed(None, "an answer of the wrong type" if value is not None else "no answer slot")
    return _split(_bare(str(value)), form)


def _scalar(value: object) -> bool:
    if isinstance(value, str):
        return not _HALVES.search(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _split(slot: str, form: Form) -> Parsed:
    if form != "set":
        return Parsed((_canonical(slot),))
    parts = tuple(_canonical(part) for part in _BETWEEN.split(" ".join(slot.split())))
    return Parsed(parts) if all(parts) else Parsed(None, "an empty part in the answer slot")


def _bare(slot: str) -> str:
    """Without white space, marks of emphasis or quotation around it, and one full stop."""
    before = None
    while slot != before:
        before = slot
        slot = slot.strip()
        for left, right in _WRAPS:
            if len(slot) > len(left) + len(right) and slot.startswith(left) and slot.endswith(right):
                inside = slot[len(left) : -len(right)]
                # Marks that close and open again between, as in **A**, **B**, are those of parts.
                nested = inside.startswith(left) and inside.endswith(right)
                if nested or not (left in inside or right in inside):
                    slot = inside
        if slot.endswith(".") and not slot.endswith(".."):
            slot = slot[:-1]
    return slot


def _canonical(part: str) -> str:
    return " ".join(_bare(part).casefold().split())
