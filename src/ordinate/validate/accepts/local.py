"""What a model of transformers itself does with a prompt of N tokens: positions, tables, logits."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ordinate.audit.moved import float32_error
from ordinate.audit.run import described
from ordinate.audit.server.canaries import HEAD
from ordinate.errors import InputError, Unavailable
from ordinate.schemes.base import Rotary
from ordinate.spec import LayerGroup, Spec
from ordinate.validate.accepts.canaries import Canaries
from ordinate.validate.accepts.degeneration import degenerate
from ordinate.validate.accepts.reading import Reading
from ordinate.validate.backends import Backend, Refusal
from ordinate.validate.deadline import Late

_ROUNDINGS = {torch.float32: 2.0**-24, torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11, torch.float64: 2.0**-53}


@dataclass
class Seen:
    """What was seen of a model at work.

    Args:
        highest: the largest position that any module was given; None where none is given any
        table: how many positions a table of learned vectors holds; None where there is no such table
        looked_up: the largest position looked up in that table
        infinite: outputs of the model's head that are not finite numbers
        errors: of cos and sin at the last positions against float64, and what rounding explains, [1]
    """

    highest: int | None = None
    table: int | None = None
    looked_up: int | None = None
    infinite: int = 0
    errors: dict[str, tuple[float, float]] = field(default_factory=dict)


class LocalReader:
    """Sends one prompt of each length to a model in this process, and watches its modules.

    Args:
        backend: asked
        model: of transformers, which the backend runs
        canaries: writes the prompts
        left: raises `Late` once the time is up
    """

    def __init__(self, backend: Backend, model: Any, canaries: Canaries, left: Callable[[], object]) -> None:
        self.backend, self.model, self.canaries, self.left = backend, model, canaries, left
        self.spec = described(model)

    @cached_property
    def short(self) -> str | None:
        """What is wrong with the answer to a prompt as short as can be; None where nothing is."""
        marked = self.canaries.write(self.canaries.short, 0)
        return degenerate(self.backend.answer(marked.prompts[HEAD], self.canaries.steps).text)

    def read(self, length: int) -> Reading:
        """What becomes of a prompt of `length` tokens."""
        try:
            marked = self.canaries.write(length, 1)
        except InputError as error:
            return Reading(length, "unknown", f"no prompt can be made: {error}")
        limit = self.backend.limit
        try:
            with watching(self.model, self.spec) as seen:
                self.left()
                reply = self.backend.answer(marked.prompts[HEAD], self.canaries.steps)
        except Refusal as refusal:
            return Reading(length, "refused", f"refused explicitly: {refusal}", {"declared": limit})
        except Unavailable as error:
            return Reading(length, "unknown" if isinstance(error, Late) else "error", f"no usable answer: {error}")
        evidence = {
            "counted": reply.prompt_tokens,
            "declared": limit,
            "highest_position": seen.highest,
            "table": seen.table,
            "infinite_logits": seen.infinite,
            "table_errors": {name: error for name, (error, _) in seen.errors.items()},
            "table_bounds": {name: bound for name, (_, bound) in seen.errors.items()},
            "repeated": [HEAD] if marked.codes[HEAD] in reply.text else [],
        }
        outcome, why = self._judged(length, seen, reply.text, reply.tokens or 0)
        caveats = (f"only {limit} tokens are declared",) if limit is not None and length >= limit else ()
        rounded = [name for name, (error, bound) in seen.errors.items() if error > bound]
        caveats += tuple(
            f"{name}: cos and sin at position {length - 1} are off by {seen.errors[name][0]:.2g}, more than the "
            f"{seen.errors[name][1]:.2g} that their type explains"
            for name in rounded
        )
        return Reading(length, outcome, why, evidence, caveats)

    def _judged(self, length: int, seen: Seen, text: str, tokens: int) -> Any:
        if seen.infinite:
            return "degenerate", f"{seen.infinite} logits are not finite numbers"
        # The answer's own positions follow; its last token is not read again.
        last = length + max(tokens - 1, 0)
        if seen.highest is not None and not length - 1 <= seen.highest <= last:
            where = "truncation" if seen.highest < length - 1 else "error"
            return where, f"the largest position seen is {seen.highest}, and the prompt's last stands at {length - 1}"
        if seen.table is not None and seen.looked_up is not None and seen.looked_up >= seen.table:
            return "error", f"position {seen.looked_up} was looked up in a table of {seen.table}"
        wrong = degenerate(text)
        # A model that says nothing of use to a short prompt either proves nothing by it.
        if wrong is not None and tokens and self._short_is_well():
            return "degenerate", f"the answer {wrong}"
        at = "" if seen.highest is None else f", positions up to {seen.highest}"
        return "ok", f"taken whole: {length} token ids read in this process{at}, all logits finite"

    def _short_is_well(self) -> bool:
        try:
            return self.short is None
        except (Refusal, Unavailable):
            return False


@contextmanager
def watching(model: Any, spec: Spec | None) -> Iterator[Seen]:
    """Watch a model's modules while the body of a `with` statement runs.

    Args:
        model: of transformers; unchanged afterwards
        spec: what it does with position; None where that is not known
    """
    seen = Seen()
    handles = []
    tokens = model.get_input_embeddings()
    for name, module in model.named_modules():
        parameters = inspect.signature(module.forward).parameters
        if "position_ids" in parameters:
            handles.append(module.register_forward_pre_hook(_positions(seen, tuple(parameters)), with_kwargs=True))
        if "rotary" in name.rpartition(".")[2] and "position_ids" in parameters and spec is not None:
            handles.append(module.register_forward_hook(_tables(seen, spec, tuple(parameters)), with_kwargs=True))
        if isinstance(module, nn.Embedding) and module is not tokens and _of_positions(name):
            handles.append(module.register_forward_pre_hook(_lookups(seen, module)))
    head = model.get_output_embeddings()
    if head is not None:
        handles.append(head.register_forward_hook(_finite(seen)))
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


def _of_positions(name: str) -> bool:
    """Whether a module's name is that of a table of learned vectors: "wpe", "embed_positions" and their kin."""
    last = name.rpartition(".")[2]
    return last == "wpe" or "pos" in last


