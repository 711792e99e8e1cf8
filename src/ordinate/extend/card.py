"""The model card of a stretched model: what was done to it, and what was not."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ordinate

if TYPE_CHECKING:
    from ordinate.extend.extend import Extension


def write_card(file: Path, extension: "Extension") -> None:
    """Write README.md with a front matter that model hubs read.

    Args:
        file: where
        extension: what was done
    """
    licence = (extension.licence or "").lower()
    front = ["library_name: transformers", "pipeline_tag: text-generation", "tags: [ordinate, long-context]"]
    if licence:
        front.insert(0, f"license: {json.dumps(licence)}")
    # A name in bytes that are no UTF-8 cannot stand in a text.
    name = Path(extension.directory).name.encode("utf-8", "replace").decode("utf-8")
    quoted = json.dumps(name, ensure_ascii=False)
    numbers = "\n".join(f"| `{key}` | {_shown(value)} |" for key, value in extension.parameters.items())
    sums = "\n".join(f"- {source}: sha256 `{digest}`" for source, digest in extension.sha256.items())
    scaling = {
        "linear": "counts before scaling",
        "dynamic_ntk": "counts before scaling",
    }.get(extension.method, "counts after scaling")
    text = f"""---
{chr(10).join(front)}
---

# {name}

The window of **{extension.source}** stretched from {extension.trained} to {extension.declared} tokens by the method
`{extension.method}`. The weights are those of the source: **this model was not trained on at the longer length.**

| | |
|---|---|
| method | `{extension.method}` ({extension.why}) |
| trained length | {extension.trained} tokens |
| declared length | {extension.declared} tokens (`max_position_embeddings` {scaling}) |
{numbers}

## Source

- {extension.origin or extension.source}
- licence: {extension.licence or "see the source; its files do not state it in a form that is read here"}
{sums}

## Use

```python
from transformers import AutoModelForCausalLM, AutoTokenizer

model = AutoModelForCausalLM.from_pretrained({quoted})
tokenizer = AutoTokenizer.from_pretrained({quoted})
```

transformers computes rotary angles in float32. The same model with angles in float64:
`model, tokenizer = ordinate.transformers.load({quoted})`.

Written by Ordinate {ordinate.__version__}.
"""
    file.write_text(text, encoding="utf-8")


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(f"{entry:g}" for entry in value)
    return f"`{value}`"
