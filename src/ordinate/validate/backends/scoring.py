"""Log-probabilities of given tokens from a server: by an echo of the prompt, or one token at a time.

A server names the log-probability of the token that it generates. A bias makes that the token wanted; where the
log-probabilities are those before the bias, as those of llama.cpp are, this is its own, for the price of
one token, where the list of a whole vocabulary takes seconds.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np

from ordinate.audit.server.client import ServerFault
from ordinate.audit.server.replies import parse
from ordinate.validate.backends.base import Losses

Ask = Callable[[Sequence[int], dict[str, Any]], Any]
"""Sends ids with settings to completions, and returns the answer's JSON."""

BIAS = 100.0
"""Makes any token the one that is generated, [logit]; OpenAI's API allows no more."""


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
        ServerFault: as for `forced`
    """
    found = [forced(ask, ids[:at], ids[at]) for at in range(len(ids) - last, len(ids))]
    nats, top1 = zip(*found, strict=True)
    return Losses(-np.array(nats, dtype=np.float64), np.array(top1, dtype=bool))


def forced(ask: Ask, ids: Sequence[int], token: int) -> tuple[float, bool]:
    """The log-probability of a token in the place behind ids, [nat], and whether none is likelier.

    Raises:
        ServerFault: another was generated, its log-probability is not named, or the server counts other prompt tokens
            than were sent, as one does that cuts them ("rubbish")
    """
    (reply, *_) = parse(ask(ids, {"max_tokens": 1, "logprobs": 1, "logit_bias": {str(token): BIAS}}), "the server")
    if reply.prompt_tokens not in (None, len(ids)):
        raise ServerFault("rubbish", f"{len(ids)} tokens were sent, and the server counted {reply.prompt_tokens}")
    step = reply.steps[0] if reply.steps else None
    own = None if step is None else step.likely.get(f"#{token}")
    if step is None or own is None or step.number != token:
        made = "nothing" if step is None else f"token {step.number}"
        raise ServerFault("rubbish", f"token {token} was asked for by a bias of {BIAS:g}, and the server made {made}")
    return own, own >= max(step.likely.values())


def chosen(ask: Ask, ids: Sequence[int], rows: Sequence[Sequence[int]]) -> tuple[float, ...]:
    """The log-probability of each row of tokens behind ids, whole, from one token's place after the other, [nat]."""
    found: dict[tuple[int, ...], float] = {}
    for row in rows:
        # In the order of the rows, so that each begins as the one before it, which a cache then holds.
        for end in range(1, len(row) + 1):
            begun = tuple(row[:end])
            if begun not in found:
                found[begun] = forced(ask, [*ids, *begun[:-1]], begun[-1])[0]
    return tuple(sum(found[tuple(row[:end])] for end in range(1, len(row) + 1)) for row in rows)