def _given(names: tuple[str, ...], values: tuple[Any, ...], named: dict[str, Any]) -> Tensor | None:
    found = named.get("position_ids", dict(zip(names, values, strict=False)).get("position_ids"))
    return found if isinstance(found, Tensor) and found.numel() else None


def _positions(seen: Seen, names: tuple[str, ...]) -> Callable[..., None]:
    def hook(_module: nn.Module, values: tuple[Any, ...], named: dict[str, Any]) -> None:
        found = _given(names, values, named)
        if found is not None:
            seen.highest = max(int(found.max()), -1 if seen.highest is None else seen.highest)

    return hook


def _lookups(seen: Seen, table: nn.Embedding) -> Callable[..., None]:
    seen.table = min(table.num_embeddings, seen.table or table.num_embeddings)

    def hook(_module: nn.Module, values: tuple[Any, ...]) -> None:
        highest = int(values[0].max())
        seen.looked_up = max(highest, -1 if seen.looked_up is None else seen.looked_up)

    return hook


def _finite(seen: Seen) -> Callable[..., None]:
    def hook(_module: nn.Module, _values: tuple[Any, ...], output: Tensor) -> None:
        seen.infinite += int((~torch.isfinite(output)).sum())

    return hook


def _tables(seen: Seen, spec: Spec, names: tuple[str, ...]) -> Callable[..., None]:
    groups = {name: group for name, group in spec.groups.items() if isinstance(group.encoding, Rotary)}

    def hook(_module: nn.Module, values: tuple[Any, ...], named: dict[str, Any], output: Any) -> None:
        positions = _given(names, values, named)
        if positions is None or not isinstance(output, tuple) or len(output) != 2 or positions.ndim != 2:
            return
        wanted = named.get("layer_type", dict(zip(names, values, strict=False)).get("layer_type"))
        length = int(positions.max()) + 1
        found = [
            (name, error)
            for name, group in groups.items()
            if wanted in (None, name) and (error := _error(group, positions, output, length)) is not None
        ]
        if found:
            # Where a module is not told the layer type, what it made is the group's that it is nearest to.
            name, pair = min(found, key=lambda one: one[1][0])
            if name not in seen.errors or pair[0] > seen.errors[name][0]:
                seen.errors[name] = pair

    return hook


def _error(
    group: LayerGroup, positions: Tensor, output: tuple[Tensor, Tensor], length: int
) -> tuple[float, float] | None:
    """The largest error of cos and sin at the last position, and what float32 angles and the dtype explain."""
    if group.stretch is not None and "static" not in group.stretch.traits:
        return None  # which length it is made for is the engine's to choose
    cos, sin = (part[0, -1].double().cpu().numpy() for part in output)
    frequencies, factor = group.frequencies(), group.attention_factor()
    angles = int(positions[0, -1]) * frequencies
    pairs = len(frequencies)
    best = np.inf
    for spread in (lambda part: part[:pairs], lambda part: part[::2][:pairs]):
        mine = [spread(part) for part in (cos, sin)]
        if any(len(part) != pairs for part in mine):
            return None
        off = max(
            float(np.abs(mine[0] - np.cos(angles) * factor).max()),
            float(np.abs(mine[1] - np.sin(angles) * factor).max()),
        )
        best = min(best, off)
    rounding = _ROUNDINGS.get(output[0].dtype, 0.0)
    bound = factor * float(float32_error(torch.from_numpy(frequencies), length).max()) + 2 * factor * rounding
    return best, bound
