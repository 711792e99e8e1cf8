"""Perplexities as papers give them, from the samples of language modelling: in sliding windows, and LongPPL."""

import math
from collections.abc import Mapping

import numpy as np

from ordinate.validate.claims import Figure
from ordinate.validate.perplexity import COST, GAIN, key_tokens, long_perplexity
from ordinate.validate.sampling.losses import NATS
from ordinate.validate.tasks.language_modelling import LanguageModelling
from ordinate.validate.trials import Trial
from ordinate.validate.uses.bounds import bounds
from ordinate.validate.uses.means import REAL, losses
from ordinate.validate.uses.tallies import Tally, every

SLIDING, LONG = "sliding perplexity", "LongPPL"


def perplexities(trial: Trial, tally: Tally, subject: str) -> tuple[Figure, ...]:
    """The figures of a trial of language modelling, by length; none of another.

    sliding perplexity(N) = exp(mean loss of tokens at the end of windows of N tokens, the stride's worth of each)
    LongPPL(N) = exp(mean loss at N of the key tokens)

    Source: Press et al. 2022, arXiv 2108.12409, appendix B; Fang et al. 2024, arXiv 2410.23771.
    Differs from the papers: windows are drawn from several texts instead of read one after another; key tokens are
    chosen by the model itself, from the longest and the shortest length.
    """
    if trial.measure != "language" or REAL not in trial.places:
        return ()
    return (*_sliding(trial, tally, subject), *_long(trial, tally, subject))


def _sliding(trial: Trial, tally: Tally, subject: str) -> list[Figure]:
    stride, found = dict(trial.difficulty).get("target", LanguageModelling().target), []
    for length in every(trial):
        known = losses(tally, length, REAL)
        if not known:
            continue
        values, texts = [loss for loss, _ in known.values()], [text for _, text in known.values()]
        about = bounds(values, texts)
        between = "" if about is None else f", {math.exp(about.low):.2f} to {math.exp(about.high):.2f} at 95 %"
        rule = (
            f"stride {stride}: the last {stride} tokens of {len(values)} windows of {length:,} tokens, drawn from "
            f"{len(set(texts))} texts{between}; for lengths and runs of one tokenizer alone"
        )
        found.append(Figure(SLIDING, f"{subject} at {length:,} tokens", math.exp(np.mean(values)), "perplexity", rule))
    return found


def _long(trial: Trial, tally: Tally, subject: str) -> list[Figure]:
    tokens = {length: _nats(tally, length) for length in every(trial)}
    sampled = [length for length, found in tokens.items() if found]
    if len(sampled) < 2 or sampled[0] != trial.short:
        return []
    short, longest = sampled[0], sampled[-1]
    units = sorted(set.intersection(*(set(tokens[length]) for length in sampled)))
    if not units:
        return []
    whole = {length: np.concatenate([tokens[length][unit] for unit in units]) for length in sampled}
    keys = key_tokens(whole[longest], whole[short])
    rule = (
        f"{keys.sum()} of {len(keys)} tokens are key: windows of {longest:,} tokens make them likelier than those of "
        f"{short:,} by {GAIN:g} nat, and they cost {COST:g} nat at most there; chosen by this model, so that lengths "
        "of it alone compare"
    )
    return [
        Figure(LONG, f"{subject} at {length:,} tokens", long_perplexity(whole[length], keys), "perplexity", rule)
        for length in sampled
    ]


def _nats(tally: Tally, length: int) -> Mapping[int, np.ndarray]:
    """By unit the losses of all tokens of its target; units that failed, or were sampled without, are left out."""
    found = {}
    for unit in losses(tally, length, REAL):
        nats = tally.units(length, REAL)[unit][0].facts.get(NATS)
        if isinstance(nats, list) and nats:
            found[unit] = np.array(nats, dtype=np.float64)
    return found
