"""Files from strangers: whatever stands in them, the answer is findings or one line."""

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rules.corpus import CASES

from ordinate.rules import check, engines, to_github, to_json, to_sarif, to_text

FILES = ("generation_config.json", "tokenizer_config.json", "adapter_config.json")
CONFIGS = [case.files.get("config.json", case.files) for case in CASES]
KEYS = sorted({key for config in CONFIGS for key in config} | {"text_config", "layer_types", "model_max_length"})
SETTINGS = sorted(
    {key for config in CONFIGS for key in config.get("rope_scaling") or ()}
    | {"rope_theta", "partial_rotary_factor", "mrope_section", "mrope_interleaved"}
)
BESIDE = ["max_length", "max_new_tokens", "model_max_length", "peft_type", "base_model_name_or_path", "rope_theta"]

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 70000),
    st.sampled_from([0, 1, 2**63, 10**300, -1, math.nan, math.inf, -math.inf, 0.5, 1e-300, 1e300, 5e-324, 8.0]),
    st.sampled_from(["", "yarn", "linear", "dynamic", "longrope", "llama3", "su", "1e6", "nan", "a\nb", "\x1b[31m"]),
    st.sampled_from(["llama", "gpt2", "t5", "bloom", "deepseek_v3", "qwen2_vl", "gemma3_text", "roberta", "smollm3"]),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.dictionaries(st.sampled_from([*SETTINGS, "full_attention", "sliding_attention", "a\nb"]), inner, max_size=5),
    ),
    max_leaves=10,
)
objects = st.dictionaries(st.sampled_from([*KEYS, "a\nb", "\x1b"]), values, max_size=8)


def examine(files: dict[str, Any], engine: str | None) -> None:
    """Check, print in every format, and look at what is printed."""
    report = check(files, engine=engine)
    for finding in report.findings:
        for text in (finding.key, finding.evidence, finding.fix):
            assert text.isprintable()
            assert len(text) <= 700
    assert len(report.findings) <= 20 * 80
    json.loads(to_json([report]))
    json.loads(to_sarif([report], "0"))
    assert len(to_github([report], "note").splitlines()) == len(report.findings)
    assert to_text([report], "note").replace("\n", " ").isprintable()


@given(data=st.data())
def test_a_spoilt_configuration_gives_findings(data: st.DataObject) -> None:
    config = dict(data.draw(st.sampled_from(CONFIGS)))
    config |= data.draw(st.dictionaries(st.sampled_from(KEYS), values, max_size=3))
    settings = config.get("rope_scaling")
    if isinstance(settings, dict):
        config["rope_scaling"] = settings | data.draw(
            st.dictionaries(st.sampled_from(SETTINGS), scalars, min_size=1, max_size=3)
        )
    examine(config, data.draw(st.sampled_from([None, *engines()])))


@given(
    config=objects,
    beside=st.dictionaries(st.sampled_from(FILES), st.dictionaries(st.sampled_from(BESIDE), values), max_size=3),
    engine=st.sampled_from(["vllm", "llama_cpp", "mlx", None]),
)
def test_random_objects_give_findings(config: dict[str, Any], beside: dict[str, Any], engine: str | None) -> None:
    examine({"config.json": config, **beside}, engine)


@given(config=st.dictionaries(st.sampled_from(["dim", "n_layers", "n_heads", "rope_theta", "yarn", "use_scaled_rope"]),
                              values))  # fmt: skip
def test_random_params_give_findings(config: dict[str, Any]) -> None:
    examine({"dim": 64, "n_layers": 2, "n_heads": 2, "multiple_of": 8} | config, None)


def wide(count: int) -> str:
    """A configuration with very many settings, misspelt keys and layer types."""
    settings = {f"setting_{i}": i for i in range(count)} | {f"type_{i}": {"factor": 2} for i in range(count)}
    return json.dumps({"model_type": "llama", "rope_scaling": settings} | {f"rope_thet{i}": i for i in range(count)})


LARGE = {
    "many keys": wide(24_000),
    "many numbers": json.dumps({"model_type": "llama", "rope_scaling": {"short_factor": [1] * 900_000}}),
    "a long key": json.dumps({"k" * 900_000: {f"rope_theta{i}": i for i in range(90_000)}, "model_type": "llama"}),
    "many layers": json.dumps({"model_type": "smollm3", "no_rope_layers": [0] * 900_000}),
    "deep": '{"rope_scaling":' * 60 + "1" + "}" * 60,
}


@pytest.mark.parametrize("name", LARGE)
def test_a_large_file_is_checked_in_little_memory(name: str, tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(LARGE[name])
    code = (
        "import sys; from ordinate.cli import run; code = run(['check', sys.argv[1], '--format', 'sarif']); "
        # Not `getrusage`, whose maximum is that of the process before it became this one: of the tests.
        "peak = next(line for line in open('/proc/self/status') if line.startswith('VmHWM')); "
        "print(peak.split()[1], file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(file)], capture_output=True, text=True, timeout=60, check=False
    )
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1, 2)
    assert int(done.stderr.split()[-1]) < 256 * 1024
