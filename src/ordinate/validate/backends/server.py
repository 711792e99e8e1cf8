"""A model behind an OpenAI-compatible API: completions for plain prompts, chat for messages."""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from ordinate.audit.server.budget import Budget, Spent
from ordinate.audit.server.client import Answer, Client, Limits, ServerFault
from ordinate.audit.server.probing import probe
from ordinate.audit.server.replies import parse
from ordinate.audit.server.server import PATHS, Endpoint, Offers
from ordinate.audit.server.server import Server as Probed
from ordinate.errors import InputError, Unavailable, got, positive_integer
from ordinate.validate.backends.base import Backend, Losses, Refusal, Reply
from ordinate.validate.backends.offers import STREAMED, Counting, check_tokenizer, forces, streams
from ordinate.validate.backends.scoring import chosen, echoed, stepped
from ordinate.validate.backends.stopping import stopped
from ordinate.validate.backends.streams import gathered
from ordinate.validate.builder import Prompt
from ordinate.validate.tokenizers import Tokenizer, continuation

CONCURRENCY = 4
# A run has its own bounds; these end what would never end.
_BUDGET = {"requests": 10**7, "tokens": 10**12, "seconds": 30 * 86400.0}
# Of strings that end an answer, OpenAI's API takes so many.
_STOPS = 4
# These refuse a prompt or its length; any other 4xx refuses the user, the address or the key.
_REFUSALS = (400, 413, 422)


class OutOfBudget(Unavailable):
    """The budget does not allow another request."""


