"""What a server answers to a prompt, in one form whatever the dialect."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from ordinate.audit.server.client import ServerFault

# Some servers write a very small number where a token is impossible.
_IMPOSSIBLE = -100.0


@dataclass(frozen=True)
class Step:
    """A generated token, and what else was likely in its place.

    Args:
        token: its text
        number: its id, where the server names it
        likely: log-probabilities of tokens by their names, the token's own among them, [nat]
    """

    token: str
    number: int | None
    likely: Mapping[str, float]


@dataclass(frozen=True)
class Reply:
    """An answer with HTTP 200.

    Args:
        text: what was generated
        steps: token by token; empty where the server gives no log-probabilities
        echoed: the log-probabilities of the prompt's own tokens, where they were asked for and given, [nat]
        prompt_tokens: how many the server says that the prompt has
        completion_tokens: how many it says that it generated
        cached_tokens: how many of the prompt it says that it took from its cache; None where it does not say
        finish: why it stopped, in its words
    """

    text: str
    steps: tuple[Step, ...] = ()
    echoed: tuple[float, ...] = ()
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    finish: str | None = None


@dataclass(frozen=True)
class Refused:
    """An explicit refusal, HTTP 4xx.

    Args:
        status: of HTTP
        message: the server's reason, in a line
    """

    status: int
    message: str


class _Entry(msgspec.Struct):
    token: str
    logprob: float | None = None
    id: int | None = None
    bytes: list[int] | None = None


class _Scored(_Entry):
    top_logprobs: list[_Entry] | None = None


class _Scores(msgspec.Struct):
    """Both forms: `content` is that of chat, the lists are those of completions."""

    content: list[_Scored] | None = None
    tokens: list[str] | None = None
    token_logprobs: list[float | None] | None = None
    top_logprobs: list[dict[str, float | None] | None] | None = None


class _Message(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    text: str | None = None
    message: _Message | None = None
    logprobs: _Scores | None = None
    finish_reason: str | None = None
    index: int = 0


class _Details(msgspec.Struct):
    cached_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    usage: _Usage | None = None


def parse(data: Any, address: str) -> list[Reply]:
    """The replies in an answer, one for each of its choices, in the order of their index.

    Args:
        data: the JSON of the answer
        address: named in the error

    Raises:
        ServerFault: it is not of the form of a completion or a chat completion ("rubbish")

    >>> parse({"choices": [{"text": " a", "finish_reason": "length"}], "usage": {"prompt_tokens": 4}}, "server")[0]
    Reply(text=' a', steps=(), echoed=(), prompt_tokens=4, completion_tokens=None, cached_tokens=None, finish='length')
    """
    try:
        found = msgspec.convert(data, _Completion)
    except msgspec.ValidationError as error:
        raise ServerFault("rubbish", f"{address} must answer with a completion: {error}") from error
    if not found.choices:
        raise ServerFault("rubbish", f"{address} must answer with at least one choice, got none")
    usage = found.usage or _Usage()
    details = usage.prompt_tokens_details or _Details()
    replies = []
    for choice in sorted(found.choices, key=lambda choice: choice.index):
        text = choice.text if choice.text is not None else (choice.message or _Message()).content
        steps, echoed = _steps(choice.logprobs, usage)
        replies.append(
            Reply(
                text=text or "",
                steps=steps,
                echoed=echoed,
                prompt_tokens=usage.prompt_tokens,
                completion_tokens=usage.completion_tokens,
                cached_tokens=details.cached_tokens,
                finish=choice.finish_reason,
            )
        )
    return replies


def _steps(scores: _Scores | None, usage: _Usage) -> tuple[tuple[Step, ...], tuple[float, ...]]:
    if scores is None:
        return (), ()
    if scores.content is not None:
        return tuple(_step(entry) for entry in scores.content), ()
    tokens = scores.tokens or []
    own = scores.token_logprobs or []
    tops = scores.top_logprobs or [None] * len(tokens)
    if not len(tokens) == len(own) == len(tops):
        return (), ()
    steps = []
    for token, value, top in zip(tokens, own, tops, strict=True):
        likely = {**(top or {}), token: value}
        steps.append(Step(token, None, _possible(likely)))
    # With an echo the prompt's tokens stand first, and the very first has nothing before it.
    generated = usage.completion_tokens if usage.completion_tokens is not None else len(steps)
    echo = max(len(steps) - generated, 0)
    echoed = tuple(value for value in own[:echo] if value is not None)
    return tuple(steps[echo:]), echoed


def _step(entry: _Scored) -> Step:
    # Different tokens may print alike, parts of one character do.
    likely = {_name(other): other.logprob for other in entry.top_logprobs or ()}
    likely[_name(entry)] = entry.logprob
    return Step(entry.token, entry.id, _possible(likely))


def _name(entry: _Entry) -> str:
    if entry.id is not None:
        return f"#{entry.id}"
    return entry.token if entry.bytes is None else bytes(b for b in entry.bytes if 0 <= b < 256).hex()


def _possible(likely: Mapping[str, float | None]) -> dict[str, float]:
    return {name: value for name, value in likely.items() if value is not None and value > _IMPOSSIBLE}
