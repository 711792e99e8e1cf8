"""A local model as a backend: what it answers is what transformers' own plain passes say, whatever the chunks."""

import numpy as np
import pytest
import torch
from audit.audited_models import DYNAMIC, LONGROPE, small
from validate.backends.given import prompt

from ordinate.errors import InputError, Unavailable
from ordinate.validate.backends import Refusal
from ordinate.validate.backends.transformers import Transformers
from ordinate.validate.tokenizers import ByteTokenizer

TOKENIZER = ByteTokenizer()
IDS = tuple(np.random.default_rng(0).integers(3, 256, 90).tolist())
KINDS = ("llama", "mistral", "gemma3", "gpt2", "bloom")


def backend(kind="llama", chunk=32, **settings):
    model = small(kind, **settings)
    model.generation_config.eos_token_id = model.config.eos_token_id = None
    return Transformers(model, TOKENIZER, identity={"model": kind, "weights": "0"}, chunk=chunk)


@torch.inference_mode()
def rows(kind, ids, **settings):
    """Log-probabilities by one plain pass, [tokens, vocabulary]."""
    return torch.log_softmax(small(kind, **settings)(input_ids=torch.tensor([ids])).logits[0].double(), -1)


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_is_the_greedy_one(kind):
    ids = list(IDS)
    for _ in range(6):
        ids.append(int(rows(kind, ids)[-1].argmax()))
    reply = backend(kind).answer(prompt(IDS), 6)
    assert reply.text == TOKENIZER.decode(ids[len(IDS) :])
    assert (reply.finish, reply.tokens, reply.prompt_tokens) == ("length", 6, len(IDS))
    assert reply.first is not None
    assert 0 < reply.first <= reply.seconds


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("last", [1, 89])
def test_losses_are_those_of_one_pass(kind, last):
    expected = rows(kind, IDS)
    found = backend(kind).losses(IDS, last)
    wanted = [-float(expected[i - 1, IDS[i]]) for i in range(len(IDS) - last, len(IDS))]
    best = [int(expected[i - 1].argmax()) == IDS[i] for i in range(len(IDS) - last, len(IDS))]
    assert np.allclose(found.nats, wanted, atol=2e-4)
    assert found.nats.dtype == np.float64
    assert found.top1.tolist() == best


@pytest.mark.parametrize("kind", KINDS)
def test_choices_are_the_sums_of_their_tokens(kind):
    options = (" no", " yes", "x")
    expected = []
    for option in options:
        ids = [*IDS, *TOKENIZER.encode(option)]
        found = rows(kind, ids)
        expected.append(sum(float(found[i - 1, ids[i]]) for i in range(len(IDS), len(ids))))
    # mistral's and gemma's windows of 24 have let go of what a cut cache would need
    assert backend(kind).choices(prompt(IDS), options) == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize("stretch", [DYNAMIC, LONGROPE])
def test_a_scaling_that_depends_on_the_length_does_not_depend_on_the_chunks(stretch):
    found = [backend("llama", chunk, **stretch) for chunk in (7, 90)]
    assert found[0].identity["positions"] == "ordinate, per_row"
    losses = [each.losses(IDS, 60).nats for each in found]
    assert np.allclose(*losses, atol=2e-4)
    assert len({each.answer(prompt(IDS), 5).text for each in found}) == 1
    options = (" a", "bc")
    assert found[0].choices(prompt(IDS), options) == pytest.approx(found[1].choices(prompt(IDS), options), abs=5e-4)
    # the row at m is turned by m + 1: the last one as by transformers' pass of that length
    # from the second layer on keys are another row's, so that one layer alone can be compared
    one = backend("llama", 7, num_hidden_layers=1, **stretch)
    assert one.losses(IDS, 1).nats[0] == pytest.approx(
        -float(rows("llama", IDS[:-1], num_hidden_layers=1, **stretch)[-1, IDS[-1]]), abs=2e-4
    )


