"""A plan as text for a terminal."""

import textwrap
from collections.abc import Iterator, Sequence

from ordinate.describe.words import counted, number, printable, ranges
from ordinate.plan.result import Cell, Layers, Plan, Ways
from ordinate.plan.sizes import in_words

WIDTH = 96
LABEL = 16


def to_text(plan: Plan, *, sources: bool = False) -> str:
    """A plan in lines of at most 96 columns: how far the model reaches, what each context and batch takes, what fits.

    Args:
        plan: to be shown
        sources: say for each number where it is from

    Returns:
        Plain text without an end of line; control characters in names from files are escaped
    """
    asked = plan.requested
    lines = [f"{printable(plan.name)}: {printable(plan.architecture)}, cache in {asked.kv}", ""]
    lines.append(f"{'window':<{LABEL}} {_window(plan)}")  # one line, however long
    lines += _line("weights", _weights(plan))
    if plan.layers:
        per = f"{number(plan.token_bytes)} B a token{' on all devices' if _devices(plan) else ''}"
        rest = f", {in_words(plan.sequence_bytes)} a sequence besides" if plan.sequence_bytes else ""
        lines += _line("cache", per + rest)
    for layers in plan.layers:
        lines += _line(printable(layers.name), _layers(layers, asked.tensor_parallel), indent=2)
    for table in plan.tables:
        if table.parameters:
            size = f"{number(table.parameters)} parameters, part of the weights"
            lines += _line("position table", f"{table.scheme}: {size}")
    lines += _line("devices", _devices(plan)) if _devices(plan) else []
    lines += ["", *_cells(plan)]
    lines += _largest(plan)
    if plan.ways is not None:
        lines += ["", *_ways(plan.ways)]
    if plan.notes:
        lines += ["", "notes"]
        for note in plan.notes:
            lines += textwrap.wrap(printable(note), WIDTH, initial_indent="  - ", subsequent_indent="    ")
    if sources:
        lines += ["", "sources"]
        for name, source in plan.provenance.items():
            lines += _line(printable(name), printable(source), indent=2, width=34)
    return "\n".join(lines)


def _window(plan: Plan) -> str:
    reach = plan.window
    said = [
        "trained unknown" if reach.trained is None else f"trained {number(reach.trained)}",
        "declared unknown" if reach.declared is None else f"declared {number(reach.declared)}",
        "not extended" if reach.extended is None else f"extended {number(reach.extended)} by {reach.extended_by}",
    ]
    if reach.effective is not None:
        said.append(f"effective {number(reach.effective)} ({printable(reach.effective_source or '')})")
    elif reach.effective_source is not None:
        said.append(f"effective none ({printable(reach.effective_source)})")
    else:
        said.append("effective not validated")
    return " · ".join(said)


def _weights(plan: Plan) -> str:
    weights = plan.weights
    if weights.bytes is None:
        return printable(weights.source)
    count = "" if weights.parameters is None else f", {number(weights.parameters)} parameters"
    rank = "" if weights.rank_bytes in (None, weights.bytes) else f", {in_words(weights.rank_bytes)} on a device"
    return f"{in_words(weights.bytes)}{rank}{count} ({printable(weights.source)})"


def _layers(layers: Layers, tensor: int) -> str:
    text = f"{layers.kind}, {counted(len(layers.layers), 'layer')} ({ranges(layers.layers)})"
    if layers.kind == "state":
        return f"{text}: {in_words(layers.sequence_bytes)} a sequence, however long"
    if layers.kind == "MLA":
        text += f": a latent of {layers.value_dim} and a rotary key of {layers.key_dim}"
    elif layers.kind == "indexer":
        text += f": a key of {layers.key_dim}"
    else:
        width = f"{layers.key_dim}" if layers.key_dim == layers.value_dim else f"{layers.key_dim}+{layers.value_dim}"
        text += f": {counted(layers.key_value_heads, 'head')} of {width}"
    if layers.window is not None:
        text += f", the last {counted(layers.window, 'token')}"
    if layers.kind == "cross-attention":
        text += f": {in_words(layers.sequence_bytes)} a sequence"
    else:
        text += f": {number(layers.token_bytes)} B a token"
    if tensor > 1:
        copies = f", {layers.copies} copies of each" if layers.copies > 1 else ""
        text += f"; {layers.rank_heads} on a rank{copies}"
    return text


