"""Log-probabilities of given tokens from a server: by an echo of the prompt, or one token at a time."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np

from ordinate.audit.server.client import ServerFault
from ordinate.audit.server.replies import parse
from ordinate.validate.backends.base import Losses

Ask = Callable[[Sequence[int], dict[str, Any]], Any]
"""Sends ids with settings to completions, and returns the answer's JSON."""

FEW = 64
"""A server that names so many of the likeliest tokens names as many as it is asked for."""

# First the likeliest of the next tokens, then as many as any vocabulary has.
_COUNTS = (512, 2**20)


class _Scores(msgspec.Struct):
    token_logprobs: list[float | None]
    top_logprobs: list[dict[str, float | None] | None] | None = None


class _Choice(msgspec.Struct):
    logprobs: _Scores


class _Usage(msgspec.Struct):
    completion_tokens: int | None = None


class _Echo(msgspec.Struct):
    choices: list[_Choice]
    usage: _Usage | None = None


def echoed(ask: Ask, ids: Sequence[int], last: int) -> Losses:
    """The losses of a prompt's last tokens, from a server that echoes the prompt with log-probabilities.

    Raises:
        ServerFault: not as many as there are tokens, or not of this form ("rubbish")
    """
    data = ask(ids, {"max_tokens": 1, "echo": True, "logprobs": 1})
    try:
        found = msgspec.convert(data, _Echo)
        scores = found.choices[0].logprobs
    except (msgspec.ValidationError, IndexError) as error:
        raise ServerFault("rubbish", f"an echo with log-probabilities was asked for: {error}") from error
    usage = found.usage or _Usage()
    generated = 1 if usage.completion_tokens is None else usage.completion_tokens
    own = scores.token_logprobs[: len(scores.token_logprobs) - generated][-last:]
    tops = scores.top_logprobs or [None] * len(scores.token_logprobs)
    tops = tops[: len(tops) - generated][-last:]
    if len(scores.token_logprobs) != len(ids) + generated or len(tops) != len(own) or None in own:
        raise ServerFault(
            "rubbish",
            f"an echo of {len(ids)} tokens must have their log-probabilities, got {len(scores.token_logprobs)} with "
            f"{generated} generated",
        )
    nats = -np.array(own, dtype=np.float64)
    # The likeliest token's own value is named among the tops, or is above them.
    best = [max((value for value in (top or {}).values() if value is not None), default=-np.inf) for top in tops]
    return Losses(nats, -nats >= np.array(best))


def stepped(ask: Ask, ids: Sequence[int], last: int) -> Losses:
    """The losses of a prompt's last tokens, one request each; a server's cache holds what each has of the one before.

    Raises:
        ServerFault: as for `next_tokens`
    """
    nats, top1 = [], []
    for at in range(len(ids) - last, len(ids)):
        likely = next_tokens(ask, ids[:at], [ids[at]])
        nats.append(-likely[ids[at]])
        top1.append(likely[ids[at]] >= max(likely.values()))
    return Losses(np.array(nats, dtype=np.float64), np.array(top1, dtype=bool))


def next_tokens(ask: Ask, ids: Sequence[int], wanted: Sequence[int]) -> dict[int, float]:
    """The log-probabilities of tokens in the place behind ids, those wanted and the likeliest, [nat].

    Raises:
        ServerFault: one of those wanted is not named ("rubbish")
    """
    likely: dict[int, float] = {}
    for count in _COUNTS:
        (reply, *_) = parse(ask(ids, {"max_tokens": 1, "logprobs": count}), "the server")
        named = reply.steps[0].likely.items() if reply.steps else ()
        likely = {int(name[1:]): value for name, value in named if name[1:].isdigit() and name[0] == "#"}
        if all(number in likely for number in wanted):
            return likely
    missing = next(number for number in wanted if number not in likely)
    raise ServerFault("rubbish", f"the server names {len(likely)} next tokens, and token {missing} is not among them")


def chosen(ask: Ask, ids: Sequence[int], rows: Sequence[Sequence[int]]) -> tuple[float, ...]:
    """The log-probability of each row of tokens behind ids, whole, from one token's place after the other, [nat]."""
    sums = [0.0] * len(rows)
    wanted: dict[tuple[int, ...], list[int]] = {}
    for row in rows:
        for at in range(len(row)):
            wanted.setdefault(tuple(row[:at]), []).append(row[at])
    # In the order of the rows, so that each begins as the one before it, which a cache then holds.
    found = {begun: next_tokens(ask, [*ids, *begun], tokens) for begun, tokens in wanted.items()}
    for index, row in enumerate(rows):
        sums[index] = sum(found[tuple(row[:at])][row[at]] for at in range(len(row)))
    return tuple(sums)
