"""A text that grows over several requests is answered as in one."""

from collections.abc import Iterator

from ordinate.audit.base import Outcome
from ordinate.audit.server.check import ServerCheck
from ordinate.audit.server.judging import judge
from ordinate.audit.server.measuring import turns
from ordinate.audit.server.server import Server


class Turns(ServerCheck):
    """A text in four requests, each of which adds a quarter; a conversation turn by turn."""

    name = "turns"
    title = "several turns and one"
    explanation = "A conversation that is cached turn by turn must read as the same conversation sent at once."
    remedy = "Append to a cache at the position after its last token, and count the tokens of a template once."
    kinds = ("prefix_cache",)
    reports = ("waybarrios/vllm-mlx#311", "Blaizzy/mlx-vlm#1621", "microsoft/onnxruntime-genai#2354")

    def applies(self, server: Server) -> str | None:
        if server.lengths[-1] < 32 and "chat" not in server.offers.endpoints:
            return f"the longest prompt has {server.lengths[-1]} tokens, too few to be cut into turns"
        return None

    def outcomes(self, server: Server) -> Iterator[Outcome]:
        yield from judge(server, self.name, "prefix_cache", turns, "it is sent turn by turn")
