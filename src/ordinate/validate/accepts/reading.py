"""What became of a prompt of exactly N tokens: taken whole, refused, cut in silence, or answered with rubbish."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ordinate.audit.server.canaries import MANY, TAIL, cut, longest_run
from ordinate.audit.server.prompts import CANARIES
from ordinate.errors import InputError, Unavailable
from ordinate.validate.accepts.answered import Answered
from ordinate.validate.accepts.canaries import Canaries, Marked
from ordinate.validate.accepts.changes import Changes
from ordinate.validate.accepts.control import Control
from ordinate.validate.backends import Backend, Refusal, Reply
from ordinate.validate.builder import Prompt
from ordinate.validate.deadline import Late

Outcome = Literal[
    "ok",
    "refused",
    "truncation",
    "truncation_head",
    "truncation_middle",
    "truncation_tail",
    "degenerate",
    "garbled",
    "error",
    "unknown",
]
"""truncation_*: part of the prompt was not read, and nothing said so; "truncation": both ends, or where is not known.
garbled: what answers is no longer what it was, so that nothing is known of the length.
unknown: nothing can tell, or the time was up."""

# A model that loses no more canaries than these between a short and a long prompt is not one that forgets.
FEW = 2
# Texts in which those are asked for once more.
FRESH = (2, 3)


@dataclass(frozen=True)
class Reading:
    """What became of one length.

    Args:
        length: of the prompt, [token]
        outcome: of it
        why: in a sentence
        evidence: numbers, by name
        caveats: what is to be kept in mind
    """

    length: int
    outcome: Outcome
    why: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    caveats: tuple[str, ...] = ()


class Reader:
    """Sends prompts with canaries to a backend, and finds out what was read of them.

    Args:
        backend: asked
        canaries: writes the prompts
        left: raises `Unavailable` once the time is up; called before each request
    """

    def __init__(self, backend: Backend, canaries: Canaries, left: Callable[[], object] = lambda: None) -> None:
        self.backend, self.canaries, self.left = backend, canaries, left
        self._short: Answered | None = None
        self._changes = Changes(backend, canaries, self._ask, left)

    @property
    def short(self) -> Answered:
        """The answers to a prompt as short as can be, which say what the model can repeat at all.

        Raises:
            Refusal: even this is not taken
            Unavailable: no usable reply
        """
        if self._short is None:
            self._short = self._ask_all(self.canaries.write(self.canaries.short, 0), self.canaries.steps)
        return self._short

    def read(self, length: int) -> Reading:
        """What becomes of a prompt of `length` tokens."""
        room, limit = self.canaries.steps, self.backend.limit
        if limit is not None and length < limit:
            room = min(room, limit - length)
        try:
            marked = self.canaries.write(length, 1)
        except InputError as error:
            return Reading(length, "unknown", f"no prompt with canaries can be made: {error}")
        sent = 0
        try:
            known = self.short
        except Refusal as refusal:
            why = f"even {self.canaries.short} tokens are refused: {refusal}"
            return Reading(length, "unknown", why, {"status": refusal.status, "declared": limit})
        except Unavailable as error:
            return self._failed(length, error, 0)
        try:
            replies = []
            for prompt in marked.prompts:
                replies.append(self._ask(prompt, room))
                sent += 1
            answered = Answered(marked, tuple(replies), room, self.canaries.mode)
            found = self._judged(length, answered, known.repeated)
            if len(answered.repeated) == CANARIES:
                return found
            turned = Control(self._ask, known).turned(answered, held=found.outcome != "ok")
            if not turned:
                return found
            return replace(found, outcome="garbled", why=f"what answers has changed: {turned}", caveats=())
        except Refusal as refusal:
            return self._refused(length, refusal, sent, marked.prompts[min(sent, CANARIES - 1)], room)
        except Unavailable as error:
            return self._failed(length, error, sent)

    def _failed(self, length: int, error: Unavailable, sent: int) -> Reading:
        outcome = "unknown" if isinstance(error, Late) else "error"
        return Reading(length, outcome, f"no usable answer: {error}", {"requests": sent})

    def _refused(self, length: int, refusal: Refusal, sent: int, prompt: Prompt, room: int) -> Reading:
        try:
            turned = Control(self._ask, self.short).turned_to_refusal(prompt, room)
        except Unavailable as error:
            return self._failed(length, error, sent)
        limit = self.backend.limit
        evidence = {"status": refusal.status, "message": str(refusal), "declared": limit}
        if turned:
            return Reading(length, "garbled", f"what answers has changed: {turned}", evidence)
        why = f"refused explicitly: {refusal.status or ''} {refusal}".replace(":  ", ": ")
        if sent:
            why += f", after {sent} requests of the same length were answered"
        inside = limit is not None and length < limit
        caveats = (f"refused, though {limit} tokens are declared",) if inside else ()
        return Reading(length, "refused", why, evidence, caveats)

    def _judged(self, length: int, answered: Answered, known: tuple[int, ...]) -> Reading:
        repeated, counted = answered.repeated, answered.counted
        evidence: dict[str, Any] = {
            "counted": counted,
            "declared": self.backend.limit,
            "repeated": list(repeated),
            "repeated_short": list(known),
            "short_length": self.canaries.short,
            "blind_tokens": answered.marked.blind,
            "apart_tokens": answered.marked.apart,
            "answer_tokens": answered.steps,
        }
        caveats = _counts(length, counted)
        if answered.steps < self.canaries.steps and not repeated:
            room = f"the limit of {self.backend.limit} tokens leaves {answered.steps} for an answer, too few for a code"
            witness = "no tokens are counted" if counted is None else f"the count of {counted} is all there is"
            return Reading(length, "unknown", f"answered, but {room}: {witness}", evidence, caveats)
        wrong = answered.degenerate
        if 2 * len(wrong) > CANARIES and 2 * len(self.short.degenerate) <= CANARIES:
            evidence["degenerate"] = len(wrong)
            why = f"{len(wrong)} of {CANARIES} answers are none: the first {wrong[0]}"
            return Reading(length, "degenerate", why, evidence, caveats)
        if (
            answered.steps >= self.canaries.steps
            and len(repeated) >= MANY
            and not answered.at_once
            and 2 * len(self.short.at_once) > CANARIES
        ):
            why = "cut in silence: every answer begins with words of the question's end, as no short prompt's does"
            return Reading(length, "truncation_tail", why, evidence, caveats)
        if len(repeated) == CANARIES:
            return self._whole(length, f"all {CANARIES} canaries come back", evidence, caveats)
        return self._missing(length, answered, evidence, caveats)

    def _missing(self, length: int, answered: Answered, evidence: dict[str, Any], caveats: tuple[str, ...]) -> Reading:
        """Some canaries did not come back: were they not read, or can the model not repeat them?"""
        repeated, counted = answered.repeated, answered.counted
        missing = [part for part in range(CANARIES) if part not in repeated]
        able = len(self.short.repeated) >= MANY
        read = self._changes.parts(length, answered)
        lost = [part for part in missing if read.get(part) is False]
        if not lost:
            lost = self._never(length, answered, missing)
        evidence["read_by_change"] = {str(part): was for part, was in sorted(read.items())}
        admits = counted is not None and counted < length
        if answered.same and able and not admits and not any(read.values()):
            why = f"every question gets the same answer, {_short(answered)}, whatever the text is"
            return Reading(length, "degenerate", why, evidence, caveats)
        if answered.same and able:
            lost = [part for part in missing if not read.get(part)] or [TAIL]
        if lost and self._proves(answered, lost):
            return self._cut(length, answered, longest_run(lost), evidence, caveats)
        if counted is not None and counted < length - length // (2 * CANARIES):
            kind = cut(longest_run(missing)) if len(repeated) >= MANY else "truncation"
            why = f"the engine counts {counted} tokens, and canaries {_listed(missing)} of {CANARIES} do not come back"
            return Reading(length, kind, why, evidence, caveats)  # type: ignore[arg-type] - kinds are outcomes
        doubtful = [part for part in missing if not read.get(part)]
        back = f"{len(repeated)} of {CANARIES} canaries come back"
        if not doubtful:
            caveats = (
                *caveats,
                f"canaries {_listed(missing)} do not come back, but answers change with the text there",
            )
            return self._whole(length, f"{back}, and answers change with the text around the others", evidence, caveats)
        witness = "the engine counts no tokens" if counted is None else f"its count of {counted} tokens is all there is"
        why = f"nothing tells whether parts {_listed(doubtful)} of {CANARIES} were read: {witness}"
        if not able:
            back = f"only {len(self.short.repeated)} of {CANARIES} canaries come back from {self.canaries.short} tokens"
        return Reading(length, "unknown", f"{back}; {why}", evidence, caveats)

    def _proves(self, answered: Answered, lost: list[int]) -> bool:
        """Whether parts that change no answer were lost, rather than read by a model that does not care for them.

        Log-probabilities change with all that is read. Texts of answers do not: there a model must repeat nearly all
        canaries from a short prompt, and from this one all but the lost.
        """
        known, repeated = set(self.short.repeated), set(answered.repeated)
        if "choices" in self.backend.offers and len(known) >= MANY:
            return True
        if len(known) < CANARIES - FEW:
            return False
        return answered.same or (len(repeated) >= MANY and len(known - repeated - set(lost)) <= 1)

    def _never(self, length: int, answered: Answered, missing: list[int]) -> list[int]:
        """Canaries that do not come back from other texts either, where the model repeats nearly all others."""
        if len(missing) > FEW or len(self.short.repeated) < CANARIES - FEW:
            return []
        texts = [self.canaries.write(length, index) for index in FRESH]
        never = []
        for part in missing:
            found = (text.codes[part] in self._ask(text.prompts[part], answered.steps).text for text in texts)
            if part in self.short.repeated and answered.steps >= self.canaries.steps and not any(found):
                never.append(part)
        return never

    def _cut(
        self, length: int, answered: Answered, lost: list[int], evidence: dict[str, Any], caveats: tuple[str, ...]
    ) -> Reading:
        # An answer that is the same to nine questions was given without any of them.
        kind = "truncation_tail" if answered.same else cut(lost)
        evidence["lost"] = lost
        why = f"cut in silence: what stands at canaries {_listed(lost)} of {CANARIES} (0 is the head) changes no answer"
        if answered.same:
            why = f"cut in silence: {CANARIES} questions get the same answer, so that none of them was read"
        if answered.counted is not None and answered.counted >= length:
            caveats = (*caveats, f"the engine counts {answered.counted} tokens, which it did not read")
        return Reading(length, kind, why, evidence, caveats)  # type: ignore[arg-type] - kinds are outcomes

    def _whole(self, length: int, how: str, evidence: dict[str, Any], caveats: tuple[str, ...]) -> Reading:
        limit, blind = self.backend.limit, max(evidence["blind_tokens"], evidence["apart_tokens"])
        if limit is not None and length >= limit:
            if length + evidence["answer_tokens"] - limit <= blind:
                why = f"{how}, but {limit} tokens are declared, and {blind} between two canaries may be lost unseen"
                return Reading(length, "unknown", why, evidence, caveats)
            caveats = (*caveats, f"only {limit} tokens are declared")
        return Reading(length, "ok", f"taken whole: {how}", evidence, caveats)

    def _ask_all(self, marked: Marked, steps: int) -> Answered:
        replies = tuple(self._ask(prompt, steps) for prompt in marked.prompts)
        return Answered(marked, replies, steps, self.canaries.mode)

    def _ask(self, prompt: Prompt, steps: int) -> Reply:
        self.left()
        return self.backend.answer(prompt, steps)


def _counts(length: int, counted: int | None) -> tuple[str, ...]:
    if counted is None or counted == length:
        return ()
    return (f"the engine counts {counted} prompt tokens, {abs(counted - length)} {_more(counted - length)}",)


def _more(difference: int) -> str:
    return "more than were sent" if difference > 0 else "fewer than were sent"


def _short(answered: Answered) -> str:
    return repr(" ".join(answered.replies[0].text.split())[:40])


def _listed(parts: list[int]) -> str:
    return ", ".join(map(str, parts))
