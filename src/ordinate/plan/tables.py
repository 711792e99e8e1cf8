"""What position itself takes: tables that are computed, and learned ones that are part of the weights."""

from ordinate.plan.result import Table
from ordinate.schemes.base import Rotary
from ordinate.spec import LayerGroup, Spec


def tables(spec: Spec, context: int) -> tuple[Table, ...]:
    """The tables of each layer group, one for all groups that would have the same.

    rotary: 2 * 4 * positions * pairs, half width, float32; ALiBi: 4 * heads; learned: rows * width numbers

    Args:
        spec: of the model
        context: the positions that a table has a row for, [token]
    """
    found, seen = [], []
    for group in spec.groups.values():
        same = (group.encoding, group.stretch)
        if group.layers == () or same in seen:
            continue
        seen.append(same)
        declared = spec.window.declared
        found.append(
            Table(
                group.layer_type,
                group.scheme,
                group.encoding.cost(context).parameters,
                table_bytes(group, context),
                None if declared is None else table_bytes(group, declared),
            )
        )
    return tuple(found)


def tables_bytes(spec: Spec, context: int) -> int:
    """What all computed tables take, [byte]."""
    return sum(table.bytes for table in tables(spec, context))


def table_bytes(group: LayerGroup, positions: int) -> int:
    """What a group's table takes, [byte]; a learned one is part of the weights and counts nothing here."""
    return group.encoding.cost(positions).table_bytes


def rotates(spec: Spec) -> bool:
    """Whether any layer rotates."""
    return any(isinstance(group.encoding, Rotary) and group.layers != () for group in spec.groups.values())
