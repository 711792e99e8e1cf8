"""Tables under one length after the other: against the float64 code of the groups."""

import numpy as np
import pytest
import torch
from tiny_models import WINDOW, tiny

import ordinate
from ordinate.errors import InputError
from ordinate.spec import LayerGroup
from ordinate.transformers.length_tables import LengthTables

CPU = torch.device("cpu")


def group(kind):
    return ordinate.read(tiny("Llama", kind).config.to_dict()).group


@pytest.mark.parametrize("kind", ["dynamic", "longrope"])
@pytest.mark.parametrize("length", [0, WINDOW + 1, 5000])
def test_a_table_is_that_of_the_group_to_the_last_bit_but_one(kind, length):
    tables = LengthTables(group(kind))
    for rows in (1, 127, 128, 129, 5000):
        found = tables.table(length, rows, CPU)
        for own, expected in zip(found, group(kind).table(np.arange(rows), length or None), strict=True):
            assert len(own) >= rows
            assert np.abs(own[:rows].numpy() - expected).max() <= 2**-23


@pytest.mark.parametrize("kind", ["dynamic", "longrope"])
def test_rows_of_some_positions_are_those_of_the_group(kind):
    tables, positions = LengthTables(group(kind)), torch.tensor([0, 3, 10**7, 2**40])
    for own, expected in zip(
        tables.rows(2**40 + 1, positions), group(kind).table(positions.numpy(), 2**40 + 1), strict=True
    ):
        assert np.array_equal(own.numpy(), expected)
    held = tables.rows(2**40 + 1, positions)
    assert tables.rows(2**40 + 1, positions)[0] is held[0]
    assert tables.rows(2**40 + 1, positions[:2])[0].shape == (2, held[0].shape[1])
    tables.forget()
    assert tables.rows(2**40 + 1, positions)[0] is not held[0]


def test_a_table_is_made_once_while_it_is_held():
    tables = LengthTables(group("dynamic"))
    inside, past = tables.table(0, 20, CPU), tables.table(40, 40, CPU)
    assert tables.table(0, 32, CPU)[0] is inside[0]
    assert tables.table(40, 40, CPU)[0] is past[0]
    tables.forget()
    assert tables.table(0, 20, CPU)[0] is inside[0]
    assert tables.table(40, 40, CPU)[0] is not past[0]


def test_a_scheme_of_several_positions_a_token_is_refused():
    several = LayerGroup("full_attention", ordinate.scheme("multimodal").example())
    with pytest.raises(InputError, match=r"must turn by one position a token .* got multimodal"):
        LengthTables(several)
