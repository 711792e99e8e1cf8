"""What a model takes at any context, batch and format, on the rank that needs most."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import msgspec

from ordinate.errors import InputError
from ordinate.plan.cost import CacheBytes, cache_bytes, check_ranks, expanded, on_stage
from ordinate.plan.fitting import MOST, largest
from ordinate.plan.formats import Format, pair_of
from ordinate.plan.keeping import Keeping, keeping
from ordinate.plan.layers import Cached
from ordinate.plan.ranks import check_heads, stages
from ordinate.plan.request import Request
from ordinate.plan.result import Cell, Largest, LargestBatch, LargestContext
from ordinate.plan.scratch import dense_bias_bytes, scratch_bytes
from ordinate.plan.subject import Subject, dtype_of
from ordinate.plan.tables import tables_bytes
from ordinate.plan.values import Missing
from ordinate.plan.weights import Part, Parts, rank_bytes, shaped, stored

FLOATS = {"float32": 4, "float16": 2, "bfloat16": 2}


@dataclass(frozen=True)
class Planner:
    """A model and how it is to run.

    Args:
        subject: the model
        request: how it runs
        kept: what its layers keep, as its architecture says
        layers: the same, with MLA's latents expanded where that is asked for
        formats: of keys and of values
        dtype, dtype_source: the model's own floats, and where they are from
        weights: or None where they are not known
        no_weights: why not; else empty
        contexts: what was asked for, else the declared window, [token]
    """

    subject: Subject
    request: Request
    kept: Keeping
    layers: tuple[Cached, ...]
    formats: tuple[Format, Format]
    dtype: str
    dtype_source: str
    weights: Parts | None
    no_weights: str
    contexts: tuple[int, ...]

    @classmethod
    def of(cls, subject: Subject, request: Request) -> "Planner":
        """Read what planning needs of a model.

        Raises:
            InputError: an unknown architecture, heads that no attention has, ranks that do not divide it, or a number
                that is missing
        """
        spec = subject.spec
        kept = keeping(spec, subject.values, subject.file)
        check_heads(spec.name, kept.layers)
        layers = kept.layers
        if request.expand_latent:
            layers = tuple(_expanded(subject, layers))
        check_ranks(request.ranks, layers)
        dtype, source = (request.dtype, "asked for") if request.dtype is not None else dtype_of(subject)
        if request.encoder_tokens is not None and not kept.crosses:
            raise InputError(f"{spec.name} attends to no encoder's tokens, got encoder_tokens {request.encoder_tokens}")
        contexts = request.contexts
        if not contexts:
            if spec.window.declared is None:
                raise InputError(f"{spec.name}: the files declare no window: give a context")
            contexts = (spec.window.declared,)
        if request.shared_prefix > min(contexts):
            raise InputError(
                f"a shared prefix of {request.shared_prefix} tokens is longer than {min(contexts)} of context"
            )
        formats = pair_of(dtype if request.kv == "auto" else request.kv)
        weights, why = _weights(subject, request, kept, dtype)
        if weights is None and request.memory is not None:
            raise InputError(f"{spec.name}: {why}: give what the weights take")
        return cls(subject, request, kept, layers, formats, dtype, source, weights, why, contexts)

    @cached_property
    def stages(self) -> list[range]:
        """The layers of each pipeline rank."""
        numbers = [number for cached in self.layers for number in cached.layers]
        count = max([*(n + 1 for n in numbers), 0 if self.kept.crosses else self.subject.spec.layers or 0])
        return stages(max(count, 1), self.request.ranks.pipeline)

    @property
    def asked(self) -> list[tuple[int, int]]:
        """Every context with every batch."""
        return [(context, batch) for context in self.contexts for batch in self.request.batches]

    def cache(self, layers: Sequence[Cached], context: int, batch: int, formats: tuple[Format, Format]) -> CacheBytes:
        """What some layers keep, on one rank."""
        return cache_bytes(
            layers,
            context,
            batch,
            formats,
            self.request.holding,
            tensor=self.request.ranks.tensor,
            encoder_tokens=self.encoder_tokens(context),
            state_bytes=FLOATS[self.dtype],
        )

    def encoder_tokens(self, context: int) -> int:
        """Tokens of the encoder's input; 0 where there is none, [token]."""
        if not self.kept.crosses:
            return 0
        return self.request.encoder_tokens or self.kept.encoder_tokens or context

    def cell(self, context: int, batch: int, formats: tuple[Format, Format] | None = None) -> Cell:
        """What a context and batch take on the rank that needs most."""
        request, spec = self.request, self.subject.spec
        tensor = request.ranks.tensor
        queries = min(request.queries or context, context)
        tables = tables_bytes(spec, context)
        value = FLOATS[self.dtype]
        scratch = scratch_bytes(spec, request.attention, queries, context, batch, tensor, value)
        found = []
        for layers, weights in zip(self.stage_layers, self.stage_weights, strict=True):
            found.append((self.cache(layers, context, batch, formats or self.formats), weights))
        cache, weights = max(found, key=lambda pair: pair[0].total + (pair[1] or 0))
        total = cache.total + tables + scratch + (weights or 0) + request.reserve
        return Cell(
            context,
            batch,
            cache.total,
            cache.states,
            cache.cross,
            cache.waste,
            sum(pair[0].total for pair in found) * tensor * request.ranks.context,
            tables,
            scratch,
            dense_bias_bytes(spec, queries, context, tensor, value),
            weights,
            request.reserve,
            total,
            None if request.memory is None else total <= request.memory,
        )

    @cached_property
    def stage_layers(self) -> list[list[Cached]]:
        """What the layers of each pipeline rank keep."""
        return [on_stage(self.layers, stage) for stage in self.stages]

    @cached_property
    def stage_weights(self) -> list[int | None]:
        """What the weights take on one rank of each pipeline stage; None where that is not known, [byte]."""
        if self.weights is None:
            return [None] * len(self.stages)
        return [round(self._stage_weights(self.weights, place, stage)) for place, stage in enumerate(self.stages)]

    def _stage_weights(self, weights: Parts, place: int, stage: range) -> float:
        last = self.request.ranks.pipeline - 1
        mine: list[Part] = []
        tied = not any(part.name in _OUTPUTS for part in weights.parts)
        for part in weights.parts:
            if part.place == "every":
                mine.append(replace(part, bytes=part.bytes / (last + 1)))
            elif part.place == "first":
                # Where the output layer is the embedding, it stands on the last rank as well.
                mine += [part] if place == 0 or (place == last and tied and part.name in _EMBEDDINGS) else []
            elif part.place == "last":
                mine += [part] if place == last else []
            elif part.place in stage or (place == last and part.place >= stage.stop):
                mine.append(part)
        shapes = [(cached.heads, cached.query_heads) for cached in self.kept.layers if cached.kind == "attention"]
        heads, query_heads = max(shapes, default=(1, 1))
        return rank_bytes(mine, self.request.ranks.tensor, heads, query_heads)

    def table_end(self) -> int | None:
        """The length at which a learned table of positions ends; None where there is none, [token]."""
        groups = self.subject.spec.groups.values()
        learned = any(group.scheme == "learned" and group.layers != () for group in groups)
        return self.subject.spec.window.declared if learned else None

    def planned(self, context: int, batch: int) -> Cell:
        """The same for the model as it is: past the end of its table nothing fits."""
        cell, end = self.cell(context, batch), self.table_end()
        return msgspec.structs.replace(cell, fits=False) if cell.fits and end is not None and context > end else cell

    def fits(self, context: int, batch: int) -> bool:
        """Whether a context and batch fit the memory."""
        return bool(self.planned(context, batch).fits)

    def largest(self) -> Largest:
        """The longest context of each batch and the largest batch of each context."""
        if self.request.memory is None:
            return Largest()
        contexts = []
        most = self.table_end() or MOST
        for batch in self.request.batches:
            number, unbounded = largest(lambda length, batch=batch: self.fits(length, batch), most)
            unbounded = unbounded and most == MOST
            contexts.append(LargestContext(batch, None if unbounded else number, unbounded))
        batches = []
        for context in self.contexts:
            number, unbounded = largest(lambda batch, context=context: self.fits(context, batch))
            batches.append(LargestBatch(context, None if unbounded else number, unbounded))
        return Largest(tuple(contexts), tuple(batches))


