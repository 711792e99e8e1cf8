"""Short texts and short windows: every check computes or says why it cannot, and nothing is found in a clean model."""

import pytest
import torch
from audit.audited_models import small

from ordinate.audit import all_checks, audit_model
from ordinate.audit.checks.mask_gaps import _places

CHECKS = [check.id for check in all_checks() if check.name != "torch_compile"]
LENGTHS = (16, 24, 32, 33, 40)
SHORT = {
    "llama": {"max_position_embeddings": 40},
    "gpt2": {"n_positions": 40},
    "bert": {"max_position_embeddings": 40},
    "t5": {},
    "mistral": {"max_position_embeddings": 40, "sliding_window": 8},
}


def faults(found):
    return [(one.kind, one.cases, one.evidence) for one in found.findings if one.severity != "note"]


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_gaps_in_a_short_text_are_compared_and_no_fault(kind, length):
    found = audit_model(small(kind, **SHORT[kind]), checks=["mask-gaps"], length=length)
    assert [outcome.status for outcome in found.outcomes] == ["passed"]
    assert faults(found) == []


@pytest.mark.parametrize("tokens", [8, 12, 16, 17, 24, 128])
def test_two_rows_with_gaps_hold_all_their_tokens_in_order_and_leave_out_8_places(tokens):
    places = _places(tokens)
    for row, gaps in zip(places, ([8], [3, 5]), strict=True):
        steps = torch.diff(row, prepend=torch.tensor([-1]))
        assert [step - 1 for step in steps.tolist() if step != 1] == gaps
        assert int(row[-1]) == tokens + 7


@pytest.mark.parametrize("kind", ["llama", "mistral", "bert"])
def test_every_check_takes_the_shortest_text(kind):
    assert faults(audit_model(small(kind, **SHORT[kind]), checks=CHECKS, length=16)) == []


@pytest.mark.slow
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("kind", sorted(SHORT))
def test_every_check_takes_a_short_text_in_a_short_window(kind, length):
    assert faults(audit_model(small(kind, **SHORT[kind]), checks=CHECKS, length=length)) == []
