"""Run Inspect on an exported folder with a reader for a model; called as a program by the tests, in that folder.

Arguments: the module, the reader's name, and where the results go as JSON: for each task its numbers, and for every
request what was sent.
"""

import json
import sys
from pathlib import Path
from typing import Any

import inspect_ai
from export_readers import named
from inspect_ai.model import GenerateConfig, ModelAPI, ModelOutput, modelapi

SENT: list[Any] = []


@modelapi(name="reader")
class Model(ModelAPI):
    """Answers as a reader does."""

    def __init__(self, model_name: str, config: GenerateConfig, **rest: Any) -> None:  # noqa: ARG002 - Inspect's
        super().__init__(model_name, None, None, [], config)
        self.reader = named(model_name)

    async def generate(
        self,
        input: Any,
        tools: Any,  # noqa: ARG002 - Inspect's
        tool_choice: Any,  # noqa: ARG002
        config: GenerateConfig,
    ) -> ModelOutput:
        SENT.append([len(input), input[-1].text, config.max_tokens, config.temperature])
        return ModelOutput.from_content(self.model_name, f"Answer: {self.reader.respond(input[-1].text)}")


if __name__ == "__main__":
    module, reader, out = sys.argv[1:]
    logs = inspect_ai.eval(module, model=f"reader/{reader}", display="none", log_dir=str(Path(out).parent / "logs"))
    scores = {}
    for log in logs:
        assert log.status == "success", log.error
        assert log.results is not None
        scores[log.eval.task] = {name: metric.value for name, metric in log.results.scores[0].metrics.items()}
    Path(out).write_text(json.dumps({"scores": scores, "sent": SENT}), encoding="utf-8")
