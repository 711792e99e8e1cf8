"""What the validator asks of whatever answers."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import ClassVar, Literal, Self

import numpy as np

from ordinate.errors import Unavailable
from ordinate.validate.builder import Prompt
from ordinate.validate.tokenizers import Tokenizer

Offer = Literal["answer", "choices", "losses"]

Scored = Literal["sample", "row", "token"]
"""What one request gives log-probabilities of: all that a sample needs (no server is asked), a row, or one token."""


class Refusal(Unavailable):
    """An engine said explicitly that it does not take a request: a result, not a fault.

    Args:
        status: of HTTP, or 0 where no server is asked
        message: its reason
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status

    def __reduce__(self) -> tuple[type[Self], tuple[int, str]]:
        """As it is, in another process."""
        return type(self), (self.status, str(self))


@dataclass(frozen=True)
class Reply:
    """A response to one prompt.

    Args:
        text: what was generated, without special tokens
        finish: "stop": ended by the model or by a stop string; "length": cut at the tokens allowed; else as said
        tokens: generated; None where not said
        prompt_tokens: as the engine counted them; None where it does not say
        cached_tokens: how many of these it says it took from a cache
        first: until the first generated token, [s]; None where it cannot be seen
        seconds: in all, [s]
    """

    text: str
    finish: str
    tokens: int | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    first: float | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Losses:
    """Of the last tokens of a row.

    Args:
        nats: minus the log-probability of each, float64 [last], [nat]
        top1: whether it is the most probable one, bool [last]
    """

    nats: np.ndarray
    top1: np.ndarray


class Backend(ABC):
    """Answers prompts; a context manager, whose methods may be called from `concurrency` threads at a time.

    Every method ends in bounded time: in a reply, a `Refusal`, or another `Unavailable` that names what went wrong.
    """

    name: ClassVar[str]
    concurrency: int = 1
    offers: frozenset[Offer] = frozenset({"answer"})
    scored: Scored = "sample"

    @property
    @abstractmethod
    def identity(self) -> Mapping[str, str]:
        """What decides the answers: model, its weights, engine, data type, template. Part of every sample's key."""

    @property
    @abstractmethod
    def tokenizer(self) -> Tokenizer:
        """The model's own."""

    @property
    @abstractmethod
    def limit(self) -> int | None:
        """What it declares that prompt and answer may take together, [token]; None where it declares nothing."""

    @abstractmethod
    def answer(self, prompt: Prompt, tokens: int, *, stop: Sequence[str] = ()) -> Reply:
        """The greedy response to a prompt, at most so many tokens.

        Raises:
            Refusal: the engine says that it does not take it
            Unavailable: no usable reply
        """

    def choices(self, prompt: Prompt, options: Sequence[str]) -> tuple[float, ...]:  # noqa: ARG002 - refuses all
        """The log-probability of each continuation of a prompt, whole, [nat].

        Raises:
            Unavailable: the backend does not offer it, or as for `answer`
        """
        raise Unavailable(f"backend {self.name!r} gives no log-probabilities of choices")

    def losses(self, ids: Sequence[int], last: int) -> Losses:  # noqa: ARG002 - refuses all
        """How well each of the last tokens is foretold by all before it.

        Raises:
            Unavailable: the backend does not offer it, or as for `answer`
        """
        raise Unavailable(f"backend {self.name!r} gives no log-probabilities of prompts")

    def close(self) -> None:  # noqa: B027 - most backends have nothing to end
        """End what was started."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
