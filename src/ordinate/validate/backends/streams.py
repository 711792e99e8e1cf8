"""An answer that came as a stream, in the form of one that came whole."""

from collections.abc import Sequence
from typing import Any

import msgspec

from ordinate.audit.server.client import Answer, ServerFault
from ordinate.audit.server.events import Event


class _Delta(msgspec.Struct):
    content: str | None = None
    reasoning_content: str | None = None


class _Choice(msgspec.Struct):
    text: str | None = None
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] = []
    usage: dict[str, Any] | None = None
    error: Any = None


def gathered(events: Sequence[Event], address: str) -> tuple[dict[str, Any], float | None]:
    """The completion in a stream, and when its first token was there.

    Args:
        events: in order
        address: named in the error

    Returns:
        the same as a completion that was not streamed; the time of the first event with text, reasoning included, [s]

    Raises:
        ServerFault: an event of another form ("rubbish"), an error in the middle ("fault"), or an end before the
            answer's ("connection")

    >>> gathered([(0.5, {"choices": [{"text": " a", "finish_reason": "stop"}]})], "server")
    ({'choices': [{'text': ' a', 'finish_reason': 'stop'}], 'usage': None}, 0.5)
    """
    text: list[str] = []
    finish = usage = first = None
    for at, event in events:
        try:
            chunk = msgspec.convert(event, _Chunk)
        except msgspec.ValidationError as error:
            raise ServerFault("rubbish", f"{address} must stream parts of a completion: {error}") from error
        if chunk.error is not None:
            raise ServerFault("fault", f"{address} broke off with: {Answer(500, event).message}")
        usage = chunk.usage or usage
        for choice in chunk.choices[:1]:
            delta = choice.delta or _Delta()
            part = choice.text if choice.text is not None else delta.content
            if first is None and (part or delta.reasoning_content):
                first = at
            text.append(part or "")
            finish = choice.finish_reason or finish
    if finish is None:
        raise ServerFault("connection", f"{address} ended its stream before the answer's end")
    return {"choices": [{"text": "".join(text), "finish_reason": finish}], "usage": usage}, first