_EMBEDDINGS = frozenset({"embedding", "model.embed_tokens.weight", "token_embd.weight", "transformer.wte.weight"})
_OUTPUTS = frozenset({"output", "lm_head.weight", "output.weight", "embed_out.weight"})


def _expanded(subject: Subject, layers: Sequence[Cached]) -> list[Cached]:
    heads = next((g.heads for g in subject.spec.groups.values() if g.heads and g.heads.latent_dim is not None), None)
    if heads is None:
        raise InputError(f"{subject.spec.name} has no latent to expand: its attention is not MLA")
    return expanded(layers, heads.head_dim, heads.value_dim)


def _weights(subject: Subject, request: Request, kept: Keeping, dtype: str) -> tuple[Parts | None, str]:
    """What the weights are made of, or None and the reason."""
    if request.weights is not None:
        part = Part("all", 0, "every", "even", float(request.weights))
        return Parts((part,), None, "asked for; cut evenly"), ""
    found = stored(subject.directory, subject.file)
    if found is not None:
        return found, ""
    try:
        found = shaped(subject.spec, subject.values, subject.config or {}, kept.layers, dtype)
    except Missing as error:
        return None, f"there are no weights to read, and {str(error).removeprefix(f'{subject.spec.name}: ')}"
    why = f"there are no weights to read, and the matrices of {subject.spec.architecture!r} are not known here"
    return found, "" if found is not None else why
