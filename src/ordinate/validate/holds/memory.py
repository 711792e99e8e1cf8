"""What a model in this process's place takes of memory, and what grows in it that should not."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ordinate.validate.claims import Claim
from ordinate.validate.holds.boundary import Boundary, Probe, find_boundary, run_limited
from ordinate.validate.holds.fitting import non_negative
from ordinate.validate.holds.process import Job, Used, read_used

TURNS = 6
"""So often the same text length is read anew, to see whether memory grows."""

_MIB = 2**20
# A square term counts where it is this share of all growth, and more than this: allocators round.
_SQUARE, _SQUARE_BYTES = 0.25, 32 * _MIB
# A turn that leaves this share of its cache behind leaks; less, and below so much, is what allocators do.
_LEFT, _LEFT_BYTES = 0.5, _MIB
# Measured and computed sizes of a cache agree to this share.
_SAME = 1e-3


@dataclass(frozen=True)
class Measured:
    """What processes of their own said.

    Args:
        used: by length, ascending
        failed: the lengths that did not fit, or failed otherwise
        turns: of a length read several times
    """

    used: dict[int, Used]
    failed: dict[int, Probe]
    turns: Used | None = None


def job_of(backend: Any) -> Job | None:
    """How to run a backend's model in another process; None where there is no model of transformers on disk."""
    model: Any = getattr(backend, "model", None)
    if not hasattr(model, "named_modules"):
        return None
    directory = str(getattr(model, "name_or_path", "") or "")
    if not directory or not (Path(directory) / "config.json").is_file():
        return None
    return Job(
        directory,
        1,
        dtype=str(model.dtype).removeprefix("torch."),
        device=str(model.device),
        attention=getattr(model.config, "_attn_implementation", None),
        chunk=getattr(backend, "chunk", Job.chunk),
    )


def measure(
    job: Job,
    lengths: Sequence[int],
    *,
    limit: int | None = None,
    left: Callable[[], float] = lambda: 600.0,
    most: float = 600.0,
) -> Measured:
    """Read each length in a fresh process, and the shortest several times in one.

    Args:
        job: whose model
        lengths: [token]
        limit: of each process's memory; None for none, [byte]
        left: the time left; raises `Late` once it is up, [s]
        most: of one process, [s]

    Raises:
        Late: from `left`
    """
    used: dict[int, Used] = {}
    failed: dict[int, Probe] = {}
    for length in sorted(set(lengths)):
        found = tried(job, length, limit=limit, seconds=min(left(), most))
        if found.ended == "fits":
            used[length] = read_used(found.output)
        else:
            failed[length] = found
    turns = None
    if used:
        shortest = min(used)
        found = run_limited(
            replace(job, tokens=shortest, turns=TURNS).command(), shortest, limit=limit, seconds=min(left(), most)
        )
        turns = read_used(found.output) if found.ended == "fits" else None
    return Measured(used, failed, turns)


def tried(job: Job, length: int, *, limit: int | None, seconds: float) -> Probe:
    """One length in a process of its own."""
    return run_limited(replace(job, tokens=length).command(), length, limit=limit, seconds=seconds)


def boundary(
    job: Job,
    shortest: int,
    longest: int,
    *,
    limit: int,
    step: int,
    left: Callable[[], float],
    most: float = 600.0,
    tries: int = 12,
) -> Boundary:
    """The longest length that fits into `limit` bytes: see `find_boundary`.

    Raises:
        Unavailable: this system limits no process's memory
        Late: from `left`
    """

    def probe(length: int) -> Probe:
        return tried(job, length, limit=limit, seconds=min(left(), most))

    return find_boundary(probe, shortest, longest, step=step, most=tries)


def cache_claim(measured: Measured, expected: Callable[[int, int], int | None]) -> Claim:
    """Whether keys and values take what the model's shape says.

    Args:
        measured: what processes said
        expected: from tokens and bytes a number, [byte]
    """
    if not measured.used:
        return Claim("L2", "cache size", "", None, "inconclusive", {}, "no length could be read")
    length = max(measured.used)
    used = measured.used[length]
    computed = expected(length, used.value_bytes)
    evidence = {
        "length": length,
        "bytes": used.kv,
        "bytes_per_token": used.kv / length,
        "computed": computed,
        "value_bytes": used.value_bytes,
    }
    if computed is None:
        why = "the model's files do not say the shape of its heads"
        return Claim("L2", "cache size", "", length, "inconclusive", evidence, why)
    same = abs(used.kv - computed) <= _SAME * computed
    why = f"{used.kv:,} bytes of keys and values for {length} tokens, by the model's shape {computed:,}"
    return Claim("L2", "cache size", "", length, "supported" if same else "refuted", evidence, why)


