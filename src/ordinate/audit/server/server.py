"""A server as the checks see it: what it offers, and how it is asked."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ordinate.audit.server.client import Answer, Client, ServerFault
from ordinate.audit.server.prompts import Prompt, Writer
from ordinate.audit.server.replies import Refused, Reply, parse
from ordinate.audit.server.tokenizers import Tokenizer

Endpoint = Literal["completions", "chat"]
PATHS: dict[Endpoint, str] = {"completions": "/completions", "chat": "/chat/completions"}

STEPS = 8
"""How many tokens are generated where answers are compared."""

LIKELY = 5
"""Of how many tokens the log-probabilities are asked for at each step; OpenAI's completions allow no more."""

RESERVE = 24
"""Tokens left free below the window, for the answer and for a few special tokens."""


@dataclass(frozen=True)
class Offers:
    """What a server offers, as found by asking.

    Args:
        endpoints: which it has: "completions", "chat"
        length_name: the setting that bounds the answer's length, for each endpoint
        logprobs: the endpoints that give log-probabilities of generated tokens
        echo: whether it gives log-probabilities of the prompt's own tokens
        ids: whether it takes token ids as a prompt
        lists: whether it takes several prompts in one request
        cached_tokens: whether it says how many tokens came from its cache
        uncached: settings under which it answers without its cache; None where it has none that can be seen to work
        window: the length that it declares, [token]; None where it declares none
        window_source: who says so
        overhead: tokens that the chat template adds to one message; None where not known
        listed: the names of its models
    """

    endpoints: tuple[Endpoint, ...]
    length_name: Mapping[Endpoint, str] = field(default_factory=dict)
    logprobs: tuple[Endpoint, ...] = ()
    echo: bool = False
    ids: bool = False
    lists: bool = False
    cached_tokens: bool = False
    uncached: Mapping[str, Any] | None = None
    window: int | None = None
    window_source: str = ""
    overhead: int | None = None
    listed: tuple[str, ...] = ()


