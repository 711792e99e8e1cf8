"""Where attention alone is wrong, the audit says what in it is: queries, mask, keys, values, or their product."""

import inspect

import pytest
import torch
from audit.audited_models import small
from audit.mutants.faults import Fault
from audit.mutants.subjects import mutant
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import eager_mask, sdpa_mask
from transformers.models.llama.modeling_llama import eager_attention_forward

from ordinate.audit import audit_model

_LAYER = 1
_ATTENTION = {"eager": (eager_attention_forward, eager_mask), "sdpa": (sdpa_attention_forward, sdpa_mask)}


def _longer_queries(queries, keys, values, mask, scaling):
    return 1.2 * queries, keys, values, mask, scaling


def _longer_values(queries, keys, values, mask, scaling):
    return queries, keys, 1.1 * values, mask, scaling


def _other_scale(queries, keys, values, mask, scaling):
    return queries, keys, values, mask, 1.2 * scaling


def _first_hidden(queries, keys, values, mask, scaling):
    """The first token is hidden from all queries of a cached pass."""
    seen = torch.ones(queries.shape[2], keys.shape[2], dtype=torch.bool).tril(keys.shape[2] - queries.shape[2])
    seen[:, 0] = False
    hidden = torch.zeros(seen.shape).masked_fill(~seen, torch.finfo(torch.float32).min)
    return queries, keys, values, hidden[None, None], scaling


def _negative_queries(queries, keys, values, mask, scaling):
    return -queries, keys, values, mask, scaling


def _hardly_longer_queries(queries, keys, values, mask, scaling):
    return 1.01 * queries, keys, values, mask, scaling


def _rounded_queries(queries, keys, values, mask, scaling):
    return queries.bfloat16().to(queries.dtype), keys, values, mask, scaling


def _no_numbers(queries, keys, values, mask, scaling):
    return queries * torch.nan, keys, values, mask, scaling


def _biased(queries, keys, values, mask, scaling):
    """Something is added to the logits, which hides nothing."""
    seen = torch.ones(queries.shape[2], keys.shape[2], dtype=torch.bool).tril(keys.shape[2] - queries.shape[2])
    added = torch.linspace(0, 1, keys.shape[2]).expand(seen.shape)
    return queries, keys, values, added.masked_fill(~seen, torch.finfo(torch.float32).min)[None, None], scaling


# The part that must be named, the words that must be said, and the kind.
_PLANTED = {
    _longer_queries: ("queries", "queries are 1.2 times as long", "unexplained"),
    _hardly_longer_queries: ("queries", "queries are 1.01 times as long", "unexplained"),
    _negative_queries: ("queries", "neither a position nor a factor explains it", "unexplained"),
    _rounded_queries: ("queries", "neither a position nor a factor explains it", "unexplained"),
    _longer_values: ("values", "values of tokens 0 to", "unexplained"),
    _other_scale: ("attention", "its logits are 1.2 times those of one pass", "unexplained"),
    _first_hidden: ("mask", "does not see token 0", "mask"),
    _biased: ("attention", "its logits differ by up to", "unexplained"),
}


def _planted(fault, implementation, name):
    """A small Llama whose second layer has the fault in passes that follow others."""
    inner, masked = _ATTENTION[implementation]

    def attend(module, queries, keys, values, mask, scaling, **more):
        if module.layer_idx == _LAYER and queries.shape[2] < keys.shape[2]:
            queries, keys, values, mask, scaling = fault(queries, keys, values, mask, scaling)
        return inner(module, queries, keys, values, mask, scaling=scaling, **more)

    AttentionInterface.register(name, attend)
    AttentionMaskInterface.register(name, masked)
    model = small("llama")
    model.set_attn_implementation(name)
    return model


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
@pytest.mark.parametrize("fault", _PLANTED, ids=lambda fault: fault.__name__.strip("_"))
def test_what_is_wrong_in_attention_is_said(fault, implementation):
    part, words, kind = _PLANTED[fault]
    model = _planted(fault, implementation, f"{fault.__name__}_{implementation}")
    (finding,) = audit_model(model, checks=["chunked_prefill"], length=64).findings
    assert (finding.kind, finding.where.layer, finding.where.part) == (kind, _LAYER, part)
    assert words in finding.evidence


@pytest.mark.parametrize("name", ["stored_fp8", "stored_int8"])
@pytest.mark.parametrize("scope", ["everywhere", "one_layer", "one_head"])
def test_keys_that_are_stored_coarsely_are_no_position_fault(name, scope):
    fault = Fault(name, "rope", "unexplained", "stored", "steps")
    findings = audit_model(mutant(fault, scope), checks=["chunked_prefill", "table_error"], length=104).findings
    assert {(finding.kind, finding.where.part) for finding in findings} == {("unexplained", "keys")}
    assert "neither a position nor a factor explains it" in findings[0].evidence


@pytest.mark.parametrize(
    "scope, layer, heads", [("everywhere", 0, None), ("one_layer", 1, None), ("one_head", 0, (1,))]
)
def test_values_that_are_stored_wrong_are_found_in_their_layer(scope, layer, heads):
    fault = Fault("longer_values", "rope", "unexplained", "values", "steps")
    (finding,) = audit_model(mutant(fault, scope), checks=["chunked_prefill"], length=104).findings
    where = finding.where
    assert (finding.kind, where.layer, where.part, where.heads) == ("unexplained", layer, "values", heads)


