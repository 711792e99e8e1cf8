"""What attention makes of order: without a scheme nothing, but for the causal mask; with a scheme, what it says."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_attention import attend
from reference_scores import SCHEMES, along_axes, learned, of_kind, room, scores

seeds = st.integers(0, 2**32 - 1)
orders = st.integers(3, 7).flatmap(lambda tokens: st.permutations(range(tokens)))
EVERY = [pytest.param(scheme, id=name) for name, scheme in SCHEMES.items()]
POSITIONED = [pytest.param(scheme, id=name) for name, scheme in SCHEMES.items() if scheme.kind != "none"]
ADDITIVE = [pytest.param(scheme, id=name) for name, scheme in of_kind("additive").items()]


def layers(scheme, tokens, depth, causal, seed=1):
    """Attention layers with residuals over tokens at positions 0, 1, 2, ...: [tokens, 16]."""
    for layer in range(depth):
        positions = along_axes(scheme, range(len(tokens)))
        logits = scores(scheme, tokens, positions, seed + layer, learned(scheme))
        output = np.random.default_rng(seed + layer).standard_normal((16, 16)) / 4
        tokens = tokens + attend(logits, tokens @ output, causal).mean(0)
    return tokens


@given(orders, seeds)
def test_without_position_the_output_is_permuted_with_the_input(order, seed):
    tokens = np.random.default_rng(seed).standard_normal((len(order), 16))
    output = layers(SCHEMES["none"], tokens, depth=2, causal=False)
    permuted = layers(SCHEMES["none"], tokens[list(order)], depth=2, causal=False)
    assert permuted == pytest.approx(output[list(order)], abs=1e-10)


@pytest.mark.parametrize("scheme", POSITIONED)
def test_every_other_scheme_tells_orders_apart(scheme):
    tokens = np.random.default_rng(7).standard_normal((6, 16))
    order = [3, 0, 5, 1, 4, 2]
    output = layers(scheme, tokens, depth=1, causal=False)
    permuted = layers(scheme, tokens[order], depth=1, causal=False)
    assert np.abs(permuted - output[order]).max() > 1e-4


@given(orders, seeds)
def test_one_causal_layer_without_position_ends_the_same_for_any_order_of_its_prefix(order, seed):
    tokens = np.random.default_rng(seed).standard_normal((len(order) + 1, 16))
    permuted = np.concatenate([tokens[list(order)], tokens[-1:]])
    one, other = (layers(SCHEMES["none"], row, depth=1, causal=True)[-1] for row in (tokens, permuted))
    assert other == pytest.approx(one, abs=1e-10)


@given(orders.filter(lambda order: list(order) != sorted(order)), seeds)
def test_two_causal_layers_without_position_do_not(order, seed):
    tokens = np.random.default_rng(seed).standard_normal((len(order) + 1, 16))
    permuted = np.concatenate([tokens[list(order)], tokens[-1:]])
    one, other = (layers(SCHEMES["none"], row, depth=2, causal=True)[-1] for row in (tokens, permuted))
    assert np.abs(other - one).max() > 1e-6


@pytest.mark.parametrize("scheme", EVERY)
@given(orders, seeds)
def test_tokens_that_take_their_positions_along_are_permuted_and_nothing_else(scheme, order, seed):
    # Positions are what was given, never the number of the row.
    generator, order = np.random.default_rng(seed), list(order)
    tokens = generator.standard_normal((len(order), 16))
    row = generator.choice(min(room(scheme), 64) - 1, len(order), replace=False)
    positions, values = along_axes(scheme, row), learned(scheme, seed)
    straight = scores(scheme, tokens, positions, seed, values)
    permuted = scores(scheme, tokens[order], positions[..., order], seed, values)
    assert permuted == pytest.approx(straight[:, order][:, :, order], abs=1e-10)


@pytest.mark.parametrize("scheme", POSITIONED)
def test_positions_that_are_not_in_row_matter(scheme):
    tokens = np.random.default_rng(8).standard_normal((3, 16))
    given_row, counted = (along_axes(scheme, row) for row in ([5, 0, 3], [0, 1, 2]))
    one, other = (scores(scheme, tokens, positions, 8, learned(scheme)) for positions in (given_row, counted))
    assert np.abs(one - other).max() > 1e-4


@pytest.mark.parametrize("scheme", ADDITIVE)
@given(st.integers(0, 3), st.integers(1, 9), seeds)
def test_concatenating_and_projecting_is_the_sum_of_two_projections(scheme, first, width, seed):
    generator, values = np.random.default_rng(seed), learned(scheme, seed)
    positions, embeddings = np.arange(first, first + 5), generator.standard_normal((2, 5, width))
    weight = generator.standard_normal((width + scheme.dim, 7))
    joined = replace(scheme, combine="concat").apply(embeddings, positions, values)
    assert joined.shape == (2, 5, width + scheme.dim)
    apart = embeddings @ weight[:width] + scheme.table(positions, values) @ weight[width:]
    assert joined @ weight == pytest.approx(apart, abs=1e-10)


@pytest.mark.parametrize("scheme", ADDITIVE)
@given(seeds)
def test_adding_adds_the_table(scheme, seed):
    values, positions = learned(scheme, seed), np.array([4, 0, 1])
    embeddings = np.random.default_rng(seed).standard_normal((2, 3, scheme.dim))
    added = replace(scheme, combine="add").apply(embeddings, positions, values)
    assert (added == embeddings + scheme.table(positions, values)).all()
