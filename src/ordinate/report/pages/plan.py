"""The page of a plan: what a model takes, what fits, and where each number is from."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ordinate.describe.words import counted, figures
from ordinate.plan.result import Cell, Plan
from ordinate.report.bars import Bar, Bars
from ordinate.report.chart import ROLES, Chart, Line, Mark, Point
from ordinate.report.figure import figure
from ordinate.report.markup import Markup, breakable, element, facts, listing, table
from ordinate.report.numbers import count, fact, size
from ordinate.report.page import Page, Section
from ordinate.results.plan import PlanResult

GIB = 2.0**30
_NAMED = 3


def page(result: Mapping[str, Any]) -> Page:
    """What goes on the page of a plan.

    Args:
        result: as `ordinate.results.read` gives it
    """
    found = msgspec.convert(result, PlanResult)
    said, look = _headline(found)
    sections = [
        Section("verdict", "Verdict", [element("p", said, class_="headline"), listing(_limits(found))], look),
        Section("memory", "Memory by context", [*_curves(found), *_parts(found)]),
        _window(found),
        _layers(found),
        _tables(found),
        *_ways(found),
        Section("notes", "What to know", [listing(found.notes)]) if found.notes else None,
        _provenance(found),
        _requested(found),
    ]
    lead = f"Architecture {found.architecture}, read from a {found.container} file. Bytes are those of one device, the "
    lead += "rank that needs most; nothing was loaded or run."
    return Page(f"Plan for {found.name}", [lead], [part for part in sections if part is not None], said)


def _headline(found: Plan) -> tuple[str, str]:
    most = max(found.cells, key=lambda cell: cell.total_bytes)
    what = f"{counted(most.context, 'token')} × {count(most.batch)} take {size(most.total_bytes)}"
    if most.weights_bytes is None:
        what += " without the weights, which are not known"
    memory = found.requested.memory_bytes
    if memory is None:
        return f"{what}.", "verdict"
    fitting = sum(bool(cell.fits) for cell in found.cells)
    if found.ways is not None and found.ways.memory[0].fits is False:
        what += f". The target of {counted(found.ways.context, 'token')} does not fit as it was asked for"
        if fitting == len(found.cells):
            return f"All others fit in {size(memory)}: {what}.", "verdict worse"
    if fitting == len(found.cells):
        return f"All fit in {size(memory)}: {what}.", "verdict better"
    over = [f"{count(cell.context)} × {count(cell.batch)}" for cell in found.cells if not cell.fits]
    said = ", ".join(over[:_NAMED]) + (f" and {len(over) - _NAMED} more" if len(over) > _NAMED else "")
    do = "does" if len(over) == 1 else "do"
    return f"{fitting} of {len(found.cells)} fit in {size(memory)}; {said} {do} not. {what}.", "verdict worse"


def _limits(found: Plan) -> Iterator[str]:
    each = f", each sequence {size(found.sequence_bytes)} beside" if found.sequence_bytes else ""
    ranks = found.requested
    several = ranks.tensor_parallel * ranks.pipeline_parallel * ranks.context_parallel > 1
    where = "on all devices together" if several else "in all layers"
    yield f"One more token takes {count(found.token_bytes)} bytes {where}{each}."
    for one in found.largest.contexts:
        yield f"Batch {count(one.batch)}: {_most(one.context, 'token', unbounded=one.unbounded)}."
    for one in found.largest.batches:
        yield f"{counted(one.context, 'token')}: {_most(one.batch, 'sequence', unbounded=one.unbounded)}."


def _most(number: int | None, thing: str, *, unbounded: bool) -> str:
    if unbounded:
        return f"any number of {thing}s fits"
    if number is None:
        return f"not even one {thing} fits"
    return f"one {thing} fits" if number == 1 else f"{counted(number, thing)} fit"


def _curves(found: Plan) -> list[Markup]:
    """Memory against context, a line a batch, with all cells as a table; of one context, a bar a batch."""
    numbers = _cells(found.cells)
    batches = sorted({cell.batch for cell in found.cells})
    if len({cell.context for cell in found.cells}) == 1:
        return [figure(_bars(found), numbers, shown=True)]
    drawn = batches[: len(ROLES)]
    lines = [
        Line(role, f"batch {count(batch)}", [_point(cell) for cell in _of(found.cells, batch)])
        for role, batch in zip(ROLES, drawn, strict=False)
    ]
    contexts = sorted({cell.context for cell in found.cells})
    most = max(found.cells, key=lambda cell: cell.cache_bytes)
    memory = found.requested.memory_bytes
    summary = (
        f"The cache alone takes {size(most.cache_bytes)} at {counted(most.context, 'token')} × {count(most.batch)}."
    )
    if len(drawn) < len(batches):
        summary += f" The {len(drawn)} smallest batches of {len(batches)} are drawn."
    chart = Chart(
        "memory",
        "Memory of one device.",
        summary,
        "context, tokens",
        "GiB",
        lines,
        contexts,
        logarithmic=True,
        logarithmic_y=True,
        levels=[] if memory is None else [Mark(memory / GIB, f"memory: {size(memory)}")],
    )
    return [figure(chart, numbers, shown=True)]


def _bars(found: Plan) -> Bars:
    cells = sorted(found.cells, key=lambda cell: cell.batch)
    most, memory = cells[-1], found.requested.memory_bytes
    return Bars(
        "memory",
        f"Memory of one device at {counted(most.context, 'token')}.",
        f"The cache alone takes {size(most.cache_bytes)} at batch {count(most.batch)}.",
        "GiB",
        [Bar(f"batch {count(cell.batch)}", cell.total_bytes / GIB, size(cell.total_bytes)) for cell in cells],
        marks=[] if memory is None else [(memory / GIB, f"memory: {size(memory)}")],
    )


def _of(cells: Sequence[Cell], batch: int) -> list[Cell]:
    return sorted((cell for cell in cells if cell.batch == batch), key=lambda cell: cell.context)


def _point(cell: Cell) -> Point:
    return Point(cell.context, cell.context, cell.total_bytes / GIB)


def _cells(cells: Sequence[Cell]) -> Markup:
    header = ["Context", "Batch", "Cache", "Weights", "Tables", "Attention", "Kept free", "In all", "It fits"]
    rows = [
        [
            count(cell.context),
            count(cell.batch),
            size(cell.cache_bytes),
            "not known" if cell.weights_bytes is None else size(cell.weights_bytes),
            size(cell.tables_bytes),
            size(cell.scratch_bytes),
            size(cell.reserve_bytes),
            size(cell.total_bytes),
            "not asked" if cell.fits is None else "✓ yes" if cell.fits else "✗ no",
        ]
        for cell in cells
    ]
    return table("Memory of one device by context and batch", header, rows, heads=2)


def _parts(found: Plan) -> list[Markup]:
    """What the largest of the cells is made of."""
    most = max(found.cells, key=lambda cell: cell.total_bytes)
    parts = {
        "cache": most.cache_bytes,
        "weights": most.weights_bytes,
        "position tables": most.tables_bytes,
        "attention": most.scratch_bytes,
        "kept free": most.reserve_bytes,
    }
    known = {name: taken for name, taken in parts.items() if taken}
    inside = {
        "of the cache: states": most.state_bytes,
        "of the cache: keys and values of an encoder": most.cross_bytes,
        "of the cache: pages that are not full": most.waste_bytes,
        "beside: a dense mask with all biases": most.dense_bias_bytes,
        "beside: the cache on all ranks": most.ranks_cache_bytes,
    }
    rows = [[name, size(taken)] for name, taken in (parts | inside).items() if taken is not None]
    numbers = table("Parts of the largest", ["Part", "Bytes"], rows)
    if not known:
        return [numbers]
    largest = max(known, key=lambda name: known[name])
    chart = Bars(
        "parts",
        f"What {counted(most.context, 'token')} × {count(most.batch)} are made of.",
        f"The largest part is {largest}: {size(known[largest])} of {size(most.total_bytes)}.",
        "GiB",
        [Bar(name, taken / GIB, size(taken)) for name, taken in known.items()],
    )
    return [figure(chart, numbers)]


def _window(found: Plan) -> Section:
    reach = found.window

    def tokens(length: int | None, more: str = "") -> str:
        return "not known" if length is None else f"{counted(length, 'token')}{more}"

    rows = [
        ("Trained", tokens(reach.trained)),
        ("Declared", tokens(reach.declared)),
        ("Extended", "by no method" if reach.extended is None else tokens(reach.extended, f", by {reach.extended_by}")),
        (
            "Effective",
            "not validated"
            if reach.effective_source is None
            else f"{'none' if reach.effective is None else tokens(reach.effective)}: {reach.effective_source}",
        ),
    ]
    return Section("window", "The window", [facts("How far the model reaches", rows)])


def _layers(found: Plan) -> Section:
    header = [
        "Layers",
        "Kind",
        "How many",
        "Kept heads",
        "On a rank",
        "Copies",
        "Window",
        "Bytes a token, all devices",
        "A sequence",
    ]
    rows = [
        [
            one.name,
            one.kind,
            count(len(one.layers)),
            count(one.key_value_heads),
            count(one.rank_heads),
            count(one.copies),
            "all" if one.window is None else count(one.window),
            count(one.token_bytes),
            size(one.sequence_bytes),
        ]
        for one in found.layers
    ]
    return Section("layers", "What layers keep", [table("Layers that keep alike", header, rows)])


def _tables(found: Plan) -> Section | None:
    if not found.tables:
        return None
    header = ["Layers", "Scheme", "Learned parameters", "At the longest context", "As long as the declared window"]
    rows = [
        [
            one.name,
            one.scheme,
            count(one.parameters),
            size(one.bytes),
            "not known" if one.declared_bytes is None else size(one.declared_bytes),
        ]
        for one in found.tables
    ]
    return Section("tables", "Position tables", [table("What position takes beside keys and values", header, rows)])


def _ways(found: Plan) -> list[Section]:
    ways = found.ways
    if ways is None:
        return []
    methods = [[one.method, figures(one.factor), one.training] for one in ways.position]
    header = ["Way", "Format", "Batch", "Devices", "Cache", "Weights", "In all", "It fits"]
    rows = [
        [
            one.what,
            one.kv,
            count(one.batch),
            count(one.devices),
            size(one.cache_bytes),
            "not known" if one.weights_bytes is None else size(one.weights_bytes),
            size(one.total_bytes),
            "not asked" if one.fits is None else "✓ yes" if one.fits else "✗ no",
        ]
        for one in ways.memory
    ]
    fitting = sum(bool(one.fits) for one in ways.memory)
    said = f"{counted(len(methods), 'method')} for positions and {counted(len(rows), 'way')} for memory reach "
    said += f"{counted(ways.context, 'token')}; any method goes with any way."
    if ways.memory[0].fits is not None:
        said += f" {fitting} of the ways for memory {'fits' if fitting == 1 else 'fit'}."
    positions = table("Ways for positions", ["Method", "Factor", "Training"], methods)
    body = [element("p", said), *([positions] if methods else []), table("Ways for memory", header, rows)]
    return [Section("ways", "Ways to the target", body)]


def _provenance(found: Plan) -> Section:
    weights = found.weights
    known = "not known" if weights.bytes is None else size(weights.bytes)
    rest = [(breakable(name), source) for name, source in found.provenance.items() if name != "weights"]
    return Section(
        "provenance",
        "Where each number is from",
        [facts("Sources", [("weights", f"{known}: {weights.source}"), *rest])],
    )


def _requested(found: Plan) -> Section:
    asked = msgspec.to_builtins(found.requested)
    rows = [(name.replace("_", " "), _said(value)) for name, value in asked.items()]
    return Section("requested", "What was asked for", [facts("The request", rows)])


def _said(value: Any) -> str | None:
    if isinstance(value, list | tuple):
        return ", ".join(map(count, value))
    return None if value is None else fact(value) if isinstance(value, bool | str) else count(value)
