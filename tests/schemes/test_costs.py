"""What schemes cost, counted by hand."""

from ordinate.schemes.rope import Rope


def test_a_rotary_table_is_one_cosine_and_one_sine_of_four_bytes_a_pair():
    cost = Rope(head_dim=16).cost(10)
    assert (cost.parameters, cost.table_bytes) == (0, 10 * 8 * (4 + 4))


def test_turning_a_pair_takes_four_products_and_two_sums():
    assert Rope(head_dim=16).cost(10).operations == 10 * 8 * (4 + 2)
