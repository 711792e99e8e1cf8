"""The line of a setting in a JSON text."""

import re
from collections.abc import Mapping

MAXIMUM_BYTES = 2**20
MAXIMUM_KEY = 80
MAXIMUM_PATH = 6
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],:\n]', re.DOTALL)


def line_of(lines: Mapping[str, int], key: str) -> int | None:
    """The line on which a key stands, or the nearest object around it that is there.

    Args:
        lines: as `lines_by_key` gives them
        key: the path of the key, dots between

    >>> line_of(lines_by_key(b'{"rope_parameters": {\\n"factor": 2}}'), "rope_parameters.factor")
    2
    """
    while key:
        if key in lines:
            return lines[key]
        key = key.rpartition(".")[0]
    return None


def lines_by_key(text: bytes) -> dict[str, int]:
    """The line of every key in objects within objects.

    Left out are what stands in lists, paths beyond any setting's, and long texts altogether.
    """
    found: dict[str, int] = {}
    if len(text) > MAXIMUM_BYTES:
        return found
    path: list[str | None] = []
    line, last, last_line, name = 1, "", 1, ""
    for token in _TOKEN.findall(text):
        first = token[:1]
        if first == b'"':
            last = token[1:-1][:MAXIMUM_KEY].decode("utf-8", "replace")
            last_line = line
            line += token.count(b"\n")
        elif first == b"\n":
            line += 1
        elif first == b":":
            name = last
            if None not in path and len(path) < MAXIMUM_PATH:
                found.setdefault(".".join([*filter(None, path), name]), last_line)
        elif first == b"{":
            path.append(name)
            name = ""
        elif first == b"[":
            path.append(None)
        elif first in b"}]" and path:
            path.pop()
    return found
