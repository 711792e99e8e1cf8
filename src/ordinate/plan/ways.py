"""The ways to a target length: what position needs for it, and what makes memory suffice."""

from dataclasses import replace

from ordinate import registry
from ordinate.describe.words import counted
from ordinate.plan.changes import RANKS, as_asked, caches, pairs, weights
from ordinate.plan.planner import FLOATS, Planner
from ordinate.plan.result import MemoryWay, PositionWay, Ways
from ordinate.plan.tables import rotates
from ordinate.plan.weights import Part
from ordinate.scaling.base import ScalingFacts
from ordinate.schemes.learned import LearnedPositions
from ordinate.spec import LayerGroup, Spec

AS_IT_IS = "as it is"
LONGER_TABLE = "longer table"
# Gemma 4's own form of linear scaling, for its own kind of head.
_NOT_OFFERED = ("proportional",)


def ways(planner: Planner, target: int) -> Ways:
    """Every method for position, and every change of memory; the two do not depend on each other.

    Args:
        planner: of the model
        target: the length to reach, [token]
    """
    position = tuple(PositionWay(*found) for found in methods(planner.subject.spec, target))
    return Ways(target, planner.request.batches[0], position, _memory(_longer(planner, target), target))


def _longer(planner: Planner, target: int) -> Planner:
    """With the rows that a learned table needs for the target among the weights, where those are known."""
    learned, known = _learned(planner.subject.spec), planner.weights
    rows = _rows(planner.subject.spec, target)
    if learned is None or known is None or rows <= 0:
        return planner
    numbers = rows * learned.dim
    part = Part("more positions", numbers, "first", "whole", float(numbers * FLOATS[planner.dtype]))
    return replace(planner, weights=replace(known, parts=(*known.parts, part)))


def _learned(spec: Spec) -> LearnedPositions | None:
    groups = (group.encoding for group in spec.groups.values() if group.layers != ())
    return next((encoding for encoding in groups if isinstance(encoding, LearnedPositions)), None)


def _rows(spec: Spec, target: int) -> int:
    """How many rows a learned table lacks for a target."""
    return target - (spec.window.trained or spec.window.declared or 0)


def _memory(planner: Planner, target: int) -> tuple[MemoryWay, ...]:
    """As asked and in other formats; where a memory is given and that does not fit, what else makes it fit.

    Where nothing does by itself, the cheapest pairs of changes that do.
    """
    batch, asked = planner.request.batches[0], as_asked(planner)
    found = [change.way(target, batch) for change in (asked, *caches(planner))]
    if found[0].fits is not False:
        return tuple(found)
    found += filter(None, [asked.fewer(target, batch)])
    found += [change.way(target, batch) for change in weights(planner)]
    for more in RANKS.values():
        ways = (change.way(target, batch) for change in more(planner))
        # The fewest devices on which it fits.
        found += filter(None, [next((way for way in ways if way.fits), None)])
    if not any(way.fits for way in found):
        found += pairs(planner, target, batch)
    return tuple(found)


def methods(spec: Spec, target: int) -> list[tuple[str, float, str]]:
    """The methods by which position reaches a target: name, factor, and the training that they need.

    Within the declared window nothing is done. A model that is stretched keeps its method; whether it was trained with
    it, or only served, its files do not say.
    """
    declared, trained = spec.window.declared, spec.window.trained
    if declared is not None and target <= declared:
        return [(AS_IT_IS, 1.0, "none: within the declared window")]
    base = trained or declared
    if not rotates(spec):
        return _unrotated(spec, target, base)
    own = next((g for g in spec.groups.values() if g.stretch is not None and g.layers != ()), None)
    if own is not None:
        return _further(own, target, declared, base)
    if base is None:
        return []
    found = []
    for name in registry.names("ordinate.scaling"):
        if name not in _NOT_OFFERED:
            facts: ScalingFacts = registry.lookup("ordinate.scaling", name, "scaling method").facts
            found.append((name, target / base, facts.needs_training))
    return found


def _further(own: LayerGroup, target: int, declared: int | None, base: int | None) -> list[tuple[str, float, str]]:
    """The method that a file has, by as much more as the target is longer than what is declared.

    factor = own factor * target / declared; a method without a number of that name counts from the trained length.
    """
    given = getattr(own.stretch, "factor", None)
    if declared is None or given is None:
        factor = None if base is None else target / base
    else:
        factor = given * target / declared
    if factor is None:
        return []
    facts: ScalingFacts = registry.lookup("ordinate.scaling", str(own.scaling), "scaling method").facts
    served = "" if declared is None else f"; the files serve {counted(declared, 'token')} with it"
    return [(str(own.scaling), factor, facts.needs_training + served)]


def _unrotated(spec: Spec, target: int, base: int | None) -> list[tuple[str, float, str]]:
    factor = target / base if base else 1.0
    learned = _learned(spec)
    if learned is not None:
        rows = f"{counted(_rows(spec, target), 'row')} more of {counted(learned.dim, 'number')}"
        return [(LONGER_TABLE, factor, f"yes: rows past the trained ones hold nothing yet; {rows}")]
    found = [group.encoding.facts.beyond for group in spec.groups.values() if group.layers != ()]
    return [(AS_IT_IS, 1.0, f"past the trained length: {found[0]}")] if found else []
