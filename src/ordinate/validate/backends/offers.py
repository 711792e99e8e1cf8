"""What a server offers beyond what its probe finds: the model's tokens, streams, and tokens of the caller's choice."""

from typing import Any

from ordinate.audit.server.client import ServerFault
from ordinate.audit.server.replies import Reply, parse
from ordinate.audit.server.server import PATHS, Endpoint, Server
from ordinate.audit.server.tokenizers import Tokenizer as Tokens
from ordinate.errors import InputError
from ordinate.validate.backends.scoring import BIAS
from ordinate.validate.backends.streams import gathered
from ordinate.validate.tokenizers import Tokenizer

STREAMED = {"stream": True, "stream_options": {"include_usage": True}}
"""Asks for an answer in parts, and its counts at the end."""

# A prompt long enough to be one.
_SHORT = 24
# The second likeliest token has -0.69 at most, and with the bias 0: noise between two requests is far less. [nat]
_SAME = 0.05


class Counting(Tokens):
    """The model's tokenizer as the probe takes it."""

    independent = True

    def __init__(self, tokenizer: Tokenizer, source: str) -> None:
        self._tokenizer, self.source, self.prefix = tokenizer, source, tokenizer.bos

    def encode(self, text: str) -> list[int]:
        return self._tokenizer.encode(text)

    def decode(self, ids: list[int]) -> str:
        return self._tokenizer.decode(ids)


def check_tokenizer(server: Server, tokenizer: Tokenizer) -> None:
    """Refuse a tokenizer that makes other tokens of a text than the server, where that counts ids as they are.

    Raises:
        InputError: it does
    """
    if not server.offers.ids:
        return
    text = f"{server.writer.code()}: {server.writer.prose(40)}"
    ids = [*tokenizer.bos, *tokenizer.encode(text)]
    counted = []
    for sent in (ids, text):
        body = {"model": server.model, "temperature": 0, "max_tokens": 1, "prompt": sent}
        answer = server.client.post(PATHS["completions"], body, len(ids) + 1)
        counted.append(parse(answer.data, server.client.url)[0].prompt_tokens if answer.status < 400 else None)
    if None not in counted and counted[0] == len(ids) != counted[1]:
        raise InputError(f"the tokenizer makes {len(ids)} tokens of a text, and the server {counted[1]} of the same")


def streams(server: Server, endpoint: Endpoint) -> bool:
    """Whether an endpoint streams as it is asked to, with the same count of prompt tokens."""
    prompt = server.writer.fresh(_SHORT)
    body = server.body(prompt, 2, endpoint)
    for name in ("logprobs", "top_logprobs"):
        body.pop(name, None)
    address = server.client.url + PATHS[endpoint]
    plain = server.client.post(PATHS[endpoint], body, prompt.tokens + 2)
    answer = server.client.post(PATHS[endpoint], {**body, **STREAMED}, prompt.tokens + 2)
    if plain.status >= 400 or answer.status >= 400 or not isinstance(answer.data, list):
        return False
    try:
        whole, parts = plain.data, gathered(answer.data, address)[0]
        one, other = (parse(data, address)[0] for data in (whole, parts))
    except ServerFault:
        return False
    return one.prompt_tokens == other.prompt_tokens


def forces(server: Server) -> bool:
    """Whether a bias decides which token is generated, and the log-probabilities named by id are those without it.

    Only where the server also says that it reuses a prompt that it has read, and counts the ids that it is sent: a
    request for each token would otherwise take the whole prompt's tokens each time, and could be of a part of it.
    """
    if not (server.offers.ids and "completions" in server.offers.logprobs):
        return False
    prompt = server.writer.fresh(_SHORT)
    body = {**server.body(prompt, 1, "completions"), "logprobs": 2}
    plain = _likely(_reply(server, body))
    if len(plain) < 2:
        return False
    second, value = sorted(plain.items(), key=lambda entry: entry[1])[-2]
    again = _reply(server, {**body, "logit_bias": {second[1:]: BIAS}})
    if again is None or not again.cached_tokens or again.prompt_tokens != len(body["prompt"]):
        return False
    made = f"#{again.steps[0].number}" if again.steps else ""
    return made == second and abs(_likely(again).get(second, 0.0) - value) < _SAME


def _reply(server: Server, body: dict[str, Any]) -> Reply | None:
    answer = server.client.post(PATHS["completions"], body, len(body["prompt"]) + 1)
    return parse(answer.data, server.client.url)[0] if answer.status < 400 else None


def _likely(reply: Reply | None) -> dict[str, float]:
    """The log-probabilities of tokens named by id in the first place."""
    steps = reply.steps if reply is not None else ()
    likely = steps[0].likely if steps else {}
    return {name: value for name, value in likely.items() if name.startswith("#") and name[1:].isdigit()}
