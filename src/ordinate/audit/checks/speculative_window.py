"""Windows of drafted tokens, verified in one pass each, with what is rejected taken off again."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import torch

from ordinate.audit.base import Check, Outcome
from ordinate.audit.runs import Run, followed
from ordinate.audit.subject import Subject

_MOST = 192
_ROUNDS, _ACCEPTED, _REJECTED = 3, 2, 3


class SpeculativeWindow(Check):
    name = "speculative_window"
    title = "drafted tokens verified in windows"
    explanation = "Tokens that are verified several at once, wrong ones among them, have the logits of one pass."
    remedy = "Give each token of a window its own position, and take rejected tokens off every layer."
    kinds: ClassVar = ("crop",)
    reports: ClassVar = ("jundot/omlx#2363", "sgl-project/sglang#25015")
    cost = 1.0

    def applies(self, subject: Subject) -> str | None:
        return None if subject.call.keeps_cache else "the model keeps no cache"

    def outcomes(self, subject: Subject) -> Iterator[Outcome]:
        start = min(_MOST, subject.length) // 2
        window = _ACCEPTED + _REJECTED
        end = start + _ROUNDS * _ACCEPTED + window
        if end > subject.length:
            return
        sizes = [1, start - 1, *[_ACCEPTED] * _ROUNDS, window]
        yield self.compared(
            subject,
            f"{_ROUNDS} windows of {window} tokens, {_REJECTED} of each rejected",
            lambda: _verified(subject, start, end, 5),
            control=lambda: subject.chunked(sizes, ids=subject.ids[:, :end]),
            unseen=lambda: _verified(subject, start, end, 6),
        )


def _verified(subject: Subject, start: int, end: int, seed: int) -> Run:
    first = subject.chunked([1], ids=subject.ids[:, :1])
    subject.recording(first.cache)
    run = followed(first, subject.chunked([start - 1], ids=subject.ids[:, 1:start], after=first))
    wrong = subject.other_ids(seed, 2 * _ROUNDS * _REJECTED).reshape(2, _ROUNDS, _REJECTED)
    for number in range(_ROUNDS):
        done = run.tokens
        right = subject.ids[:, done : done + _ACCEPTED]
        drafted = torch.cat([right, wrong[:, number]], 1)
        verified = followed(run, subject.chunked([drafted.shape[1]], ids=drafted, after=run))
        subject.crop(verified.cache, _REJECTED)
        run = replace(verified.first(done + _ACCEPTED), cache=verified.cache)
    done = run.tokens
    return followed(run, subject.chunked([end - done], ids=subject.ids[:, done:end], after=run))