def _devices(plan: Plan) -> str:
    asked = plan.requested
    counts = (
        ("tensor", asked.tensor_parallel),
        ("pipeline", asked.pipeline_parallel),
        ("context", asked.context_parallel),
    )
    product = asked.tensor_parallel * asked.pipeline_parallel * asked.context_parallel
    if product == 1:
        return ""
    said = ", ".join(f"{count} {name}-parallel" for name, count in counts if count > 1)
    return f"{product} ({said}); sizes below are of the one that needs most"


def _cells(plan: Plan) -> Iterator[str]:
    shown = {
        "cache": True,
        "of it state": any(cell.state_bytes for cell in plan.cells),
        "of it waste": any(cell.waste_bytes for cell in plan.cells),
        "tables": True,
        "scratch": True,
        "weights": plan.weights.bytes is not None,
        "reserve": bool(plan.requested.reserve_bytes),
        "total": True,
        "fits": plan.requested.memory_bytes is not None,
        "dense bias mask": any(cell.dense_bias_bytes for cell in plan.cells),
    }
    head = ["context", "batch", *(name for name, here in shown.items() if here)]
    yield from _columns(head, [[*_cell(cell, shown)] for cell in plan.cells])


def _cell(cell: Cell, shown: dict[str, bool]) -> Iterator[str]:
    values = {
        "cache": in_words(cell.cache_bytes),
        "of it state": in_words(cell.state_bytes),
        "of it waste": in_words(cell.waste_bytes),
        "tables": in_words(cell.tables_bytes),
        "scratch": in_words(cell.scratch_bytes),
        "weights": in_words(cell.weights_bytes or 0),
        "reserve": in_words(cell.reserve_bytes),
        "total": in_words(cell.total_bytes),
        "fits": "yes" if cell.fits else "no",
        "dense bias mask": in_words(cell.dense_bias_bytes),
    }
    yield number(cell.context)
    yield number(cell.batch)
    yield from (values[name] for name, here in shown.items() if here)


def _largest(plan: Plan) -> list[str]:
    memory = plan.requested.memory_bytes
    if memory is None:
        return []
    reserve = plan.requested.reserve_bytes
    kept = f", of which {in_words(reserve)} are kept free" if reserve else ", with nothing kept free"
    lines = ["", f"what fits {in_words(memory)}{kept}"]
    for one in plan.largest.contexts:
        said = "no length" if one.context is None else f"up to {counted(one.context, 'token')}"
        if one.context is not None and plan.window.declared is not None and one.context > plan.window.declared:
            said += f", more than the {number(plan.window.declared)} declared"
        lines += _line(f"batch {number(one.batch)}", "any length" if one.unbounded else said, indent=2, width=22)
    for one in plan.largest.batches:
        said = "not one sequence" if one.batch is None else f"up to {counted(one.batch, 'sequence')}"
        lines += _line(f"context {number(one.context)}", "any batch" if one.unbounded else said, indent=2, width=22)
    return lines


def _ways(ways: Ways) -> Iterator[str]:
    yield f"ways to {counted(ways.context, 'token')}, for positions"
    if ways.position:
        rows = [[one.method, number(one.factor), one.training] for one in ways.position]
        yield from _columns(["method", "factor", "training"], rows)
    else:
        yield "  none is known: the files do not say how long the model was trained"
    said = any(one.fits is not None for one in ways.memory)
    known = ways.memory[0].weights_bytes is not None
    head = ["way", "batch", "cache", *(["weights"] if known else []), "total", *(["fits"] if said else [])]
    rows = []
    for one in ways.memory:
        row = [one.what, number(one.batch), in_words(one.cache_bytes)]
        row += [in_words(one.weights_bytes or 0)] if known else []
        rows.append([*row, in_words(one.total_bytes), *(["yes" if one.fits else "no"] if said else [])])
    yield ""
    asked = f"{counted(ways.context, 'token')} at batch {number(ways.batch)}"
    yield f"ways to {asked}, for memory: any goes with any for positions"
    yield from _columns(head, rows)
    if said and not any(one.fits for one in ways.memory):
        yield "  none of them fits, and no two of them together do"


def _columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    for row in (head, *rows):
        yield ("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()


def _line(label: str, text: str, *, indent: int = 0, width: int = LABEL) -> list[str]:
    start = " " * indent + f"{label:<{width - indent}} "
    return textwrap.wrap(text, WIDTH, initial_indent=start, subsequent_indent=" " * len(start)) or [start.rstrip()]
