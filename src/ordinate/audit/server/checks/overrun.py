"""What a server does when an answer would not fit into the window: stop, refuse, or move keys and go on."""

from collections.abc import Iterator

from ordinate.audit.base import Outcome, Where
from ordinate.audit.server.check import ServerCheck
from ordinate.audit.server.replies import Refused
from ordinate.audit.server.server import RESERVE, Server

_BEYOND = 16


class Overrun(ServerCheck):
    """A prompt that nearly fills the window, and an answer that would go past it."""

    name = "overrun"
    title = "answers past the window"
    explanation = "An answer that goes on past the window can only do so by dropping the oldest tokens."
    remedy = "Stop at the window and say so; where a shift is wanted, say that it happens, and turn each kept key."
    kinds = ("context_shift",)
    reports = ("ggml-org/llama.cpp#4097", "ggml-org/llama.cpp#3272", "huggingface/transformers#35350")

    def applies(self, server: Server) -> str | None:
        if server.offers.window is None:
            return "the server declares no window: state it with --window"
        if server.endpoint == "chat" and server.offers.overhead is None:
            return "the tokens that the chat template adds are not known, so the window cannot be filled"
        if not server.fits(server.offers.window + _BEYOND):
            return f"the budget of tokens does not allow a prompt that fills the window of {server.offers.window}"
        return None

    def outcomes(self, server: Server) -> Iterator[Outcome]:
        window = server.offers.window
        assert window is not None  # noqa: S101 - `applies`
        overhead = server.offers.overhead if server.endpoint == "chat" else 0
        prompt = server.writer.fresh(window - RESERVE - (overhead or 0))
        case = f"{prompt.tokens} tokens of {window}, and {RESERVE + _BEYOND} more"
        reply = server.ask_on(prompt, RESERVE + _BEYOND)
        if isinstance(reply, Refused):
            status = "passed" if prompt.exact else "undecided"
            yield Outcome(self.name, case, status, evidence=f"refused: {reply.status} {reply.message}")
            return
        if reply.prompt_tokens is None or reply.completion_tokens is None:
            yield Outcome(self.name, case, "undecided", evidence="the server does not count tokens")
            return
        total = reply.prompt_tokens + reply.completion_tokens
        numbers = {"window": window, "total": total, "finish_reason": reply.finish}
        if total > window + _BEYOND // 2:
            evidence = (
                f"the prompt's {reply.prompt_tokens} and the answer's {reply.completion_tokens} tokens are {total}, "
                f"more than the window of {window}: the oldest were dropped while it was generated"
            )
            yield Outcome(
                self.name,
                case,
                "failed",
                kind="context_shift",
                where=Where(token=window),
                evidence=evidence,
                numbers=numbers,
            )
        elif total >= window - 1 or (reply.finish == "length" and reply.completion_tokens < RESERVE + _BEYOND):
            evidence = f"the answer stops at the window, after {total} tokens (finish_reason {reply.finish!r})"
            yield Outcome(self.name, case, "passed", evidence=evidence, numbers=numbers)
        else:
            evidence = f"the model ended its answer after {reply.completion_tokens} tokens, before the window"
            yield Outcome(self.name, case, "undecided", evidence=evidence, numbers=numbers)
