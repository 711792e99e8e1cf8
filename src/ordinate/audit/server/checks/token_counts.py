"""The server counts the tokens of a prompt as the model's tokenizer does."""

from collections.abc import Iterator

from ordinate.audit.base import Outcome, Where
from ordinate.audit.server.check import ServerCheck
from ordinate.audit.server.replies import Refused
from ordinate.audit.server.server import Endpoint, Server


class TokenCounts(ServerCheck):
    """`usage.prompt_tokens` against the tokenizer's count, at every length."""

    name = "token_counts"
    title = "prompt tokens"
    explanation = "A count that differs says that other tokens were read than were sent, or that the count is made up."
    remedy = "Use the model's own tokenizer, add special tokens once, and report the tokens that were computed."
    kinds = ("token_count",)
    reports = ("0xBakeer/inference-atlas#27", "jundot/omlx#1687", "raullenchai/Rapid-MLX#1381")

    def applies(self, server: Server) -> str | None:
        if server.tokenizer is None:
            return "no tokenizer is at hand: give one with --tokenizer"
        return None

    def outcomes(self, server: Server) -> Iterator[Outcome]:
        for endpoint in server.offers.endpoints:
            yield from self._counted(server, endpoint)

    def _counted(self, server: Server, endpoint: Endpoint) -> Iterator[Outcome]:
        assert server.tokenizer is not None  # noqa: S101 - `applies`
        extras: dict[int, int] = {}
        special = len(server.tokenizer.prefix)
        for length in server.lengths:
            case = f"{length} tokens, {endpoint}"
            # Text, since only that makes the server use its tokenizer.
            prompt = server.writer.text(server.writer.fresh(length).text)
            overhead = (server.offers.overhead or 0) if endpoint == "chat" else special
            if server.offers.window is not None and prompt.tokens + overhead + 1 > server.offers.window:
                continue
            if not server.fits(prompt.tokens):
                yield Outcome(self.name, case, "undecided", evidence="the budget of tokens does not allow it")
                continue
            reply = server.ask_text(prompt, 1, endpoint)
            if isinstance(reply, Refused):
                yield Outcome(self.name, case, "refused", evidence=f"{reply.status} {reply.message}")
                continue
            if reply.prompt_tokens is None:
                yield Outcome(self.name, case, "not applicable", evidence="the server does not count prompt tokens")
                continue
            extra = reply.prompt_tokens - prompt.tokens
            extras[length] = extra
            expected = extras[server.lengths[0]] if endpoint == "chat" else special
            numbers = {"sent": prompt.tokens, "counted": reply.prompt_tokens, "expected_beyond": expected}
            whose = f"by {server.tokenizer.source}"
            evidence = f"the server counts {reply.prompt_tokens} tokens in a prompt of {prompt.tokens} {whose}"
            # A template or a leading special token adds the same number at every length.
            fair = extra == expected if endpoint == "completions" else extra == expected and extra >= 0
            if not fair and endpoint == "completions" and extra in (0, 1) and extra == extras[server.lengths[0]]:
                fair = True
            if fair:
                yield Outcome(self.name, case, "passed", evidence=evidence, numbers=numbers)
            else:
                evidence += f", {abs(extra - expected)} {'more' if extra > expected else 'fewer'} than expected"
                yield Outcome(
                    self.name,
                    case,
                    "failed",
                    kind="token_count",
                    where=Where(tokens=abs(extra - expected)),
                    evidence=evidence,
                    numbers=numbers,
                )
