"""How much an audit of a server may ask: requests, tokens and time, each with an end."""

import threading
import time
from dataclasses import dataclass, field

from ordinate.errors import positive, positive_integer


class Spent(Exception):
    """The budget does not allow another request: the message says what is spent."""


@dataclass
class Budget:
    """What an audit may use up; requests that are tried again count each time.

    Args:
        requests: how many are sent at most
        tokens: of prompts and answers together at most, whether the server caches them or not, [token]
        seconds: how long the audit takes at most, from its first request on, [s]
        spent_requests: how many were sent
        spent_tokens: about how many tokens were sent and asked for, [token]

    Raises:
        InputError: a number that is not positive
    """

    requests: int = 600
    tokens: int = 200_000
    seconds: float = 1800.0
    spent_requests: int = 0
    spent_tokens: int = 0
    _started: float | None = field(default=None, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def __post_init__(self) -> None:
        positive_integer("requests", self.requests)
        positive_integer("tokens", self.tokens)
        positive("seconds", self.seconds)

    def take(self, tokens: int) -> None:
        """Count one request of about so many tokens.

        Raises:
            Spent: it is more than what is left; nothing is counted then
        """
        with self._lock:
            self.left()
            if self.spent_requests >= self.requests:
                raise Spent(f"the budget of {self.requests} requests is spent")
            if self.spent_tokens + tokens > self.tokens:
                raise Spent(
                    f"the budget of {self.tokens} tokens leaves {self.tokens - self.spent_tokens}, "
                    f"and the next request needs {tokens}"
                )
            self.spent_requests += 1
            self.spent_tokens += tokens

    def affords(self, tokens: int) -> bool:
        """Whether so many more tokens fit."""
        return self.spent_tokens + tokens <= self.tokens

    def left(self) -> float:
        """The time left, [s]; the first call starts the clock.

        Raises:
            Spent: there is none
        """
        now = time.monotonic()
        if self._started is None:
            self._started = now
        left = self.seconds - (now - self._started)
        if left <= 0:
            raise Spent(f"the budget of {self.seconds:g} s is spent")
        return left
