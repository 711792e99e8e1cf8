"""The sentences that the passkey papers repeat."""

from ordinate.validate.fillers.base import Filler

SENTENCES = (
    "The grass is green.",
    "The sky is blue.",
    "The sun is yellow.",
    "Here we go.",
    "There and back again.",
)


class Noise(Filler):
    """Five short sentences, over and over: for figures that are to be compared with the papers', and for nothing else.

    Source: Mohtashami & Jaggi, Landmark Attention (arXiv 2305.16300), appendix on the pass key task.
    """

    name = "noise"
    repeats = True

    @property
    def blocks(self) -> None:
        """Without end."""
        return

    @property
    def starts(self) -> int:
        """One: every block is the same."""
        return 1

    @property
    def identity(self) -> str:
        """The name."""
        return "noise"

    def sentences(self, block: int) -> list[str]:
        """The five sentences."""
        del block
        return list(SENTENCES)
