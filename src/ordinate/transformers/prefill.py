"""Long texts through a model in chunks, with logits only where they are scored."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import DynamicCache

from ordinate.errors import InputError, got, positive_integer
from ordinate.transformers.rotary import DecoderRotary

Report = Callable[[str, float, float], None]
"""Called with what is being done, how much of it is done, and how much there is."""

# Logits held at a time: 64 positions of a vocabulary of 49,152 take 12.6 MB.
_SCORED_AT_ONCE = 64


@dataclass(frozen=True)
class Prefilled:
    """What a text left behind.

    Args:
        scored: the tokens that were scored, by their index in the ids, ascending: [scored], int64
        losses: -ln of the probability that the model gave to each: [scored], float32, [nat]
        best: the token that the model held most likely in its place: [scored], int64
        cache: keys and values of all tokens, for more text to follow
    """

    scored: Tensor
    losses: Tensor
    best: Tensor
    cache: DynamicCache


@torch.inference_mode()
def prefill(
    model: Any,
    ids: Tensor,
    *,
    chunk: int = 1024,
    position_ids: Tensor | None = None,
    cache: DynamicCache | None = None,
    score: Sequence[tuple[int, int]] = (),
    length: int | None = None,
    progress: Report | None = None,
) -> Prefilled:
    """Run a text through a model chunk by chunk; the result is that of one forward pass, whatever the chunk.

    A method that depends on the length (Dynamic NTK, LongRoPE) assumes one length from the first chunk on. Keys that
    a cache brings from an earlier call stay rotated as they were: give the same `length` to calls that share one.

    Args:
        model: a causal language model, as `load` returns
        ids: [tokens], integer
        chunk: tokens in one forward pass
        position_ids: [tokens], integer, [token]; where not given they continue at the cache's number of tokens
        cache: of an earlier call, which is continued, and changed; a new one where not given
        score: half-open ranges of indices into `ids`, each >= 1: the tokens whose losses are wanted
        length: what methods that depend on the length assume; the highest position of these ids + 1 where not
            given, [token]
        progress: told how many tokens are done

    Returns:
        losses and best tokens at the scored indices, and the cache

    Raises:
        InputError: ids or positions of another shape, a range outside the ids, a length that the positions pass, a
            model whose logits are not its head's output, or a method that depends on the length in a model without
            Ordinate's rotary module

    Source: chunked prefill: Agrawal et al. 2023, arXiv:2308.16369.
    Differs from the paper: nothing.
    """
    chunk = positive_integer("chunk", chunk)
    if ids.ndim != 1 or not len(ids) or ids.is_floating_point():
        raise InputError(f"ids must be integers of shape [tokens], at least one, got {ids.dtype} {list(ids.shape)}")
    if position_ids is not None and (position_ids.shape != ids.shape or position_ids.is_floating_point()):
        raise InputError(f"position_ids must be integers of shape {list(ids.shape)}, got {list(position_ids.shape)}")
    scored = scored_indices(score, len(ids))
    cache = DynamicCache(config=model.config) if cache is None else cache
    past = cache.get_seq_length()
    positions = torch.arange(past, past + len(ids), device=ids.device) if position_ids is None else position_ids
    reached = int(positions.max()) + 1
    if length is not None and positive_integer("length", length) < reached:
        raise InputError(f"length must be >= {reached}, the highest position + 1, got {length}")
    decoder, head = model.get_decoder(), model.get_output_embeddings()
    if len(scored):
        _check_head(model, decoder, head, ids[:1])
    losses, best = [], []
    with _length_fixed(decoder, length or reached, own=len(ids) <= chunk and length is None):
        for start in range(0, len(ids), chunk):
            end = min(start + chunk, len(ids))
            # Without a mask, positions that do not follow each other are taken for packed sequences.
            mask = torch.ones(1, past + end, dtype=torch.bool, device=ids.device)
            states = decoder(
                input_ids=ids[None, start:end],
                attention_mask=mask,
                position_ids=positions[None, start:end],
                cache=cache,
                use_cache=True,
            ).last_hidden_state[0]
            # Token i is predicted by the state of token i - 1.
            here = scored[(scored > start) & (scored <= end)]
            for some in here.split(_SCORED_AT_ONCE):
                logits = head(states[some - 1 - start]).float()
                losses.append(torch.nn.functional.cross_entropy(logits, ids[some], reduction="none"))
                best.append(logits.argmax(-1))
            if progress:
                progress("reading", end, len(ids))
    none = torch.zeros(0, device=ids.device)
    return Prefilled(scored, torch.cat([none, *losses]), torch.cat([none.long(), *best]), cache)


def crop(cache: DynamicCache, tokens: int) -> None:
    """Keep the first `tokens` tokens of a cache, so that other text can follow them; changes the cache.

    Raises:
        InputError: it does not hold so many
    """
    held = cache.get_seq_length()
    if not 0 < tokens <= held:
        raise InputError(f"tokens must be between 1 and the {held} that the cache holds, got {got(tokens)}")
    # transformers 5.24 takes the number to remove, as a negative number.
    try:
        cache.crop(tokens - held)
    except RuntimeError as error:
        raise InputError(f"this cache cannot be cropped: {error}") from error


def scored_indices(ranges: Sequence[tuple[int, int]], tokens: int) -> Tensor:
    """The indices in half-open ranges, ascending, each once.

    Raises:
        InputError: a range that is empty, or not within 1 and `tokens`
    """
    wanted = torch.zeros(tokens, dtype=torch.bool)
    for start, stop in ranges:
        if not 1 <= start < stop <= tokens:
            raise InputError(
                f"score must hold ranges within 1 and {tokens}, because nothing predicts token 0, got {(start, stop)}"
            )
        wanted[start:stop] = True
    return wanted.nonzero()[:, 0]


def _check_head(model: Any, decoder: nn.Module, head: nn.Module, ids: Tensor) -> None:
    """Refuse a model that does something to its logits after the head, such as a soft cap or a scale."""
    expected = model(input_ids=ids[None], use_cache=False).logits
    found = head(decoder(input_ids=ids[None], use_cache=False).last_hidden_state)
    if not torch.allclose(expected, found, rtol=1e-3, atol=1e-3):
        raise InputError(f"the logits of {type(model).__name__} are not its head's output: it cannot be scored")


@contextmanager
def _length_fixed(decoder: nn.Module, length: int, *, own: bool) -> Iterator[None]:
    """Let methods that depend on the length assume one length for all chunks.

    Args:
        decoder: whose rotary module is meant
        length: what to assume, [token]
        own: transformers' own module would assume the same
    """
    rotary = getattr(decoder, "rotary_emb", None)
    if not isinstance(rotary, DecoderRotary):
        types = getattr(rotary, "rope_type", "default")
        if not own and any(word in str(types) for word in ("dynamic", "longrope")):
            raise InputError(
                f"{types} depends on the length, which transformers takes from each chunk: load the model by "
                "ordinate.transformers.load, or give a chunk that holds the whole text, and no length"
            )
        yield
        return
    before, rotary.length = rotary.length, length
    try:
        yield
    finally:
        rotary.length = before
