"""Whether what answers is still what it was: asked before anything is held against a length."""

from collections.abc import Callable

from ordinate.audit.server.canaries import MANY
from ordinate.audit.server.prompts import CANARIES
from ordinate.validate.accepts.answered import Answered
from ordinate.validate.backends import Refusal, Reply
from ordinate.validate.builder import Prompt

# So many canaries of the short prompt may fail the second time: batches of other requests change digits.
_SLIPS = 1


class Control:
    """Asks again what was asked before, and compares.

    Args:
        ask: sends a prompt for an answer of so many tokens
        short: what a prompt as short as can be was answered
    """

    def __init__(self, ask: Callable[[Prompt, int], Reply], short: Answered) -> None:
        self.ask, self.short = ask, short

    def turned(self, answered: Answered, *, held: bool) -> str:
        """What is no longer as it was, in a sentence; empty where all is.

        Args:
            answered: what a long prompt was answered
            held: whether that is held against it, so that the lost canaries are asked for once more

        Raises:
            Unavailable: no usable reply
        """
        try:
            found = self._short_turned(self.short.repeated, _SLIPS)
            return found or (self._long_turned(answered) if held else "")
        except Refusal as refusal:
            return f"a prompt that was answered before is now refused: {refusal}"

    def turned_to_refusal(self, prompt: Prompt, steps: int) -> str:
        """The same of a prompt that was refused: a short one is still answered, and this one still refused.

        Raises:
            Unavailable: no usable reply
        """
        try:
            found = self._short_turned(self.short.repeated[:1], 0)
        except Refusal as refusal:
            tokens = self.short.marked.prompts[0].length
            return f"a prompt of {tokens} tokens that was answered before is now refused: {refusal}"
        if found:
            return found
        try:
            self.ask(prompt, steps)
        except Refusal:
            return ""
        return "the same prompt was refused and is now answered"

    def _short_turned(self, asked: tuple[int, ...], slips: int) -> str:
        marked = self.short.marked
        tokens = marked.prompts[0].length
        if len(self.short.repeated) < MANY:  # nothing but the count is known of it
            reply, before = self.ask(marked.prompts[0], self.short.steps), self.short.counted
            if reply.prompt_tokens == before:
                return ""
            return f"of the same {tokens} tokens the engine counted {before}, and now {reply.prompt_tokens}"
        back = [part for part in asked if marked.codes[part] in self.ask(marked.prompts[part], self.short.steps).text]
        if len(back) >= len(asked) - slips:
            return ""
        return (
            f"of {len(asked)} canaries that came back from {tokens} tokens before, {len(back)} do now, so that its "
            "answers say nothing of this length"
        )

    def _long_turned(self, answered: Answered) -> str:
        repeated, codes = answered.repeated, answered.marked.codes
        for part in range(CANARIES):
            if part in repeated:
                continue
            if codes[part] in self.ask(answered.marked.prompts[part], answered.steps).text:
                return f"canary {part} comes back from the same prompt from which it did not before"
        return ""
