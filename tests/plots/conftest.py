"""What plots are drawn from: configurations, and results that commands wrote."""

import json
from pathlib import Path

import numpy as np
import pytest

LLAMA = {
    "model_type": "llama",
    "_name_or_path": "a llama",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "num_hidden_layers": 32,
    "max_position_embeddings": 131072,
    "rope_parameters": {
        "rope_type": "llama3",
        "rope_theta": 500000.0,
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    },
}
PLAIN = LLAMA | {
    "_name_or_path": "a plain one",
    "max_position_embeddings": 4096,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
}
YARN = PLAIN | {
    "_name_or_path": "a yarn",
    "max_position_embeddings": 16384,
    "rope_parameters": {
        "rope_type": "yarn",
        "rope_theta": 10000.0,
        "factor": 4.0,
        "original_max_position_embeddings": 4096,
    },
}


@pytest.fixture(scope="session")
def configs(tmp_path_factory):
    """Paths of configurations, by name."""
    found = {}
    for name, config in {"llama": LLAMA, "plain": PLAIN, "yarn": YARN}.items():
        file = tmp_path_factory.mktemp(name) / "config.json"
        file.write_text(json.dumps(config))
        found[name] = str(file)
    return found


@pytest.fixture(scope="session")
def results():
    """Paths of real results, by the command that wrote them."""
    golden = Path(__file__).parents[1] / "golden"
    names = {"prove": "prove_smollm2", "validate": "validate_window", "losses": "validate_suffix"}
    return {command: str(golden / f"{name}.json") for command, name in names.items()}


@pytest.fixture
def proof(results):
    return json.loads(Path(results["prove"]).read_text())


@pytest.fixture
def card(results):
    return json.loads(Path(results["validate"]).read_text())


@pytest.fixture
def lines():
    return named_lines


def named_lines(ax):
    """Every line by its name: x and y."""
    return {
        str(line.get_label()): tuple(np.asarray(v, dtype=float) for v in line.get_data()) for line in ax.get_lines()
    }
