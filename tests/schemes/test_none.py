"""No position: nothing learned, nothing stored, nothing computed."""

import ordinate
from ordinate.schemes.base import Cost


def test_it_costs_nothing():
    assert ordinate.scheme("none")().cost(100_000) == Cost(parameters=0, table_bytes=0, operations=0)


def test_it_learns_nothing_and_is_of_no_kind():
    scheme = ordinate.scheme("none").example()
    assert scheme.parameters() == {}
    assert scheme.initial() == {}
    assert (scheme.name, scheme.kind) == ("none", "none")
    assert scheme.traits == {"shift_invariant"}