def growth_claim(measured: Measured) -> Claim:
    """Whether memory grows with the square of the length, or with all logits."""
    subject = "memory growth"
    used = [measured.used[length] for length in sorted(measured.used)]
    if not used:
        return Claim("L2", subject, "", None, "inconclusive", {}, "no length could be read")
    longest = used[-1].tokens
    grown = [(one.tokens, _grown(one)) for one in used]
    points = [(length, grown_by) for length, grown_by in grown if grown_by is not None]
    evidence: dict[str, Any] = {
        "grown": {str(length): grown_by for length, grown_by in points},
        "logit_rows": {str(one.tokens): one.rows for one in used},
    }
    flags = []
    full = [one for one in used if one.tokens >= 16 and 2 * one.rows >= one.tokens]
    if full:
        size = full[-1].rows * full[-1].vocabulary * full[-1].value_bytes
        flags.append(f"logits of {full[-1].rows} tokens are made at once, {size / _MIB:.0f} MiB, where one is needed")
    if len(points) >= 3:
        square = _square(points) * longest**2
        total = max(grown_by for _, grown_by in points)
        evidence["square_bytes"] = round(square)
        if square > _SQUARE_BYTES and square > _SQUARE * total:
            flags.append(
                f"{square / _MIB:.0f} MiB of {total / _MIB:.0f} at {longest} tokens grow with the square of the "
                "length: a mask or scores of all pairs are held"
            )
    evidence["flags"] = flags
    if flags:
        return Claim("L2", subject, "", longest, "refuted", evidence, "; ".join(flags))
    if len(points) < 3:
        why = f"a square term needs three lengths to be seen, got {len(points)}; no logits but the last are made"
        return Claim("L2", subject, "", longest, "inconclusive", evidence, why)
    why = "memory grows no faster than the length, and no logits but the last are made"
    return Claim("L2", subject, "", longest, "supported", evidence, why)


def turns_claim(measured: Measured) -> Claim:
    """Whether memory is given back after each turn."""
    subject = "memory across turns"
    used = measured.turns
    if used is None or len(used.after) < 3 or not all(used.after):
        return Claim("L2", subject, "", None, "inconclusive", {}, "memory after several turns could not be read")
    steps = np.diff(used.after[1:])
    each = float(np.median(steps))
    evidence = {"length": used.tokens, "after": list(used.after), "each": each, "cache": used.kv}
    turns = len(used.after)
    why = f"{each / _MIB:.2f} MiB stay after each of {turns} turns, whose cache takes {used.kv / _MIB:.2f} MiB"
    leaks = each > max(_LEFT * used.kv, _LEFT_BYTES)
    return Claim("L2", subject, "", used.tokens, "refuted" if leaks else "supported", evidence, why)


def boundary_claim(found: Boundary, limit: int, step: int) -> Claim:
    """The longest length that fits into a limit."""
    evidence = {
        "limit": limit,
        "step": step,
        "fits": found.fits,
        "fails": found.fails,
        "tried": [[probe.length, probe.ended] for probe in found.probes],
    }
    if found.fits is None:
        verdict = "inconclusive" if found.why else "refuted"
        why = found.why or f"even {found.fails} tokens do not fit into {limit / _MIB:.0f} MiB"
        return Claim("L2", "longest in memory", "", found.fails, verdict, evidence, why)
    if found.fails is None:
        why = f"{found.fits} tokens fit into {limit / _MIB:.0f} MiB, and nothing longer was tried"
    else:
        why = f"{found.fits} tokens fit into {limit / _MIB:.0f} MiB, {found.fails} do not"
    caveats = (found.why,) if found.why else ()
    return Claim("L2", "longest in memory", "", found.fits, "supported", evidence, why, caveats)


def _grown(used: Used) -> int | None:
    """What reading took at most beyond the loaded model, [byte]."""
    if used.device_peak is not None:
        return used.device_peak
    if used.peak is None or used.loaded is None:
        return None
    return max(used.peak - used.loaded, 0)


def _square(points: Sequence[tuple[int, int]]) -> float:
    """c of a + b N + c N², none negative, [byte/token²]."""
    lengths = np.array([length for length, _ in points], dtype=np.float64)
    values = np.array([grown_by for _, grown_by in points], dtype=np.float64)
    scale = np.array([1.0, lengths.max(), lengths.max() ** 2])
    design = np.stack([np.ones_like(lengths), lengths, lengths**2], 1) / scale
    return float((non_negative(design, values) / scale)[2])
