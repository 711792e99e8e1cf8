"""Angles in float32 are no fault, at any window; angles, tables and positions in a lower precision are."""

import numpy as np
import pytest
import torch
from audit.audited_models import small

from ordinate.audit import audit_model
from ordinate.audit.moved import float32_error

_CHECKS = ("past-the-table", "shift-invariance", "table-error")


def _rope(kind="default", base=10000.0, **settings):
    return {"rope_type": kind, "rope_theta": base, **settings}


def _faults(model):
    found = audit_model(model, checks=_CHECKS, length=96)
    assert sum(outcome.status in ("passed", "failed") for outcome in found.outcomes) == 5
    return {finding.kind for finding in found.findings if finding.severity != "note"}


@pytest.mark.parametrize("window", [8192, 131072, 1 << 20])
@pytest.mark.parametrize("head_dim", [16, 80, 96])
def test_a_model_with_float32_angles_is_sound_at_the_end_of_its_window(window, head_dim):
    assert _faults(small("llama", max_position_embeddings=window, head_dim=head_dim)) == set()


@pytest.mark.parametrize("size", [0.5, 1.0])
@pytest.mark.parametrize("base", [1e4, 5e5, 2e6])
def test_logits_that_take_small_angles_far_are_no_fault(size, base):
    model = small("llama", max_position_embeddings=8192, initializer_range=size, rope_parameters=_rope(base=base))
    assert _faults(model) == set()


@pytest.mark.parametrize("factor", [2.0, 3.0])
def test_scaled_frequencies_in_float32_are_no_fault(factor):
    yarn = _rope("yarn", factor=factor, original_max_position_embeddings=4096)
    assert _faults(small("llama", max_position_embeddings=int(4096 * factor), rope_parameters=yarn)) == set()


def _rounded_frequencies(rotary, dtype):
    rotary.inv_freq.copy_(rotary.inv_freq.to(dtype))


def _rounded_angles(rotary, dtype):
    def forward(x, position_ids):
        angles = (position_ids[..., None].float() * rotary.inv_freq).to(dtype).float()
        angles = torch.cat([angles, angles], -1)
        return angles.cos(), angles.sin()

    rotary.forward = forward


def _rounded_table(rotary, dtype):
    plain = rotary.forward
    rotary.forward = lambda x, position_ids: tuple(part.to(dtype).float() for part in plain(x, position_ids))


def _rounded_positions(rotary, dtype):
    plain = rotary.forward
    rotary.forward = lambda x, position_ids: plain(x, position_ids.to(dtype).long())


@pytest.mark.parametrize("plant", [_rounded_frequencies, _rounded_angles, _rounded_table, _rounded_positions])
def test_what_bfloat16_rounds_on_the_way_to_an_angle_is_found(plant):
    model = small("llama", max_position_embeddings=8192)
    plant(model.model.rotary_emb, torch.bfloat16)
    assert _faults(model) & {"table_precision", "position_precision"}


@pytest.mark.parametrize("plant", [_rounded_frequencies, _rounded_angles])
def test_what_float16_rounds_on_the_way_to_an_angle_is_found(plant):
    model = small("llama", max_position_embeddings=8192)
    plant(model.model.rotary_emb, torch.float16)
    assert "table_precision" in _faults(model)


@pytest.mark.parametrize("temperature", [1e-4, 1e-3])
def test_logits_that_depend_on_where_a_text_stands_are_found_beside_the_errors_of_angles(temperature):
    model = small("llama", max_position_embeddings=8192)
    plain = model.model.rotary_emb.forward

    def forward(x, position_ids):
        cos, sin = plain(x, position_ids)
        factor = (1 + temperature * position_ids[..., None] / 2048).to(cos.dtype)
        return cos * factor, sin * factor

    model.model.rotary_emb.forward = forward
    assert _faults(model) != set()


@pytest.mark.parametrize("base", [1e4, 1e5, 2e6])
@pytest.mark.parametrize("head_dim", [16, 64, 80, 96])
def test_the_bound_of_float32_holds_for_frequencies_and_angles_that_torch_computes(base, head_dim):
    exact = base ** -(np.arange(0, head_dim, 2) / head_dim)
    computed = 1.0 / (base ** (torch.arange(0, head_dim, 2).float() / head_dim))
    positions = np.array([1, 127, 4097, 131071])
    angles = (torch.from_numpy(positions).float()[:, None] * computed).double().numpy()
    off = np.abs(angles - positions[:, None] * exact)
    bound = np.stack([float32_error(torch.from_numpy(exact), int(position)).numpy() for position in positions])
    assert (off <= bound).all()
    assert (off[-1] > 0.01 * bound[-1]).any()
