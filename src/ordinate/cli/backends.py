"""`ordinate backends`: what `rotate` and `attend` run on here."""

from typing import Annotated, Any, Literal

import typer


def command(
    format: Annotated[Literal["text", "json"], typer.Option(help="What to print.")] = "text",
) -> None:
    """Say which backends are here, with their instruction sets and threads, and what the absent ones need."""
    import json

    rows = _rows()
    if format == "json":
        typer.echo(json.dumps(rows, indent=2))
        return
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        typer.echo(f"{row['name']:<{width}}  {'here' if row['here'] else 'absent':<6}  {_line(row)}")


def _rows() -> list[dict[str, Any]]:
    from importlib.util import find_spec

    from ordinate.ops.backends import NOT_COMPILED, compiled

    torch = find_spec("torch") is not None
    rows: list[dict[str, Any]] = [
        {"name": "reference", "here": True, "summary": "NumPy in float64: the definition"},
        {"name": "eager", "here": torch, "summary": "PyTorch's own operators, on every device"},
        {"name": "cpu", "here": compiled is not None, "summary": "compiled C++"},
        {"name": "gpu", "here": False, "summary": "Triton", "needs": "it is not part of this version"},
    ]
    if not torch:
        rows[1]["needs"] = "install ordinate with its extra [torch]"
    if compiled is None:
        rows[2]["needs"] = NOT_COMPILED
    else:
        rows[2] |= {
            "instruction_sets": compiled.instruction_sets(),
            "in_use": compiled.instruction_set(),
            "threads": compiled.threads(),
        }
    return rows


def _line(row: dict[str, Any]) -> str:
    if not row["here"]:
        return f"{row['summary']}; {row['needs']}"
    if "in_use" not in row:
        return row["summary"]
    threads = f"{row['threads']} thread{'s' if row['threads'] > 1 else ''}"
    return f"{row['summary']}: {row['in_use']} (of {', '.join(row['instruction_sets'])}), {threads}"
