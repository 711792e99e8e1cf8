"""What a server offers, found by asking it: each answer is looked at, no name of an engine is."""

import secrets
from dataclasses import replace
from typing import Any

from ordinate.audit.server.client import Client, ServerFault
from ordinate.audit.server.prompts import Prompt, Writer, read_words
from ordinate.audit.server.replies import Refused, Reply
from ordinate.audit.server.server import PATHS, Endpoint, Offers, Server
from ordinate.audit.server.tokenizers import ServerTokenizer, Tokenizer
from ordinate.errors import InputError, Unavailable

# Long enough for caches that keep whole blocks of up to 64 tokens.
_PROBE = 150
_SHORT = 24
_LENGTH_NAMES = ("max_tokens", "max_completion_tokens", "n_predict")
# What servers call the length of their window in /models: vLLM, SGLang; llama.cpp; LM Studio; OpenRouter; Groq.
_WINDOW_NAMES = (
    "max_model_len",
    "n_ctx",
    "loaded_context_length",
    "context_length",
    "context_window",
    "max_context_length",
)
# The density of English prose in tokens of most vocabularies, until it is measured, [token/word].
_DENSITY = 1.35


def probe(client: Client, model: str, tokenizer: Tokenizer | None, window: int | None, seed: int) -> Server:
    """Ask a server what it offers, in about 15 small requests.

    Args:
        client: opened
        model: its name there
        tokenizer: on this machine; the server's own is used where none is given and it has one
        window: as the user states it, [token]
        seed: of the prompts' beginnings

    Returns:
        the server, with no lengths chosen yet

    Raises:
        Unavailable: it answers neither completions nor chat
        Spent: the budget does not allow it
    """
    listed, declared = _models(client, model)
    offers = Offers((), listed=listed)
    if window is not None:
        offers = replace(offers, window=window, window_source="as stated")
    elif declared is not None:
        offers = replace(offers, window=declared[1], window_source=f"{declared[0]} in /models")
    reasons: dict[Endpoint, str] = {}
    words = read_words()
    plain = Server(client, model, offers, None, Writer(None, _DENSITY, seed, words), ())
    for endpoint in PATHS:
        offers = _endpoint(plain, offers, endpoint, reasons)
    if not offers.endpoints:
        why = "; ".join(f"{endpoint}: {reason}" for endpoint, reason in reasons.items())
        raise Unavailable(f"{client.url} answers neither completions nor chat for the model {model!r}: {why}")
    if tokenizer is None:
        tokenizer = _own_tokenizer(client, model)
    density = _DENSITY
    if tokenizer is None:
        plain.offers = offers
        density = _density(plain)
    server = Server(client, model, offers, tokenizer, Writer(tokenizer, density, seed, words), ())
    for look in (_ids, _overhead, _echo, _lists, _cache):
        server.offers = look(server)
    return server


def _models(client: Client, model: str) -> tuple[tuple[str, ...], tuple[str, int] | None]:
    """The names in /models, and the window that the entry of this model, or the only entry, declares."""
    try:
        answer = client.get("/models")
    except ServerFault as fault:
        if fault.reason in ("rubbish", "fault"):
            return (), None
        raise
    entries = answer.data.get("data") if answer.status == 200 and isinstance(answer.data, dict) else None
    if not isinstance(entries, list):
        return (), None
    entries = [entry for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str)]
    names = tuple(entry["id"] for entry in entries)
    chosen = [entry for entry in entries if model in (entry["id"], *_aliases(entry))] or entries
    if len(chosen) != 1:
        return names, None
    for place in (chosen[0], chosen[0].get("meta")):
        for name in _WINDOW_NAMES:
            value = place.get(name) if isinstance(place, dict) else None
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return names, (name, value)
    return names, None


def _aliases(entry: dict[str, Any]) -> list[Any]:
    aliases = entry.get("aliases")
    return aliases if isinstance(aliases, list) else []


def _endpoint(server: Server, offers: Offers, endpoint: Endpoint, reasons: dict[Endpoint, str]) -> Offers:
    """Whether an endpoint answers, under which name it takes the answer's length, and whether it gives logprobs."""
    tried = replace(offers, endpoints=(*offers.endpoints, endpoint), logprobs=(*offers.logprobs, endpoint))
    prompt = Prompt("The weather was fine, and they walked to the", None, 10)
    answered: Offers | None = None
    for name in _LENGTH_NAMES:
        for logprobs in (True, False):
            lengths = {**offers.length_name, endpoint: name}
            now = replace(tried, length_name=lengths, logprobs=tried.logprobs if logprobs else offers.logprobs)
            server.offers = now
            reply = server.ask(prompt, 2, endpoint=endpoint)
            if isinstance(reply, Refused):
                reasons.setdefault(endpoint, f"{reply.status} {reply.message}")
                if reply.status in (401, 403, 404, 405):
                    return offers
                continue
            if not reply.steps:
                now = replace(now, logprobs=offers.logprobs)
            if reply.completion_tokens is None or reply.completion_tokens <= 2:
                return now
            answered = answered or now  # a length that is not kept to: perhaps it has another name
            break
    return answered or offers


