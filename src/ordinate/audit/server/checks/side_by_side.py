"""Requests that are served at the same time are answered as alone."""

from collections.abc import Iterator

from ordinate.audit.base import Outcome
from ordinate.audit.server.check import ServerCheck
from ordinate.audit.server.judging import judge
from ordinate.audit.server.measuring import beside
from ordinate.audit.server.server import Server


class SideBySide(ServerCheck):
    """Prompts of different lengths at the same time and alone; and in one request, where that is offered."""

    name = "side_by_side"
    title = "at the same time and alone"
    explanation = "What is computed beside a request must not change it: each row of a batch has its own positions."
    remedy = "Give every row its own positions, lengths and block table, and hand each answer to its own request."
    kinds = ("neighbours",)
    reports = ("scouzi1966/maclocal-api#92", "turboderp/exllama#101", "unslothai/unsloth#3699")

    def outcomes(self, server: Server) -> Iterator[Outcome]:
        yield from judge(server, self.name, "neighbours", beside, "others are served beside it")
