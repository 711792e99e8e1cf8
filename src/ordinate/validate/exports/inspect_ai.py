"""inspect_ai: a module of tasks."""

from collections.abc import Mapping
from typing import ClassVar

from ordinate.validate.exports.base import Export, Format

MODULE = '''"""Ordinate's tasks for Inspect: every prompt is one user message, answered once."""

import importlib.util
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import TaskState, generate

_SPEC = importlib.util.spec_from_file_location("ordinate_scoring", Path(__file__).with_name("scoring.py"))
if _SPEC is None or _SPEC.loader is None:
    raise ImportError("scoring.py must lie beside this file")
scoring = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(scoring)


def rows(scores: list[SampleScore]) -> list[tuple[int, int, bool]]:
    """Of each score: its unit, the members of a unit, and whether it is right."""
    known = [(score.sample_metadata or {}, score.score.as_float()) for score in scores]
    return [(facts["unit"], facts["members"], right == 1) for facts, right in known]


@metric
def correct() -> Metric:
    """The share of units that are right."""

    def compute(scores: list[SampleScore]) -> float:
        return scoring.share(rows(scores))

    return compute


@metric
def lower() -> Metric:
    """The lower end of its 95 % interval."""

    def compute(scores: list[SampleScore]) -> float:
        return scoring.lower(rows(scores))

    return compute


@metric
def upper() -> Metric:
    """The upper end of its 95 % interval."""

    def compute(scores: list[SampleScore]) -> float:
        return scoring.upper(rows(scores))

    return compute


@metric
def unread() -> Metric:
    """The share of responses without a readable answer."""

    def compute(scores: list[SampleScore]) -> float:
        return sum((score.score.metadata or {})["unread"] for score in scores) / max(len(scores), 1)

    return compute


@scorer(metrics=[correct(), lower(), upper(), unread()])
def slot() -> Scorer:
    """Whether the one answer slot holds the answer, whole and alone."""

    async def score(state: TaskState, target: Target) -> Score:
        response = state.output.completion
        right, readable = scoring.judged(state.metadata, response)
        return Score(value=int(right), answer=response, metadata={"unread": not readable})

    return score


def cell(file: str, reserve: int) -> Task:
    """The documents of one file as a task."""
    samples = [
        Sample(
            input=document["prompt"],
            target=document["target"],
            id=document["id"],
            metadata={key: value for key, value in document.items() if key != "prompt"},
        )
        for document in scoring.read(file)
    ]
    return Task(
        dataset=MemoryDataset(samples, name=file.removesuffix(".jsonl")),
        solver=generate(),
        scorer=slot(),
        config=GenerateConfig(temperature=0.0, max_tokens=reserve),
        epochs=1,
        fail_on_error=True,  # a sample that failed would leave the count
        version=1,
    )
'''

CELL = '''

@task
def {name}() -> Task:
    """{task}, {length} tokens: {units} units, by chance {chance:.3f}."""
    return cell("{file}", {reserve})
'''


class InspectAi(Format):
    """One `@task` for each cell; Inspect sends chat messages, so that the mode "base" cannot be exported."""

    name = "inspect_ai"
    title = "inspect_ai"
    modes: ClassVar[tuple[str, ...]] = ("chat", "reasoning")

    def files(self, export: Export) -> Mapping[str, str]:
        cells = "".join(
            CELL.format(
                name=entry.name,
                task=entry.task,
                length=entry.part.cell.length,
                units=entry.part.units,
                chance=entry.chance,
                file=entry.file,
                reserve=entry.part.cell.reserve,
            )
            for entry in export.entries
        )
        return {f"{export.group}_tasks.py": MODULE + cells, "README.md": _page(export)}


def _page(export: Export) -> str:
    module, first = f"{export.group}_tasks.py", export.entries[0].name
    rows = "".join(
        f"| `{entry.name}` | {entry.part.units} | {entry.members} | {entry.part.cell.length} | {entry.chance:.3f} |\n"
        for entry in export.entries
    )
    return f"""# Ordinate's tasks for Inspect

```
inspect eval {module} --model PROVIDER/MODEL            # all of them
inspect eval {module}@{first} --model PROVIDER/MODEL
```

Every prompt is one user message. With the chat template of the tokenizer it was built for, and no system message, it
takes exactly the tokens that its document says (`tokens`; the SHA-256 of the tokenizer stands in `export.json`). For
another model, export anew. The longest takes {export.window} tokens with its answer: give a local provider as long a
window (`-M max_model_len={export.window}` for vLLM); Inspect itself cuts nothing.

- `correct` is the share of units that are right, `lower` and `upper` are the ends of Wilson's 95 % interval, `unread`
  is the share of responses without a readable answer, which count as wrong. Where a unit has two members, a minimal
  pair, it is right when both are; a pair cut by `--limit` is left out, so give an even number.
- A sample that ends in an error ends its task (`fail_on_error`), so that no failure leaves the count: `inspect
  eval-retry` takes up the rest. With `--no-fail-on-error` what failed is not counted at all.
- Leave `--epochs` at 1, and `--temperature` and `--max-tokens` as they are.
- `scoring.py` says how a response is judged.

| task | units | members | tokens | chance |
|---|---|---|---|---|
{rows}"""