def _own_tokenizer(client: Client, model: str) -> Tokenizer | None:
    try:
        return ServerTokenizer(client, model)
    except (InputError, ServerFault):
        return None


def _density(server: Server) -> float:
    """Tokens of a word in this server's count, from two prompts, so that a template's tokens cancel."""
    counts = []
    for words in (5, 35):
        text = " ".join(server.writer.prose(4 * words).split()[:words])
        reply = server.ask(Prompt(text, None, 2 * words), 1)
        counts.append(reply.prompt_tokens if isinstance(reply, Reply) else None)
    if counts[0] is None or counts[1] is None:
        return _DENSITY
    found = (counts[1] - counts[0]) / 30
    return found if 0.5 <= found <= 12 else _DENSITY


def _ids(server: Server) -> Offers:
    """Token ids as a prompt count when they are answered as one prompt of about their number."""
    offers = server.offers
    if server.tokenizer is None or "completions" not in offers.endpoints:
        return offers
    server.offers = replace(offers, ids=True)
    prompt = server.writer.fresh(_SHORT)
    reply = server.ask(prompt, 2, endpoint="completions")
    server.offers = offers
    if isinstance(reply, Refused):
        return offers
    expected = server.expected_tokens(prompt, "completions")
    plain = server.ask(prompt, 2, endpoint="completions")
    # The server's count may be wrong, but then it is so for the text too.
    same = isinstance(plain, Reply) and plain.prompt_tokens == reply.prompt_tokens
    return replace(offers, ids=same or reply.prompt_tokens in (None, expected))


def _overhead(server: Server) -> Offers:
    """Tokens that the chat template adds: what the server counts for a message beyond the message's own."""
    offers = server.offers
    if "chat" not in offers.endpoints or server.tokenizer is None:
        return offers
    counts = set()
    for tokens in (_SHORT, 3 * _SHORT):
        prompt = server.writer.text(server.writer.fresh(tokens).text)
        reply = server.ask(prompt, 1, endpoint="chat")
        if isinstance(reply, Reply) and reply.prompt_tokens is not None:
            counts.add(reply.prompt_tokens - prompt.tokens)
    return replace(offers, overhead=counts.pop() if len(counts) == 1 else None)


def _echo(server: Server) -> Offers:
    if "completions" not in server.offers.logprobs:
        return server.offers
    prompt = server.writer.fresh(_SHORT)
    body = {**server.body(prompt, 1, "completions"), "echo": True}
    reply = server.reply(server.client.post(PATHS["completions"], body, prompt.tokens + 1), "completions")
    return replace(server.offers, echo=isinstance(reply, Reply) and len(reply.echoed) > 1)


def _lists(server: Server) -> Offers:
    if "completions" not in server.offers.endpoints:
        return server.offers
    try:
        replies = server.ask_list([server.writer.fresh(_SHORT), server.writer.fresh(_SHORT)])
    except ServerFault as fault:
        if fault.reason not in ("rubbish", "fault"):
            raise
        return server.offers
    return replace(server.offers, lists=not isinstance(replies, Refused))


def _cache(server: Server) -> Offers:
    """Whether the cache can be seen at work, and which settings can be seen to go without it."""
    window = server.offers.window
    length = _PROBE if window is None else max(min(_PROBE, window - 2 * _SHORT), _SHORT)
    prompt = server.writer.fresh(length)
    first, again = server.ask(prompt, 1), server.ask(prompt, 1)
    if not (isinstance(first, Reply) and isinstance(again, Reply)):
        return server.offers
    offers = replace(server.offers, cached_tokens=again.cached_tokens is not None)
    if not again.cached_tokens:
        return offers
    # llama.cpp's name, then vLLM's and SGLang's: a cache of another salt is another cache.
    for settings in ({"cache_prompt": False}, {"cache_salt": secrets.token_hex(16)}):
        server.offers = replace(offers, uncached=settings)
        reply = server.ask(prompt, 1, uncached=True)
        if isinstance(reply, Reply) and not reply.cached_tokens:
            return replace(offers, uncached=settings)
    return offers
