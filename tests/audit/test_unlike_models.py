"""Models that an audit must not take for what they are not: recurrent, without a cache, bidirectional, broken."""

import copy
import json

import pytest
import torch
import transformers
from audit.audited_models import small
from safetensors.torch import load_file, save_file

from ordinate.audit import audit_model
from ordinate.audit.loading import load_subject
from ordinate.errors import InputError

_SMALL = {
    "vocab_size": 128,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_GROUPED = _SMALL | {"num_key_value_heads": 1, "head_dim": 16}
_GEMMA = _GROUPED | {"sliding_window": 24, "layer_types": ["sliding_attention", "full_attention"]}


def _made(name, **settings):
    torch.manual_seed(0)
    kind = getattr(transformers, name)
    model = kind(kind.config_class(**settings)).eval()
    with torch.no_grad():
        for where, parameter in model.named_parameters():
            if parameter.dim() == 2 and "norm" not in where:
                parameter.normal_(std=parameter.shape[-1] ** -0.5 if "embed" not in where else 1.0)
    return model


def _by_status(audit):
    found = {}
    for outcome in audit.outcomes:
        found.setdefault(outcome.status, []).append(outcome.evidence)
    return found


_BY_ORDER = ["mask-gaps", "packed", "context-parallel"]


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("Lfm2ForCausalLM", {"layer_types": ["conv", "full_attention"]}),
        ("MiniMaxForCausalLM", {"num_local_experts": 2, "layer_types": ["linear_attention", "full_attention"]}),
    ],
)
def test_layers_that_carry_a_state_are_not_asked_to_read_tokens_in_another_order(name, settings):
    audit = audit_model(_made(name, **_GROUPED | settings), checks=_BY_ORDER)
    assert audit.findings == ()
    assert [("state" in why) for why in _by_status(audit)["not applicable"]] == [True] * 3


def test_attention_alone_is_asked_to():
    found = _by_status(audit_model(_made("LlamaForCausalLM", **_GROUPED), checks=_BY_ORDER))
    assert set(found) == {"passed"}


def test_a_causal_model_without_a_cache_is_not_asked_for_one():
    model = _made("OpenAIGPTLMHeadModel", vocab_size=128, n_embd=32, n_layer=2, n_head=2, n_positions=256)
    checks = ["chunked-prefill", "token-by-token", "beam-reorder", "crop-and-rewind", "left-padding", "batch-rows"]
    found = _by_status(audit_model(model, checks=checks, length=64))
    assert set(found) == {"passed", "not applicable"}
    assert found["not applicable"] == ["the model keeps no cache"] * 4


def test_a_decoder_that_was_made_an_encoder_is_audited_as_one():
    checks = ["batch-rows", "right-padding", "packed", "batch-of-lengths", "order-of-calls"]
    audit = audit_model(_made("Gemma3TextModel", **_GEMMA, use_bidirectional_attention=True), checks=checks)
    assert audit.subject["architecture"] == "encoder"
    assert audit.findings == ()


def test_a_decoder_is_audited_as_one():
    audit = audit_model(_made("Gemma3TextModel", **_GEMMA), checks=["token-by-token"])
    assert audit.subject["architecture"] == "causal"
    assert set(_by_status(audit)) == {"passed"}


@pytest.mark.parametrize("absolute", [True, False])
def test_only_a_model_without_a_table_of_positions_promises_that_a_text_may_stand_anywhere(absolute):
    settings = {"relative_attention": True, "position_buckets": 8, "pos_att_type": ["p2c", "c2p"]}
    model = _made("DebertaV2Model", **_SMALL | settings, position_biased_input=absolute)
    audit = audit_model(model, checks=["shift-invariance", "mask-gaps"])
    assert audit.findings == ()
    assert len(_by_status(audit)["not applicable"]) == (2 if absolute else 1)


def test_rows_up_to_the_padding_row_are_no_window():
    # MPNet numbers tokens from 2 on, whatever its configuration calls the size of the table.
    model = _made("MPNetModel", **_SMALL | {"pad_token_id": 1, "bos_token_id": 0})
    audit = audit_model(model, checks=["batch-rows"])
    assert (audit.subject["window"], audit.subject["length"]) == (62, 62)