class Server:
    """A running server under audit.

    Args:
        client: sends the requests
        model: its name there
        offers: what the server offers
        tokenizer: None where there is none
        writer: of prompts
        lengths: of the prompts whose answers are compared, rising, [token]
    """

    def __init__(
        self,
        client: Client,
        model: str,
        offers: Offers,
        tokenizer: Tokenizer | None,
        writer: Writer,
        lengths: Sequence[int],
    ) -> None:
        self.client, self.model, self.offers = client, model, offers
        self.tokenizer, self.writer, self.lengths = tokenizer, writer, tuple(lengths)
        self.measured: dict[str, Any] = {}

    @property
    def endpoint(self) -> Endpoint:
        """Where prompts go: completions where they are offered, since they have no template around them."""
        return self.offers.endpoints[0]

    @property
    def scored(self) -> bool:
        """Whether that endpoint gives log-probabilities."""
        return self.endpoint in self.offers.logprobs

    def ask(
        self, prompt: Prompt, steps: int = STEPS, *, uncached: bool = False, endpoint: Endpoint | None = None
    ) -> Reply | Refused:
        """Send a prompt and return the greedy answer.

        Args:
            prompt: as ids where the server takes them
            steps: how many tokens are generated
            uncached: ask it not to use its cache, where it can be asked
            endpoint: another than the usual

        Raises:
            ServerFault: no answer that can be used
            Spent: the budget does not allow it
        """
        endpoint = endpoint or self.endpoint
        body = self.body(prompt, steps, endpoint, uncached=uncached)
        answer = self.client.post(PATHS[endpoint], body, prompt.tokens + steps)
        return self.reply(answer, endpoint)

    def ask_text(self, prompt: Prompt, steps: int, endpoint: Endpoint) -> Reply | Refused:
        """Send a prompt as text, even where the server takes ids.

        Raises:
            ServerFault: no answer that can be used
            Spent: the budget does not allow it
        """
        return self.ask(Prompt(prompt.text, None, prompt.tokens), steps, endpoint=endpoint)

    def ask_on(self, prompt: Prompt, steps: int) -> Reply | Refused:
        """Send a prompt and ask the model to go on behind the end of its text, where the server knows how to ask that.

        Raises:
            ServerFault: no answer that can be used
            Spent: the budget does not allow it
        """
        body = self.body(prompt, steps, self.endpoint)
        answer = self.client.post(PATHS[self.endpoint], {**body, "ignore_eos": True}, prompt.tokens + steps)
        if answer.status in (400, 422) and "ignore_eos" in answer.message:
            answer = self.client.post(PATHS[self.endpoint], body, prompt.tokens + steps)
        return self.reply(answer, self.endpoint)

    def ask_messages(
        self, messages: Sequence[tuple[str, str]], tokens: int, *, uncached: bool = False
    ) -> Reply | Refused:
        """Send a conversation, pairs of role and content, of about so many tokens.

        Raises:
            ServerFault: no answer that can be used
            Spent: the budget does not allow it
        """
        body = self._settings("chat", STEPS, uncached=uncached)
        body["messages"] = [{"role": role, "content": content} for role, content in messages]
        return self.reply(self.client.post(PATHS["chat"], body, tokens + STEPS), "chat")

    def ask_together(self, prompts: Sequence[Prompt]) -> list[Reply | Refused]:
        """Send several prompts at the same time, without the cache where that can be asked for.

        Raises:
            ServerFault: no usable answer to one of them
            Spent: the budget does not allow one of them
        """
        bodies = [self.body(prompt, STEPS, self.endpoint, uncached=True) for prompt in prompts]
        longest = max(prompt.tokens for prompt in prompts) + STEPS
        answers = self.client.post_together(PATHS[self.endpoint], bodies, longest)
        return [self.reply(answer, self.endpoint) for answer in answers]

    def ask_list(self, prompts: Sequence[Prompt]) -> list[Reply] | Refused:
        """Send several prompts in one request to completions, likewise.

        Raises:
            ServerFault: no answer that can be used, or not one choice for each prompt ("rubbish")
            Spent: the budget does not allow it
        """
        body = self._settings("completions", STEPS, uncached=True)
        body["prompt"] = [self._sent(prompt) for prompt in prompts]
        tokens = sum(prompt.tokens + STEPS for prompt in prompts)
        answer = self.client.post(PATHS["completions"], body, tokens)
        if answer.status >= 400:
            return Refused(answer.status, answer.message)
        replies = parse(answer.data, self.client.url)
        if len(replies) != len(prompts):
            raise ServerFault("rubbish", f"{len(prompts)} prompts in one request got {len(replies)} answers")
        return replies

    def body(self, prompt: Prompt, steps: int, endpoint: Endpoint, *, uncached: bool = False) -> dict[str, Any]:
        """The request for a prompt."""
        body = self._settings(endpoint, steps, uncached=uncached)
        if endpoint == "completions":
            body["prompt"] = self._sent(prompt)
        else:
            body["messages"] = [{"role": "user", "content": prompt.text}]
        return body

    def reply(self, answer: Answer, endpoint: Endpoint) -> Reply | Refused:
        """The reply, or refusal, in an answer to one prompt."""
        if answer.status >= 400:
            return Refused(answer.status, answer.message)
        return parse(answer.data, self.client.url + PATHS[endpoint])[0]

    def expected_tokens(self, prompt: Prompt, endpoint: Endpoint | None = None) -> int | None:
        """How many tokens a sound server counts in a prompt; None where that is not known."""
        if self.tokenizer is None or prompt.ids is None:
            return None
        if (endpoint or self.endpoint) == "chat":
            return None if self.offers.overhead is None else prompt.tokens + self.offers.overhead
        return prompt.tokens + len(self.tokenizer.prefix)

    def inside(self, tokens: int) -> int:
        """A length that stays within `tokens` where lengths are estimates."""
        return tokens if self.tokenizer is not None else tokens * 3 // 4

    def fits(self, tokens: int) -> bool:
        """Whether the budget affords so many more tokens."""
        return self.client.budget.affords(tokens)

    def _sent(self, prompt: Prompt) -> str | list[int]:
        if self.offers.ids and prompt.ids is not None and self.tokenizer is not None:
            return [*self.tokenizer.prefix, *prompt.ids]
        return prompt.text

    def _settings(self, endpoint: Endpoint, steps: int, *, uncached: bool = False) -> dict[str, Any]:
        name = self.offers.length_name.get(endpoint, "max_tokens")
        body = {"model": self.model, "temperature": 0, name: steps}
        if endpoint in self.offers.logprobs:
            body |= {"logprobs": LIKELY} if endpoint == "completions" else {"logprobs": True, "top_logprobs": LIKELY}
        if uncached:
            body |= self.offers.uncached or {}
            if "cache_salt" in body:
                body["cache_salt"] = secrets.token_hex(16)  # a salt that was sent before has its own cache
        return body
