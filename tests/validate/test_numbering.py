"""What an audit finds becomes one claim: supported, refuted with its kinds, inconclusive, or not applicable."""

import pytest
import torch
from audit.audited_models import small
from fake_server import Fault, Features, serving
from validate.backends.characters import CharacterTokenizer

from ordinate.audit.base import Finding, Outcome, Where
from ordinate.validate.backends.server import Server
from ordinate.validate.backends.simulated import Simulated
from ordinate.validate.backends.transformers import Transformers
from ordinate.validate.numbering import claimed, numbering
from ordinate.validate.readers.oracle import Oracle
from ordinate.validate.tokenizers import ByteTokenizer

CHECKS = ["token-by-token", "chunked-prefill"]


def local(break_it=False):
    model = small("llama")
    if break_it:

        def restart(_module, values, named):
            if "position_ids" in named:
                return values, {**named, "position_ids": named["position_ids"] - named["position_ids"][..., :1]}
            return (values[0], values[1] - values[1][..., :1], *values[2:]), named

        model.get_decoder().rotary_emb.register_forward_pre_hook(restart, with_kwargs=True)
    return Transformers(model, ByteTokenizer(), identity={"model": "tiny"})


def test_a_sound_model_is_supported_and_one_that_restarts_is_refuted():
    (sound,) = numbering(local(), checks=CHECKS)
    assert (sound.level, sound.verdict) == ("P", "supported")
    assert set(sound.evidence["passed"]) == {"token_by_token", "chunked_prefill"}
    assert sound.length is not None
    (broken,) = numbering(local(break_it=True), checks=CHECKS)
    assert broken.verdict == "refuted"
    assert broken.evidence["kinds"] == ["restart"]


def test_a_server_that_moves_what_it_reuses_is_refuted():
    for offset, verdict in ((0, "supported"), (3, "refuted")):
        with serving(Fault(reuse_offset=offset), Features(window=640)) as fake:
            backend = Server(fake.url, "tiny", CharacterTokenizer())
            budget = backend.probed.client.budget
            with backend:
                (claim,) = numbering(backend, checks=["decoding", "prefix-reuse"])
                assert backend.probed.client.budget is budget
        assert claim.verdict == verdict, claim.why
    assert "prefix_cache" in claim.evidence["kinds"]


def test_what_cannot_be_audited_is_not_applicable():
    (claim,) = numbering(Simulated(Oracle()))
    assert claim.verdict == "not applicable"


def outcome(check, status):
    return Outcome(check, "a case", status)


def finding(severity):
    return Finding("turns", "restart", severity, "Positions restart.", ("a case",), Where(), "seen", {}, "", ())


@pytest.mark.parametrize(
    "outcomes, findings, verdict",
    [
        ([outcome("turns", "passed"), outcome("overrun", "not applicable")], [], "supported"),
        ([outcome("turns", "passed"), outcome("overrun", "failed")], [finding("warning")], "supported"),
        ([outcome("turns", "passed"), outcome("overrun", "failed")], [finding("error")], "refuted"),
        ([outcome("turns", "undecided"), outcome("overrun", "refused")], [], "inconclusive"),
        ([], [], "inconclusive"),
    ],
)
def test_only_errors_refute_and_only_what_passed_supports(outcomes, findings, verdict):
    claim = claimed({"lengths": [16, 512]}, outcomes, findings)
    assert claim.verdict == verdict
    assert claim.length == 512
    assert bool(claim.caveats) == any(each.severity == "warning" for each in findings)


def test_an_audit_that_ended_early_says_so():
    claim = claimed({"length": 96, "ended": "the time is spent"}, [outcome("turns", "passed")], [])
    assert claim.caveats == ("not all checks could be asked: the time is spent",)


def test_the_model_is_left_in_its_mode():
    backend = local()
    numbering(backend, checks=CHECKS)
    assert not backend.model.training
    assert isinstance(next(backend.model.parameters()), torch.Tensor)
