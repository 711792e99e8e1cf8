"""Models whose cache follows one regime: what the audit finds in transformers' own cache is gone under `use_cache`."""

import pytest
import torch
from audit.audited_models import DYNAMIC, LONGROPE, small

from ordinate.audit import all_checks, audit_model
from ordinate.audit.copies import emptied_and_filled
from ordinate.audit.kinds import KINDS
from ordinate.audit.report import to_text
from ordinate.audit.run import described
from ordinate.audit.subject import Subject
from ordinate.errors import InputError
from ordinate.rules.dynamic_cache import DynamicCache
from ordinate.rules.longrope_switch import LongropeSwitch
from ordinate.transformers import use_cache
from ordinate.transformers.caching import caching_of

# Dynamic NTK's module keeps the frequencies of the longest text that it was asked for.
OWN = {
    "dynamic": {"length_switch", "batch_length", "state_kept"},
    "longrope": {"length_switch", "batch_length"},
}
MODELS = {
    "dynamic": ("llama", DYNAMIC),
    "longrope": ("phi3", LONGROPE | {"original_max_position_embeddings": 64}),
}
REGIMES = {"per_row": None, "frozen": 256, "recompute": None}
CHECKS = [check.id for check in all_checks() if check.name != "torch_compile"]
QUICK = [
    "crossing",
    "batch-of-lengths",
    "order-of-calls",
    "chunked-prefill",
    "left-padding",
    "crop-and-rewind",
    "beam-reorder",
]
COUNTS = [pytest.param(QUICK, id="quick"), pytest.param(CHECKS, id="all", marks=pytest.mark.slow)]


def made(name):
    kind, settings = MODELS[name]
    return small(kind, **settings)


def faults(found):
    return {one.kind: one.evidence for one in found.findings if one.severity != "note"}


def statuses(found, check):
    return {outcome.status for outcome in found.outcomes if outcome.check == check}


@pytest.mark.parametrize("checks", COUNTS)
@pytest.mark.parametrize("name", MODELS)
def test_transformers_own_cache_is_found_to_mix_lengths(name, checks):
    found = audit_model(made(name), checks=checks, length=48)
    assert set(faults(found)) == OWN[name]
    assert found.subject["regime"] is None
    assert "cache: transformers' own\n" in to_text(found)


def remedies(found):
    return {one.kind: one.remedy for one in found.findings}


def test_each_finding_that_use_cache_cures_says_so():
    found = audit_model(made("dynamic"), checks=["crossing", "batch-of-lengths", "order-of-calls"], length=48)
    assert set(remedies(found)) == OWN["dynamic"]
    assert all("ordinate.transformers.use_cache(model" in text for text in remedies(found).values()), remedies(found)


def test_a_state_that_is_no_frequency_is_not_said_to_be_cured_by_use_cache():
    model, seen = small("llama"), []

    def later(module, given, named):
        seen.append(named["hidden_states"].shape[1])
        named["hidden_states"] = named["hidden_states"] + max(seen) / 100
        return given, named

    model.model.layers[1].self_attn.register_forward_pre_hook(later, with_kwargs=True)
    found = remedies(audit_model(model, checks=["order-of-calls"], length=48))
    assert set(found) == {"state_kept"}
    assert "use_cache" not in found["state_kept"]


@pytest.mark.parametrize("checks", COUNTS)
@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("name", MODELS)
def test_nothing_is_found_under_use_cache_and_what_failed_before_passes(name, regime, checks):
    model = made(name)
    with use_cache(model, regime=regime, length=REGIMES[regime]):
        found = audit_model(model, checks=checks, length=48)
    assert faults(found) == {}
    assert statuses(found, "crossing") == statuses(found, "batch_of_lengths") == {"passed"}
    assert not any(outcome.status == "refused" for outcome in found.outcomes)
    assert found.subject["regime"] == regime
    assert f"cache: Ordinate's, regime {regime}\n" in to_text(found)


def test_under_recompute_a_decoder_that_keeps_old_keys_is_still_found(monkeypatch):
    model = made("dynamic")
    # What the regime is for is left out: the text never runs again.
    monkeypatch.setattr("ordinate.transformers.caching.are_turned_otherwise", lambda *_: False)
    with use_cache(model, regime="recompute"):
        assert set(faults(audit_model(model, checks=["crossing"], length=48))) == {"length_switch"}


