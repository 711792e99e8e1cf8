"""What a call imports: the promise behind its speed, asserted without a timer."""

import json
import subprocess
import sys

import pytest

HEAVY = ("torch", "transformers", "tokenizers", "safetensors", "scipy", "matplotlib")
CONFIG = {
    "model_type": "llama",
    "hidden_size": 576,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "max_position_embeddings": 8192,
    "rope_parameters": {"rope_type": "default", "rope_theta": 100000.0},
}


def imported_by(code: str) -> set[str]:
    """The modules that are loaded after `code` ran in a fresh interpreter."""
    listing = "import sys; sys.stdout = sys.stderr\n" + code + "\nprint('\\n'.join(sys.modules), file=sys.__stdout__)"
    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def run_line(*arguments: str) -> str:
    return f"from ordinate.cli import run; assert run({list(arguments)!r}) == 0"


def test_the_import_test_can_see_a_heavy_import():
    assert "scipy" in imported_by("import scipy")


@pytest.mark.parametrize("code", ["import ordinate", run_line("--help"), run_line("list", "schemes")])
def test_nothing_heavy_is_imported(code):
    assert not imported_by(code) & set(HEAVY)


def test_help_imports_no_command_and_no_typer():
    loaded = imported_by(run_line("--help"))
    assert "typer" not in loaded
    assert "rich" not in loaded
    assert "ordinate.cli.describe" not in loaded


def test_describe_on_a_config_imports_nothing_it_does_not_need(tmp_path):
    file = tmp_path / "config.json"
    file.write_text(json.dumps(CONFIG))
    loaded = imported_by(run_line("describe", str(file), "--format", "json"))
    assert not loaded & set(HEAVY)
    for module in ("rich", "ordinate.dialects.llama_cpp", "ordinate.files.dequantise"):
        assert module not in loaded, module


@pytest.mark.parametrize("command", ["describe", "extend", "prove", "list"])
def test_a_commands_help_imports_neither_torch_nor_the_reader(command):
    loaded = imported_by(run_line(command, "--help"))
    assert not loaded & set(HEAVY)
