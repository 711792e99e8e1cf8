"""Level 1: does the engine take exactly N tokens, whole, and answer?"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ordinate.validate.accepts.canaries import Canaries, check_mode
from ordinate.validate.accepts.lengths import edges
from ordinate.validate.accepts.reading import Outcome, Reader, Reading
from ordinate.validate.backends import Backend
from ordinate.validate.claims import Claim
from ordinate.validate.statistics import Verdict

Report = Callable[[str, float, float], None]
"""Called with what is being done, how much of it is done, and how much there is."""

SUBJECT = "whole prompt"

VERDICTS: dict[Outcome, Verdict] = {
    "ok": "supported",
    "refused": "refuted",
    "truncation": "refuted",
    "truncation_head": "refuted",
    "truncation_middle": "refuted",
    "truncation_tail": "refuted",
    "degenerate": "refuted",
    "garbled": "inconclusive",
    "error": "inconclusive",
    "unknown": "inconclusive",
}
"""An error is no answer of the engine's: a stall or a broken line says nothing of the length, and neither do answers of
an engine that no longer answers a short prompt as before."""


def accepts(
    backend: Backend,
    lengths: Sequence[int],
    *,
    mode: str = "base",
    windows: Iterable[int] = (),
    around: bool = True,
    seed: int = 0,
    left: Callable[[], object] = lambda: None,
    progress: Report | None = None,
) -> tuple[Claim, ...]:
    """Claims about each length asked for, and about each near it that fails where they do not.

    Args:
        backend: asked
        lengths: asked for, [token]
        mode: "base" or "chat"
        windows: how many tokens sliding layers see, tried at their edges, [token]
        around: also try one token less and more, powers of two, and the edges of blocks, windows and the limit
        seed: of the texts
        left: raises `Unavailable` (`Late`) once the time is up
        progress: told how many lengths are done

    Returns:
        one claim a length, ascending; what was tried near it, and how that ended, is in its evidence

    Raises:
        InputError: no lengths, or a mode in which canaries cannot be asked for
    """
    tried = edges(lengths, limit=backend.limit, windows=windows)
    if not around:
        tried = {length: reasons for length, reasons in tried.items() if length in lengths}
    reader = _reader(backend, check_mode(mode), seed, left)
    found: dict[int, Reading] = {}
    # What was asked for comes first: where the time ends, it is what lies around it that is missing.
    order = sorted(tried, key=lambda length: (length not in lengths, length))
    for done, length in enumerate(order):
        if progress:
            progress("accepts", done, len(order))
        found[length] = reader(length)
    if progress:
        progress("accepts", len(order), len(order))
    return tuple(_claims(found, tried, set(lengths)))


def _reader(backend: Backend, mode: str, seed: int, left: Callable[[], object]) -> Callable[[int], Reading]:
    canaries = Canaries(backend.tokenizer, mode=mode, seed=seed)
    model = getattr(backend, "model", None)
    if hasattr(model, "named_modules"):
        from ordinate.validate.accepts.local import LocalReader

        return LocalReader(backend, model, canaries, left).read
    return Reader(backend, canaries, left).read


def _claims(found: dict[int, Reading], tried: dict[int, tuple[str, ...]], asked: set[int]) -> Iterable[Claim]:
    for length in sorted(found):
        reading = found[length]
        near = {other: found[other].outcome for other in found if abs(other - length) == 1}
        if length in asked or reading.outcome not in ("ok", "unknown", "garbled", _expected(found, length, asked)):
            yield _claim(reading, tried[length], {str(other): outcome for other, outcome in sorted(near.items())})


def _expected(found: dict[int, Reading], length: int, asked: set[int]) -> Outcome:
    """What a length nearby that was asked for ended in."""
    nearest = min(asked, key=lambda other: abs(other - length))
    return found[nearest].outcome


def _claim(reading: Reading, reasons: tuple[str, ...], near: dict[str, Any]) -> Claim:
    failing = {other: outcome for other, outcome in near.items() if outcome not in ("ok", "refused", "unknown")}
    caveats = reading.caveats
    if reading.outcome == "ok" and failing:
        caveats += tuple(f"{other} tokens: {outcome.replace('_', ' of its ')}" for other, outcome in failing.items())
    evidence = {"outcome": reading.outcome, "tried": list(reasons), "near": near, **reading.evidence}
    return Claim("L1", SUBJECT, "", reading.length, VERDICTS[reading.outcome], evidence, reading.why, caveats)
