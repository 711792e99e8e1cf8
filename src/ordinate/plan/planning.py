"""From a model and a request to a plan."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ordinate.errors import InputError
from ordinate.plan.cost import cache_bytes
from ordinate.plan.held import Holding
from ordinate.plan.layers import Cached, entry_bytes
from ordinate.plan.planner import FLOATS, Planner
from ordinate.plan.provenance import notes, provenance
from ordinate.plan.ranks import rank_heads
from ordinate.plan.request import Request
from ordinate.plan.result import Layers, Plan, Requested, Weights
from ordinate.plan.subject import open_subject
from ordinate.plan.tables import tables
from ordinate.plan.ways import ways
from ordinate.plan.window import reach


def plan(
    source: str | os.PathLike[str] | Mapping[str, Any], request: Request | None = None, *, run: Path | None = None
) -> Plan:
    """Say what a model takes and what fits, before it runs.

    Args:
        source: as `ordinate.read` takes it: a path, a model's name, or a configuration as a dict
        request: how it is to run; where not given, one sequence as long as the declared window
        run: the folder of a validation run of this model, for its effective length

    Raises:
        InputError: the source cannot be read, its architecture is not known, its numbers do not suffice, or what is
            asked for does not go together
        Unavailable: a named model's package is not installed

    >>> found = plan("llama-2-7b", Request(contexts=(4096,)))
    >>> found.cells[0].cache_bytes == 2 * 2**30, found.token_bytes
    (True, 524288)
    """
    planner = Planner.of(open_subject(source), Request() if request is None else request)
    spec, asked = planner.subject.spec, planner.request
    layers = tuple(_layers(planner, cached) for cached in planner.layers)
    cells = tuple(planner.planned(context, batch) for context, batch in planner.asked)
    slope = sum(
        found.token_bytes
        for found, cached in zip(layers, planner.layers, strict=True)
        if cached.kind != "cross" and not _bounded(planner, cached)
    )
    return Plan(
        spec.name,
        spec.architecture,
        spec.container,
        _requested(planner),
        layers,
        slope,
        _fixed(planner),
        _weights(planner),
        tables(spec, max(planner.contexts)),
        cells,
        planner.largest(),
        reach(spec, run),
        None if asked.target is None else ways(planner, asked.target),
        provenance(planner),
        notes(planner),
    )


def _bounded(planner: Planner, cached: Cached) -> bool:
    """Whether a long text adds nothing to what these layers keep.

    A window as long as all that is planned never slides: there each token adds to it.
    """
    how = planner.request.holding
    if how.recent is not None or cached.window is None or how.allocator == "full":
        return how.recent is not None
    return cached.window < max(planner.subject.spec.window.declared or 0, *planner.contexts)


def _layers(planner: Planner, cached: Cached) -> Layers:
    keys, values = (found.bytes_per_head for found in planner.formats)
    heads, copies = rank_heads(cached, planner.request.ranks.tensor)
    kind = {"latent": "MLA", "cross": "cross-attention", "state": "state"}.get(cached.kind) or _kind(cached)
    size = FLOATS[planner.dtype]
    fixed = sum(state.numbers * (state.bytes or size) for state in cached.states) * cached.count
    if cached.kind == "cross":
        fixed = cached.count * planner.encoder_tokens(max(planner.contexts)) * entry_bytes(cached, keys, values)
    return Layers(
        cached.name,
        "indexer" if cached.name == "indexer" else kind,
        cached.layers,
        cached.heads,
        heads,
        copies,
        cached.key_dim,
        cached.value_dim,
        cached.window,
        0 if cached.kind == "cross" else round(cached.count * entry_bytes(cached, keys, values)),
        round(fixed),
    )


def _kind(cached: Cached) -> str:
    if cached.heads == cached.query_heads:
        return "MHA"
    return "MQA" if cached.heads == 1 else "GQA"


def _fixed(planner: Planner) -> int:
    """What a long sequence takes beside what grows: windows filled, states, an encoder's tokens."""
    how = planner.request.holding
    held = Holding(how.allocator, None, how.sinks, how.recent)
    longest = max((cached.window or 0 for cached in planner.layers), default=0) + (how.recent or 0) + how.sinks
    bounded = [cached for cached in planner.layers if cached.kind in ("cross", "state") or _bounded(planner, cached)]
    return cache_bytes(
        bounded,
        max(longest, 1),
        1,
        planner.formats,
        held,
        encoder_tokens=planner.encoder_tokens(max(planner.contexts)),
        state_bytes=FLOATS[planner.dtype],
    ).total


def _weights(planner: Planner) -> Weights:
    found = planner.weights
    if found is None:
        return Weights(None, None, None, None, f"not known: {planner.no_weights}")
    most = max((weights or 0 for weights in planner.stage_weights), default=0)
    return Weights(found.bytes, found.numbers or None, found.dtype, most, found.source)


def _requested(planner: Planner) -> Requested:
    asked, ranks = planner.request, planner.request.ranks
    if asked.target is not None and asked.target < 1:
        raise InputError("target must be >= 1")
    return Requested(
        planner.contexts,
        asked.batches,
        asked.memory,
        asked.reserve,
        "/".join(dict.fromkeys(found.name for found in planner.formats)),
        ranks.tensor,
        ranks.pipeline,
        ranks.context,
        asked.allocator,
        asked.page_size,
        asked.shared_prefix,
        asked.sinks,
        asked.recent,
        asked.attention,
        asked.queries,
        planner.encoder_tokens(max(planner.contexts)) if planner.kept.crosses else None,
        asked.expand_latent,
        asked.target,
    )
