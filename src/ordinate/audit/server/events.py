"""A stream of server-sent events, as OpenAI's API has them."""

from collections.abc import Sequence
from typing import Any

import msgspec

_DATA = b"data:"
_DONE = b"[DONE]"

Event = tuple[float, Any]
"""When it was there in full, since the request was sent [s], and its JSON."""


def read_events(content: bytes, times: Sequence[tuple[int, float]], sent: float) -> list[Event]:
    """The events of a stream that has ended; lines that hold no JSON are passed over, as is what follows "[DONE]".

    Args:
        content: of the whole stream
        times: how many bytes had come by when, rising, [byte] and [s]
        sent: when the request was sent, on the same clock, [s]

    >>> read_events(b'data: {"a": 1}\\n\\ndata: [DONE]\\n\\n', [(16, 5.0), (30, 6.0)], 4.0)
    [(1.0, {'a': 1})]
    """
    events: list[Event] = []
    end, part = 0, 0
    for line in content.splitlines(keepends=True):
        end += len(line)
        while part < len(times) - 1 and times[part][0] < end:
            part += 1
        data = line.strip()
        if not data.startswith(_DATA):
            continue
        data = data[len(_DATA) :].strip()
        if data == _DONE:
            break
        try:
            event = msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        events.append((times[part][1] - sent, event))
    return events
