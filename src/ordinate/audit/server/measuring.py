"""The same text asked in different ways, and how far the answers are apart. What is measured once is kept."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ordinate.audit.base import Refusal
from ordinate.audit.server.budget import Spent
from ordinate.audit.server.client import ServerFault
from ordinate.audit.server.comparison import Gap, gap, pooled
from ordinate.audit.server.prompts import Prompt
from ordinate.audit.server.replies import Refused, Reply
from ordinate.audit.server.server import RESERVE, STEPS, Server

# Beyond this prompts are asked in one more way only, since each way costs their whole length.
_LONG = 600
_TAIL = 8
_CHEAP = 64
_REPEATS = 3
_BESIDE = (16, 60, 32, 24)


@dataclass(frozen=True)
class Measured:
    """Two answers that should be the same.

    Args:
        case: what was done, in a few words
        length: of the text, [token]
        gap: between the answers; None where the server refused
        cached: tokens that the server says it took from its cache for the second answer
        why: the reason of a refusal
        beside: what was asked at the same time, [token]
    """

    case: str
    length: int
    gap: Gap | None
    cached: int | None = None
    why: str = ""
    beside: int = 0


@dataclass
class Kept:
    """What was measured in one way, and the error that ended it, if one did."""

    found: list[Measured]
    error: Spent | ServerFault | None = None


def measured(server: Server, way: Callable[[Server], Iterator[Measured]]) -> Kept:
    """What a way of asking finds; asked once, however often it is looked at, and kept up to an error."""
    if way.__name__ not in server.measured:
        server.measured[way.__name__] = kept = Kept([])
        try:
            for each in way(server):
                kept.found.append(each)
        except (Spent, ServerFault) as error:
            kept.error = error
    return server.measured[way.__name__]


def repeats(server: Server) -> Iterator[Measured]:
    """The same request several times in the same state: nothing but chance can differ."""
    middle = [length for length in server.lengths if length <= _LONG]
    for length in sorted({middle[0], middle[len(middle) // 2]} if middle else {server.lengths[0]}):
        prompt = server.writer.fresh(length)
        uncached = server.offers.uncached is not None
        try:
            if not uncached:
                answered(server, prompt)  # from here on its beginning is cached
            first = answered(server, prompt, uncached=uncached)
            gaps = [gap(first, answered(server, prompt, uncached=uncached)) for _ in range(_REPEATS - 1)]
        except Refusal as refusal:
            yield Measured(f"{length} tokens", length, None, why=str(refusal))
            continue
        how = "without the cache" if uncached else "with the cache"
        yield Measured(f"{length} tokens, {_REPEATS} times {how}", length, pooled(gaps))


def reuse(server: Server) -> Iterator[Measured]:
    """A prompt cold; after others that share its beginning up to just before, at and after a length; and again."""
    for length in server.lengths:
        # A cache of blocks keeps the whole prompt once it was asked: short ones are cheap enough to be written anew.
        anew = server.offers.uncached is not None and length <= _CHEAP
        try:
            yield from _kept(server, length, (length, length - 1, length + 1), anew=anew)
        except Refusal as refusal:
            yield Measured(f"{length + _TAIL} tokens", length + _TAIL, None, why=str(refusal))


def _kept(server: Server, length: int, cuts: tuple[int, ...], *, anew: bool) -> Iterator[Measured]:
    uncached = server.offers.uncached is not None
    whole = cold = None
    for cut in cuts:
        if whole is None or cold is None or anew:
            whole = server.writer.fresh(length + _TAIL)
            cold = answered(server, whole, uncached=uncached)
        other = server.writer.joined(server.writer.cut(whole, cut), server.writer.text(f" {server.writer.code()}"))
        answered(server, other, steps=1)
        then = answered(server, whole)
        case = f"{whole.tokens} tokens after others that share {cut}"
        yield Measured(case, whole.tokens, gap(cold, then), then.cached_tokens)
    if whole is not None and cold is not None:
        again = answered(server, whole)
        yield Measured(f"{whole.tokens} tokens, asked again", whole.tokens, gap(cold, again), again.cached_tokens)


def turns(server: Server) -> Iterator[Measured]:
    """A text in one request and in four, each of which adds a quarter; and a conversation, likewise."""
    for length in (length for length in server.lengths if 4 * _TAIL <= length <= _LONG):
        whole = server.writer.fresh(length)
        try:
            cold = answered(server, whole, uncached=server.offers.uncached is not None)
            # Another text after the first quarter, so that a cache of one text keeps no more than that.
            quarter = server.writer.cut(whole, length // 4)
            answered(server, server.writer.joined(quarter, server.writer.text(f" {server.writer.code()}")), steps=1)
            for part in (length // 2, 3 * length // 4):
                answered(server, server.writer.cut(whole, part), steps=1)
            last = answered(server, whole)
        except Refusal as refusal:
            yield Measured(f"{length} tokens", length, None, why=str(refusal))
            continue
        yield Measured(f"{length} tokens in four requests", length, gap(cold, last), last.cached_tokens)
    if "chat" in server.offers.endpoints:
        yield from _conversation(server)


def _conversation(server: Server) -> Iterator[Measured]:
    prose = server.writer.prose
    messages = [("user", server.writer.fresh(16).text)]
    for _ in range(2):
        messages += [("assistant", " ".join(prose(8).split()[:6])), ("user", " ".join(prose(8).split()[:6]))]
    # A template adds a few tokens to each message.
    length = sum(server.writer.text(content).tokens + 8 for _, content in messages) + (server.offers.overhead or 0)
    if server.offers.window is not None and length + RESERVE > server.offers.window:
        return

    def said(count: int) -> Reply:
        reply = server.ask_messages(messages[:count], length, uncached=count == len(messages) and first)
        if isinstance(reply, Refused):
            raise Refusal(f"{reply.status} {reply.message}")
        return reply

    case = "a conversation of three turns"
    try:
        first = server.offers.uncached is not None
        cold = said(5)
        first = False
        for count in (1, 3):
            said(count)
        last = said(5)
    except Refusal as refusal:
        yield Measured(case, length, None, why=str(refusal))
        return
    yield Measured(case, last.prompt_tokens or length, gap(cold, last), last.cached_tokens)


def decoding(server: Server) -> Iterator[Measured]:
    """What the server generates token by token, and the same tokens as the end of a prompt."""
    if server.endpoint == "chat" or not server.scored:
        return
    half = STEPS // 2
    for length in (length for length in server.lengths if length <= _LONG):
        prompt = server.writer.fresh(length)
        uncached = server.offers.uncached is not None
        try:
            generated = answered(server, prompt, uncached=uncached)
            longer = _continued(server, prompt, generated, half)
            if longer is None:
                continue
            whole = answered(server, longer, steps=half, uncached=uncached)
        except Refusal as refusal:
            yield Measured(f"{length} tokens", length, None, why=str(refusal))
            continue
        if not uncached and (whole.cached_tokens is None or whole.cached_tokens > 1):
            continue  # a fault of the cache would be taken for one of generating
        expected = replace(generated, steps=generated.steps[half:])
        counts = (whole.prompt_tokens, generated.prompt_tokens)
        sent_as_ids = server.offers.ids and longer.ids is not None
        if not sent_as_ids and None not in counts and whole.prompt_tokens != (generated.prompt_tokens or 0) + half:
            continue  # the generated text is cut into other tokens when it is read
        case = f"{half} tokens generated after {length}"
        yield Measured(case, length + half, gap(expected, whole), whole.cached_tokens)


def _continued(server: Server, prompt: Prompt, generated: Reply, count: int) -> Prompt | None:
    """A prompt with the first generated tokens at its end; None where they cannot be written down."""
    if len(generated.steps) <= count:
        return None
    first = generated.steps[:count]
    numbers = [step.number for step in first if step.number is not None]
    if prompt.ids is not None and server.offers.ids and len(numbers) == count:
        return server.writer.numbers((*prompt.ids, *numbers))
    text = "".join(step.token for step in first)
    if prompt.ids is not None and server.offers.ids and server.tokenizer is not None:
        ids = server.tokenizer.encode(text)
        return server.writer.numbers((*prompt.ids, *ids)) if len(ids) == count else None
    return Prompt(prompt.text + text, None, prompt.tokens + count)


def beside(server: Server) -> Iterator[Measured]:
    """Prompts of different lengths at the same time, and each alone."""
    lengths = [length for length in _BESIDE if length <= server.lengths[-1]] or [server.lengths[0]] * 2
    for round_ in range(2):
        prompts = [server.writer.fresh(length) for length in lengths]
        total = sum(prompt.tokens for prompt in prompts)
        replies = server.ask_together(prompts)
        yield from _rows(server, prompts, replies, f"request {{}} of {len(prompts)} at once, round {round_ + 1}", total)
    if server.offers.lists:
        prompts = [server.writer.fresh(length) for length in lengths]
        total = sum(prompt.tokens for prompt in prompts)
        found = server.ask_list(prompts)
        if isinstance(found, Refused):
            yield Measured("several prompts in one request", total, None, why=f"{found.status} {found.message}")
        else:
            yield from _rows(server, prompts, list(found), f"prompt {{}} of {len(prompts)} in one request", total)


def _rows(
    server: Server, prompts: list[Prompt], replies: list[Reply] | list[Reply | Refused], case: str, total: int
) -> Iterator[Measured]:
    uncached = server.offers.uncached is not None
    for index, (prompt, reply) in enumerate(zip(prompts, replies, strict=True), start=1):
        alone, name, others = server.ask(prompt, uncached=uncached), case.format(index), total - prompt.tokens
        refusal = next((each for each in (reply, alone) if isinstance(each, Refused)), None)
        if refusal is not None:
            why = f"{refusal.status} {refusal.message}"
            yield Measured(name, prompt.tokens, None, why=why, beside=others)
        elif isinstance(reply, Reply) and isinstance(alone, Reply):
            yield Measured(name, prompt.tokens, gap(alone, reply), beside=others)


def answered(server: Server, prompt: Prompt, *, steps: int = STEPS, uncached: bool = False) -> Reply:
    """The reply to a prompt.

    Raises:
        Refusal: the server refuses it
    """
    reply = server.ask(prompt, steps, uncached=uncached)
    if isinstance(reply, Refused):
        raise Refusal(f"{reply.status} {reply.message}")
    return reply