def test_outputs_that_are_not_a_tokens_are_refused():
    with pytest.raises(InputError, match=r"an output for each token.*without its head"):
        audit_model(_made("LlamaForSequenceClassification", **_GROUPED), checks=["chunked-prefill"])


@pytest.mark.parametrize("broken", [float("nan"), float("inf")])
def test_outputs_that_are_no_numbers_are_refused(broken):
    model = _made("LlamaForCausalLM", **_GROUPED)
    with torch.no_grad():
        model.model.layers[1].self_attn.k_proj.weight[3, 4] = broken
    with pytest.raises(InputError, match="infinite or NaN in float32"):
        audit_model(model, checks=["token-by-token"])


def test_weights_that_would_be_drawn_at_random_are_named(tmp_path):
    _made("LlamaForCausalLM", **_GROUPED).save_pretrained(tmp_path)
    file = tmp_path / "model.safetensors"
    kept = {name: weight for name, weight in load_file(file).items() if "0.self_attn.k_proj" not in name}
    save_file(kept, file, metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"lacks 1 weights of LlamaForCausalLM.*layers\.0\.self_attn\.k_proj\.weight"):
        load_subject(tmp_path)


@pytest.mark.parametrize("tied", [True, False])
def test_weights_that_are_tied_or_never_read_are_not_missed(tmp_path, tied):
    model = _made("LlamaForCausalLM", **_GROUPED, tie_word_embeddings=True) if tied else _made("BertModel", **_SMALL)
    model.save_pretrained(tmp_path)
    file = tmp_path / "model.safetensors"
    save_file({n: w for n, w in load_file(file).items() if "pooler" not in n}, file, metadata={"format": "pt"})
    loaded, _ = load_subject(tmp_path)
    assert type(loaded) is type(model)


def test_a_configuration_that_contradicts_itself_is_refused(tmp_path):
    _made("LlamaForCausalLM", **_GROUPED).save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"num_attention_heads": 3}))
    with pytest.raises(InputError, match="cannot be loaded by transformers"):
        load_subject(tmp_path)


@pytest.mark.parametrize("wrong", [True, False])
def test_a_long_chunk_on_a_short_cache_is_read_too(wrong):
    # Engines choose another kernel for long chunks: only a long one on a cache shows what it does with positions.
    model = _made("LlamaForCausalLM", **_GROUPED | {"max_position_embeddings": 512})

    def restart(decoder, given, named):
        tokens, cache = named["input_ids"].shape[1], named.get("cache")
        past = cache.get_seq_length() if cache is not None else 0
        named["position_ids"] = torch.arange(tokens)[None] + (0 if wrong and tokens > 300 else past)
        return given, named

    model.model.register_forward_pre_hook(restart, with_kwargs=True)
    audit = audit_model(model, checks=["chunked-prefill"])
    assert [finding.kind for finding in audit.findings] == (["restart"] if wrong else [])


_MAMBA = {"vocab_size": 128, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 8}
_JAMBA = _GROUPED | {
    "num_hidden_layers": 4,
    "attn_layer_period": 2,
    "attn_layer_offset": 1,
    "num_experts": 1,
    "mamba_d_state": 8,
    "mamba_dt_rank": 4,
    "use_mamba_kernels": False,
}
_FALCON = _GROUPED | {
    "mamba_d_ssm": 32,
    "mamba_n_heads": 4,
    "mamba_d_head": 8,
    "mamba_d_state": 8,
    "mamba_n_groups": 1,
}


@pytest.mark.parametrize(("name", "settings"), [("MambaForCausalLM", _MAMBA), ("JambaForCausalLM", _JAMBA)])
def test_a_state_that_is_dropped_at_a_chunk_is_called_so(name, settings):
    # transformers 5.24 starts both models' scans anew in each pass of more than one token.
    audit = audit_model(_made(name, **settings), checks=["chunked-prefill", "token-by-token"], length=48)
    (finding,) = audit.findings
    assert (finding.check, finding.kind) == ("chunked_prefill", "state")
    assert (finding.where.part, finding.where.layer) == ("state", 0)
    assert "keeps no keys" in finding.evidence


