"""The levels that need no tasks: accepts (L1), holds (L2) and position numbering (P), measured one after another."""

from collections.abc import Callable, Sequence

from ordinate.errors import InputError, one_of
from ordinate.validate.backends import Backend
from ordinate.validate.claims import Claim
from ordinate.validate.deadline import Deadline, Late

Report = Callable[[str, float, float], None]
"""Called with what is being done, how much of it is done, and how much there is."""

MEASURED = ("L1", "L2", "P")
"""The levels that `measure_levels` measures; L3 and R need samples of tasks."""


def measure_levels(
    backend: Backend,
    lengths: Sequence[int],
    levels: Sequence[str],
    *,
    mode: str = "base",
    around: bool = True,
    repeats: int = 5,
    memory: int | None = None,
    seed: int = 0,
    seconds: float = 1800.0,
    progress: Report | None = None,
) -> tuple[Claim, ...]:
    """Claims of the levels asked for, in the order of `MEASURED`.

    Args:
        backend: asked
        lengths: [token]
        levels: some of `MEASURED`
        mode: of the prompts, "base" or "chat"
        around: L1 also tries what lies near each length
        repeats: L2 times each length so often, at least 5
        memory: L2 claims to hold a length within so much, and looks for the longest that fits, where the model runs
            here; None: as much as there is, and nothing is looked for, [byte]
        seed: of texts and orders
        seconds: for all levels together; what was not measured by then is inconclusive, [s]
        progress: told what is done

    Raises:
        InputError: an unknown level, no length, or a mode in which nothing can be asked
    """
    if isinstance(levels, str) or not levels:
        raise InputError(f"levels must be one or more of {', '.join(MEASURED)}, got none")
    for level in levels:
        one_of("level", level, MEASURED)
    left = Deadline(seconds)
    claims: tuple[Claim, ...] = ()
    if "L1" in levels:
        from ordinate.validate.accepts import accepts

        windows = _windows(backend)
        claims += accepts(
            backend, lengths, mode=mode, windows=windows, around=around, seed=seed, left=left, progress=progress
        )
    if "L2" in levels:
        from ordinate.validate.holds import holds

        claims += holds(
            backend, lengths, mode=mode, repeats=repeats, memory=memory, seed=seed, left=left, progress=progress
        )
    if "P" in levels:
        from ordinate.validate.numbering import SUBJECT, numbering

        try:
            claims += numbering(backend, seconds=left(), progress=progress)
        except Late as late:
            claims += (Claim("P", SUBJECT, "", None, "inconclusive", {}, str(late)),)
    return claims


def level_tokens(
    backend: Backend, lengths: Sequence[int], levels: Sequence[str], *, mode: str = "base"
) -> tuple[int, int]:
    """What `measure_levels` takes at least and at most, before anything is asked.

    The audit of a model in this process (P) is not counted: it is bounded by time alone.

    Args:
        backend, lengths, levels, mode: as for `measure_levels`; a level that it does not measure takes nothing

    Returns:
        tokens of prompts and answers, [token]
    """
    least = most = 0
    if "L1" in levels:
        from ordinate.validate.accepts.cost import cost

        low, high = cost(backend, lengths, mode=mode, windows=_windows(backend))
        least, most = least + low, most + high
    if "L2" in levels:
        from ordinate.validate.holds.cost import cost

        low, high = cost(backend, lengths)
        least, most = least + low, most + high
    if "P" in levels and getattr(backend, "probed", None) is not None:
        from ordinate.validate.numbering import TOKENS

        most += TOKENS
    return least, most


def _windows(backend: Backend) -> tuple[int, ...]:
    spec = getattr(backend, "spec", None)
    groups = () if spec is None else spec.groups.values()
    return tuple(sorted({group.sliding_window for group in groups if group.sliding_window is not None}))
