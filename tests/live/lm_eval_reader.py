"""Run lm-evaluation-harness on an exported folder with a reader for a model; called as a program by the tests.

Arguments: the folder, the reader's name, max_length, and where the results go as JSON: for each task its numbers, and
for every prompt that was sent its text and what was asked for.
"""

import json
import sys
from pathlib import Path
from typing import Any

import lm_eval
from export_readers import named
from lm_eval.api.model import LM
from lm_eval.tasks import TaskManager


class Model(LM):
    """Answers as a reader does."""

    def __init__(self, reader: Any) -> None:
        super().__init__()
        self.reader, self.sent = reader, []

    def generate_until(self, requests: Any, disable_tqdm: bool = False) -> list[str]:  # noqa: ARG002 - the harness's
        self.sent += [[request.doc["ids_sha256"], *request.args] for request in requests]
        return [self.reader.respond(request.args[0]) for request in requests]

    def loglikelihood(self, requests: Any, disable_tqdm: bool = False) -> Any:
        raise NotImplementedError

    def loglikelihood_rolling(self, requests: Any, disable_tqdm: bool = False) -> Any:
        raise NotImplementedError


if __name__ == "__main__":
    folder, reader, length, out = sys.argv[1:]
    model = Model(named(reader))
    manager = TaskManager(include_path=folder, metadata={"max_length": int(length)})
    # few-shot examples are asked for, and must not come
    found = lm_eval.simple_evaluate(
        model=model, tasks=["ordinate"], task_manager=manager, num_fewshot=3, bootstrap_iters=0
    )
    assert found is not None
    names = ("correct", "lower", "upper", "unread")
    scores = {
        task: {name: numbers[f"{name},none"] for name in names}
        for task, numbers in found["results"].items()
        if "correct,none" in numbers
    }
    Path(out).write_text(json.dumps({"scores": scores, "sent": model.sent}), encoding="utf-8")
