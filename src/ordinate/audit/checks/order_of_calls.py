"""A long text, or one of the same shape at other positions, then a short one: the short one must not remember."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor

from ordinate.audit.base import Check, Outcome, Refusal
from ordinate.audit.comparison import compare
from ordinate.audit.localiser import localise
from ordinate.audit.noise import FACTOR
from ordinate.audit.runs import Run
from ordinate.audit.subject import Subject
from ordinate.describe.words import figures

# Multiplications and additions of a pass.
_AFFORDABLE = 2e12


class OrderOfCalls(Check):
    name = "order_of_calls"
    title = "a text after a longer one, and after one at other positions"
    explanation = "What is computed for a text does not depend on the texts that were read before it."
    remedy = "Keep no table, frequency or offset in a module between calls: compute them from positions and length."
    kinds: ClassVar = ("state_kept",)
    reports: ClassVar = ("huggingface/transformers#43952", "lucidrains/rotary-embedding-torch#11")
    cost = 2.5
    late = True

    def applies(self, subject: Subject) -> str | None:
        return None if subject.window is None or subject.window >= 32 else "the window is too short"

    def outcomes(self, subject: Subject) -> Iterator[Outcome]:
        half = subject.length // 2
        long = 2 * max(subject.length, subject.crossing or 0)
        long = long if subject.window is None else max(min(long, subject.window), subject.length)
        # Of the first of all passes, where it holds them.
        reference = subject.reference.first(half) if subject.causal else subject.whole(subject.ids[:, :half])
        ids = subject.ids[:, :half]
        chunked = subject.chunked(7, ids=ids) if subject.call.keeps_cache else None
        before, repeated = subject.whole(ids), subject.whole(ids)
        subject.whole(subject.other_ids(2, 2 * long).reshape(2, long))
        yield self._named(
            subject, self.compared(subject, f"after {long} tokens", lambda: subject.whole(ids), reference)
        )
        try:
            yield self._again(
                subject, f"the same call again, after {long} tokens", before, repeated, subject.whole(ids)
            )
        except Refusal as refusal:
            yield self.refused(f"the same call again, after {long} tokens", str(refusal))
        if chunked is not None:
            case = f"in passes of 7, after {long} tokens"
            yield self._named(subject, self.compared(subject, case, lambda: subject.chunked(7, ids=ids), chunked))
        if subject.crossing is not None:
            yield self._past(subject, subject.crossing)
        yield from self._elsewhere(subject)

    def _elsewhere(self, subject: Subject) -> Iterator[Outcome]:
        """Texts of the same shape at other positions, which may leave their tables to all that have this shape."""
        # As many as stand two positions apart before the end.
        tokens = min(subject.length, _end(subject) // 2)
        ids, few = subject.ids[:, :tokens], subject.ids[:, : tokens // 2]
        # What is kept for good is of the first call of its shape: this one is not read before.
        fresh = subject.ids[:, : tokens - 1]
        place = _elsewhere(subject, fresh)
        yield self._named(
            subject,
            self.compared(
                subject,
                f"{tokens - 1} tokens, after as many {place}",
                lambda: subject.whole(fresh),
                subject.reference_for(tokens - 1),
            ),
        )
        # What is kept until another shape comes goes when fewer tokens are read.
        subject.whole(few)
        before, repeated = subject.whole(ids), subject.whole(ids)
        subject.whole(few)
        place = _elsewhere(subject, ids)
        after = subject.whole(ids)
        yield self._again(subject, f"the same call again, after as many tokens {place}", before, repeated, after)

    def _past(self, subject: Subject, crossing: int) -> Outcome:
        """A text past the length where frequencies change, which may find those of a longer one."""
        tokens, longer = crossing + 8, crossing + 32
        case = f"{tokens} tokens again, after {longer}"
        size = sum(parameter.numel() for parameter in subject.model.parameters())
        why = None
        if 2.0 * size * longer > _AFFORDABLE:
            why = f"a text of {longer} tokens takes too long for a model of this size"
        elif subject.caching is not None and subject.window is not None and longer > subject.window:
            why = f"the cache is frozen at {subject.window} tokens"
        if why is not None:
            return Outcome(self.name, case, "not applicable", evidence=why)
        ids = subject.other_ids(3, 2 * tokens).reshape(2, tokens)
        before, repeated = subject.whole(ids), subject.whole(ids)
        subject.whole(subject.other_ids(4, 2 * longer).reshape(2, longer))
        return self._again(subject, case, before, repeated, subject.whole(ids))

    def _again(self, subject: Subject, case: str, before: Run, repeated: Run, after: Run) -> Outcome:
        """The same call in the same shapes: what a plain repeat changes is its floor, not what other shapes change.

        A repeat may be rounded otherwise where memory is laid out otherwise, so that less than one noise floor of the
        model never counts.
        """
        repeat = compare(before, repeated, distributions=False).max_difference
        noise = replace(subject.noise, logits=max(repeat, subject.noise.logits / FACTOR))
        comparison = compare(before, after, distributions=False)
        where = localise(before, after, noise, comparison, noise.threshold)
        apart = comparison.max_difference
        sizes = [figures(size, 2) for size in (apart, repeat)]
        evidence = f"{case}: logits differ by up to {sizes[0]}, by {sizes[1]} where nothing was read between"
        if where is None:
            return self.passed(case, evidence, max_difference=apart)
        return self.failed(case, "state_kept", where, evidence, max_difference=apart, repeat=repeat)

    def _named(self, subject: Subject, outcome: Outcome) -> Outcome:
        """Parts of a text are compared with all of it: where tokens see what comes after, that is another text."""
        if outcome.status != "failed":
            return outcome
        if _sees_ahead(subject):
            why = "what is computed for a token depends on those after it, so that a part of a text is another text"
            return Outcome(self.name, outcome.case, "not applicable", evidence=why)
        return replace(outcome, kind="state_kept")


def _sees_ahead(subject: Subject) -> bool:
    """Whether other tokens in a text's second half change what the first gets, and reading it again does not."""
    half = subject.length // 2
    other = torch.cat([subject.ids[:, :half], subject.other_ids(5, 2 * subject.length).reshape(2, -1)[:, half:]], 1)
    texts = (subject.ids, other, subject.ids)
    first, changed, again = (subject.whole(text).first(half) for text in texts)
    kept, seen = (compare(first, run, distributions=False).max_difference for run in (again, changed))
    return subject.causal and seen > subject.noise.threshold >= kept


def _end(subject: Subject) -> int:
    """Where positions end at which nothing but the position is another."""
    bounds = [bound for bound in (subject.window, subject.crossing) if bound is not None]
    return min(bounds, default=4 * subject.length)


def _elsewhere(subject: Subject, ids: Tensor) -> str:
    """Read ids at other positions, or behind padding where none can be given; say where in a few words.

    They stand apart, as far as the window goes: where all move by one number, attention by distance is the same.
    """
    tokens = ids.shape[1]
    mask = torch.ones(ids.shape, dtype=torch.int64)
    if not subject.takes_positions:
        mask[:, : tokens // 2] = 0
        subject.whole(ids, mask=mask)
        return "padded on the left"
    last = _end(subject) - 1
    step = last // (tokens - 1)
    positions = last - step * torch.arange(tokens).flip(0)
    # Of the shape in which models make their own.
    subject.whole(ids, positions=positions[None], mask=mask)
    return f"at positions {step} apart, up to {last}"
