"""Documents in one row and tokens out of their order: what a model cannot do is told from what it does wrong."""

import pytest
import torch
import transformers
from audit.audited_models import small

from ordinate.audit import audit_model

_IDS = {"vocab_size": 128, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
_KINDS = {
    "biogpt": (
        "BioGpt",
        {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64},
    ),
    "xglm": ("XGLM", {"d_model": 64, "num_layers": 2, "attention_heads": 4, "ffn_dim": 64}),
    "gpt-neo": (
        "GPTNeo",
        {"hidden_size": 64, "num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]]},
    ),
}


def made(kind, dtype=torch.float32, seed=0):
    name, settings = _KINDS[kind]
    config = getattr(transformers, f"{name}Config")(**_IDS, **settings, max_position_embeddings=256)
    torch.manual_seed(seed)
    model = getattr(transformers, f"{name}ForCausalLM")._from_config(config, attn_implementation="eager", dtype=dtype)
    with torch.no_grad():
        for where, parameter in model.named_parameters():
            if parameter.dim() > 1 and "norm" not in where:
                parameter.normal_(std=parameter.shape[-1] ** -0.5 if "embed" not in where else 1.0)
    return model.eval()


def outcomes(model, check):
    return audit_model(model, checks=[check], length=96).outcomes


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", ["biogpt", "xglm"])
def test_documents_that_only_a_mask_parts_are_no_fault_in_bfloat16(kind, seed):
    # A document sees the one before it by less than five times what rounding makes.
    (found,) = outcomes(made(kind, torch.bfloat16, seed), "packed")
    assert found.status == "passed", found.evidence


def gpt2(*, counting_on=False, seeing_all=False, unless_masked=False):
    """GPT-2 whose documents keep counting, or see one another where no mask parts them, with a trace of all tokens."""
    model, masked = small("gpt2"), []

    def given(transformer, given, named):
        masked.append(named.get("attention_mask") is not None)
        if seeing_all and not masked[-1] and named.get("position_ids") is not None:
            named["attention_mask"] = torch.ones(named["position_ids"].shape, dtype=torch.int64)
        return given, named

    def looked_up(table, given):
        (positions,) = given
        wrong = counting_on and not (unless_masked and masked[-1])
        return (torch.arange(positions.shape[-1]).expand_as(positions),) if wrong else given

    def traced(head, given):
        # As experts that compute the tokens of all documents together: the last bits depend on all of them.
        (hidden,) = given
        return (hidden + 1e-8 * hidden.mean(1, keepdim=True),)

    model.transformer.register_forward_pre_hook(given, with_kwargs=True)
    model.transformer.wpe.register_forward_pre_hook(looked_up)
    if unless_masked:
        model.lm_head.register_forward_pre_hook(traced)
    return model


@pytest.mark.parametrize(
    ("wrong", "status", "masked"),
    [
        ({}, "passed", False),
        ({"seeing_all": True}, "passed", True),
        ({"counting_on": True}, "failed", False),
        ({"seeing_all": True, "counting_on": True}, "failed", True),
        ({"counting_on": True, "unless_masked": True}, "failed", False),
    ],
    ids=["clean", "sees", "counts on", "sees and counts on", "counts on without a mask"],
)
def test_a_mask_parts_documents_and_hides_no_position_that_counts_on(wrong, status, masked):
    (found,) = outcomes(gpt2(**wrong), "packed")
    assert found.status == status, found.evidence
    assert found.case.endswith("with a mask of blocks") == masked
    assert found.kind == ("packing" if status == "failed" else None)


def test_documents_that_no_mask_can_part_are_not_applicable_where_windows_slide():
    model = small("mistral")

    def given(decoder, given, named):
        if named.get("attention_mask") is None:
            named["attention_mask"] = torch.ones(named["input_ids"].shape, dtype=torch.int64)
        return given, named

    model.model.register_forward_pre_hook(given, with_kwargs=True)
    (found,) = outcomes(model, "packed")
    assert (found.status, found.kind) == ("not applicable", None)
    assert "would end the sliding window" in found.evidence


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_model_that_hides_by_slot_is_not_asked_for_another_order(dtype):
    found = outcomes(made("gpt-neo", dtype), "context-parallel")
    assert [outcome.status for outcome in found] == ["passed", "not applicable", "not applicable"]
    assert all("hides every token that comes in a later slot" in outcome.evidence for outcome in found[1:])


def hiding_by_slot(layers, heads=slice(None)):
    """A Llama whose layers hide what comes in later slots beside what their mask hides."""
    model = small("llama")

    def hide(attention, given, named):
        mask = named["attention_mask"].expand(-1, 4, -1, -1).clone()
        later = torch.ones(mask.shape[-2:], dtype=torch.bool).triu(1 + mask.shape[-1] - mask.shape[-2])
        mask[:, heads] = mask[:, heads].masked_fill(later, torch.finfo(mask.dtype).min)
        named["attention_mask"] = mask
        return given, named

    for layer in layers:
        model.model.layers[layer].self_attn.register_forward_pre_hook(hide, with_kwargs=True)
    model.set_attn_implementation("eager")
    return model


@pytest.mark.parametrize("where", [([1],), ([0, 1, 2], slice(1, 2)), ([0, 1, 2], slice(0, 3))])
def test_a_layer_or_head_that_hides_by_slot_is_a_fault(where):
    found = outcomes(hiding_by_slot(*where), "context-parallel")
    assert [outcome.kind for outcome in found] == [None, "shards", "shards"]


def test_a_model_that_hides_by_slot_in_every_head_is_not_asked_for_another_order():
    found = outcomes(hiding_by_slot([0, 1, 2]), "context-parallel")
    assert [outcome.status for outcome in found] == ["passed", "not applicable", "not applicable"]
