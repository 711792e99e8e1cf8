"""How far two runs over the same tokens are apart."""

from dataclasses import dataclass

import torch
from torch import Tensor

from ordinate.audit.base import Refusal
from ordinate.audit.runs import Run

# Tokens whose logits are in memory as float32, twice.
_STEP = 64


@dataclass(frozen=True)
class Comparison:
    """The distance of a run from a reference.

    Args:
        tokens: how many were compared, over all rows
        max_difference: the largest difference of a logit, [logit]
        max_kl: the largest Kullback-Leibler divergence of a token's distribution from the reference's, [nat]; None
            where the outputs are no logits
        top1: the share of tokens whose most likely successor is the same; None likewise
        by_token: [rows, tokens], float32: the largest difference of each token; 0 where it was not compared
        there: [rows, tokens], bool: which were compared
    """

    tokens: int
    max_difference: float
    max_kl: float | None
    top1: float | None
    by_token: Tensor
    there: Tensor

    def beyond(self, threshold: float) -> Tensor:
        """Which tokens differ by more, [rows, tokens], bool."""
        return self.by_token > threshold

    def first_token(self, threshold: float) -> tuple[int, int] | None:
        """The token and row that differ first, or None; of equal tokens the first row."""
        places = self.beyond(threshold).T.nonzero()
        return None if len(places) == 0 else (int(places[0, 0]), int(places[0, 1]))


@torch.inference_mode()
def compare(reference: Run, run: Run, *, distributions: bool = True) -> Comparison:
    """Compare a run with a reference token by token.

    difference[t] = max over the vocabulary of |logits - reference logits|, KL[t] = sum p ln(p / q), p the reference's

    Args:
        reference: of as many rows, or of one for all
        run: of at most as many tokens
        distributions: whether the outputs are logits

    Raises:
        Refusal: an output that is not a number where the reference has one, or nothing to compare
    """
    tokens = min(run.tokens, reference.tokens)
    of = [run.reference_row(row) if reference.rows > 1 else 0 for row in range(run.rows)]
    there = run.there[:, :tokens] & reference.there[of, :tokens]
    by_token = torch.zeros(there.shape)
    worst_kl, agreeing = 0.0, 0
    for row in range(run.rows):
        other = reference.logits[of[row]]
        for some in there[row].nonzero()[:, 0].split(_STEP):
            expected, found = other[some].float(), run.logits[row][some].float()
            apart = (found - expected).abs().amax(-1)
            # Not a number differs from everything.
            by_token[row, some] = torch.where(apart.isnan(), torch.inf, apart).cpu()
            if distributions:
                log_p, log_q = expected.log_softmax(-1), found.log_softmax(-1)
                kl = (log_p.exp() * (log_p - log_q)).sum(-1)
                worst_kl = max(worst_kl, float(torch.where(kl.isnan(), torch.inf, kl).max()))
                agreeing += int((expected.argmax(-1) == found.argmax(-1)).sum())
    count = int(there.sum())
    if not count:
        raise Refusal(f"{run.name}: no token was computed that the reference has")
    return Comparison(
        tokens=count,
        max_difference=float(by_token.max()),
        max_kl=worst_kl if distributions else None,
        top1=agreeing / count if distributions else None,
        by_token=by_token,
        there=there,
    )
