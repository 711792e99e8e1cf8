"""Texts in chunks: against one forward pass of the same model."""

import pytest
import torch
from transformers import DynamicCache, LlamaForCausalLM

from ordinate.errors import InputError
from ordinate.transformers import attention
from ordinate.transformers.loading import load
from ordinate.transformers.prefill import crop, prefill, scored_indices

# float32 in another order, with weights as large as these: losses go up to 14 nats.
ROUNDING = 2e-4
IDS = torch.randint(3, 200, (150,), generator=torch.Generator().manual_seed(0))
DYNAMIC = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0}


@pytest.fixture(scope="module")
def model(tiny):
    attention.register()
    return tiny.model()


@torch.inference_mode()
def in_one(model, ids, **options):
    """Losses and best tokens at every index from 1, and the logits, from one forward pass."""
    logits = model(input_ids=ids[None], attention_mask=torch.ones_like(ids)[None], **options).logits[0]
    return -logits.log_softmax(-1)[:-1].gather(1, ids[1:, None])[:, 0], logits[:-1].argmax(-1), logits


@pytest.mark.parametrize("implementation", ["sdpa", "eager", attention.NAME])
@pytest.mark.parametrize("chunk", [1, 7, 50, 64, 150, 1000])
def test_the_chunk_changes_nothing(model, chunk, implementation):
    model.set_attn_implementation(implementation)
    losses, best, _ = in_one(model, IDS)
    found = prefill(model, IDS, chunk=chunk, score=[(1, 150)])
    assert found.scored.tolist() == list(range(1, 150))
    assert torch.allclose(found.losses, losses, rtol=0, atol=ROUNDING)
    assert torch.equal(found.best, best)
    assert found.cache.get_seq_length() == 150


def test_only_what_is_asked_for_is_scored(model):
    losses, best, _ = in_one(model, IDS)
    found = prefill(model, IDS, chunk=40, score=[(120, 130), (39, 42), (41, 44), (1, 2), (149, 150)])
    expected = [1, *range(39, 44), *range(120, 130), 149]
    assert found.scored.tolist() == expected
    assert torch.allclose(found.losses, losses[found.scored - 1], rtol=0, atol=ROUNDING)
    assert torch.equal(found.best, best[found.scored - 1])
    nothing = prefill(model, IDS, chunk=40)
    assert len(nothing.scored) == len(nothing.losses) == len(nothing.best) == 0


