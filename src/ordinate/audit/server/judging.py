"""Whether a gap between two answers is a fault, judged against the server's own noise."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ordinate.audit.base import Outcome, Where
from ordinate.audit.server.comparison import pooled
from ordinate.audit.server.measuring import Measured, decoding, measured, repeats, reuse, turns
from ordinate.audit.server.server import Server

LEAST = 0.02
"""Gaps below this are no fault, [nat]."""

MOST = 0.4
"""Gaps above this are one, whatever else differs, [nat]. llama.cpp's 4-bit kernels were seen to differ by 0.13."""

# How many times as far apart as the noise.
_CHANCE, _SHAPE = 4.0, 5.0

# Lengths that differ by so few tokens count as one, [token].
_NEAR = 8

# Times as long as a length that noise was measured at: beyond it is not known.
_FAR = 2.5

# What tells how far apart answers are for no other reason than that kernels round differently for other shapes: ways
# that a fault in the judged one leaves alone.
_OTHERS = {
    "prefix_reuse": (decoding,),
    "turns": (decoding,),
    "decoding": (reuse, turns),
    "side_by_side": (reuse, decoding),
}


@dataclass(frozen=True)
class Noise:
    """What a gap is judged against.

    Args:
        chance: of the same request repeated in the same state, [nat], root mean square
        shape: of the same tokens computed in other pieces, up to this length, [nat]; None where it was not measured
        flips: whether the repeated request gave other text
        most: what `shape` can make of the threshold, [nat]
    """

    chance: float
    shape: float | None
    flips: bool
    most: float = MOST

    @property
    def threshold(self) -> float:
        """Above this a gap is a fault: max(LEAST, 4 · chance, min(5 · shape, most)); MOST where shape is not known."""
        shape = MOST if self.shape is None else min(_SHAPE * self.shape, self.most)
        return max(LEAST, _CHANCE * self.chance, shape)


def noise(server: Server, check: str, length: int) -> Noise:
    """The noise for a check at a length: of lengths up to it and of the next, for kernels change with the length."""
    same = pooled(each.gap for each in measured(server, repeats).found if each.gap is not None)
    shapes = [
        (each.length, each.gap.rms)
        for way in _OTHERS[check]
        for each in measured(server, way).found
        if each.gap is not None and each.gap.rms is not None
    ]
    known = [at for at, _ in shapes]
    longest = min((at for at in known if at >= length), default=length) + _NEAR
    # Noise of much shorter texts alone says nothing.
    near = [rms for at, rms in shapes if at <= longest] if any(length <= _FAR * at for at in known) else []
    # Where the cache cannot be left out, what is asked alone comes from it, with its faults.
    most = math.inf if check == "side_by_side" and server.offers.uncached is None else MOST
    return Noise(same.rms or 0.0, max(near, default=None), same.differs is not None, most)


def judge(
    server: Server, check: str, kind: str, way: Callable[[Server], Iterator[Measured]], what: str
) -> Iterator[Outcome]:
    """Outcomes for what is measured in one way.

    Args:
        server: whose noise counts
        check: the name of the check
        kind: of the fault, where there is one
        way: of `measuring`
        what: that does to the text, as in "differs when ..."

    Raises:
        Spent, ServerFault: what ended the measuring, once what was found until then is told
    """
    kept = measured(server, way)
    texts: list[tuple[Measured, int | None]] = []
    for each in kept.found:
        if each.gap is None:
            yield Outcome(check, each.case, "refused", evidence=f"the server refused: {each.why}")
        elif each.gap.rms is None:
            texts.append((each, each.gap.differs))
        else:
            yield _scored(server, check, kind, each, what)
    yield from _texts(server, check, kind, texts, what)
    if kept.error is not None:
        raise kept.error


def _scored(server: Server, check: str, kind: str, each: Measured, what: str) -> Outcome:
    assert each.gap is not None and each.gap.rms is not None  # noqa: S101, PT018
    level = noise(server, check, each.length + each.beside)
    gap, threshold = each.gap, level.threshold
    numbers = {
        "rms_nat": gap.rms,
        "largest_nat": gap.largest,
        "values": gap.values,
        "length": each.length,
        "cached_tokens": each.cached,
        "chance_nat": level.chance,
        "shape_nat": level.shape,
        "threshold_nat": threshold,
        "first_differing_token": gap.differs,
    }
    text = "the text is the same" if gap.differs is None else f"the text differs from generated token {gap.differs}"
    shape = "was not measured" if level.shape is None else f"is {level.shape:.2g} nat"
    evidence = (
        f"log-probabilities of {gap.values} likely tokens differ by {gap.rms:.3g} nat (root mean square; {text}) when "
        f"{what}; repeating a request changes them by {level.chance:.2g} nat, and computing it in other pieces {shape}"
    )
    if each.cached is not None:
        evidence += f"; cached_tokens was {each.cached} of {each.length}"
    if gap.rms is not None and gap.rms <= threshold:
        hidden = level.shape is None and gap.rms > max(LEAST, _CHANCE * level.chance)
        status = "undecided" if hidden else "passed"
        return Outcome(check, each.case, status, threshold=threshold, evidence=evidence, numbers=numbers)
    # The cache or the batch ends where the prompt does: what comes first is the first generated token.
    where = Where(token=each.length + (gap.differs or 0))
    return Outcome(
        check, each.case, "failed", threshold=threshold, kind=kind, where=where, evidence=evidence, numbers=numbers
    )


def _texts(
    server: Server, check: str, kind: str, texts: Sequence[tuple[Measured, int | None]], what: str
) -> list[Outcome]:
    """Without log-probabilities a single text that differs may be a tie that rounding broke: many are none."""
    if not texts:
        return []
    differing = sum(differs is not None for _, differs in texts)
    level = noise(server, check, max(each.length for each, _ in texts))
    many = differing >= 2 and 2 * differing >= len(texts) and not level.flips
    outcomes = []
    for each, differs in texts:
        numbers = {"length": each.length, "cached_tokens": each.cached, "differing": differing, "cases": len(texts)}
        if differs is None:
            evidence = f"the text is the same when {what}; there are no log-probabilities to compare"
            outcomes.append(Outcome(check, each.case, "passed", evidence=evidence, numbers=numbers))
            continue
        evidence = (
            f"the text differs from its word {differs} when {what}, as in {differing} of {len(texts)} cases; the "
            "server gives no log-probabilities, and repeating a request "
            f"{'changes' if level.flips else 'does not change'} it"
        )
        if many:
            where = Where(token=each.length + differs)
            outcomes.append(
                Outcome(check, each.case, "failed", kind=kind, where=where, evidence=evidence, numbers=numbers)
            )
        else:
            outcomes.append(Outcome(check, each.case, "undecided", evidence=evidence, numbers=numbers))
    return outcomes
