"""A prompt is read whole or refused: never cut in silence, at its head, in its middle or at its tail."""

from collections.abc import Iterator

from ordinate.audit.base import Outcome, Where
from ordinate.audit.server.canaries import TAIL, Reading, cut, longest_run, read, shortest
from ordinate.audit.server.check import ServerCheck
from ordinate.audit.server.client import ServerFault
from ordinate.audit.server.prompts import CANARIES
from ordinate.audit.server.replies import Refused
from ordinate.audit.server.server import RESERVE, Endpoint, Server

# Without a window these are tried, until one is refused or the budget ends.
_LADDER = (1000, 4000, 16000, 64000)
# About how often the whole length is sent to find out what was read.
_COST = 6


class Truncation(ServerCheck):
    """A prompt that fills the window, and one half as long again: each part is changed in turn."""

    name = "truncation"
    title = "the whole prompt"
    explanation = "What is sent must be read, or refused: an answer to a part of a prompt answers another question."
    remedy = "Refuse what does not fit with HTTP 400, or say in the answer which tokens were dropped."
    kinds = ("truncation_head", "truncation_middle", "truncation_tail", "truncation", "window_refused")
    reports = ("ollama/ollama#8099", "ollama/ollama#17427", "vllm-project/vllm#1185", "jundot/omlx#2394")

    def outcomes(self, server: Server) -> Iterator[Outcome]:
        window = server.offers.window
        for endpoint in server.offers.endpoints:
            if window is None:
                for tokens in _LADDER:
                    outcome = self._read(server, endpoint, tokens, fits=False)
                    yield outcome
                    if outcome.status != "passed" or outcome.numbers.get("refused"):
                        break
                continue
            overhead = (server.offers.overhead or 4 * RESERVE) if endpoint == "chat" else 0
            inside = server.inside(window - RESERVE - overhead)
            if endpoint == server.endpoint:
                yield self._read(server, endpoint, inside, fits=True)
            yield self._read(server, endpoint, window + max(window // 2, RESERVE), fits=False)

    def _read(self, server: Server, endpoint: Endpoint, tokens: int, *, fits: bool) -> Outcome:
        case = f"{tokens} tokens, {endpoint}"
        least = shortest(server.writer)
        if tokens < least:
            why = f"{CANARIES} canaries need {least} tokens"
            return Outcome(self.name, case, "not applicable", evidence=why)
        if not server.fits(_COST * tokens):
            return Outcome(self.name, case, "undecided", evidence=f"needs about {_COST * tokens} tokens of the budget")
        try:
            reading = read(server, endpoint, tokens)
        except ServerFault as fault:
            if fault.reason != "fault":
                raise
            return Outcome(self.name, case, "undecided", evidence=f"not refused, but broken: {fault}")
        if isinstance(reading, Refused):
            numbers = {"sent": tokens, "window": server.offers.window, "refused": True}
            evidence = f"refused: {reading.status} {reading.message}"
            if fits and server.tokenizer is None:
                evidence += "; its length is an estimate, since no tokenizer is at hand"
                return Outcome(self.name, case, "undecided", evidence=evidence, numbers=numbers)
            if not fits:
                return Outcome(self.name, case, "passed", evidence=evidence, numbers=numbers)
            evidence += f", though the window is {server.offers.window} ({server.offers.window_source})"
            where = Where(token=0)
            return Outcome(
                self.name, case, "failed", kind="window_refused", where=where, evidence=evidence, numbers=numbers
            )
        return self._judged(case, reading)

    def _judged(self, case: str, reading: Reading) -> Outcome:
        numbers = {
            "sent": reading.sent,
            "counted": reading.counted,
            "expected": reading.expected,
            "read": [part for part, was in reading.parts.items() if was],
            "not_read": sorted(part for part, was in reading.parts.items() if was is False),
            "recalled": None if reading.recalled is None else list(reading.recalled),
            "noise_nat": reading.noise,
        }
        missing = longest_run(numbers["not_read"]) if reading.noise else numbers["not_read"]
        counts = f"; it counts {reading.counted} tokens of {reading.expected}" if reading.fewer else ""
        if missing:
            kind = cut(missing)
            parts = ", ".join(map(str, missing))
            start = missing[0] * reading.sent // (CANARIES - 1)
            how = "no more than repeating the request does" if reading.noise else "nothing"
            evidence = (
                f"changing the parts {parts} of {CANARIES} (0 is the head, {TAIL} the tail) of a prompt of "
                f"{reading.sent} tokens changes {how} in the answer, which HTTP 200 gave{counts}"
            )
            if reading.noise is None:
                evidence += f"; the model repeats the canaries {', '.join(map(str, reading.recalled or ()))}, not these"
            where = Where(token=min(start, reading.sent - 1), tokens=reading.fewer)
            return Outcome(self.name, case, "failed", kind=kind, where=where, evidence=evidence, numbers=numbers)
        if all(reading.parts.values()):
            if not reading.text:
                evidence = "the answer is empty, and HTTP 200 gave it"
                return Outcome(self.name, case, "undecided", evidence=evidence, numbers=numbers)
            evidence = f"the answer depends on the prompt's head, middle and tail{counts}"
            return Outcome(self.name, case, "passed", evidence=evidence, numbers=numbers)
        if reading.fewer > reading.sent // 20 + RESERVE:
            evidence = f"the server counts {reading.counted} tokens in a prompt of {reading.expected}, with HTTP 200"
            where = Where(tokens=reading.fewer)
            return Outcome(
                self.name, case, "failed", kind="truncation", where=where, evidence=evidence, numbers=numbers
            )
        noise = "gives no log-probabilities" if reading.noise is None else f"repeats only to {reading.noise:.2g} nat"
        evidence = f"the server {noise}, and the model repeats no canary: nothing tells what was read"
        return Outcome(self.name, case, "undecided", evidence=evidence, numbers=numbers)
