"""`RotaryEmbedding` under casts, meta devices, copies and checkpoints: the tables are always right."""

import copy
import io
import pickle

import numpy as np
import pytest
import torch
from torch import nn

from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup
from ordinate.torch import RotaryEmbedding

POSITIONS = torch.tensor([[0, 1, 256, 257, 4096, 131071]])
ANGLES = pytest.mark.parametrize("angles", [False, True], ids=["exact", "float32"])


def unchanged(module, group, angles):
    """The module's tables and frequencies are those of a new one, float32 and finite."""
    fresh = RotaryEmbedding(group, float32_angles=angles)
    tables = zip(module.table(POSITIONS), fresh.table(POSITIONS), strict=True)
    wide = zip(module(torch.zeros(1), POSITIONS), fresh(torch.zeros(1), POSITIONS), strict=True)
    for made, wanted in (*tables, *wide, (module.inv_freq, fresh.inv_freq)):
        assert made.dtype == torch.float32
        assert not made.is_meta
        assert made.isfinite().all()
        assert torch.equal(made, wanted)
    return True


def used(group, angles):
    module = RotaryEmbedding(group, float32_angles=angles)
    module.table(torch.arange(500))
    return module


CASTS = {
    "half": lambda m: m.half(),
    "bfloat16": lambda m: m.to(torch.bfloat16),
    "there and back": lambda m: m.bfloat16().float(),
    "double": lambda m: m.double(),
    "device": lambda m: m.to("cpu", torch.float16),
    "to_empty": lambda m: m.to_empty(device="cpu"),
    "meta and to_empty": lambda m: m.to("meta").to_empty(device="cpu"),
    "meta alone": lambda m: m.to("meta"),
    "apply": lambda m: m.apply(lambda inner: inner),
    "share": lambda m: m.share_memory(),
    "deepcopy": copy.deepcopy,
    "pickle": lambda m: pickle.loads(pickle.dumps(m)),  # noqa: S301
    "eval": lambda m: m.eval().requires_grad_(requires_grad=False),
}


@ANGLES
@pytest.mark.parametrize("cast", CASTS.values(), ids=CASTS)
def test_no_cast_or_copy_changes_a_table(cast, angles, group):
    for module in (RotaryEmbedding(group, float32_angles=angles), used(group, angles)):
        assert unchanged(cast(module), group, angles)
        inside = cast(nn.Sequential(nn.Linear(2, 2), module))
        assert unchanged(inside[1], group, angles)


@ANGLES
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_does_not_reach_a_table(dtype, angles, group):
    module = RotaryEmbedding(group, float32_angles=angles)
    with torch.autocast("cpu", dtype):
        inside = [*module.table(POSITIONS), *module(torch.zeros(1), POSITIONS)]
    outside = [*module.table(POSITIONS), *module(torch.zeros(1), POSITIONS)]
    assert all(torch.equal(a, b) for a, b in zip(inside, outside, strict=True))
    assert unchanged(module, group, angles)


@ANGLES
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_the_default_dtype_does_not_reach_a_table(dtype, angles, group):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        module = RotaryEmbedding(group, float32_angles=angles)
        inside = [*module.table(POSITIONS), module.inv_freq]
    finally:
        torch.set_default_dtype(before)
    outside = [*RotaryEmbedding(group, float32_angles=angles).table(POSITIONS)]
    assert all(torch.equal(a, b) for a, b in zip(inside, outside, strict=False))
    assert unchanged(module, group, angles)


@ANGLES
def test_a_module_built_and_called_on_meta_is_right_once_materialised(angles, group):
    with torch.device("meta"):
        module = RotaryEmbedding(group, float32_angles=angles)
        cos, sin = module(torch.zeros(1, dtype=torch.bfloat16), torch.zeros(2, 3, dtype=torch.int64))
    assert cos.is_meta
    assert sin.is_meta
    assert cos.shape == (2, 3, 64)
    assert cos.dtype == torch.bfloat16
    assert unchanged(module, group, angles)
    module.to_empty(device="cpu")
    assert unchanged(module, group, angles)


