"""A long text, then a short one: the short one must not remember."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

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
    title = "a short text after a long one"
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
        yield self._named(self.compared(subject, f"after {long} tokens", lambda: subject.whole(ids), reference))
        try:
            yield self._again(
                subject, f"the same call again, after {long} tokens", before, repeated, subject.whole(ids)
            )
        except Refusal as refusal:
            yield self.refused(f"the same call again, after {long} tokens", str(refusal))
        if chunked is not None:
            case = f"in passes of 7, after {long} tokens"
            yield self._named(self.compared(subject, case, lambda: subject.chunked(7, ids=ids), chunked))
        if subject.crossing is not None:
            yield self._past(subject, subject.crossing)

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

    def _named(self, outcome: Outcome) -> Outcome:
        return replace(outcome, kind="state_kept") if outcome.status == "failed" else outcome
