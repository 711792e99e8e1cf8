"""lm-evaluation-harness: a folder for `--include_path`."""

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from ordinate.validate.exports.base import Entry, Export, Format

METRICS = {"correct": "share", "lower": "lower", "upper": "upper"}


class LmEval(Format):
    """A task in YAML for each cell, a group of all, and a tag for each task of Ordinate."""

    name = "lm_eval"
    title = "lm-evaluation-harness"
    shipped: ClassVar[tuple[str, ...]] = ("scoring.py", "harness.py")

    def files(self, export: Export) -> Mapping[str, str]:
        group = {
            "group": export.group,
            "task": [entry.name for entry in export.entries],
            "metadata": {"version": 1},
        }
        tasks = {f"{entry.name}.yaml": _yaml(_task(entry, export)) for entry in export.entries}
        return {**tasks, f"{export.group}.yaml": _yaml(group), "README.md": _page(export)}


class Function(str):
    """The name of a function beside the YAML file."""


def _task(entry: Entry, export: Export) -> dict[str, Any]:
    metrics = [
        {"metric": name, "aggregation": Function(f"harness.{function}"), "higher_is_better": True}
        for name, function in METRICS.items()
    ]
    return {
        "task": entry.name,
        "tag": f"{export.group}_{entry.task}",
        "custom_dataset": Function("harness.documents"),
        "dataset_kwargs": {
            "ordinate_file": entry.file,
            "ordinate_window": entry.window,
            "ordinate_bos": export.starts,
            "ordinate_habit": export.habit,
        },
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": "prompt",
        "doc_to_target": "target",
        "target_delimiter": "",
        "fewshot_delimiter": "",
        "num_fewshot": 0,
        "repeats": 1,
        "generation_kwargs": {
            "until": list(export.stop),
            "max_gen_toks": entry.part.cell.reserve,
            "do_sample": False,
            "temperature": 0.0,
        },
        "process_results": Function("harness.process_results"),
        "metric_list": [*metrics, {"metric": "unread", "aggregation": "mean", "higher_is_better": False}],
        "metadata": {"version": 1},
    }


def _yaml(mapping: Mapping[str, Any]) -> str:
    """A mapping in YAML: a line for each key, and for each entry of a list of mappings; the rest as JSON."""
    lines = []
    for key, value in mapping.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            lines.append(f"{key}:")
            for entry in value:
                inside = [f"    {name}: {_scalar(one)}" for name, one in entry.items()]
                lines += [f"  - {inside[0].strip()}", *inside[1:]]
        elif isinstance(value, list) and value:
            lines += [f"{key}:", *(f"  - {_scalar(one)}" for one in value)]
        elif isinstance(value, dict):
            lines += [f"{key}:", *(f"  {name}: {_scalar(one)}" for name, one in value.items())]
        else:
            lines.append(f"{key}: {_scalar(value)}")
    return "\n".join(lines) + "\n"


def _scalar(value: Any) -> str:
    return f"!function {value}" if isinstance(value, Function) else json.dumps(value)


def _page(export: Export) -> str:
    chat = export.mode != "base"
    flag = " --apply_chat_template" if chat else ""
    arguments = f"max_length={export.window},add_bos_token={export.starts}"
    served = f"max_length={export.window + 1},add_bos_token={export.starts}"
    kind, path = ("local-chat-completions", "chat/completions") if chat else ("local-completions", "completions")
    rows = "".join(
        f"| `{entry.name}` | {entry.part.units} | {entry.members} | {entry.part.cell.length} | {entry.chance:.3f} |\n"
        for entry in export.entries
    )
    ends = "the template's" if chat else "a beginning-of-text token" if export.starts else "none"
    template = (
        "`--apply_chat_template` puts the tokenizer's own template around the prompts, which are messages, without a\n"
        "  system message"
        if chat
        else "The prompts are sent as they are, without a chat template or a system message"
    )
    return f"""# Ordinate's tasks for lm-evaluation-harness

Every prompt takes exactly the tokens that its document says (`tokens`), counted with the tokenizer whose SHA-256 stands
in `export.json`; tokens that the engine adds to the text ({ends}) are among them. For another model, export anew.

```
lm-eval run --include_path FOLDER --tasks {export.group}{flag} \\
    --model hf --model_args pretrained=MODEL,{arguments}
lm-eval run --include_path FOLDER --tasks {export.group}{flag} \\
    --model {kind} --model_args model=NAME,base_url=URL/v1/{path},tokenizer=PATH,{served}
```

FOLDER is where this file lies. Nothing is downloaded for the tasks; a model and its tokenizer may lie in a folder.

- **Nothing may be cut.** The harness cuts prompts beyond `max_length` at the left. The tasks do not load before it is
  given and long enough: {export.window} here. A server may still cut what it is sent: `ordinate validate --url` tells.
- **Tokens at the beginning.** `add_bos_token={export.starts}` makes the tokens that were counted; the tasks do not load
  with another setting.
- **Nothing may be added.** {template};
  `--system_instruction` would change them. Few-shot examples are never added: those of a prompt stand in it.
- `correct` is the share of units that are right, `lower` and `upper` are the ends of Wilson's 95 % interval, `unread`
  is the share of responses without a readable answer, which count as wrong. The column Stderr stays empty for the
  first three. Where a unit has two members, a minimal pair, it is right when both are; a pair cut by `--limit` is left
  out, so give an even number. There is no mean over tasks.
- `scoring.py` says how a response is judged.

| task | units | members | tokens | chance |
|---|---|---|---|---|
{rows}"""
