"""Whether answers change with a part of the text: what a model that cannot repeat canaries still tells."""

from collections.abc import Callable

from ordinate.audit.server.canaries import TAIL
from ordinate.audit.server.prompts import CANARIES
from ordinate.validate.accepts.answered import Answered
from ordinate.validate.accepts.canaries import Canaries, Marked
from ordinate.validate.accepts.degeneration import degenerate
from ordinate.validate.backends import Backend, Reply
from ordinate.validate.builder import Prompt

# How far above what repeating changes a log-probability must be moved, and at least; where that is more than the last,
# too much changes by chance for a part to be called unread. Far text that is read moves it by as little as 0.03, as
# measured with SmolLM2, which llama.cpp repeats to within 0.05, [nat].
_ABOVE, _LEAST, _MOST = 4.0, 1e-3, 0.01


class Changes:
    """Rewrites parts of a prompt, and sees whether answers, or their log-probabilities, become others.

    Args:
        backend: asked for log-probabilities, where it has them
        canaries: writes the prompts
        ask: sends a prompt for an answer of so many tokens
        left: raises `Unavailable` once the time is up; called before each request
    """

    def __init__(
        self,
        backend: Backend,
        canaries: Canaries,
        ask: Callable[[Prompt, int], Reply],
        left: Callable[[], object],
    ) -> None:
        self.backend, self.canaries, self.ask, self.left = backend, canaries, ask, left
        self._scored: dict[tuple[int, ...], list[float]] = {}

    def parts(self, length: int, answered: Answered) -> dict[int, bool]:
        """For each canary that did not come back, whether an answer changes when the text behind it is another."""
        others = self.canaries.write(length, 1, other=True)
        found = {}
        for part in range(CANARIES):
            read = None if part in answered.repeated else self._change(answered, others, part)
            if read is not None:
                found[part] = read
        return found

    def _change(self, answered: Answered, others: Marked, part: int) -> bool | None:
        """Whether an answer changes when a canary and all up to the next are others; None where nothing can tell."""
        asked = False
        for question in dict.fromkeys((part, TAIL)):
            prompt = self.canaries.rewritten(answered.marked, others, question, part, part)
            if prompt is None:
                continue
            before = answered.replies[question].text
            if degenerate(before) is not None:  # it is no answer to any text, so that none can change it
                continue
            asked = True
            if self.ask(prompt, answered.steps).text == before:
                continue
            # Where the same prompt does not get the same answer again, another answer says nothing.
            again = self.ask(answered.marked.prompts[question], answered.steps).text
            return True if again == before else None
        prompt = self.canaries.rewritten(answered.marked, others, TAIL, part, part)
        if not asked or prompt is None:
            return None
        return self._scores_change(answered, prompt)

    def _scores_change(self, answered: Answered, prompt: Prompt) -> bool | None:
        """Whether the last canary's code is more or less likely behind another text than behind the same again."""
        if "choices" not in self.backend.offers:
            return False
        own, options = answered.marked.prompts[TAIL], [f" {answered.marked.codes[TAIL]}"]
        if own.ids not in self._scored:
            self.left()
            self._scored[own.ids] = [self.backend.choices(own, options)[0] for _ in range(2)]
        first, again = self._scored[own.ids]
        self.left()
        other = self.backend.choices(prompt, options)[0]
        least = _ABOVE * abs(again - first) + _LEAST
        if abs(other - first) > least:
            return True
        return False if least < _MOST else None
