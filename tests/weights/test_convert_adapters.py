"""LoRA and DoRA adapters: B and the magnitude follow the rows, A stays."""

import json

import numpy as np
import pytest
from conversion_files import HALF_TO_INTERLEAVED, LLAMA, STEM, refused, weights, write_raw
from safetensors.numpy import load_file, save_file

from ordinate.weights import convert


def adapter(directory, tensors, settings=None):
    directory.mkdir()
    plain = {"peft_type": "LORA", "r": 2, "base_model_name_or_path": "some/model"}
    (directory / "adapter_config.json").write_text(json.dumps(plain | (settings or {})))
    save_file(tensors, directory / "adapter_model.safetensors")
    return directory


def base(tmp_path, **keys):
    (tmp_path / "base").mkdir(exist_ok=True)
    (tmp_path / "base" / "config.json").write_text(json.dumps(LLAMA | keys))
    return tmp_path / "base"


def lora(dora=False):
    generator = np.random.default_rng(0)
    stem = f"base_model.model.{STEM}"
    shapes = {
        f"{stem}q_proj.lora_A.weight": (24, 12),  # as many rows as q, and yet not its rows
        f"{stem}q_proj.lora_B.weight": (24, 24),
        f"{stem}k_proj.lora_A.weight": (12, 12),
        f"{stem}k_proj.lora_B.weight": (12, 12),
        f"{stem}v_proj.lora_A.weight": (2, 12),
        f"{stem}v_proj.lora_B.weight": (12, 2),
    }
    if dora:
        shapes |= {f"{stem}q_proj.lora_magnitude_vector": (24,), f"{stem}v_proj.lora_magnitude_vector": (12,)}
    return {name: generator.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


@pytest.mark.parametrize("dora", [False, True])
def test_an_adapters_b_and_magnitude_move_and_a_stays(tmp_path, dora):
    before = lora(dora)
    done = convert(adapter(tmp_path / "a", before), tmp_path / "b", "interleaved", base=base(tmp_path))
    after = load_file(tmp_path / "b" / "adapter_model.safetensors")
    for name, tensor in before.items():
        heads = 4 if "q_proj" in name else 2 if "k_proj" in name else 0
        if heads and ("lora_B" in name or "magnitude" in name):
            tensor = np.concatenate([tensor[6 * head + HALF_TO_INTERLEAVED] for head in range(heads)])
        assert np.array_equal(after[name], tensor), name
    assert done.moved == 2 + dora
    assert done.files == ("adapter_config.json", "adapter_model.safetensors")
    assert (tmp_path / "b" / "adapter_config.json").read_text().count("LORA") == 1


def test_a_merged_adapter_is_the_converted_merged_model(tmp_path):
    tensors, model = lora(), weights()
    q, stem = f"{STEM}q_proj.weight", f"base_model.model.{STEM}q_proj.lora_"

    def merged(weight, adapter):
        return weight + adapter[f"{stem}B.weight"] @ adapter[f"{stem}A.weight"]

    convert(adapter(tmp_path / "a", tensors), tmp_path / "b", "interleaved", base=base(tmp_path))
    after = load_file(tmp_path / "b" / "adapter_model.safetensors")

    def moved_rows(tensor):
        return np.concatenate([tensor[6 * head + HALF_TO_INTERLEAVED] for head in range(4)])

    assert np.allclose(merged(moved_rows(model[q]), after), moved_rows(merged(model[q], tensors)), atol=1e-5)


def test_an_adapter_comes_back_with_its_converted_base(tmp_path):
    source = adapter(tmp_path / "a", lora())
    convert(source, tmp_path / "b", "interleaved", base=base(tmp_path))
    refused(tmp_path / "b", tmp_path / "c", "notes interleaved pairs", "half", base=base(tmp_path))
    other = base(tmp_path, ordinate_pairing="interleaved")
    convert(tmp_path / "b", tmp_path / "c", "half", base=other)
    before, after = ((tmp_path / d / "adapter_model.safetensors").read_bytes()[-1000:] for d in "ac")
    assert before == after


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"peft_type": "IA3"}, "peft_type must be LORA"),
        ({"fan_in_fan_out": True}, "fan_in_fan_out transposes"),
        ({"layer_replication": [[0, 1], [0, 1]]}, "layer_replication numbers layers anew"),
    ],
)
def test_other_adapters_are_refused(tmp_path, settings, message):
    refused(adapter(tmp_path / "a", lora(), settings), tmp_path / "b", message, base=base(tmp_path))


def test_an_adapter_needs_its_base_and_a_model_has_none(tmp_path):
    refused(adapter(tmp_path / "a", lora()), tmp_path / "b", "give its model's directory as base")
    model = write_raw(tmp_path / "m", {n: ("F32", t.shape, 4 * t.size) for n, t in weights().items()})
    refused(model, tmp_path / "b", "so it has no base", base=base(tmp_path))
