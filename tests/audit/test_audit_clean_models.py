"""Clean models: every way of computing gives what one pass gives, in float32 and in bfloat16."""

import pytest
import torch
from audit.audited_models import small

from ordinate.audit import audit_model
from ordinate.audit.subject import Subject

OWN = (
    "batch-rows",
    "beam-reorder",
    "chunked-prefill",
    "crop-and-rewind",
    "left-padding",
    "multi-turn",
    "packed",
    "prefix-reuse",
    "right-padding",
    "speculative-window",
    "token-by-token",
)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("kind", ["llama", "mistral", "phi3", "gemma3", "gpt2", "bloom", "t5", "bert"])
def test_nothing_is_found_in_a_clean_model(kind, dtype):
    found = audit_model(small(kind, dtype), checks=OWN, length=144)
    assert [(finding.kind, finding.evidence) for finding in found.findings] == []
    assert sum(outcome.status == "passed" for outcome in found.outcomes) >= (2 if kind == "bert" else 20)
    assert [outcome for outcome in found.outcomes if outcome.status == "refused"] == []


def test_a_model_in_training_mode_is_audited_in_evaluation_mode_and_left_as_it_was():
    model = small("gpt2").train()
    found = audit_model(model, checks=["token-by-token"], length=64)
    assert found.findings == ()
    assert model.training


def test_an_audit_changes_no_weight_and_leaves_no_hook():
    model = small("llama")
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    audit_model(model, checks=["batch-rows", "chunked-prefill"], length=64)
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    assert all(not module._forward_hooks for module in model.modules())


def test_the_noise_of_a_lower_precision_is_larger_and_far_below_what_a_moved_token_makes():
    wide, narrow = Subject(small("llama"), length=64), Subject(small("llama", torch.bfloat16), length=64)
    assert wide.noise.logits < 1e-3 * narrow.noise.logits
    moved = narrow.whole(narrow.ids, positions=torch.arange(64).flip(0).expand(2, -1), mask=torch.ones(2, 64).long())
    assert float((moved.logits - narrow.reference.logits).float().abs().max()) > narrow.noise.threshold