@ANGLES
def test_memory_that_begins_as_nan_is_never_read(angles, group, monkeypatch):
    empty, empty_like = torch.empty, torch.empty_like
    fill = lambda made: made.fill_(float("nan")) if made.is_floating_point() and not made.is_meta else made  # noqa: E731
    monkeypatch.setattr(torch, "empty", lambda *a, **k: fill(empty(*a, **k)))
    monkeypatch.setattr(torch, "empty_like", lambda *a, **k: fill(empty_like(*a, **k)))
    module = used(group, angles).to("meta").to_empty(device="cpu")
    assert unchanged(module, group, angles)
    assert all(out.isfinite().all() for out in module.rotate(*torch.ones(2, 1, 6, 3, 64), POSITIONS))


def test_frequencies_begin_at_one_and_fall(plain):
    with torch.device("meta"):
        module = RotaryEmbedding(plain)
    frequencies = module.to_empty(device="cpu").half().inv_freq
    assert frequencies[0] == 1.0
    assert (frequencies.diff() < 0).all()
    assert frequencies.dtype == torch.float32


def test_neighbouring_positions_differ_under_bfloat16(plain):
    cos, _ = RotaryEmbedding(plain).bfloat16().table(torch.tensor([256, 257]))
    assert not torch.equal(cos[0], cos[1])


def test_kept_rows_follow_the_module(plain):
    module = RotaryEmbedding(plain)
    module.table(torch.arange(10))
    assert all(rows.device.type == "cpu" for rows in module._rows)
    seen = []
    module._apply(lambda t: seen.append(t.device) or t)
    assert seen == [torch.device("cpu")]
    assert module._rows[0].dtype == torch.float32


def test_tables_made_in_inference_mode_serve_training_later(plain):
    module = RotaryEmbedding(plain)
    with torch.inference_mode():
        module.table(torch.arange(100))
    q = torch.randn(1, 5, 2, 64, requires_grad=True)
    module.rotate(q, None)[0].sum().backward()
    assert q.grad.isfinite().all()
    with torch.inference_mode():
        module.table(torch.arange(200))
    module.rotate(q, None)[0].sum().backward()


@ANGLES
def test_state_dicts_hold_nothing(angles, group):
    module = used(group, angles)
    assert module.state_dict() == {}
    assert not list(module.parameters())
    assert not list(module.buffers())
    model = nn.ModuleDict({"rotary_emb": module, "layer": nn.Linear(2, 2)})
    assert set(model.state_dict()) == {"layer.weight", "layer.bias"}
    saved = io.BytesIO()
    torch.save(model.state_dict(), saved)
    saved.seek(0)
    model.load_state_dict(torch.load(saved, weights_only=True), strict=True)
    assert unchanged(model["rotary_emb"], group, angles)


@ANGLES
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_an_old_checkpoints_frequencies_load_where_they_agree(dtype, angles, group):
    model = nn.ModuleDict({"rotary_emb": used(group, angles)})
    for frequencies in (group.frequencies(), group.rope.plain()):
        state = {"rotary_emb.inv_freq": torch.from_numpy(frequencies).to(dtype)}
        assert model.load_state_dict(state, strict=True).unexpected_keys == []
        assert unchanged(model["rotary_emb"], group, angles)
    model.load_state_dict({"rotary_emb.inv_freq": torch.zeros(32, device="meta")}, strict=True)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("frequencies", [Rope(64, base=5e5).plain(), Rope(32).plain(), np.zeros(32)])
def test_other_frequencies_are_an_error(plain, frequencies, strict):
    model = nn.ModuleDict({"rotary_emb": RotaryEmbedding(plain)})
    with pytest.raises(RuntimeError, match=r"rotary_emb\.inv_freq differs from this module's frequencies"):
        model.load_state_dict({"rotary_emb.inv_freq": torch.from_numpy(frequencies)}, strict=strict)


def test_other_keys_are_unexpected(plain):
    model = nn.ModuleDict({"rotary_emb": RotaryEmbedding(plain)})
    with pytest.raises(RuntimeError, match=r"Unexpected key\(s\) in state_dict: \"rotary_emb\.cos_cached\""):
        model.load_state_dict({"rotary_emb.cos_cached": torch.zeros(3)}, strict=True)


def test_it_says_what_it_is(plain):
    text = str(RotaryEmbedding(LayerGroup("full_attention", Rope(64)), float32_angles=True))
    assert text == "RotaryEmbedding(rope, pairs=32, pairing=half, float32_angles=True)"
    assert str(RotaryEmbedding(plain)) == "RotaryEmbedding(rope, pairs=32, pairing=half)"
