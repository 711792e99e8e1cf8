"""Write the pages that are made from the code, and the command line's index: `make docs`.

With --check nothing is written: the exit code is 1, with the names of the files that differ, if any would change.
"""

import contextlib
import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import typer
from typer.main import get_command

from ordinate import registry, scheme, schemes
from ordinate.errors import InputError
from ordinate.results import SCHEMA_VERSION, schema

ROOT = Path(__file__).resolve().parent.parent
NOTE = "<!-- Made by `make docs` from the code. Change the code, not this page. -->\n\n"
RESULTS_NOTE = "<!-- Made by `make docs` from benchmarks/results/. Measure again; change nothing here. -->\n\n"
AUDITED_NOTE = (
    "<!-- Made by `make docs` from tests/golden/audited.json. Run tools/audit_architectures.py again. -->\n\n"
)
TOKENS = 4096


def main(check: bool) -> int:
    """Write every generated file, or with `check` name those that would change; return the exit code."""
    stale = []
    for path, text in pages().items():
        file = ROOT / path
        if file.exists() and same(path, file.read_text(encoding="utf-8"), text):
            continue
        stale.append(path)
        if not check:
            file.write_text(text, encoding="utf-8")
    if stale:
        print(f"{'stale' if check else 'written'}: {', '.join(stale)}")
    return int(check and bool(stale))


def same(path: str, old: str, new: str) -> bool:
    """Whether a file is as it would be written; the places in a picture may differ by what machines round otherwise."""
    if not path.endswith(".svg"):
        return old == new
    parts = [re.split(r"(-?\d+\.\d+)", text) for text in (old, new)]
    if len(parts[0]) != len(parts[1]) or parts[0][::2] != parts[1][::2]:
        return False
    return all(abs(float(a) - float(b)) < 0.01 for a, b in zip(parts[0][1::2], parts[1][1::2], strict=True))