def test_rows_that_are_exchanged_in_one_layer_are_found_in_it():
    model = small("llama")
    right = model.forward

    def forward(*given, **named):
        cache = named.get("cache")
        if cache is not None and cache.get_seq_length() and named["input_ids"].shape[0] > 1:
            layer = cache.layers[_LAYER]
            if not getattr(layer, "exchanged", False):
                layer.exchanged = True
                layer.keys, layer.values = layer.keys.flip(0), layer.values.flip(0)
        return right(*given, **named)

    forward.__signature__ = inspect.signature(right)
    model.forward = forward
    (finding,) = audit_model(model, checks=["chunked_prefill"], length=64).findings
    assert (finding.where.layer, finding.where.part) == (_LAYER, "cache")


@pytest.mark.parametrize("check", ["crop_and_rewind", "token_by_token", "left_padding", "prefix_reuse"])
@pytest.mark.parametrize("fault", [_other_scale, _first_hidden], ids=lambda fault: fault.__name__.strip("_"))
def test_no_other_check_blames_the_position_of_queries(fault, check):
    """Single tokens of grouped heads are packed before torch sees them; a rewind goes on from several passes."""
    model = _planted(fault, "sdpa", f"{fault.__name__}_{check}")
    kinds = {finding.kind for finding in audit_model(model, checks=[check], length=64).findings}
    assert kinds
    assert not kinds & {"query_position", "window"}


def test_keys_that_are_read_coarsely_are_not_longer_by_a_factor():
    def coarse(queries, keys, values, mask, scaling):
        past = keys.shape[2] - queries.shape[2]
        held = keys[:, :, :past].to(torch.float8_e4m3fn).to(keys.dtype)
        return queries, torch.cat([held, keys[:, :, past:]], 2), values, mask, scaling

    model = _planted(coarse, "sdpa", "coarse")
    findings = audit_model(model, checks=["token_by_token"], length=64).findings
    assert {finding.kind for finding in findings} == {"unexplained"}
    assert all("times as long" not in finding.evidence for finding in findings)


def test_what_is_no_number_has_no_position():
    model = _planted(_no_numbers, "sdpa", "no_numbers")
    (finding,) = audit_model(model, checks=["chunked_prefill"], length=64).findings
    assert (finding.kind, finding.where.part) == ("unexplained", "queries")
    assert "its queries are not numbers" in finding.evidence


@pytest.mark.parametrize("tokens, kind", [(range(8), "mask"), (range(30, 38), "window")])
def test_a_window_that_is_not_full_hides_nothing(tokens, kind):
    """One hidden token is a mask's fault in a window with room, and may be the window's where it is the oldest."""
    window = 24

    def attend(module, queries, keys, values, mask, scaling, **more):
        past = keys.shape[2] - queries.shape[2]
        if past:
            place = torch.arange(past, keys.shape[2])[:, None]
            behind = place - torch.arange(keys.shape[2])
            seen = (behind >= 0) & (behind < window)
            seen &= ~((place >= tokens[0]) & (behind == (window - 1 if kind == "window" else place)))
            mask = seen[None, None]
        return sdpa_attention_forward(module, queries, keys, values, mask, scaling=scaling, **more)

    AttentionInterface.register(f"hides_{kind}", attend)
    AttentionMaskInterface.register(f"hides_{kind}", sdpa_mask)
    model = small("mistral", sliding_window=window)
    model.set_attn_implementation(f"hides_{kind}")
    length = window - 2 if kind == "mask" else 64
    findings = audit_model(model, checks=["chunked_prefill"], length=length).findings
    assert findings[0].kind == kind


def test_a_bias_that_is_right_is_not_blamed_for_a_scale():
    model = small("bloom")
    for block in model.transformer.h:
        right = block.self_attention.forward
        block.self_attention.forward = _scaled_later(block.self_attention, right)
    kinds = {finding.kind for finding in audit_model(model, checks=["chunked_prefill"], length=64).findings}
    assert kinds == {"unexplained"}


def _scaled_later(attention, right):
    factor = attention.inv_norm_factor

    def forward(*given, **named):
        cache = named.get("cache", named.get("layer_past"))
        attention.inv_norm_factor = 1.2 * factor if cache is not None and cache.get_seq_length(0) > 7 else factor
        return right(*given, **named)

    return forward


def test_a_causal_model_that_sees_what_comes_is_no_encoder():
    model = small("llama")

    def attend(module, queries, keys, values, mask, scaling, **more):
        if queries.shape[2] == keys.shape[2]:
            mask = torch.ones(1, 1, queries.shape[2], keys.shape[2], dtype=torch.bool)
        return sdpa_attention_forward(module, queries, keys, values, mask, scaling=scaling, **more)

    AttentionInterface.register("sees_all", attend)
    AttentionMaskInterface.register("sees_all", sdpa_mask)
    model.set_attn_implementation("sees_all")
    audit = audit_model(model, checks=["chunked_prefill", "order_of_calls"], length=64)
    assert audit.subject["architecture"] == "causal"
    assert [finding.kind for finding in audit.findings] == ["mask"]