def test_the_head_runs_only_where_it_is_needed(model):
    rows = []
    hook = model.lm_head.register_forward_hook(lambda _module, inputs, _output: rows.append(inputs[0].numel() // 64))
    prefill(model, IDS, chunk=40, score=[(100, 103)])
    first = sum(rows)
    prefill(model, IDS, chunk=40)
    hook.remove()
    # Two rows are the comparison of head and logits.
    assert first == 3 + 2
    assert sum(rows) == first


def test_a_text_is_continued_from_its_cache_and_from_a_cropped_one(model):
    losses, _, _ = in_one(model, IDS)
    start = prefill(model, IDS[:100], chunk=30)
    rest = prefill(model, IDS[100:], chunk=30, cache=start.cache, score=[(1, 50)])
    assert torch.allclose(rest.losses, losses[100:], rtol=0, atol=ROUNDING)
    # The cache was changed: back to 100 tokens, and another text.
    assert start.cache.get_seq_length() == 150
    crop(start.cache, 100)
    other = torch.cat([IDS[:100], IDS[:30]])
    expected, _, _ = in_one(model, other)
    again = prefill(model, IDS[:30], cache=start.cache, score=[(1, 30)])
    assert torch.allclose(again.losses, expected[100:], rtol=0, atol=ROUNDING)


def test_positions_that_jump_are_not_taken_for_packed_texts(model):
    positions = torch.cat([torch.arange(75), torch.arange(300, 375)])
    losses, _, _ = in_one(model, IDS, position_ids=positions[None])
    with torch.inference_mode():
        packed = model(input_ids=IDS[None], position_ids=positions[None], use_cache=False).logits[0]
    apart = -packed.log_softmax(-1)[:-1].gather(1, IDS[1:, None])[:, 0]
    # transformers without a mask: the second half does not see the first.
    assert (apart - losses)[80:].abs().max() > 0.1
    for chunk in (20, 150):
        found = prefill(model, IDS, chunk=chunk, position_ids=positions, score=[(1, 150)])
        assert torch.allclose(found.losses, losses, rtol=0, atol=ROUNDING)


def test_a_dynamic_method_has_one_length_for_all_chunks(tmp_path, tiny):
    tiny.model(max_position_embeddings=64, rope_parameters=dict(DYNAMIC)).save_pretrained(tmp_path)
    _tokenizer(tmp_path, tiny)
    ours, _ = load(tmp_path)
    theirs = LlamaForCausalLM.from_pretrained(tmp_path)
    losses, _, _ = in_one(theirs, IDS)
    for chunk in (40, 150):
        found = prefill(ours, IDS, chunk=chunk, score=[(1, 150)])
        assert torch.allclose(found.losses, losses, rtol=0, atol=1e-3)
    assert ours.model.rotary_emb.length is None
    assert torch.allclose(prefill(theirs, IDS, chunk=150, score=[(1, 150)]).losses, losses, rtol=0, atol=ROUNDING)
    for refused in ({"chunk": 40}, {"chunk": 150, "length": 200}):
        with pytest.raises(InputError, match="depends on the length, which transformers takes from each chunk"):
            prefill(theirs, IDS, **refused)
    # Two calls that share a cache share the length.
    start = prefill(ours, IDS[:100], length=150)
    rest = prefill(ours, IDS[100:], cache=start.cache, length=150, score=[(1, 50)])
    assert torch.allclose(rest.losses, losses[100:], rtol=0, atol=1e-3)
    apart = prefill(ours, IDS[100:], cache=prefill(ours, IDS[:100]).cache, score=[(1, 50)])
    assert (apart.losses - losses[100:]).abs().max() > 0.01
    with pytest.raises(InputError, match="length must be >= 150, the highest position"):
        prefill(ours, IDS, length=149)


def test_a_model_that_changes_its_logits_is_refused(model):
    class Capped(LlamaForCausalLM):
        def forward(self, *args, **options):
            output = super().forward(*args, **options)
            output.logits = 2 * torch.tanh(output.logits / 2)
            return output

    capped = Capped(model.config).eval()
    capped.load_state_dict(model.state_dict())
    with pytest.raises(InputError, match="the logits of Capped are not its head's output"):
        prefill(capped, IDS[:5], score=[(1, 2)])


def test_progress_counts_tokens(model):
    told = []
    prefill(model, IDS, chunk=64, progress=lambda *news: told.append(news))
    assert told == [("reading", 64, 150), ("reading", 128, 150), ("reading", 150, 150)]


@pytest.mark.parametrize("ranges", [[(0, 3)], [(3, 3)], [(4, 3)], [(1, 11)], [(-2, 3)]])
def test_ranges_outside_the_text_are_refused(ranges):
    with pytest.raises(InputError, match="score must hold ranges within 1 and 10"):
        scored_indices(ranges, 10)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"ids": IDS[None]}, "ids must be integers of shape"),
        ({"ids": IDS[:0]}, "at least one"),
        ({"ids": IDS.float()}, "ids must be integers"),
        ({"ids": IDS, "chunk": 0}, "chunk must be an integer >= 1"),
        ({"ids": IDS, "position_ids": torch.arange(3)}, "position_ids must be integers of shape"),
    ],
)
def test_what_does_not_fit_is_refused(model, options, message):
    with pytest.raises(InputError, match=message):
        prefill(model, **options)


def test_a_cache_is_cropped_only_to_what_it_holds(model):
    cache = prefill(model, IDS[:10]).cache
    for tokens in (0, -1, 11):
        with pytest.raises(InputError, match="between 1 and the 10"):
            crop(cache, tokens)
    crop(cache, 10)
    assert cache.get_seq_length() == 10
    with pytest.raises(InputError, match="between 1 and the 0"):
        crop(DynamicCache(config=model.config), 1)


def _tokenizer(directory, tiny):
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from transformers import PreTrainedTokenizerFast

    words = {token: number for number, token in enumerate(tiny.tokens())}
    PreTrainedTokenizerFast(tokenizer_object=Tokenizer(WordLevel(words))).save_pretrained(directory)
