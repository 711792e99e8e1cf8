"""Tables that a model keeps by the shape of what it reads: positions are looked up anew for nothing of that shape."""

import pytest
from audit.audited_models import small

from ordinate.audit import audit_model


def found(model):
    return {(one.check, one.kind) for one in audit_model(model, checks=["order-of-calls"], length=64).findings}


def by_shape(kept, table, for_good):
    """What is kept for this shape: for good, or until another shape comes."""
    shape = tuple(table.shape)
    if shape not in kept:
        if not for_good:
            kept.clear()
        kept[shape] = table
    return kept[shape]


@pytest.mark.parametrize("for_good", [True, False])
def test_positions_of_a_learned_table_that_are_kept_by_shape_are_found(for_good):
    model, kept = small("gpt2"), {}
    model.transformer.wpe.register_forward_pre_hook(lambda _, given: (by_shape(kept, given[0], for_good),))
    assert found(model) == {("order_of_calls", "state_kept")}


@pytest.mark.parametrize("for_good", [True, False])
def test_a_bias_that_is_kept_by_shape_is_found_where_no_position_can_be_given(for_good):
    model, kept = small("bloom"), {}

    def stale(block, given, named):
        return given, named | {"alibi": by_shape(kept, named["alibi"], for_good)}

    model.transformer.h[1].register_forward_pre_hook(stale, with_kwargs=True)
    assert found(model) == {("order_of_calls", "state_kept")}


@pytest.mark.parametrize("kind", ["gpt2", "bloom", "llama", "t5", "bert"])
def test_a_model_that_keeps_nothing_is_not_blamed(kind):
    assert found(small(kind)) == set()
