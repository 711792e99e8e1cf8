"""Write the pages that are made from the code, and the command line's index: `make docs`.

With --check nothing is written: the exit code is 1, with the names of the files that differ, if any would change.
"""

import importlib
import re
import sys
from pathlib import Path

import typer
from typer.main import get_command

from ordinate import registry, scheme, schemes

ROOT = Path(__file__).resolve().parent.parent
NOTE = "<!-- Made by `make docs` from the code. Change the code, not this page. -->\n\n"
TOKENS = 4096


def main(check: bool) -> int:
    """Write every generated file, or with `check` name those that would change; return the exit code."""
    stale = []
    for path, text in pages().items():
        file = ROOT / path
        if file.exists() and file.read_text(encoding="utf-8") == text:
            continue
        stale.append(path)
        if not check:
            file.write_text(text, encoding="utf-8")
    if stale:
        print(f"{'stale' if check else 'written'}: {', '.join(stale)}")
    return int(check and bool(stale))


def pages() -> dict[str, str]:
    """Each generated file by its path from the root."""
    return {
        "docs/schemes.md": schemes_page(),
        "docs/scalings.md": scalings_page(),
        "docs/cli.md": cli_page(),
        "src/ordinate/cli/index.py": index(),
    }


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def schemes_page() -> str:
    """Every scheme from its `Facts`, its example and its cost."""
    found = [scheme(name) for name in schemes()]
    text = NOTE + "# Positional schemes\n\nA Transformer can learn where a token stands at three places: in the "
    text += "embedding (additive), by a turn of q and k (rotary), or on the attention logits (bias).\n\n"
    rows = [[f"`{c.name}`", c.kind, c.facts.adds, c.facts.enters, c.facts.learned, c.facts.beyond] for c in found]
    text += table(["name", "kind", "adds", "enters at", "learned", "past the trained length"], rows)
    text += (
        f"\n## What each costs\n\nFor the example in the second column at {TOKENS:,} tokens. Bytes are of a float32 "
    )
    text += "table; operations are those of one layer and one sequence (a rotary scheme: one head of q or k; an "
    text += "additive scheme: once a model).\n\n"
    rows = []
    for cls in found:
        example = cls.example()
        cost = example.cost(TOKENS)
        numbers = [f"{n:,}" for n in (cost.parameters, cost.table_bytes, cost.operations)]
        rows.append([f"`{cls.name}`", f"`{example!r}`", *numbers, ", ".join(sorted(cls.traits)) or "none"])
    text += table(["name", "example", "parameters", "table bytes", "operations", "laws"], rows)
    text += "\n## Sources\n\n" + "".join(f"- `{c.name}`: {c.facts.source}\n" for c in found)
    return text


def scalings_page() -> str:
    """Every scaling method from its facts."""
    found = [registry.lookup("ordinate.scaling", name, "scaling method") for name in registry.names("ordinate.scaling")]
    rows = [
        [f"`{c.name}`", c.facts.does, c.facts.needs_training, ", ".join(sorted(c.traits)) or "none", c.facts.source]
        for c in found
    ]
    text = NOTE + "# Scaling methods\n\nHow trained rotary frequencies are stretched to a longer window.\n\n"
    return text + table(["name", "does", "needs training", "laws", "source"], rows)


def command_names() -> list[str]:
    """The modules of the command line that are commands."""
    names = [p.stem for p in sorted((ROOT / "src/ordinate/cli").glob("*.py"))]
    return [
        n for n in names if not n.startswith("_") and hasattr(importlib.import_module(f"ordinate.cli.{n}"), "command")
    ]


def one_line(name: str) -> str:
    """The first sentence of a command's docstring."""
    return importlib.import_module(f"ordinate.cli.{name}").command.__doc__.strip().splitlines()[0]


def index() -> str:
    """The source of `ordinate.cli.index`."""
    text = '"""The commands and their one-line helps. Written by `make docs`; a test holds it to the commands."""\n\n'
    lines = [f'    "{name}": "{one_line(name)}",\n' for name in command_names()]
    return text + "COMMANDS = {\n" + "".join(lines) + "}\n"


def cli_page() -> str:
    """Every command's `--help`."""
    from ordinate.cli import usage

    text = NOTE + "# Command line\n\n```\n" + usage() + "\n```\n"
    for name in command_names():
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command()(importlib.import_module(f"ordinate.cli.{name}").command)
        command = get_command(app)
        with command.make_context(f"ordinate {name}", [], resilient_parsing=True) as context:
            context.terminal_width = context.max_content_width = 100
            help_text = re.sub(r"[ \t]+$", "", command.get_help(context), flags=re.MULTILINE).strip()
        text += f"\n## ordinate {name}\n\n```\n{help_text}\n```\n"
    return text


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
