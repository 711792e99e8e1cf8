"""What the audit says of transformers' architectures: the table in the documentation is what it says today."""

import json
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
import torch
import transformers
from audit.architectures import ARCHITECTURES, LENGTH, build

from ordinate.audit import audit_model, kinds
from ordinate.audit.run import all_checks

_ROOT = Path(__file__).resolve().parents[2]
_WRITTEN = json.loads((_ROOT / "tests/golden/audited.json").read_text(encoding="utf-8"))
_QUICK = ("phi3-longrope", "opt", "bert", "mpt", "gemma3")
_TRACED = "torch_compile"

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def tool():
    spec = spec_from_file_location("audit_architectures", _ROOT / "tools/audit_architectures.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def same_as_written(tool, name):
    assert tool.verdicts(name) == _WRITTEN["architectures"][name]


def test_the_written_results_are_of_all_architectures_and_checks():
    assert list(_WRITTEN["architectures"]) == list(ARCHITECTURES)
    assert len(ARCHITECTURES) >= 25
    names = {check.name for check in all_checks()} - {_TRACED}
    assert all(set(written["checks"]) == names for written in _WRITTEN["architectures"].values())
    assert _WRITTEN["versions"]["transformers"] == transformers.__version__, "run tools/audit_architectures.py again"


@pytest.mark.parametrize("name", _QUICK)
def test_an_architecture_is_judged_as_written(tool, name):
    same_as_written(tool, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ARCHITECTURES if name not in _QUICK])
def test_every_architecture_is_judged_as_written(tool, name):
    same_as_written(tool, name)


def test_the_architectures_that_switch_frequencies_are_flagged_and_no_other():
    flagged = {
        name
        for name, written in _WRITTEN["architectures"].items()
        if any("length_switch" in found for found in written["kinds"].values())
    }
    assert flagged == {"llama-dynamic", "phi3-longrope"}


def test_no_architecture_has_a_fault_that_nothing_explains():
    found = {
        kind for written in _WRITTEN["architectures"].values() for names in written["kinds"].values() for kind in names
    }
    assert "unexplained" not in found
    assert found <= set(kinds.KINDS)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["llama", "gpt-neox", "bloom", "opt", "mistral", "deepseek-v3", "cohere2"])
def test_nothing_is_found_in_bfloat16_where_nothing_switches(name):
    chosen = [check.name for check in all_checks() if check.name != _TRACED]
    audit = audit_model(build(name, torch.bfloat16), checks=chosen, length=LENGTH)
    assert [(finding.check, finding.kind) for finding in audit.findings if finding.severity == "error"] == []
