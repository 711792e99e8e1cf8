"""Figures as other benchmarks define them: point rules, for comparison alone. No verdict rests on them."""

from collections.abc import Iterable, Mapping, Sequence

from ordinate.validate.claims import Figure, Row

RULER = 0.856
NOLIMA = 0.85
PASSKEY = 0.2
TRIES = 10

Shares = Mapping[int, float]
"""By length [token]: the share of right answers, over all places."""


def figures(rows: Sequence[Row]) -> tuple[Figure, ...]:
    """The figures that the rows of answers give.

    Source: RULER, arXiv 2404.06654; NoLiMa, arXiv 2502.05167; position interpolation, arXiv 2306.15595; YaRN, arXiv
    2309.00071; Clopper and Pearson 1934, Biometrika 26, 404-413.
    """
    tasks: dict[str, dict[int, list[Row]]] = {}
    for row in rows:
        if row.measure == "answer":
            tasks.setdefault(row.subject, {}).setdefault(row.length, []).append(row)
    shares = {task: {n: _share(cells) for n, cells in sorted(lengths.items())} for task, lengths in tasks.items()}
    found: list[Figure] = []
    common = sorted(set.intersection(*(set(lengths) for lengths in shares.values()))) if shares else []
    if common:
        mean = {length: sum(one[length] for one in shares.values()) / len(shares) for length in common}
        rule = "the longest length at which the mean over tasks exceeds 85.6 %, a point rule without an interval"
        found.append(Figure("RULER 85.6", "all answered tasks", last(mean, RULER, more=True), "token", rule))
    for task, lengths in shares.items():
        rule = "the longest length with at least 85 % of the short score, a point rule: at a true 84 % it passes half"
        base = lengths[min(lengths)]
        reached = last(lengths, NOLIMA * base) if base else None  # of nothing, every length has 85 %
        found.append(Figure("NoLiMa 85 %", task, reached, "token", rule))
    for task, lengths in shares.items():
        if task.split(",")[0] == "passkey":
            rule = "the longest length up to which every length has at least 20 % right"
            found.append(Figure("passkey k-max", task, unbroken(lengths), "token", rule))
            rule = "what ten of ten right prove at 95 % (Clopper-Pearson): papers often stop at ten tries"
            found.append(Figure("ten of ten", task, clopper_pearson(TRIES), "share", rule))
    return tuple(found)


def last(lengths: Shares, least: float, *, more: bool = False) -> float | None:
    """The longest length whose share reaches `least`, or exceeds it where `more`, [token]."""
    found = [length for length, share in lengths.items() if (share > least if more else share >= least)]
    return float(max(found)) if found else None


def unbroken(lengths: Shares) -> float | None:
    """PI's k-max: the longest length such that it and all shorter ones have 20 % at least."""
    reached = None
    for length in sorted(lengths):
        if lengths[length] < PASSKEY:
            break
        reached = float(length)
    return reached


def clopper_pearson(tries: int, level: float = 0.95) -> float:
    """The lower bound of a share when all of so many tries are right: (1 - level) / 2 to the power 1 / tries.

    >>> round(clopper_pearson(10), 2)
    0.69
    """
    return ((1 - level) / 2) ** (1 / tries)


def _share(cells: Iterable[Row]) -> float:
    rows = list(cells)
    return sum(row.value * row.units for row in rows) / max(1, sum(row.units for row in rows))
