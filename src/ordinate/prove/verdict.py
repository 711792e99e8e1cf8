"""What the numbers say, in words made from them and from nothing else."""

from typing import Literal

from ordinate.prove.result import (
    Change,
    Compared,
    Count,
    Estimate,
    Gap,
    GrowingContext,
    LossByPosition,
    Passkeys,
    PositionGap,
    Verdict,
)

CLEAR = 2.0
"""A difference is called clear beyond this many standard errors."""


def sign(difference: Estimate) -> Literal[-1, 0, 1]:
    """-1 or 1 for a difference beyond two standard errors, 0 for one that is not clear or whose error is unknown.

    >>> sign(Estimate(-0.7, 0.1, 512)), sign(Estimate(0.1, 0.1, 512)), sign(Estimate(0.1, None, 64))
    (-1, 0, 0)
    """
    error = difference.standard_error
    if error is None or abs(difference.mean) <= CLEAR * error:
        return 0
    return -1 if difference.mean < 0 else 1


def verdict(
    losses: LossByPosition, passkeys: Passkeys, growing: GrowingContext, gaps: PositionGap, window: int, target: int
) -> Verdict:
    """Put a proof's numbers into words.

    Args:
        losses, passkeys, growing, gaps: the four measurements
        window, target: of the original and of the extended model, [token]
    """
    findings = [
        *_inside(losses, window),
        *_past(losses, window),
        *_keys(passkeys, window),
        *_growing(growing),
        *_gap(gaps, window, target),
    ]
    if losses.past is None:
        headline = f"Nothing was read past the original's window of {window:,} tokens, so nothing is shown there."
        return Verdict("not tested", headline, findings)
    loss, count = losses.past.loss, passkeys.counts[-1] if passkeys.counts else None
    keys = 0 if count is None else count.extended.exact - count.original.exact
    votes = {-sign(loss.difference), (keys > 0) - (keys < 0)} - {0}
    outcome = (
        "no clear difference" if not votes else "mixed" if len(votes) == 2 else "better" if 1 in votes else "worse"
    )
    words = {
        "better": "the extended model does better than the original",
        "worse": "the extended model does worse than the original",
        "mixed": "the two measurements disagree about the extended model",
        "no clear difference": "the extended model does neither clearly better nor clearly worse than the original",
    }[outcome]
    read = "" if count is None else f", and it reads {_of(count.extended)} passkeys against {_of(count.original)}"
    headline = f"Past {window:,} tokens {words}: its loss is {_against(loss)} nats a token{read}."
    return Verdict(outcome, headline, findings)


def _inside(losses: LossByPosition, window: int) -> list[str]:
    if losses.inside is None:
        return []
    difference = losses.inside.loss.difference
    words = {
        1: f"the extension costs {_error(difference)} nats a token",
        -1: f"the extension gains {_error(difference)} nats a token",
        0: f"the two models do not clearly differ ({_signed(difference)} nats a token)",
    }[sign(difference)]
    return [
        f"Inside the window (positions {losses.inside.start:,} to {min(losses.inside.stop, window):,}) {words}: "
        f"loss {_against(losses.inside.loss)}."
    ]


def _past(losses: LossByPosition, window: int) -> list[str]:
    late = [found for found in losses.ranges if found.start >= window]
    if not late:
        return []
    found = []
    last = late[-1]
    if losses.inside is not None:
        inside = losses.inside.loss
        found.append(
            f"From inside the window to positions {last.start:,} to {last.stop:,} the original's loss goes from "
            f"{inside.original.mean:.2f} to {last.loss.original.mean:.2f}, the extended model's from "
            f"{inside.extended.mean:.2f} to {last.loss.extended.mean:.2f} nats a token; the passages differ in "
            "difficulty, the two models read the same ones."
        )
    for wanted, word in ((-1, "better"), (1, "worse")):
        since = None
        for one in reversed(losses.ranges):
            if sign(one.loss.difference) != wanted:
                break
            since = one.start
        if since is not None:
            found.append(
                f"The extended model is clearly {word} in every range from position {since:,} to the end; in the last "
                f"one by {_error(last.loss.difference)} nats a token."
            )
    return found


def _keys(passkeys: Passkeys, window: int) -> list[str]:
    found = []
    within = [question for question in passkeys.questions if question.asked_at <= window]
    if within:
        original, extended = (sum(getattr(q, model).exact for q in within) for model in ("original", "extended"))
        found.append(
            f"Asked within the window, the original reads {original} of {len(within)} passkeys and the extended "
            f"model {extended} of {len(within)}."
        )
    for count in passkeys.counts:
        if count.asked_at > window:
            found.append(
                f"Asked after {count.asked_at:,} tokens, the original reads {_of(count.original)} and the extended "
                f"model {_of(count.extended)}."
            )
    return found


def _growing(growing: GrowingContext) -> list[str]:
    if len(growing.rows) < 2:
        return []
    first, last, change = growing.rows[0], growing.rows[-1], growing.changes[-1]
    return [
        f"As the text grows from {first.length:,} to {last.length:,} tokens, the loss of the same {growing.scored} "
        f"tokens changes by {_signed(change.original)} nats in the original ({first.loss.original.mean:.2f} to "
        f"{last.loss.original.mean:.2f}) and by {_signed(change.extended)} in the extended model "
        f"({first.loss.extended.mean:.2f} to {last.loss.extended.mean:.2f})."
    ]


def _gap(gaps: PositionGap, window: int, target: int) -> list[str]:
    found = farthest(gaps, window, target)
    if found is None:
        return []
    row, change = found
    return [
        f"Moving a text's second half to position {row.distance:,} changes its loss by {_signed(change.original)} "
        f"nats a token in the original and by {_signed(change.extended)} in the extended model."
    ]


def farthest(gaps: PositionGap, window: int, target: int) -> tuple[Gap, Change] | None:
    """The row with the greatest distance past the window from which a whole text still ends within the target."""
    within = [
        (row, change)
        for row, change in zip(gaps.rows, gaps.changes, strict=True)
        if window <= row.distance <= max(window, target - gaps.tokens)
    ]
    return within[-1] if within else None


def _of(count: Count) -> str:
    return f"{count.exact} of {count.asked}"


def _against(loss: Compared) -> str:
    return f"{loss.extended.mean:.2f} against {loss.original.mean:.2f}"


def _error(difference: Estimate) -> str:
    """The size of a difference with its standard error."""
    return _with_error(f"{abs(difference.mean):.3f}", difference)


def _signed(difference: Estimate) -> str:
    return _with_error(f"{difference.mean:+.3f}".replace("-", "−"), difference)


def _with_error(text: str, difference: Estimate) -> str:
    return text if difference.standard_error is None else f"{text} ± {difference.standard_error:.3f}"
