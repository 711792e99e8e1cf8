"""A model in this process: the positions it is given, its tables, its logits."""

import pytest
import torch
from audit.audited_models import small
from torch import nn

from ordinate.validate.accepts import accepts
from ordinate.validate.backends.transformers import Transformers
from ordinate.validate.tokenizers import ByteTokenizer

N = 420


def backend(kind="llama", dtype=torch.float32, **settings):
    model = small(kind, dtype, **{"n_positions" if kind == "gpt2" else "max_position_embeddings": 600, **settings})
    model.generation_config.eos_token_id = model.config.eos_token_id = None
    return Transformers(model, ByteTokenizer(), identity={"model": kind}, chunk=128)


def claim(found, length=N):
    (one,) = accepts(found, [length], around=False)
    return one


@pytest.mark.parametrize("kind", ["llama", "mistral", "gemma3"])
def test_positions_reach_the_last_token_and_tables_are_right(kind):
    found = claim(backend(kind))
    assert found.verdict == "supported", found.why
    assert N - 1 <= found.evidence["highest_position"] < N + 10
    assert found.evidence["infinite_logits"] == 0
    assert found.evidence["table_errors"]
    for name, error in found.evidence["table_errors"].items():
        assert error <= found.evidence["table_bounds"][name]
    assert not found.caveats


def test_a_learned_table_refuses_what_lies_beyond_it():
    inside, beyond = accepts(backend("gpt2"), [N, 700], around=False)
    assert (inside.verdict, inside.evidence["table"]) == ("supported", 600)
    assert (beyond.verdict, beyond.evidence["outcome"]) == ("refuted", "refused")


def test_without_positions_there_is_nothing_to_be_seen_of_them():
    found = claim(backend("bloom"))
    assert found.verdict == "supported"
    assert found.evidence["table_errors"] == {}


def test_past_the_declared_window_it_is_taken_with_a_caveat():
    found = claim(backend(), 700)
    assert found.verdict == "supported"
    assert found.caveats == ("only 600 tokens are declared",)


def test_positions_that_are_held_down_are_no_whole_prompt():
    broken = backend()

    def clamp(_module, values, named):
        return values, {**named, "position_ids": named["position_ids"].clamp(max=300)}

    # It stands before what watches, which therefore sees what the layers are given.
    for module in (broken.model, broken.model.get_decoder()):
        module.register_forward_pre_hook(clamp, with_kwargs=True)
    found = claim(broken)
    assert (found.verdict, found.evidence["outcome"]) == ("refuted", "truncation")
    assert found.evidence["highest_position"] == 300


def test_logits_that_are_no_numbers_are_degenerate():
    broken = backend()
    broken.model.get_output_embeddings().register_forward_hook(lambda _m, _v, out: out.masked_fill(out > 0, torch.inf))
    found = claim(broken)
    assert (found.verdict, found.evidence["outcome"]) == ("refuted", "degenerate")
    assert "not finite" in found.why


class Rounded(nn.Module):
    """A rotary module whose positions are rounded to bfloat16."""

    def __init__(self, own):
        super().__init__()
        self.own = own

    def forward(self, x, position_ids):
        return self.own(x, position_ids.to(torch.bfloat16).float())


def test_rounded_positions_show_in_the_tables():
    broken = backend()
    decoder = broken.model.get_decoder()
    decoder.rotary_emb = Rounded(decoder.rotary_emb)
    found = claim(broken)
    assert any("cos and sin" in caveat for caveat in found.caveats)
    (error,) = found.evidence["table_errors"].values()
    assert error > 0.1


def test_frequencies_that_a_cast_rounded_show_and_bfloat16_tables_alone_do_not():
    cast = backend(dtype=torch.bfloat16)
    assert any("cos and sin" in caveat for caveat in claim(cast).caveats)
    cast.model.get_decoder().rotary_emb = backend().model.get_decoder().rotary_emb
    found = claim(cast)
    assert found.verdict == "supported"
    assert not found.caveats
    assert max(found.evidence["table_errors"].values()) > 1e-4
