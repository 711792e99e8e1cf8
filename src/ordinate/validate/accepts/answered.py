"""The answers to all canaries of one prompt, and what they say together."""

from dataclasses import dataclass

from ordinate.audit.server.prompts import CANARIES
from ordinate.validate.accepts.canaries import Marked
from ordinate.validate.accepts.degeneration import degenerate
from ordinate.validate.backends import Reply


@dataclass(frozen=True)
class Answered:
    """The replies to the nine questions about one text."""

    marked: Marked
    replies: tuple[Reply, ...]
    steps: int
    mode: str

    @property
    def repeated(self) -> tuple[int, ...]:
        """The canaries that came back."""
        return tuple(part for part in range(CANARIES) if self._holds(part))

    @property
    def at_once(self) -> tuple[int, ...]:
        """The canaries with which an answer begins."""
        starts = (
            reply.text.strip().startswith(code) for reply, code in zip(self.replies, self.marked.codes, strict=True)
        )
        return tuple(part for part, begins in enumerate(starts) if begins)

    @property
    def counted(self) -> int | None:
        """Prompt tokens as the engine counts them: of the first reply, since all prompts have the same length."""
        return self.replies[0].prompt_tokens

    @property
    def same(self) -> bool:
        """Whether all questions got the same answer."""
        return len({reply.text for reply in self.replies}) == 1

    @property
    def degenerate(self) -> tuple[str, ...]:
        """What is wrong with the answers that are none."""
        found = (degenerate(reply.text) for part, reply in enumerate(self.replies) if not self._holds(part))
        return tuple(wrong for wrong in found if wrong is not None)

    def _holds(self, part: int) -> bool:
        code, text = self.marked.codes[part], self.replies[part].text
        if code in text:
            return True
        # At the very end of the window there may be no room for a whole code.
        begun = text.strip()
        return self.mode == "base" and self.steps < len(code) and bool(begun) and code.startswith(begun)
