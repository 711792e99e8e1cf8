"""The command that copies a GGUF file: what it carries, what it refuses, and that nothing is overwritten."""

import json
from pathlib import Path

import numpy as np
import pytest

import ordinate
from ordinate import models
from ordinate.cli import run
from ordinate.errors import Unavailable

EXTENDED = {
    "model_type": "llama",
    "head_dim": 64,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "num_hidden_layers": 30,
    "max_position_embeddings": 32768,
    "rope_parameters": {
        "rope_type": "yarn",
        "rope_theta": 100000.0,
        "factor": 4.0,
        "original_max_position_embeddings": 8192,
    },
}


@pytest.fixture(scope="module")
def smollm2() -> Path:
    try:
        return models.find("smollm2").path
    except Unavailable as error:
        pytest.skip(str(error))


def wanted(folder: Path, **rope: object) -> str:
    path = folder / "config.json"
    path.write_text(json.dumps({**EXTENDED, "rope_parameters": {**EXTENDED["rope_parameters"], **rope}}))
    return str(path)


def test_a_copy_has_the_settings_of_the_other_and_the_original_is_as_it_was(tmp_path: Path, smollm2: Path) -> None:
    other, copy = wanted(tmp_path), tmp_path / "copy.gguf"
    before = (smollm2.stat().st_size, smollm2.stat().st_mtime_ns)
    assert run(["translate", str(smollm2), "--to", "gguf", "--from", other, "--out", str(copy)]) == 0
    found, meant = ordinate.read(copy), ordinate.read(other)
    np.testing.assert_allclose(found.group.frequencies(), meant.group.frequencies(), rtol=1e-6)
    assert found.window == meant.window
    assert (smollm2.stat().st_size, smollm2.stat().st_mtime_ns) == before
    assert run(["translate", str(smollm2), "--to", "gguf", "--from", other, "--out", str(copy)]) == 2


def test_what_llama_cpp_would_not_heed_is_refused_before_anything_is_written(
    tmp_path: Path, smollm2: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lists = {"short_factor": [1.0] * 32, "long_factor": [4.0] * 32}
    other, copy = wanted(tmp_path, rope_type="longrope", **lists), tmp_path / "copy.gguf"
    assert run(["translate", str(smollm2), "--to", "gguf", "--from", other, "--out", str(copy)]) == 1
    out = capsys.readouterr().out
    assert "long_factor" in out
    assert "source:" in out
    assert not copy.exists()


@pytest.mark.parametrize("more", [{"truncate": False}, {"attention_factor": 1.3}])
def test_what_a_file_can_say_and_flags_cannot_is_written(
    tmp_path: Path, smollm2: Path, more: dict[str, object]
) -> None:
    other, copy = wanted(tmp_path, **more), tmp_path / "copy.gguf"
    assert run(["translate", str(smollm2), "--to", "gguf", "--from", other, "--out", str(copy)]) == 0
    found, meant = ordinate.read(copy), ordinate.read(other)
    np.testing.assert_allclose(found.group.frequencies(), meant.group.frequencies(), rtol=1e-6)
    assert found.group.attention_factor() == pytest.approx(meant.group.attention_factor(), rel=1e-6)


def arguments(source: object, other: str, copy: Path) -> list[str]:
    return ["translate", str(source), "--to", "gguf", "--from", other, "--out", str(copy)]


def test_a_named_model_is_copied_and_what_changes_is_printed_with_its_proof(
    tmp_path: Path, smollm2: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy.gguf"
    assert smollm2.is_file()
    assert run(arguments("smollm2", wanted(tmp_path), copy)) == 0
    out = capsys.readouterr().out
    assert "window.declared: 8,192 -> 32,768" in out
    assert "groups.full_attention.stretch: none -> yarn, factor 4" in " ".join(out.split())
    assert "proof: read back from the copy" in out
    assert "full_attention: frequencies within" in out
    assert "beware" not in out


def test_json_has_the_changes_and_the_proof(tmp_path: Path, smollm2: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "copy.gguf"
    assert run([*arguments(smollm2, wanted(tmp_path), copy), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["written"]
    assert {"window.declared", "groups.full_attention.stretch"} <= {entry["path"] for entry in found["changes"]}
    assert found["proof"][0]["exact"]


def test_another_base_is_reported(tmp_path: Path, smollm2: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments(smollm2, wanted(tmp_path, rope_theta=10000.0), tmp_path / "copy.gguf")) == 0
    assert "the file's base is 100,000 and becomes 10,000" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    "more, message",
    [
        ({"num_hidden_layers": 24}, "has 30 layers, and the settings are of a model with 24"),
        ({"head_dim": 128}, "has 64 channels a head, and the settings are of a model with 128"),
        ({"partial_rotary_factor": 0.5}, "has 32 pairs a head, and the settings are of a model with 16"),
    ],
)
def test_settings_of_another_model_are_refused_before_anything_is_written(
    tmp_path: Path, smollm2: Path, capsys: pytest.CaptureFixture[str], more: dict[str, object], message: str
) -> None:
    rope = {**EXTENDED["rope_parameters"], **{k: v for k, v in more.items() if k == "partial_rotary_factor"}}
    other = tmp_path / "config.json"
    other.write_text(json.dumps({**EXTENDED, **more, "rope_parameters": rope}))
    assert run(arguments(smollm2, str(other), tmp_path / "copy.gguf")) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "partial-" not in error
    assert [path.name for path in tmp_path.iterdir()] == ["config.json"]


def test_a_directory_without_a_gguf_file_is_no_source_of_a_copy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments(tmp_path, wanted(tmp_path), tmp_path / "copy.gguf")) == 2
    error = capsys.readouterr().err
    assert "a GGUF file is needed" in error
    assert error.count("\n") == 1
