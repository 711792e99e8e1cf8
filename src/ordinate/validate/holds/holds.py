"""Level 2: do time and memory hold at N tokens?"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ordinate.errors import Unavailable
from ordinate.plan import kv_bytes
from ordinate.spec import Spec
from ordinate.validate.backends import Backend, Refusal
from ordinate.validate.claims import Claim
from ordinate.validate.deadline import Late
from ordinate.validate.holds.fitting import REACH, Fit, fit
from ordinate.validate.holds.process import resident
from ordinate.validate.holds.timing import LEAST, Timed, Times, time_lengths
from ordinate.validate.statistics import Verdict

Report = Callable[[str, float, float], None]
"""Called with what is being done, how much of it is done, and how much there is."""

SUBJECT = "time and memory"

# Lengths nearer to one another than this share are measured once, at the longest of them.
_NEAR = 0.01
_MEMORY = ("memory",)


def holds(
    backend: Backend,
    lengths: Sequence[int],
    *,
    mode: str = "base",
    repeats: int = LEAST,
    memory: int | None = None,
    step: int = 64,
    seed: int = 0,
    clock: Callable[[], float] = time.monotonic,
    left: Callable[[], float] = lambda: 3600.0,
    progress: Report | None = None,
) -> tuple[Claim, ...]:
    """Claims about each length, and about how time and memory grow.

    Times are those of the backend. Memory is that of a process of its own for each length, where the backend runs a
    model of transformers from a directory; of the server's process, where the backend says which that is; else it
    cannot be seen.

    Args:
        backend: asked
        lengths: [token]
        mode: of the prompts
        repeats: how often each length is timed, at least 5
        memory: within which a length is to be held, and the longest that fits is looked for; None: nothing is, [byte]
        step: how close that is wanted, [token]
        seed: of the order and the texts
        clock: used where the backend gives no times, [s]
        left: the time left; raises `Late` once it is up, [s]
        progress: told how many prompts are done

    Raises:
        InputError: no length, one too short for a prompt, or fewer than 5 repeats
    """
    wanted = sorted(set(lengths))
    measured_at = {length: near(length, wanted) for length in wanted}
    times = time_lengths(
        backend,
        sorted(set(measured_at.values())),
        mode=mode,
        repeats=repeats,
        seed=seed,
        clock=clock,
        left=left,
        progress=progress,
    )
    process = getattr(backend, "process", None)
    server_peak = resident("VmHWM", process) if isinstance(process, int) else None
    used, failed, further = _memory(backend, wanted, memory, step, left)
    claims = [
        _claim(length, measured_at[length], times, used, failed, repeats, memory, server_peak) for length in wanted
    ]
    return (*claims, _time_claim(times), *further)


def near(length: int, lengths: Sequence[int]) -> int:
    """At which length one is measured: the longest that differs from it by less than 1 %."""
    return max(other for other in lengths if other == length or length <= other <= length * (1 + _NEAR))


def _memory(
    backend: Backend, lengths: Sequence[int], limit: int | None, step: int, left: Callable[[], float]
) -> tuple[Mapping[int, Any], Mapping[int, str], list[Claim]]:
    """What lengths took, which did not fit and why, and what is claimed of memory as a whole."""
    from ordinate.validate.holds import memory

    job = memory.job_of(backend)
    if job is None:
        return {}, {}, []
    spec = _spec(backend)

    def expected(tokens: int, value_bytes: int) -> int | None:
        return None if spec is None else kv_bytes(spec, tokens, value_bytes=value_bytes)

    apart = sorted({near(length, lengths) for length in lengths})
    claims = []
    try:
        found = memory.measure(job, apart, limit=limit, left=left)
        claims += [memory.cache_claim(found, expected), memory.growth_claim(found), memory.turns_claim(found)]
        if limit is not None:
            border = memory.boundary(job, min(lengths), 4 * max(lengths), limit=limit, step=step, left=left)
            claims.append(memory.boundary_claim(border, limit, step))
    except Late as late:
        return {}, {}, [*claims, Claim("L2", "memory growth", "", None, "inconclusive", {}, str(late))]
    except Unavailable as error:
        return {}, {}, [*claims, Claim("L2", "memory growth", "", None, "not applicable", {}, str(error))]
    failed = {length: probe.why for length, probe in found.failed.items() if probe.ended == "memory"}
    return found.used, failed, claims


def _spec(backend: Backend) -> Spec | None:
    from ordinate.audit.run import described

    return described(getattr(backend, "model", None))


def _claim(
    length: int,
    at: int,
    times: Times,
    used: Mapping[int, Any],
    failed: Mapping[int, str],
    repeats: int,
    memory: int | None,
    server_peak: int | None,
) -> Claim:
    cold = [one for one in times.timed if one.length == at and not one.warm]
    warm = [one for one in times.timed if one.length == at and one.warm]
    evidence: dict[str, Any] = {"measured_at": at, "repeats": len(cold), "limit": memory}
    evidence |= _times(cold, "prefill_s") | _times(warm, "warm_prefill_s")
    decode = [1000 * one.decode for one in cold if one.decode is not None]
    if decode:
        evidence["decode_ms"] = [float(np.median(decode)), min(decode), max(decode)]
    cached = [one.cached for one in warm if one.cached is not None]
    evidence["cached_tokens"] = max(cached) if cached else None
    taken = used.get(at)
    if taken is not None:
        evidence |= {"peak_bytes": taken.device_peak or taken.peak, "cache_bytes": taken.kv, "loaded": taken.loaded}
    elif server_peak is not None:
        evidence["server_peak_bytes"] = server_peak
    error = times.failed.get(at)
    verdict: Verdict
    if at in failed:
        verdict, why = "refuted", f"{at} tokens do not fit into memory: {failed[at]}"
    elif error is not None:
        refused = isinstance(error, Refusal) or any(word in str(error) for word in _MEMORY)
        verdict, why = "refuted" if refused else "inconclusive", f"{at} tokens: {error}"
    elif len(cold) < repeats:
        why = f"timed {len(cold)} times of {repeats}" + (f": {times.ended}" if times.ended else "")
        verdict = "inconclusive"
    else:
        peak = evidence.get("peak_bytes")
        told = "" if peak is None else f", {peak / 2**20:,.0f} MiB at most"
        each = f", {evidence['decode_ms'][0]:.3g} ms a token after it" if decode else ""
        why = f"{len(cold)} of {repeats} answered, the first token after {evidence['prefill_s'][0]:.3g} s{each}{told}"
        verdict = "supported"
    caveats = () if taken is not None or server_peak is not None else ("the memory it takes was not seen",)
    return Claim("L2", SUBJECT, "", length, verdict, evidence, why, caveats)


def _times(timed: Sequence[Timed], name: str) -> dict[str, Any]:
    """Median, least and most."""
    values = [one.prefill for one in timed]
    return {name: [float(np.median(values)), min(values), max(values)]} if values else {}


def _time_claim(times: Times) -> Claim:
    """How the time to the first token, and of each further one, grows with the length."""
    subject = "growth of time"
    cold = [one for one in times.timed if not one.warm]
    fits: dict[str, Fit] = {}
    for name, pairs in (
        ("prefill_s", [(one.length, one.prefill) for one in cold]),
        ("decode_s", [(one.length, one.decode) for one in cold if one.decode]),
    ):
        if len({length for length, _ in pairs}) >= 3 and all(cost > 0 for _, cost in pairs):
            fits[name] = fit([length for length, _ in pairs], [cost for _, cost in pairs])
    evidence: dict[str, Any] = {name: _told(found) for name, found in fits.items()}
    evidence["measured"] = sorted({one.length for one in cold})
    evidence["warm"] = _warm(times.timed)
    found = fits.get("prefill_s")
    if found is None:
        why = f"a fit needs times at three lengths, got {len(evidence['measured'])}"
        return Claim("L2", subject, "", None, "inconclusive", evidence, why)
    ahead = found.at(REACH * found.longest)
    why = (
        f"seconds to the first token = {found.constant:.3g} + {found.linear:.3g} N + {found.quadratic:.3g} N², "
        f"{100 * found.share(2):.0f} % of it from the square at {found.longest} tokens; at {REACH * found.longest:.0f} "
        f"it would be {ahead[0]:.3g} s ({ahead[1]:.3g} to {ahead[2]:.3g})"
    )
    return Claim("L2", subject, "", found.longest, "supported", evidence, why)


def _told(found: Fit) -> dict[str, Any]:
    values = (found.constant, found.linear, found.quadratic)
    told: dict[str, Any] = dict(zip(("a", "b", "c"), values, strict=True))
    told |= {f"{name}_interval": list(pair) for name, pair in zip("abc", found.intervals, strict=True)}
    return {**told, "level": found.level, "reach": [found.shortest / REACH, found.longest * REACH]}


def _warm(timed: Iterable[Timed]) -> dict[str, Any]:
    """By length, how much less a prompt takes that was answered before, and how much of it came from a cache."""
    found: dict[str, Any] = {}
    pairs: dict[int, tuple[list[float], list[Timed]]] = {}
    for one in timed:
        cold, warm = pairs.setdefault(one.length, ([], []))
        if one.warm:
            warm.append(one)
        else:
            cold.append(one.prefill)
    for length, (cold, warm) in sorted(pairs.items()):
        if cold and warm:
            ratio = float(np.median([one.prefill for one in warm]) / np.median(cold))
            found[str(length)] = {"share": ratio, "cached_tokens": warm[-1].cached}
    return found
