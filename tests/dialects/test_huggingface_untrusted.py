"""Configurations from strangers: whatever stands in them, the answer is a spec or one line."""

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ordinate.dialects import huggingface
from ordinate.errors import InputError
from ordinate.schemes.base import Rotary
from ordinate.spec import Spec

GOLDEN = Path(__file__).parents[1] / "golden" / "huggingface_architectures.json"
CONFIGS = [case["config"] for case in json.loads(GOLDEN.read_text(encoding="utf-8"))["cases"]]
KEYS = sorted(
    {key for config in CONFIGS for key in config} | {"rope_scaling", "no_rope_layers", "rotary_dim", "auto_map"}
)
SETTINGS = ["rope_type", "type", "rope_theta", "factor", "partial_rotary_factor", "original_max_position_embeddings",
            "short_factor", "long_factor", "mrope_section", "truncate", "beta_fast", "attention_factor"]  # fmt: skip

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 70000),
    st.sampled_from([0, 1, 2**63, 10**300, -1, math.nan, math.inf, -math.inf, 0.5, 1e-300, 1e300, 8.0]),
    st.sampled_from(["", "yarn", "linear", "dynamic", "longrope", "llama3", "su", "axial", "none", "a\nb", "\x1b[31m"]),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from([*SETTINGS, "full_attention", "sliding_attention", "a\nb"]), inner, max_size=5),
    ),
    max_leaves=8,
)


@given(data=st.data())
def test_a_spoilt_configuration_gives_a_spec_or_one_line(data: st.DataObject) -> None:
    config: dict[str, Any] = dict(data.draw(st.sampled_from(CONFIGS)))
    changes = data.draw(st.dictionaries(st.sampled_from(KEYS), values, min_size=1, max_size=4))
    config |= changes
    if data.draw(st.booleans()):
        config["rope_parameters"] = data.draw(st.dictionaries(st.sampled_from(SETTINGS), scalars, max_size=5))
    try:
        spec = huggingface.read(config, name="strange")
    except InputError as error:
        message = str(error)
    else:
        message = ""
        check(spec)
    assert "\n" not in message
    assert len(message) < 1000


def check(spec: Spec) -> None:
    """What holds of every spec."""
    for group in spec.groups.values():
        if isinstance(group.encoding, Rotary):
            with np.errstate(all="ignore"):
                assert group.frequencies().ndim == 1
            assert group.attention_factor() > 0
    assert all("\n" not in text and "\x1b" not in text for text in (*spec.warnings, *spec.sources, *spec.groups))


def test_reading_imports_neither_torch_nor_transformers() -> None:
    code = (
        "import sys; from ordinate.dialects import huggingface; "
        "huggingface.read({'model_type': 'llama'}, name='llama'); "
        "sys.exit(bool({'torch', 'transformers', 'scipy', 'huggingface_hub'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
