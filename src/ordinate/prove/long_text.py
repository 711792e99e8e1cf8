"""One long text, read once: losses on the way, and passkeys asked for after more and more of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ordinate.errors import InputError
from ordinate.prove.passkeys import QUESTION, SENTENCE, Passkey, Placed
from ordinate.prove.plan import Plan
from ordinate.prove.result import Answer, Count, Counts, LossByPosition, Passkeys, Question, Range
from ordinate.prove.statistics import compared, wilson
from ordinate.transformers.prefill import Report, crop, prefill


@dataclass(frozen=True)
class Said:
    """A model's answer as ids.

    Args:
        ids: what it wrote, greedily
        losses: of the key's tokens, each given the right ones before it, [tokens], [nat]
    """

    ids: tuple[int, ...]
    losses: tuple[float, ...]


@dataclass(frozen=True)
class LongReading:
    """What one model made of the long text.

    Args:
        places: positions of the scored tokens, ascending, [tokens]
        losses: of these tokens, [tokens], [nat]
        answers: by place of asking, then by key; None where the key is not yet in what was read
    """

    places: np.ndarray
    losses: np.ndarray
    answers: tuple[tuple[Said | None, ...], ...]


def read_long_text(
    model: Any, text: Placed, keys: Sequence[Passkey], asked_at: Sequence[int], progress: Report | None = None
) -> LongReading:
    """Read a text once; then forget its end step by step, and at each step ask for the keys that remain.

    What is asked after n tokens is answered as if only n tokens had been read: keys and values of a token do not
    depend on later ones.

    Args:
        model: a causal language model
        text: the text with its keys
        keys: in the order of `text.spans`
        asked_at: after how many tokens to ask, ascending, each at most the text's length
        progress: told how many tokens are read, then how many questions are answered

    Raises:
        InputError: losses that are not finite, or a cache that cannot forget (sliding windows)
    """
    read = prefill(model, torch.tensor(text.ids), score=text.scored, progress=progress)
    losses = finite_losses(read.losses, "the long text")
    questions = sum(stop <= length for length in asked_at for _, stop in text.spans)
    answers, asked = [], 0
    for length in reversed(asked_at):
        crop(read.cache, length)
        here: list[Said | None] = []
        for key, (_, stop) in zip(keys, text.spans, strict=True):
            here.append(ask(model, read.cache, key) if stop <= length else None)
            asked += stop <= length
            if progress and stop <= length:
                progress("asking", asked, questions)
        answers.append(tuple(here))
    return LongReading(read.scored.numpy(), losses, tuple(reversed(answers)))


def ask(model: Any, cache: Any, key: Passkey) -> Said:
    """Ask for one key behind what a cache holds; the cache is left as it was found.

    Returns:
        what the model writes greedily, as many tokens as the key has, and the key's losses
    """
    held, ids = cache.get_seq_length(), torch.tensor(key.question + key.answer)
    read = prefill(model, ids, cache=cache, score=[(len(key.question), len(ids))])
    crop(cache, held)
    losses = tuple(finite_losses(read.losses, f"passkey {key.name}").tolist())
    best = tuple(read.best.tolist())
    # Up to its first mistake the model was shown what it would have written itself.
    right = next((i for i, (a, b) in enumerate(zip(best, key.answer, strict=True)) if a != b), len(best))
    said = list(best[: right + 1])
    ids = [*key.question, *said]
    while len(said) < len(key.answer):
        said.append(_next(model, cache, ids))
        ids = said[-1:]
    crop(cache, held)
    return Said(tuple(said), losses)


@torch.inference_mode()
def _next(model: Any, cache: Any, ids: Sequence[int]) -> int:
    """The most likely token behind a cache and these ids, which the cache then holds too."""
    logits = model(input_ids=torch.tensor(ids)[None], cache=cache, use_cache=True, logits_to_keep=1).logits
    return int(logits[0, -1].argmax())


def finite_losses(losses: torch.Tensor, where: str) -> np.ndarray:
    """Losses as float64, or an `InputError` where one is not finite."""
    found = losses.double().numpy()
    if not np.isfinite(found).all():
        raise InputError(f"the model's losses must be finite, got {found[~np.isfinite(found)][0]} in {where}")
    return found


def compare_losses(original: LongReading, extended: LongReading, plan: Plan) -> LossByPosition:
    """Both models' losses by position, on the same tokens."""

    def within(start: int, stop: int) -> Range | None:
        here = (original.places >= start) & (original.places < stop)
        if not here.any():
            return None
        return Range(
            start, stop, compared(original.losses[here], extended.losses[here], original.places[here], plan.block)
        )

    width = max(plan.block, plan.window // 32)
    ranges = [within(start, stop) for start, stop in zip(plan.edges, plan.edges[1:], strict=False)]
    fine = [within(start, min(start + width, plan.length)) for start in range(0, plan.length, width)]
    return LossByPosition(
        length=plan.length,
        block=plan.block,
        ranges=[found for found in ranges if found],
        fine=[found for found in fine if found],
        inside=within(0, min(plan.window, plan.length)),
        past=within(plan.window, plan.length),
    )


def compare_answers(
    original: LongReading, extended: LongReading, text: Placed, keys: Sequence[Passkey], plan: Plan, tokenizer: Any
) -> Passkeys:
    """Both models' answers, and how many are right by place of asking."""

    def answer(said: Said, key: Passkey) -> Answer:
        return Answer(tokenizer.decode(said.ids), said.ids == key.answer, float(np.mean(said.losses)))

    questions = [
        Question(key.name, key.key, start, stop, length, answer(first, key), answer(second, key))
        for length, before, after in zip(plan.asked_at, original.answers, extended.answers, strict=True)
        for key, (start, stop), first, second in zip(keys, text.spans, before, after, strict=True)
        if first is not None and second is not None
    ]

    def count(answers: list[Answer]) -> Count:
        exact = sum(one.exact for one in answers)
        return Count(exact, len(answers), wilson(exact, len(answers)))

    counts = []
    for length in plan.asked_at:
        here = [question for question in questions if question.asked_at == length]
        if here:
            counts.append(Counts(length, count([q.original for q in here]), count([q.extended for q in here])))
    return Passkeys(SENTENCE, QUESTION, questions, counts)