def pages() -> dict[str, str]:
    """Each generated file by its path from the root."""
    return {
        "docs/schemes.md": schemes_page(),
        "docs/scalings.md": scalings_page(),
        "docs/rules.md": rules_page(),
        "docs/audit_checks.md": audit_page(),
        "docs/cli.md": cli_page(),
        "docs/benchmarks.md": benchmarks_page(),
        "docs/engines.md": engines_page(),
        "docs/audited.md": audited_page(),
        "docs/tasks.md": tasks_page(),
        "docs/claims.md": claims_page(),
        **pictures(),
        "docs/schema.md": schema_page(),
        f"docs/ordinate-{SCHEMA_VERSION}.schema.json": json.dumps(schema(), indent=1, ensure_ascii=False) + "\n",
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


def rules_page() -> str:
    """Every lint rule from what it says of itself."""
    from ordinate.rules import rules

    found = rules()
    text = (
        NOTE + "# Rules\n\n`ordinate check PATH` asks every rule without an engine; `--engine NAME` asks those about "
    )
    text += "that engine as well. The exit code is 1 where something is found at or above `--severity`, by default "
    text += (
        "warning. A note says what to know, a warning what is risky or wrong in some engine, an error what is wrong in "
    )
    text += f"all. `ordinate check --explain RULE` prints one entry.\n\nThere are {len(found)} rules.\n\n"
    rows = [[f"`{r.id}`", r.severity, ", ".join(r.engines) or "all", r.explanation] for r in found]
    text += table(["rule", "severity", "engines", "what it finds"], rows)
    for rule in found:
        example = json.dumps(rule.example, indent=2)
        text += f"\n## {rule.id}\n\n{rule.explanation} {rule.why}\n\nFix: {rule.remedy}\n\n"
        text += f"Reports: {', '.join(rule.reports)}.\n\n```json\n{example}\n```\n"
    return text


def audit_page() -> str:
    """Every check of the audit and every kind of fault from what they say of themselves."""
    from ordinate.audit import all_checks
    from ordinate.audit.kinds import KINDS

    found = all_checks()
    text = NOTE + "# Checks and kinds of fault\n\n`ordinate audit` runs every check; `--checks` those that are named. "
    text += "Each computes in another way what one plain pass has computed. See [Auditing](auditing.md).\n\n"
    text += f"There are {len(found)} checks of local models and {len(KINDS)} kinds of fault.\n\n## Checks\n\n"
    rows = [[f"`{c.id}`", c.explanation, ", ".join(f"`{k}`" for k in c.kinds)] for c in found]
    text += table(["check", "what must be equal", "kinds that it can tell"], rows)
    text += "\nWhat to do where a check fails:\n\n"
    text += "".join(f"- `{check.id}`: {check.remedy}\n" for check in found)
    text += "\n## Kinds of fault\n"
    for kind in KINDS.values():
        text += f"\n### {kind.name}\n\n{kind.title} ({kind.severity})\n\nWhat to do: {kind.remedy}\n"
        text += f"\nReports: {', '.join(kind.reports)}.\n" if kind.reports else ""
    return text


def engines_page() -> str:
    """Which engine can hold what, from what each writes and computes of one example of each setting."""
    told = beside("engine_examples")
    engines = [registry.lookup("ordinate.dialects", name, "engine")() for name in registry.names("ordinate.dialects")]
    rows, losses = [], []
    for engine in engines:
        cells, lost = [], {}
        for title, spec in told.EXAMPLES.items():
            try:
                written = engine.write(spec)
            except InputError:
                cells.append("no words")
                continue
            found = [loss for loss in written.losses if loss.setting != "max_position_embeddings"]
            cells.append("no" if found else "yes, by steps" if written.steps else "yes")
            for loss in written.losses:
                lost.setdefault(loss.setting, (title, loss))
        rows.append([f"`{engine.name}`", *cells])
        losses.append((engine, lost))
    text = NOTE + "# Engines\n\n" + told.INTRODUCTION + "\n" + table(["engine", *told.EXAMPLES], rows)
    text += "\n## What is lost, and where that can be seen\n"
    for engine, lost in losses:
        text += f"\n### {engine.title}\n\n`{engine.name}`, version read: {engine.version}.\n\n"
        found = [[f"`{setting}`", title, loss.what, loss.source] for setting, (title, loss) in sorted(lost.items())]
        text += table(["setting", "in the example", "loss", "source"], found) if found else "Nothing of these.\n"
    return text


def tasks_page() -> str:
    """Every task of the validation, with an instance that it makes."""
    return NOTE + beside("tasks_page").page()


def claims_page() -> str:
    """What is said of position, with the numbers that settle it."""
    with contextlib.chdir(ROOT):
        return NOTE + beside("claims_page").page()


def pictures() -> dict[str, str]:
    """The page of plots and its pictures, each drawn by its command."""
    with contextlib.chdir(ROOT):
        found = beside("plots_page").pages()
    return found | {"docs/plots.md": NOTE + found["docs/plots.md"]}


def schema_page() -> str:
    """Every kind of result with its keys, their types, meanings and units."""
    return NOTE + beside("schema_page").page(table)


def beside(name: str) -> Any:
    """A module of this folder."""
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.pop(0)


INTRODUCTION = """# Benchmarks

The tests and the accuracy of a result come first: what is off is not timed. Contenders take turns in one process. A
figure is read off each round; below stand the median over the rounds and its 95 % bootstrap interval. A bar is on
the lower end of the interval: what must be at most so much is met where the lower end is below (where the median is
not, that is said), and what must be at least so much where even the lower end is above. Where contenders make large
memory anew they are timed twice, with the C library's allocator as it is and with one that keeps what it has
(MALLOC_...), and the worse of the two counts. What memory `attend` takes is held to its bars by a test,
`tests/ops/test_attend_memory.py`.

`make bench` measures everything again (what the client of servers adds: `benchmarks/client.py`), and `ordinate bench`
what a machine needs no repository for. Seconds are in benchmarks/results/. On shared processors figures may be far
off: a neighbour on the same core halves one contender and not the other.

Words: p128 is a prompt of 4096 tokens with 32 query and 8 key heads of 128 channels, p64 four of 2048 tokens with 9
and 3 heads of 64; d1 and d32 are one new token of one or 32 sequences with the heads of p128. The memory limit is
the time in which the same memory is read and written once, one read of the cache that in which keys and values are
read, each with as many threads as its contender. Terms: none; rope, turned inside; alibi, a slope for each head;
t5, a table over distance, learned where its gradient is timed. A dynamic cache grows by copying, a static one has
its length from the start.

"""


def audited_page() -> str:
    """What the audit says of small models of transformers' architectures, from tests/golden/audited.json."""
    from ordinate.audit.kinds import KINDS

    result = json.loads((ROOT / "tests/golden/audited.json").read_text(encoding="utf-8"))
    versions = " and ".join(f"{name} {version}" for name, version in result["versions"].items())
    text = (
        AUDITED_NOTE + "# Architectures under audit\n\nWhat `ordinate audit` says of small models with random weights, "
    )
    text += f"built from the configuration classes of {versions}, in float32. A check is passed, finds a fault, is "
    text += "refused (the model's own code raises an error, as it should past a table's end), or does not apply. "
    text += (
        "[Checks and kinds of fault](audit_checks.md) says what each is. `torch-compile` is left out: it takes longer "
    )
    text += "than all others.\n\n"
    rows = []
    for name, said in result["architectures"].items():
        by_status: dict[str, list[str]] = {}
        for check, status in said["checks"].items():
            by_status.setdefault(status, []).append(check.replace("_", "-"))
        found = {kind: check for check, kinds in said["kinds"].items() for kind in kinds}
        faults = ", ".join(f"`{kind}` ({check.replace('_', '-')})" for kind, check in sorted(found.items()))
        refused = ", ".join(by_status.get("refused", []))
        passed, left_out = (str(len(by_status.get(status, []))) for status in ("passed", "not applicable"))
        rows.append([name, said["does"], passed, faults or "nothing", refused or "nothing", left_out])
    text += table(["model", "position", "passed", "found", "refused", "does not apply"], rows)
    seen = {kind for said in result["architectures"].values() for kinds in said["kinds"].values() for kind in kinds}
    text += "\n## What was found\n\n"
    text += "".join(f"- `{kind}`: {KINDS[kind].title} {KINDS[kind].remedy}\n" for kind in sorted(seen))
    return text


def benchmarks_page() -> str:
    """Every figure of benchmarks/results/ with all that it depends on, those that miss their bar first."""
    files = sorted((ROOT / "benchmarks" / "results").glob("*.json"))
    measured = [m for file in files for m in json.loads(file.read_text(encoding="utf-8"))["measurements"]]
    machines: list[str] = []
    rows: dict[str, list[list[str]]] = {}
    unmet = []
    for m in measured:
        versions = ", ".join(f"{name} {version}" for name, version in m["versions"].items())
        kernels = f"kernels for {m['instruction set']}" if m["instruction set"] else "no kernels"
        machine = f"{m['processor']}, {m['cores']} cores, {kernels}; {versions}"
        if machine not in machines:
            machines.append(machine)
        for figure in m["figures"]:
            cells = figure_cells(m, figure, machines.index(machine) + 1)
            rows.setdefault(m["case"], []).append(cells)
            if figure.get("bar", "met") != "met":
                unmet.append([m["case"], *cells])
    text = RESULTS_NOTE + INTRODUCTION + "## Machines\n\n"
    text += "".join(f"{number}. {machine}\n" for number, machine in enumerate(machines, 1))
    head = ["figure", "median", "interval", "bar", "it is", "threads", "clock", "rounds", "malloc", "machine"]
    text += "\n## Bars that are not met\n\n"
    text += table(["case", *head], unmet) if unmet else "None of those measured.\n"
    for case, lines in rows.items():
        text += f"\n## {case}\n\n" + table(head, lines)
    return text


def figure_cells(measurement: dict[str, Any], figure: dict[str, Any], machine: int) -> list[str]:
    """A row: the figure, its bar and what was measured how."""
    unit = {"x": "×", "us": " µs"}[figure["unit"]]
    bar = next((f"{word} {figure[word]:g}{unit}" for word in ("at most", "at least") if word in figure), "none")
    threads = sorted({contender["threads"] for contender in measurement["contenders"].values()})
    return [
        figure["name"],
        f"{figure['median']:.3g}{unit}",
        " to ".join(f"{end:.3g}" for end in figure["interval"]),
        bar,
        figure.get("bar", ""),
        " and ".join(map(str, threads)),
        measurement["clock"].split(" time")[0],
        str(measurement["rounds"]),
        measurement["malloc"],
        str(machine),
    ]


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
