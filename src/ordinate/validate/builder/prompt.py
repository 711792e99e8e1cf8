"""A prompt: token ids, and what stands where in them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True)
class Placed:
    """Where a record stands.

    Args:
        role: "evidence" or "decoy"
        start, stop: its tokens in the prompt, [start, stop)
        requested: the token at which the layout asked it to begin
        distance: tokens between its last and the question's first
    """

    role: str
    start: int
    stop: int
    requested: int
    distance: int


@dataclass(frozen=True)
class Prompt:
    """What a model is given: `ids` has exactly `length` tokens, everything that stands before the answer.

    Args:
        ids: template, beginning-of-text token, nonce, demonstrations, context, question and lead; `length` of them
        text: the same as text without what the template or the tokenizer adds at both ends: what a server is sent as
            a prompt (mode "base") or as the user's message
        head, tail: how many ids at both ends `text` does not hold
        placed: each record by its name
        context, question: [start, stop) of the tokens of the context, and of all behind it but the template's tail
        filler_tokens: how many tokens of the context are not records
        mode, nonce, filler, places: as asked for
        length, reserve: `length` tokens are the prompt's, `reserve` more are left for the answer within the limit
        task, index, seed, control: of the instance
    """

    ids: tuple[int, ...] = field(repr=False)
    text: str = field(repr=False)
    head: int
    tail: int
    placed: Mapping[str, Placed]
    context: tuple[int, int]
    question: tuple[int, int]
    filler_tokens: int
    mode: str
    nonce: str | None
    filler: str
    places: str | tuple[float, ...]
    length: int
    reserve: int
    task: str
    index: int
    seed: int
    control: str = ""

    @cached_property
    def spans(self) -> dict[str, tuple[int, int]]:
        """The tokens [start, stop) of each record by its name."""
        return {name: (placed.start, placed.stop) for name, placed in self.placed.items()}

    @cached_property
    def distances(self) -> dict[str, int]:
        """Tokens between each record's last and the question's first."""
        return {name: placed.distance for name, placed in self.placed.items()}