def test_attention_that_does_not_see_the_tokens_before_is_no_state():
    model = _made("LlamaForCausalLM", **_GROUPED)

    def blind(attention, given, named):
        past = named["cache"].get_seq_length(0) if named.get("cache") is not None else 0
        if past:
            tokens = named["hidden_states"].shape[1]
            named["attention_mask"] = torch.full((1, 1, tokens, past + tokens), -1e9).triu(past + 1)
            named["attention_mask"][..., :past] = -1e9
        return given, named

    model.model.layers[0].self_attn.register_forward_pre_hook(blind, with_kwargs=True)
    (finding,) = audit_model(model, checks=["chunked-prefill"], length=48).findings
    assert (finding.where.layer, finding.where.part) == (0, "mask")
    assert finding.kind == "mask"


def test_a_crop_that_a_cache_says_it_cannot_make_is_refused_and_no_fault():
    audit = audit_model(_made("FalconH1ForCausalLM", **_FALCON), checks=["crop-and-rewind", "speculative-window"])
    assert audit.findings == ()
    assert all("is_croppable is False" in why for why in _by_status(audit)["refused"])


def test_what_falcon_h1_leaves_in_its_state_is_no_rounding():
    # The difference that a crop makes is the same in float64, and a cache that was copied before has none.
    model = _made("FalconH1ForCausalLM", **_FALCON).double()
    ids = torch.randint(3, 128, (1, 40), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        plain = model(ids).logits[:, 30:]

        def after(crop):
            cache = model(ids[:, :1], use_cache=True).cache
            cache.activate_past_recording()
            cache = model(ids[:, 1:30], cache=cache, use_cache=True).cache
            kept = copy.deepcopy(cache)
            cache = model(ids.flip(1)[:, :24], cache=cache, use_cache=True).cache
            cache.crop(-24)
            return model(ids[:, 30:], cache=cache if crop else kept, use_cache=True).logits

        # Norms and the scan compute in float32: what is left without a crop is their rounding.
        rounding = float((after(False) - plain).abs().max())
        assert rounding < 2e-6
        assert float((after(True) - plain).abs().max()) > 20 * rounding


def test_a_model_that_begins_a_state_at_position_0_promises_no_shift():
    settings = _GROUPED | {"num_hidden_layers": 3, "lru_width": 32, "attention_window_size": 24}
    audit = audit_model(_made("RecurrentGemmaForCausalLM", **settings), checks=["shift-invariance"])
    assert _by_status(audit) == {"not applicable": ["its layers begin a new state at position 0"]}


def test_streams_that_stand_a_row_ahead_shorten_the_text():
    # ProphetNet looks up the row after the last token's too: of 64 rows one is padding's, and one is theirs.
    settings = {
        "vocab_size": 128,
        "hidden_size": 32,
        "num_encoder_layers": 1,
        "num_decoder_layers": 1,
        "num_encoder_attention_heads": 2,
        "num_decoder_attention_heads": 2,
        "encoder_ffn_dim": 32,
        "decoder_ffn_dim": 32,
        "max_position_embeddings": 64,
    }
    audit = audit_model(_made("ProphetNetForConditionalGeneration", **settings), checks=["order-of-calls"])
    assert audit.subject["length"] == 62


def test_a_decoders_bias_that_ignores_the_cache_is_a_bias_offset_in_t5_too(monkeypatch):
    model = small("t5")
    attention = model.decoder.block[0].layer[0].SelfAttention
    own = attention.compute_bias

    def one_place_off(queries, *given, **named):
        bias = own(queries, *given, **named)
        return bias.roll(1, -1) if queries == 1 else bias

    monkeypatch.setattr(attention, "compute_bias", one_place_off)
    found = audit_model(model, checks=["token-by-token"], length=48)
    assert [one.kind for one in found.findings] == ["bias_offset"]


def test_keys_that_turn_the_other_way_before_a_norm_are_right_where_the_scheme_says_so():
    shape = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4}
    model = _made("NanoChatForCausalLM", vocab_size=128, num_key_value_heads=2, **shape)
    checks = ["table-error", "autocast", "past-the-table", "shift-invariance", "chunked-prefill"]
    audit = audit_model(model, checks=checks, length=64)
    assert audit.findings == ()
    assert "passed" in {outcome.status for outcome in audit.outcomes if outcome.check == "table_error"}


def test_an_embedding_of_another_class_has_a_vocabulary_too():
    shape = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2}
    assert audit_model(_made("IBertModel", vocab_size=128, **shape), checks=["batch-rows"], length=40).findings == ()
