"""Which tensors of a model move from one pair layout to the other, decided from names and shapes alone."""

import math
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ordinate.errors import InputError, got
from ordinate.schemes.base import Rotary
from ordinate.spec import LayerGroup, Spec
from ordinate.weights.cuts import Turning, read_form
from ordinate.weights.layouts import Layout, layout
from ordinate.weights.parameters import Tensor, block_rows, turning_parameters

# What a decoder is kept under, also beside a vision tower.
_TEXT = frozenset({"model", "transformer", "language_model", "text_model", "gpt_neox", "llm", "base_model", "mtp"})
_TOWER = re.compile(r"(vision|visual|vit|image|img|audio|speech|siglip|clip|sam)(_|\d|$).*")
_QUERY_OR_KEY = frozenset(
    {"q", "k", "qk", "qkv", "kv", "wq", "wk", "wkv", "wqkv", "query", "key", "queries", "keys", "qweight"}
)
_ATTENTION = frozenset({"attn", "attention", "mha"})
_NORMS = frozenset({"ln", "norm", "layernorm"})


@dataclass(frozen=True)
class Plan:
    """What moves and what stays.

    Args:
        moves: the rows that turn, by the name of each tensor that is reordered
        layers: the layers that are reordered
        still: the layers that attend without rotation
        towers: tensors of attention in other towers, which stay
    """

    moves: Mapping[str, Turning]
    layers: tuple[int, ...]
    still: tuple[int, ...]
    towers: int


def plan(spec: Spec, config: Mapping[str, Any], tensors: Mapping[str, Tensor], *, adapter: bool = False) -> Plan:
    """Decide which tensors hold rows of q and k that turn.

    Args:
        spec: of the model
        config: its configuration, for the blocks of quantised weights
        tensors: the type and shape of all its tensors by name
        adapter: they are those of an adapter, which need not have every projection

    Returns:
        what moves

    Raises:
        InputError: an architecture whose layout is not known; q or k of a rotating layer that are missing, have
            another shape, or are kept in a way that is not known
    """
    known = layout(spec.architecture)
    if known is None:
        raise InputError(
            f"{spec.name}: where model_type {spec.architecture or 'unknown'!r} keeps q and k is not known here, so "
            "nothing is converted"
        )
    pattern = re.compile(
        rf"(?P<prefix>(?:\w+\.)*?){known.stack}\.(?P<layer>\d+)\.(?P<attention>{known.attention})\."
        r"(?P<module>\w+)(?:\.(?P<parameter>.+))?"
    )
    projections: dict[tuple[str, int, str], dict[str, str]] = defaultdict(dict)
    towers = 0
    for name in tensors:
        bare = name.removeprefix("base_model.model.") if adapter else name
        found = pattern.fullmatch(bare)
        words = bare.split(".")
        if any(_TOWER.fullmatch(word) for word in words[:-1]):
            towers += _is_suspicious(words)
        elif found is not None and set(found["prefix"].split(".")[:-1]) <= _TEXT:
            module, parameter = found["module"], found["parameter"] or ""
            if len(found["layer"]) > 6:
                raise InputError(f"{spec.name}: tensor {got(name)} is of a layer beyond every model's")
            # Modules that predict further tokens count on from the last layer, by their own numbers or not.
            beyond = (spec.layers or 0) if "mtp" in words else 0
            stem = name.removesuffix(parameter).removesuffix(".")
            known_parameters = projections[stem, beyond + int(found["layer"]), module]
            other = known_parameters.setdefault(parameter.removeprefix("base_layer."), name)
            if other != name:
                raise InputError(f"{spec.name}: tensors {got(other)} and {got(name)} are the same parameter")
        elif _is_suspicious(words) and not set(words) & known.unrotated:
            raise InputError(
                f"{spec.name}: tensor {got(name)} has to do with attention by its name, and where "
                f"{spec.architecture} keeps such is not known, so nothing is converted"
            )
    return _decide(spec, known, block_rows(config), tensors, projections, towers, adapter)


def _decide(
    spec: Spec,
    known: Layout,
    block: int | None,
    tensors: Mapping[str, Tensor],
    projections: Mapping[tuple[str, int, str], Mapping[str, str]],
    towers: int,
    adapter: bool,
) -> Plan:
    moves: dict[str, Turning] = {}
    held: dict[int, set[str]] = defaultdict(set)
    still = set()
    owners: dict[int, set[str]] = defaultdict(set)
    forms = {}
    for (stem, layer, module), parameters in projections.items():
        group = _group(spec, layer)
        if not isinstance(group.encoding, Rotary):
            still.add(layer)
            continue
        cut = known.moves.get(module)
        if cut is None:
            if module not in known.stays:
                raise InputError(
                    f"{spec.name}: {stem} stands in the attention of a layer that rotates, and is not known of "
                    f"{spec.architecture}, so nothing is converted"
                )
            continue
        if group.layer_type not in forms:
            forms[group.layer_type] = read_form(group)
        form = forms[group.layer_type]
        if cut.holds == "gain":
            for name in parameters.values():
                turning = cut.turning(form, math.prod(tensors[name].shape))
                if math.prod(tensors[name].shape) != turning.rows:
                    raise InputError(
                        f"{spec.name}: {name} must have {form.head_dim} or {turning.rows} values, got shape "
                        f"{got(list(tensors[name].shape))}"
                    )
                moves[name] = turning
            continue
        module_tensors = {parameter: tensors[name] for parameter, name in parameters.items()}
        found = turning_parameters(stem, module_tensors, cut.turning(form, 0), block)
        moves |= {parameters[parameter]: turning for parameter, turning in found.items()}
        held[layer] |= set(cut.holds)
        owners[layer].add(stem.removesuffix(module))
    if not adapter:
        _check_complete(spec, held)
    for layer, stems in owners.items():
        numbered = {re.sub(r"\.\d+\.$", ".", stem) for stem in stems}
        if len(numbered) > 1:
            raise InputError(f"{spec.name}: layer {layer} stands twice: {', '.join(sorted(stems))}")
    return Plan(moves, tuple(sorted(held)), tuple(sorted(still)), towers)


def _group(spec: Spec, layer: int) -> LayerGroup:
    for group in spec.groups.values():
        if group.layers is not None and layer in group.layers:
            return group
    rotating = [group for group in spec.groups.values() if isinstance(group.encoding, Rotary) and group.layers != ()]
    # Layers beyond the last are taken for such as rotate, where there is one kind of these.
    if len(rotating) == 1 and (spec.layers is None or layer >= spec.layers or rotating[0].layers is None):
        return rotating[0]
    raise InputError(f"{spec.name}: layer {layer} is of no kind that the configuration names")


def _check_complete(spec: Spec, held: Mapping[int, set[str]]) -> None:
    groups = [group for group in spec.groups.values() if isinstance(group.encoding, Rotary)]
    expected = {layer for group in groups for layer in group.layers or ()} | set(held)
    for layer in sorted(expected):
        missing = {"q", "k"} - held.get(layer, set())
        if missing:
            raise InputError(
                f"{spec.name}: layer {layer} rotates, and no tensor of its {' and '.join(sorted(missing))} was found"
            )
    if not expected:
        raise InputError(f"{spec.name}: no layer rotates, so there is no pair layout to convert")


def _is_suspicious(words: list[str]) -> bool:
    """Whether a name speaks of queries, keys or attention; norms before and after attention do not count."""
    for word in words:
        parts = {part.lower() for part in word.split("_")}
        if parts & _QUERY_OR_KEY or (parts & _ATTENTION and not parts & _NORMS):
            return True
    return False
