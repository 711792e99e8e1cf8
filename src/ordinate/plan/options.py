"""The ways to a target length: a method for position and a format for memory, and what each costs."""

from ordinate import registry
from ordinate.plan.formats import formats, pair_of
from ordinate.plan.planner import Planner
from ordinate.plan.result import Option
from ordinate.plan.tables import rotates
from ordinate.scaling.base import ScalingFacts
from ordinate.spec import Spec

AS_IT_IS = "as it is"
LONGER_TABLE = "longer table"
OFFERED = ("fp8", "int8", "int4")
"""Formats looked at beside the one asked for."""

# Gemma 4's own form of linear scaling, for its own kind of head.
_NOT_OFFERED = ("proportional",)


def options(planner: Planner, target: int) -> tuple[Option, ...]:
    """Every method with every format for the first batch, the cheapest last.

    Args:
        planner: of the model
        target: the length to reach, [token]
    """
    batch = planner.request.batches[0]
    asked = "/".join(dict.fromkeys(found.name for found in planner.formats))
    names = dict.fromkeys([asked, *(name for name in OFFERED if name in formats())])
    found = []
    for method, factor, training in methods(planner.subject.spec, target):
        for name in names:
            cell = planner.cell(target, batch, pair_of(name))
            found.append(
                Option(method, factor, training, name, target, batch, cell.cache_bytes, cell.total_bytes, cell.fits)
            )
    return tuple(found)


def methods(spec: Spec, target: int) -> list[tuple[str, float, str]]:
    """The methods by which position reaches a target: name, factor, and the training that they need.

    Within the declared window nothing is done. A model that is stretched keeps its method, which it was trained with.
    """
    declared, trained = spec.window.declared, spec.window.trained
    if declared is not None and target <= declared:
        return [(AS_IT_IS, 1.0, "none: within the declared window")]
    base = trained or declared
    if not rotates(spec):
        return _unrotated(spec, target, base)
    if base is None:
        return []
    factor = target / base
    own = next((g.scaling for g in spec.groups.values() if g.scaling is not None and g.layers != ()), None)
    if own is not None:
        return [(own, factor, f"yes: the model was trained with {own} to {declared} tokens")]
    found = []
    for name in registry.names("ordinate.scaling"):
        if name not in _NOT_OFFERED:
            facts: ScalingFacts = registry.lookup("ordinate.scaling", name, "scaling method").facts
            found.append((name, factor, facts.needs_training))
    return found


def _unrotated(spec: Spec, target: int, base: int | None) -> list[tuple[str, float, str]]:
    factor = target / base if base else 1.0
    found = []
    for group in spec.groups.values():
        if group.layers == ():
            continue
        if group.scheme == "learned":
            return [(LONGER_TABLE, factor, "yes: rows past the trained ones hold nothing yet")]
        found.append(group.encoding.facts.beyond)
    return [(AS_IT_IS, 1.0, f"past the trained length: {found[0]}")] if found else []
