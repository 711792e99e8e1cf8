"""A model that turns alike in every pass, but not as its configuration says."""

import pytest
import torch
from audit.audited_models import small
from transformers.models.llama import modeling_llama

from ordinate.audit import audit_model


def _interleaved(q, k, cos, sin, unsqueeze_dim=1):
    """Neighbouring channels are pairs: the tables' first half serves them."""
    half = cos.shape[-1] // 2
    cos, sin = (table[..., :half].repeat_interleave(2, -1).unsqueeze(unsqueeze_dim) for table in (cos, sin))
    return tuple(x * cos + torch.stack([-x[..., 1::2], x[..., 0::2]], -1).flatten(-2) * sin for x in (q, k))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_another_pair_layout_in_every_pass_is_called_pairing(monkeypatch, dtype):
    monkeypatch.setattr(modeling_llama, "apply_rotary_pos_emb", _interleaved)
    findings = audit_model(small("llama", dtype), checks=["table-error", "chunked-prefill"], length=64).findings
    assert {finding.kind for finding in findings} == {"pairing"}
    assert "in the other pair layout than the configuration says" in findings[0].evidence


@pytest.mark.parametrize("base", [9000.0, 20000.0, 500000.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_another_base_in_every_pass_is_no_matter_of_precision(base, dtype):
    model = small("llama", dtype)
    model.model.rotary_emb.inv_freq = base ** (-torch.arange(0, 16, 2).double() / 16).float()
    findings = audit_model(model, checks=["table-error", "chunked-prefill"], length=64).findings
    assert {finding.kind for finding in findings} == {"table_lost"}


def test_frequencies_in_bfloat16_are():
    model = small("llama")
    model.model.rotary_emb.inv_freq = model.model.rotary_emb.inv_freq.bfloat16().float()
    findings = audit_model(model, checks=["table-error", "chunked-prefill"], length=64).findings
    assert {finding.kind for finding in findings} == {"table_precision"}
