"""Tables that attention reads: a row a position, for the lengths that were asked for last."""

import numpy as np
import pytest
import torch
from reference_caches import WINDOW, group

from ordinate.caches import Cache, Tables
from ordinate.errors import InputError

CPU = torch.device("cpu")


def test_rows_are_those_of_the_group_for_each_length():
    of = group("rope", "longrope")
    tables = Tables(of)
    for end, length in ((5, 0), (20, WINDOW + 1), (300, 0), (40, WINDOW + 1)):
        cos, sin = tables.rows(end, length, CPU)
        assert len(cos) >= end
        wanted = of.table(np.arange(len(cos)), length or None)
        assert all(np.array_equal(got, table) for got, table in zip((cos, sin), wanted, strict=True))


def test_no_more_lengths_are_held_than_asked_for():
    tables = Tables(group("rope", "dynamic_ntk"), lengths=2)
    for length in range(WINDOW + 1, WINDOW + 10):
        tables.rows(length, length, CPU)
    assert len(tables._made) == 2


def test_what_has_no_one_table_is_refused():
    for scheme in ("xpos", "axial", "multimodal"):
        with pytest.raises(InputError, match="has no table"):
            Tables(group(scheme))


def test_layers_share_the_tables_of_their_group_alone():
    of = group("rope", "yarn")
    tables = Tables(of)
    first, second = Cache(of, tables=tables), Cache(of, tables=tables)
    assert first._tables is second._tables
    with pytest.raises(InputError, match="stretch"):
        Cache(group("rope", "linear"), tables=tables)
