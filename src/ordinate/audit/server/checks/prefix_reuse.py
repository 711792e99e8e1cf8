"""A prompt whose beginning is cached is answered as without the cache."""

from collections.abc import Iterator

from ordinate.audit.base import Outcome
from ordinate.audit.server.check import ServerCheck
from ordinate.audit.server.judging import judge
from ordinate.audit.server.measuring import measured, reuse
from ordinate.audit.server.server import Server


class PrefixReuse(ServerCheck):
    """Cold, again, and after prompts that share its beginning up to just before, at and after each length."""

    name = "prefix_reuse"
    title = "cached beginnings"
    explanation = "A beginning that is taken from the cache must stand at the positions that it was computed at."
    remedy = "Continue at the position after the cached tokens, and drop what is cached behind the shared beginning."
    kinds = ("prefix_cache",)
    reports = ("waybarrios/vllm-mlx#311", "vllm-project/vllm-metal#144", "microsoft/onnxruntime-genai#2354")

    def outcomes(self, server: Server) -> Iterator[Outcome]:
        found = measured(server, reuse).found
        counts = [each.cached for each in found if each.gap is not None]
        if counts and server.offers.cached_tokens and not any(counts):
            yield Outcome(
                self.name,
                "",
                "not applicable",
                evidence=f"the server took nothing from a cache: cached_tokens was 0 in {len(counts)} answers",
            )
            return
        yield from judge(server, self.name, "prefix_cache", reuse, "its beginning is cached")
