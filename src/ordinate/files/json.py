"""JSON objects from untrusted text: every bound is checked before anything is built."""

import json
import os
import re
from collections import Counter
from typing import Any

import numpy as np

from ordinate.errors import InputError, got
from ordinate.files.regular import open_regular

MAXIMUM_BYTES = 64 * 2**20
MAXIMUM_DEPTH = 64
MAXIMUM_KEYS = 100_000
MAXIMUM_VALUES = 1_000_000
MAXIMUM_STRING_BYTES = 2**20
# Below 1e308, so that every integer read here can become a float.
MAXIMUM_INTEGER_DIGITS = 308

# A whole string, or an unclosed one up to the end of the text: each byte is looked at once, whatever the text.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.?[^"\\]*+)*+"?', re.DOTALL)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")


def read_json(path_or_bytes: str | os.PathLike[str] | bytes, *, name: str) -> dict[str, Any]:
    """Read one JSON object, within bounds: 64 MiB, 64 levels, 100,000 keys, strings of 1 MiB.

    `NaN` and `Infinity` become floats, because real configs carry them in keys that nobody reads; whoever
    reads a key checks it with `ordinate.errors.finite`.

    Args:
        path_or_bytes: a file's path, or the text itself as bytes.
        name: what the messages call it.

    Returns:
        The object, its keys in their order.

    Raises:
        InputError: not a readable file, empty, not UTF-8, not JSON, not an object, a key that stands twice,
            or beyond a bound.

    >>> read_json(b'{"rope_theta": 10000.0, "time_step_limit": [0.0, Infinity]}', name="config.json")
    {'rope_theta': 10000.0, 'time_step_limit': [0.0, inf]}
    """
    if isinstance(path_or_bytes, bytes):
        return parse_object(path_or_bytes, name=name)
    with open_regular(path_or_bytes) as handle:
        data = handle.read(MAXIMUM_BYTES + 1)
    return parse_object(data, name=name)


def parse_object(
    data: bytes, *, name: str, maximum_bytes: int = MAXIMUM_BYTES, maximum_keys: int = MAXIMUM_KEYS
) -> dict[str, Any]:
    """Parse a JSON object with bounds of the caller's own on its length and its keys.

    Args:
        data: the text, UTF-8.
        name: what the messages call it.
        maximum_bytes: longest text accepted [byte].
        maximum_keys: most keys accepted, those of inner objects included.

    Returns:
        The object, its keys in their order.

    Raises:
        InputError: as for `read_json`.
    """
    if len(data) > maximum_bytes:
        raise InputError(f"{name} must be at most {maximum_bytes} bytes of JSON, and is longer")
    if not data.strip():
        raise InputError(f"{name} is empty, and must hold a JSON object")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{name} must be UTF-8, and byte {error.start} is not") from None
    _check_bounds(data, name, maximum_keys)

    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        built = dict(pairs)
        if len(built) < len(pairs):
            twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
            raise InputError(f"{name} has the duplicate key {got(twice)} in one object: which one counts is unknown")
        return built

    def integer(digits: str) -> int:
        if len(digits) > MAXIMUM_INTEGER_DIGITS:
            raise InputError(
                f"{name} has an integer of {len(digits)} digits, at most {MAXIMUM_INTEGER_DIGITS} are read"
            )
        return int(digits)

    try:
        value = json.loads(text, object_pairs_hook=build, parse_int=integer)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"{name} is not valid JSON: {error.msg.rstrip(': ')} ({where})") from None
    if not isinstance(value, dict):
        raise InputError(f"{name} must hold a JSON object, and holds {got(value)}")
    if _SURROGATE_ESCAPE.search(data):
        _check_surrogates(value, name)
    return value


def _check_bounds(data: bytes, name: str, maximum_keys: int) -> None:
    """Refuse text beyond the bounds by a look at its punctuation outside strings, before it is parsed."""
    # Every string costs two quotes: a cheap first bound on their number, which escaped quotes only make stricter.
    quotes = data.count(b'"')
    if quotes > 4 * (MAXIMUM_VALUES + maximum_keys):
        raise InputError(f"{name} holds {quotes} quotation marks, more than {MAXIMUM_VALUES} values need")
    longest = max((match.end() - match.start() for match in _STRING.finditer(data)), default=0)
    if longest > MAXIMUM_STRING_BYTES + 2:
        raise InputError(f"{name} holds a string of {longest - 2} bytes, at most {MAXIMUM_STRING_BYTES} are read")
    outside = _STRING.sub(b"", data)
    keys = outside.count(b":")
    if keys > maximum_keys:
        raise InputError(f"{name} holds {keys} keys, at most {maximum_keys} are read")
    values = outside.count(b",") + 1
    if values > MAXIMUM_VALUES:
        raise InputError(f"{name} holds {values} values, at most {MAXIMUM_VALUES} are read")
    brackets = outside.translate(None, _NOT_BRACKETS)
    if len(brackets) > 2 * (MAXIMUM_VALUES + maximum_keys):
        raise InputError(f"{name} holds {len(brackets)} brackets, more than {MAXIMUM_VALUES} values need")
    # "[" and "{" are 0x5B and 0x7B, "]" and "}" 0x5D and 0x7D: bit 1 tells opening from closing.
    steps = np.where(np.frombuffer(brackets, np.uint8) & 2, 1, -1)
    # A text that closes more than it opens is refused by the parser at that very place, whatever follows.
    depth = int(np.cumsum(steps).max(initial=0))
    if depth > MAXIMUM_DEPTH:
        raise InputError(f"{name} is nested {depth} levels deep, at most {MAXIMUM_DEPTH} are read")


def _check_surrogates(value: dict[str, Any], name: str) -> None:
    """Refuse half a surrogate pair, which no output could print; whole pairs were joined by the parser."""
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(f"{name} has half a surrogate pair, {error.object[error.start]!r}, in a string") from None
