"""The page of the schema of results: each kind with its command, and each object with its keys."""

from collections.abc import Callable
from typing import Any

from ordinate.results import SCHEMA_VERSION, find, kinds, schema

INTRODUCTION = """# The schema of results

What describe, diff, check, translate, prove, audit, validate, bench, plan and report print as JSON is one object of
one published schema: [ordinate-{version}.schema.json]({file}), JSON Schema of the dialect 2020-12. `schema_version` is
{version}, and `kind` says which result it is. [`ordinate report`](reporting.md) reads every one of them. What `list`,
`convert` and `extend` print as JSON is for the moment of their call, and not in it.

- The version rises when a key changes its meaning or goes. Keys may be added without: what has a key that a reader does
  not know is refused with the key's name.
- A result of another version is refused with that version and the command that writes it anew. Results from before the
  schema, which have no `kind`, are known by their keys and read as version 1.
- A number's unit stands in the meaning of its key, in brackets, or in the key's name: `[token]`, `[byte]`, `[nat]`,
  `[rad/token]`; `[1]` is a ratio. No number is NaN or infinite: where there is none, the value is null.
- SARIF, GitHub annotations, Markdown and SVG that some commands print beside JSON have schemas of their own.

From Python:

```python
from ordinate.results import kinds, read, schema

assert "describe" in kinds()
assert schema()["$defs"]["describe"]["properties"]["kind"] == {{"description": '"describe"', "enum": ["describe"]}}
try:
    read({{"schema_version": 2, "kind": "plan"}})
except ValueError as error:
    assert "has schema version 2" in str(error)
```

## Kinds

"""


def page(table: Callable[[list[str], list[list[str]]], str]) -> str:
    """The page; `table` makes a table of Markdown."""
    parts = schema()["$defs"]
    text = INTRODUCTION.format(version=SCHEMA_VERSION, file=f"ordinate-{SCHEMA_VERSION}.schema.json")
    text += table(["kind", "printed by"], [[f"[`{kind}`](#{kind})", f"`{find(kind).command}`"] for kind in kinds()])
    for kind in kinds():
        text += f"\n## {kind}\n\n{parts[kind]['description']}\n\n" + keys(parts[kind], table)
    text += "\n## Objects\n\nWhat results are made of.\n"
    for name, part in sorted(parts.items()):
        if name not in kinds():
            text += f"\n### {name}\n\n{part.get('description', '')}\n\n" + keys(part, table)
    return text


def keys(part: dict[str, Any], table: Callable[[list[str], list[list[str]]], str]) -> str:
    """The keys of an object; those that may be left out have "may be left out" behind their type."""
    rows = []
    for name, held in part["properties"].items():
        optional = "" if name in part.get("required", ()) else ", may be left out"
        rows.append([f"`{name}`", words(held) + optional, held.get("description", "")])
    return table(["key", "type", "meaning"], rows)


def words(held: dict[str, Any]) -> str:
    """A type in words."""
    if "$ref" in held:
        name = held["$ref"].removeprefix("#/$defs/")
        anchor = name.lower().replace(".", "")
        return f"[{name}](#{anchor})"
    if "anyOf" in held:
        return " or ".join(words(one) for one in held["anyOf"])
    if "enum" in held:
        return ", ".join(f"`{one}`" if isinstance(one, str) else "null" for one in held["enum"])
    kind = held.get("type")
    if kind == "array":
        if "prefixItems" in held:
            return f"list of {', '.join(words(one) for one in held['prefixItems'])}"
        return f"list of {words(held['items'])}" if held.get("items") else "list"
    if kind == "object":
        values = held.get("additionalProperties")
        return f"object of {words(values)} by name" if isinstance(values, dict) and values else "object"
    return kind or "anything"