class Server(Backend):
    """Answers from a running server; what it offers is found by asking it, about 20 small requests.

    Plain prompts ("base") go to completions, as token ids where the server takes them, else as text that it encodes to
    the same; prompts of the chat modes go to chat, as one message of the user's, and the server's own template stands
    around it. The requests of all threads share one client, at most `concurrency` of them at a time.

    Args:
        url: of the API, as "http://127.0.0.1:8080/v1"
        model: its name there
        tokenizer: the model's
        key: sent as a bearer token (`ordinate.audit.server.read_key` reads it from a file)
        limit: what prompt and answer may take together, [token]; as the server declares it where not given
        concurrency: requests in flight at most
        limits: of one request: how long it is waited for, how often it is sent again for each class of error
        budget: of all together

    Attributes:
        found: what it offers
        streams: the endpoints that stream as they are asked to
        forces: whether it names the log-probability of any token that a bias makes it generate
        repeated: how many answers of each class made a request be sent again, or given up

    Raises:
        InputError: a URL or number that cannot be used, or a tokenizer that is plainly not the server's
        Unavailable: httpx2 is not installed, or the server cannot be reached or offers neither completions nor chat
    """

    name = "server"

    def __init__(
        self,
        url: str,
        model: str,
        tokenizer: Tokenizer,
        *,
        key: str | None = None,
        limit: int | None = None,
        concurrency: int = CONCURRENCY,
        limits: Limits | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.model, self._tokenizer = model, tokenizer
        self.concurrency = positive_integer("concurrency", concurrency)
        self._stated = None if limit is None else positive_integer("limit", limit)
        self._turns = threading.BoundedSemaphore(self.concurrency)
        self._client = Client(url, key=key, limits=limits, budget=budget or Budget(**_BUDGET))
        self._client.__enter__()
        self._open = True
        try:
            self._probed = probe(self._client, model, Counting(tokenizer, url), limit, time.time_ns() % 2**32)
            self.streams = frozenset(point for point in self.found.endpoints if streams(self._probed, point))
            self.forces = forces(self._probed)
            check_tokenizer(self._probed, tokenizer)
        except Spent as spent:
            self.close()
            raise OutOfBudget(str(spent)) from spent
        except BaseException:
            self.close()
            raise
        if self.found.ids and (self.found.echo or self.forces):
            self.offers = frozenset({"answer", "choices", "losses"})
            self.scored = "row" if self.found.echo else "token"

    @property
    def found(self) -> Offers:
        """What the server offers."""
        return self._probed.offers

    @property
    def probed(self) -> Probed:
        """The server as an audit asks it."""
        return self._probed

    @property
    def repeated(self) -> Mapping[str, int]:
        return {str(reason): count for reason, count in self._client.repeated.items()}

    @cached_property
    def _identity(self) -> dict[str, str]:
        return {
            "engine": "an OpenAI-compatible server",
            "model": self.model,
            "endpoints": " ".join(self.found.endpoints),
            "sent": "ids" if self.found.ids else "text",
            "limit": str(self.limit),
        }

    @property
    def identity(self) -> Mapping[str, str]:
        """Not the address: the same model may be served by several, or by another tomorrow."""
        return self._identity

    @property
    def tokenizer(self) -> Tokenizer:
        return self._tokenizer

    @property
    def limit(self) -> int | None:
        return self.found.window if self._stated is None else self._stated

    def answer(self, prompt: Prompt, tokens: int, *, stop: Sequence[str] = ()) -> Reply:
        endpoint: Endpoint = "completions" if prompt.mode == "base" else "chat"
        body = self._body(endpoint, prompt, tokens)
        if stop:
            body["stop"] = list(stop[:_STOPS])
        in_parts = endpoint in self.streams
        began = time.monotonic()
        answer = self._post(endpoint, {**body, **STREAMED} if in_parts else body, len(prompt.ids) + tokens)
        data, first = self._gathered(answer, endpoint)
        took = time.monotonic() - began
        self._check_text(data, endpoint)
        reply = parse(data, self._address(endpoint))[0]
        text, ended = stopped(reply.text, stop)
        return Reply(
            text=text,
            finish="stop" if ended else reply.finish or "",
            tokens=reply.completion_tokens,
            prompt_tokens=reply.prompt_tokens,
            cached_tokens=reply.cached_tokens,
            first=first,
            seconds=took,
        )

    def choices(self, prompt: Prompt, options: Sequence[str]) -> tuple[float, ...]:
        """By an echo of prompt and option, or one token after the other, each made the next by a bias."""
        if "choices" not in self.offers:
            return super().choices(prompt, options)
        rows = [continuation(self._tokenizer, option) for option in options]
        if not all(rows):
            raise InputError(f"options must hold at least one token each, got {got(list(options))}")
        if self.found.echo:
            found = [echoed(self._ask, (*prompt.ids, *row), len(row)) for row in rows]
            return tuple(-float(losses.nats.sum()) for losses in found)
        return chosen(self._ask, prompt.ids, rows)

    def losses(self, ids: Sequence[int], last: int) -> Losses:
        """By an echo of the prompt, or one token after the other."""
        if "losses" not in self.offers:
            return super().losses(ids, last)
        if not 1 <= last < len(ids):
            raise InputError(f"last must be between 1 and {len(ids) - 1}, got {got(last)}")
        return echoed(self._ask, ids, last) if self.found.echo else stepped(self._ask, ids, last)

    def close(self) -> None:
        """Close the connections."""
        if self._open:
            self._open = False
            self._client.__exit__(None, None, None)

    def _body(self, endpoint: Endpoint, prompt: Prompt, tokens: int) -> dict[str, Any]:
        if endpoint not in self.found.endpoints:
            raise Unavailable(f"{self._client.url} offers no {endpoint}, which the mode {prompt.mode!r} needs")
        name = self.found.length_name.get(endpoint, "max_tokens")
        body: dict[str, Any] = {"model": self.model, "temperature": 0, name: tokens}
        if endpoint == "chat":
            return {**body, "messages": [{"role": "user", "content": prompt.text}]}
        return {**body, "prompt": list(prompt.ids) if self.found.ids else prompt.text}

    def _ask(self, ids: Sequence[int], settings: dict[str, Any]) -> Any:
        body = {"model": self.model, "temperature": 0, "prompt": list(ids), **settings}
        return self._post("completions", body, len(ids) + 1).data

    def _post(self, endpoint: Endpoint, body: dict[str, Any], tokens: int) -> Answer:
        """An answer with 2xx."""
        if not self._open:
            raise Unavailable("this backend is closed")
        with self._turns:
            try:
                answer = self._client.post(PATHS[endpoint], body, tokens)
            except Spent as spent:
                raise OutOfBudget(str(spent)) from spent
        if answer.status in _REFUSALS and _has_reason(answer):
            raise Refusal(answer.status, answer.message)
        if answer.status >= 400:
            raise Unavailable(f"{self._address(endpoint)} answered {answer.status}: {answer.message}")
        return answer

    def _gathered(self, answer: Answer, endpoint: Endpoint) -> tuple[Any, float | None]:
        if isinstance(answer.data, list):
            return gathered(answer.data, self._address(endpoint))
        return answer.data, None

    def _check_text(self, data: Any, endpoint: Endpoint) -> None:
        """Refuse a completion without any text; an empty one is an answer, and so is thinking that did not end."""
        choices = data.get("choices") if isinstance(data, dict) else None
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return  # whoever parses it says what is wrong
        message = choice.get("message")
        text = choice.get("text", message.get("content") if isinstance(message, dict) else None)
        if text is None and choice.get("finish_reason") != "length":
            raise ServerFault("rubbish", f"{self._address(endpoint)} answered {got(choice)}, which has no text")

    def _address(self, endpoint: Endpoint) -> str:
        return self._client.url + PATHS[endpoint]


def _has_reason(answer: Answer) -> bool:
    return answer.message != replace(answer, data=None).message
