"""What a server offers beyond what its probe finds: the model's tokens, streams, and many likely tokens by id."""

from ordinate.audit.server.client import ServerFault
from ordinate.audit.server.replies import parse
from ordinate.audit.server.server import PATHS, Endpoint, Server
from ordinate.audit.server.tokenizers import Tokenizer as Tokens
from ordinate.errors import InputError
from ordinate.validate.backends.scoring import FEW
from ordinate.validate.backends.streams import gathered
from ordinate.validate.tokenizers import Tokenizer

STREAMED = {"stream": True, "stream_options": {"include_usage": True}}
"""Asks for an answer in parts, and its counts at the end."""

# A prompt long enough to be one.
_SHORT = 24


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


def names_many(server: Server) -> bool:
    """Whether it names as many of the likeliest tokens as it is asked for, by id."""
    if not (server.offers.ids and "completions" in server.offers.logprobs):
        return False
    prompt = server.writer.fresh(_SHORT)
    body = {**server.body(prompt, 1, "completions"), "logprobs": FEW}
    answer = server.client.post(PATHS["completions"], body, prompt.tokens + 1)
    if answer.status >= 400:
        return False
    steps = parse(answer.data, server.client.url)[0].steps
    return bool(steps) and sum(name.startswith("#") for name in steps[0].likely) >= FEW
