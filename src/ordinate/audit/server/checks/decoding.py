"""Generated tokens have the probabilities that the same tokens have at the end of a prompt."""

from collections.abc import Iterator

from ordinate.audit.base import Outcome
from ordinate.audit.server.check import ServerCheck
from ordinate.audit.server.judging import judge
from ordinate.audit.server.measuring import decoding, measured
from ordinate.audit.server.server import Server


class Decoding(ServerCheck):
    """What is generated token by token, against the same tokens read in one prompt."""

    name = "decoding"
    title = "generated and read"
    explanation = "A token that is generated must stand at the position that it has when it is read in a prompt."
    remedy = "Take the position of a generated token from the number of tokens before it, prompt included."
    kinds = ("decoding_path",)
    reports = ("Blaizzy/mlx-vlm#1983", "microsoft/onnxruntime-genai#2354", "sgl-project/sglang#25015")

    def applies(self, server: Server) -> str | None:
        if server.endpoint == "chat":
            return "a chat template closes each message, so that generated tokens cannot be read as a prompt's end"
        if not server.scored:
            return "the server gives no log-probabilities, by which generated tokens are told apart"
        return None

    def outcomes(self, server: Server) -> Iterator[Outcome]:
        found = measured(server, decoding)
        if not found.found and found.error is None:
            why = "the generated text is cut into other tokens when it is read as a prompt"
            if server.offers.uncached is None:
                why = "the server cannot be asked to leave its cache out, so what was generated is not read anew"
            yield Outcome(self.name, "", "not applicable", evidence=why)
        yield from judge(server, self.name, "decoding_path", decoding, "the tokens are read instead of generated")