class LosingTable(torch.nn.Module):
    """A rotary module whose frequencies nothing fills again."""

    def __init__(self, own):
        super().__init__()
        self.register_buffer("frequencies", own.inv_freq.clone(), persistent=False)

    def forward(self, x, position_ids):
        angles = position_ids[..., None].float() * self.frequencies
        angles = torch.cat([angles, angles], -1)
        return angles.cos().to(x.dtype), angles.sin().to(x.dtype)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("regime", REGIMES)
def test_a_copy_of_a_model_under_use_cache_is_under_its_own(name, regime):
    model = made(name)
    with use_cache(model, regime=regime, length=REGIMES[regime]) as caching:
        copied = emptied_and_filled(Subject(model, described(model), length=48)).model
        assert caching_of(copied) is not caching
        assert caching_of(copied).model is copied
        found = audit_model(model, checks=["meta-load", "dtype-cast", "context-shift"], length=48)
    assert statuses(found, "meta_load") == statuses(found, "dtype_cast") == {"passed"}
    assert statuses(found, "context_shift") == {"not applicable"}


def test_tables_that_a_load_loses_are_found_under_use_cache():
    model = small("llama")
    model.model.rotary_emb = LosingTable(model.model.rotary_emb)
    with use_cache(model):
        found = audit_model(model, checks=["meta-load", "sliding-eviction", "context-shift"], length=48)
    assert set(faults(found)) == {"table_lost"}
    (shift,) = (one for one in found.outcomes if one.check == "context_shift")
    assert (shift.status, shift.evidence) == ("not applicable", "the model's cache offers no shift")


@pytest.mark.parametrize("regime", REGIMES)
def test_the_eviction_of_sliding_layers_is_checked_under_use_cache(regime):
    model = small("mistral")
    with use_cache(model, regime=regime, length=REGIMES[regime]):
        found = audit_model(model, checks=["sliding-eviction"], length=60)
    assert statuses(found, "sliding_eviction") == {"passed"}
    assert len(found.outcomes) == 6


def test_a_frozen_length_bounds_the_text_that_is_read():
    model = small("llama")
    with use_cache(model, regime="frozen", length=40):
        assert Subject(model).length == 40
        with pytest.raises(InputError, match="length must be at most 40, the model's window, got 41"):
            audit_model(model, length=41)


def test_a_frozen_length_that_no_text_fits_into_is_refused_and_says_what_is_needed():
    model = small("llama")
    words = "an audit needs a cache frozen at a length of at least 16 tokens, got 15: call use_cache with a longer one"
    with use_cache(model, regime="frozen", length=15), pytest.raises(InputError, match=words):
        audit_model(model)


@pytest.mark.parametrize("length", [16, 31, 70])
def test_a_short_frozen_length_leaves_out_what_takes_longer_texts(length):
    model = made("dynamic")
    with use_cache(model, regime="frozen", length=length):
        found = audit_model(model, checks=QUICK)
    assert found.findings == ()
    assert statuses(found, "crossing") == {"not applicable"}
    assert statuses(found, "batch_of_lengths") == {"passed" if length == 70 else "not applicable"}
    assert not any(outcome.status == "refused" for outcome in found.outcomes)


@pytest.mark.parametrize("kind", ["llama", "bert", "t5"])
def test_a_model_as_transformers_made_it_is_under_no_caching(kind):
    assert caching_of(small(kind)) is None


def test_a_model_is_asked_for_its_caching_until_that_is_undone():
    model = small("llama")
    caching = use_cache(model)
    assert caching_of(model) is caching
    caching.undo()
    assert caching_of(model) is None


@pytest.mark.parametrize("rule", [DynamicCache, LongropeSwitch])
def test_check_and_audit_name_one_remedy_for_keys_that_keep_the_frequencies_of_their_time(rule):
    assert "`ordinate.transformers.use_cache(model" in rule.remedy
    assert "`ordinate.transformers.use_cache(model" in KINDS["length_switch"].remedy
