"""Decoding at the end of the window: what is wrong only there, and only on a cache, is found."""

import pytest
import torch
from audit.architectures import ARCHITECTURES, LENGTH, build
from audit.audited_models import DYNAMIC, small

from ordinate.audit import audit_model
from ordinate.transformers import use_cache

_LONG = 131072


def outcomes(model, length=64):
    return audit_model(model, checks=["far-decoding"], length=length).outcomes


def clamped_on_a_cache(model, last, decoder="model"):
    """Positions past `last` stand there, in passes on a cache."""

    def clamp(module, given, named):
        cache = named.get("cache")
        past = cache.get_seq_length() if cache is not None else 0
        if past:
            ids = given[0] if given else named["input_ids"]
            own = past + torch.arange(ids.shape[1])[None]
            given_positions = named.get("position_ids")
            named["position_ids"] = (own if given_positions is None else given_positions).clamp(max=last)
        return given, named

    getattr(model, decoder).register_forward_pre_hook(clamp, with_kwargs=True)
    return model


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    ("kind", "settings", "decoder"),
    [("llama", {"max_position_embeddings": 512}, "model"), ("gpt2", {"n_positions": 512}, "transformer")],
)
def test_positions_that_are_clamped_on_a_cache_are_found_in_both_ways(kind, settings, decoder, dtype):
    clean = outcomes(small(kind, dtype, **settings))
    assert [outcome.status for outcome in clean] == ["passed", "passed"]
    found = outcomes(clamped_on_a_cache(small(kind, dtype, **settings), 256, decoder))
    assert [outcome.kind for outcome in found] == ["clamped", "clamped"]
    # The first token that is decoded, by its number in the text.
    assert [outcome.where.token for outcome in found] == [504, 56]


def test_a_window_that_no_text_fills_is_decoded_at_its_end_by_positions_that_are_given():
    settings = {"max_position_embeddings": _LONG}
    text, given = outcomes(small("llama", **settings))
    assert (text.status, given.status) == ("not applicable", "passed")
    assert "takes too long" in text.evidence
    text, given = outcomes(clamped_on_a_cache(small("llama", **settings), 1000))
    assert (text.status, given.kind) == ("not applicable", "clamped")
    assert f"from position {_LONG - 8} on all keys stand at position 1000" in given.evidence


def test_a_step_that_ignores_its_position_is_found_at_the_end_of_the_window():
    model = small("llama", max_position_embeddings=_LONG)

    def ignore(module, given, named):
        if named.get("cache") is not None and named["cache"].get_seq_length():
            named["position_ids"] = None
        return given, named

    model.model.register_forward_pre_hook(ignore, with_kwargs=True)
    _, given = outcomes(model)
    assert given.kind == "positions_ignored"


def why(model, length=64):
    (found,) = outcomes(model, length)
    assert found.status == "not applicable"
    return found.evidence


def test_what_is_decoded_up_to_its_end_by_other_checks_is_left_to_them():
    assert "up to the last of 64 positions" in why(small("llama", max_position_embeddings=64))
    # Past the length where frequencies change decoding is the matter of `crossing`.
    assert "up to the last of 64 positions" in why(small("llama", **DYNAMIC))


def test_models_without_a_cache_or_a_window_are_left_out():
    assert why(small("bert")) == "the model keeps no cache"
    assert why(small("bloom")) == "the model declares no window"


@pytest.mark.parametrize("regime", ["per_row", "frozen", "recompute"])
def test_nothing_is_found_under_use_cache(regime):
    model = small("llama", max_position_embeddings=300)
    with use_cache(model, regime=regime, length=200 if regime == "frozen" else None):
        found = outcomes(model)
    assert [outcome.status for outcome in found] == ["passed", "passed"]
    assert ("200 tokens" if regime == "frozen" else "300 tokens") in found[0].case


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_nothing_is_found_in_any_architecture(name, dtype):
    assert {outcome.status for outcome in outcomes(build(name, dtype), min(LENGTH, 64))} <= {"passed", "not applicable"}


def test_what_is_no_fault_of_positions_is_none_at_the_end_of_the_window():
    model = small("llama", max_position_embeddings=_LONG)
    for layer in model.model.layers:
        attention, right = layer.self_attn, layer.self_attn.scaling

        def scale(module, given, named, right=right):
            cache = named.get("cache")
            module.scaling = 1.2 * right if cache is not None and cache.get_seq_length() else right

        attention.register_forward_pre_hook(scale, with_kwargs=True)
    _, given = outcomes(model)
    assert (given.kind, given.where.layer, given.where.part) == ("unexplained", 0, "attention")
    assert "its logits are 1.2 times those of one pass" in given.evidence