def test_closing_gives_the_model_back():
    model = small("llama", **DYNAMIC)
    before = model.config._attn_implementation
    with Transformers(model, TOKENIZER, identity={}) as used:
        assert model.config._attn_implementation != before
        identity = used.identity
    assert model.config._attn_implementation == before
    assert used.identity == identity
    with pytest.raises(Unavailable, match="closed"):
        used.answer(prompt(IDS), 1)


def test_an_answer_ends_with_the_models_end_or_a_stop_string():
    used = backend()
    whole = used.answer(prompt(IDS), 6)
    ids = list(IDS)
    for _ in range(3):
        ids.append(int(rows("llama", ids)[-1].argmax()))
    ids = ids[len(IDS) :]
    stopped = used.answer(prompt(IDS), 6, stop=(whole.text[2:4],))
    assert (stopped.text, stopped.finish) == (whole.text[:2], "stop")
    model = small("llama")
    model.generation_config.eos_token_id = [ids[2], 300]
    ended = Transformers(model, TOKENIZER, identity={}).answer(prompt(IDS), 6)
    at = ids.index(ids[2])
    assert (ended.text, ended.finish, ended.tokens) == (TOKENIZER.decode(ids[:at]), "stop", at)


def test_a_learned_table_refuses_what_lies_beyond_it():
    used = backend("gpt2", n_positions=96)
    assert used.limit == 96
    assert used.answer(prompt(IDS), 6).tokens == 6
    for ask in (
        lambda: used.answer(prompt(IDS), 7),
        lambda: used.choices(prompt(IDS), ("abcdefg",)),
        lambda: used.losses((*IDS, *IDS), 1),
    ):
        with pytest.raises(Refusal, match="positions for 96 tokens"):
            ask()


def test_logits_that_are_no_numbers_are_named():
    model = small("llama")
    with torch.no_grad():
        model.model.norm.weight.fill_(float("nan"))
    with pytest.raises(Unavailable, match="not numbers"):
        Transformers(model, TOKENIZER, identity={}).answer(prompt(IDS), 2)


def test_memory_that_ends_is_named(monkeypatch):
    used = backend()

    def full(*_, **__):
        raise RuntimeError("[enforce fail at alloc_cpu.cpp:1] DefaultCPUAllocator: can't allocate memory: you tried")

    monkeypatch.setattr(used.model, "forward", full)
    with pytest.raises(Unavailable, match="do not fit into this machine's memory"):
        used.answer(prompt(IDS), 2)


def test_other_faults_are_not_hidden(monkeypatch):
    used = backend()

    def broken(*_, **__):
        raise RuntimeError("shapes differ")

    monkeypatch.setattr(used.model, "forward", broken)
    with pytest.raises(RuntimeError, match="shapes differ"):
        used.answer(prompt(IDS), 2)


def test_logits_of_a_long_prompt_are_never_made(monkeypatch):
    used = backend()
    seen = []
    head = used.model.get_output_embeddings()
    head.register_forward_hook(lambda *parts: seen.append(parts[2].shape[1]))
    used.answer(prompt(IDS), 3)
    assert max(seen) == 1
    used.losses(IDS, 80)
    assert max(seen) <= 64


@pytest.mark.parametrize(
    "ask, message",
    [
        (lambda used: used.losses(IDS, 0), "last must be between 1 and 89"),
        (lambda used: used.losses(IDS, 90), "last must be between 1 and 89"),
        (lambda used: used.choices(prompt(IDS), ("a", "")), "at least one token"),
    ],
)
def test_what_cannot_be_asked_is_refused(ask, message):
    with pytest.raises(InputError, match=message):
        ask(backend())


def test_no_such_dtype_or_device():
    with pytest.raises(InputError, match="dtype must be"):
        Transformers.load("smollm2", dtype="int4")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="device must be"):
        Transformers.load("smollm2", device="nowhere")
    if not torch.cuda.is_available():
        with pytest.raises(Unavailable, match="no graphics card"):
            Transformers.load("smollm2", device="cuda")
