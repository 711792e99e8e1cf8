"""The faults that are planted are there, where they are said to be and nowhere else."""

import pytest
import torch
from audit.mutants import ways
from audit.mutants.faults import ALL, FAULTS
from audit.mutants.subjects import SUBJECTS, clean, mutant

# A part of the model is broken by the same code as all of it: the parts are left to `make test-slow`.
_CASES = [
    pytest.param(name, scope, marks=() if scope == "everywhere" else pytest.mark.slow)
    for name, fault in FAULTS.items()
    for scope in fault.scopes
]
# Faults that change one plain pass over the text too.
_PLAIN = {"bf16_frequencies", "bf16_tables", "dynamic_switch", "longrope_switch"}


@pytest.fixture(scope="module")
def right():
    known = {}

    def compute(subject, way, dtype):
        key = subject, way, dtype
        if key not in known:
            known[key] = run(clean(subject, dtype), way)
        return known[key]

    return compute


@torch.inference_mode()
def run(model, way):
    return getattr(ways, way)(model).float()


def distance(a, b):
    return (a - b).abs().max().item()


@pytest.mark.parametrize("name, scope", _CASES)
def test_a_planted_fault_shows_in_the_way_that_it_names(right, name, scope):
    fault = FAULTS[name]
    assert (
        distance(run(mutant(name, scope), fault.shown_by), right(fault.subject, fault.shown_by, torch.float32)) > 1e-3
    )


@pytest.mark.parametrize("name, scope", _CASES)
def test_a_planted_fault_leaves_one_plain_pass_right(right, name, scope):
    if name not in _PLAIN:
        assert distance(run(mutant(name, scope), "whole"), right(FAULTS[name].subject, "whole", torch.float32)) < 1e-5


@pytest.mark.parametrize("name", [name for name in FAULTS if "later_rows" in FAULTS[name].scopes])
def test_the_first_row_is_spared_where_later_rows_are_meant(right, name):
    fault = FAULTS[name]
    wrong, expected = (
        run(mutant(name, "later_rows"), fault.shown_by),
        right(fault.subject, fault.shown_by, torch.float32),
    )
    assert torch.equal(wrong[0], expected[0])


@pytest.mark.parametrize("name", [n for n, f in FAULTS.items() if "bfloat16" in f.dtypes and f.site != "table"])
def test_a_planted_fault_is_larger_than_rounding_in_bfloat16(right, name):
    fault = FAULTS[name]
    expected = right(fault.subject, fault.shown_by, torch.bfloat16)
    assert distance(run(mutant(name, dtype=torch.bfloat16), fault.shown_by), expected) > 0.1


@pytest.mark.parametrize("subject", SUBJECTS)
@pytest.mark.parametrize("way", ["steps", "chunks"])
@pytest.mark.parametrize("dtype, bound", [(torch.float32, 1e-5), (torch.bfloat16, 0.05)])
def test_a_clean_model_is_the_same_for_every_chunking(subject, way, dtype, bound):
    model = clean(subject, dtype)
    with torch.inference_mode():
        whole = model(ways.ids(2)).logits.float()
    assert distance(run(model, way), whole) < bound


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_clean_model_gives_a_padded_row_what_it_gives_the_row_alone(subject):
    model = clean(subject)
    padded = run(model, "padded")
    with torch.inference_mode():
        alone = model(ways.ids(3)[2:, 17:]).logits
    assert distance(padded[2:, 17:], alone) < 1e-5


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_clean_model_keeps_nothing_between_calls_casts_and_devices(right, subject):
    whole = right(subject, "whole", torch.float32)
    assert distance(run(clean(subject), "after_a_longer_call")[:1], whole) < 1e-5
    assert torch.equal(run(clean(subject), "from_meta"), whole)


@pytest.mark.parametrize(
    "subject", [name for name in SUBJECTS if name not in ("dynamic", "longrope", "learned", "alibi")]
)
def test_a_clean_rotary_model_is_the_same_wherever_its_text_stands(right, subject):
    model = clean(subject)
    with torch.inference_mode():
        assert distance(run(model, "far"), model(ways.ids(2)).logits) < 1e-4


@pytest.mark.parametrize("subject", SUBJECTS)
def test_clean_models_generate(subject):
    model = clean(subject)
    text = ways.ids(1, 20)
    made = model.generate(text, max_new_tokens=6, do_sample=False, eos_token_id=None)
    step = text
    with torch.inference_mode():
        for _ in range(6):
            step = torch.cat([step, model(step).logits[:, -1:].argmax(-1)], 1)
    assert torch.equal(made, step)


def test_every_fault_says_why_a_part_of_the_model_cannot_have_it():
    assert all(bool(fault.elsewhere) == (set(fault.scopes) != set(ALL)) for fault in FAULTS.values())
    assert len(FAULTS) >= 20
