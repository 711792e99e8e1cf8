"""Audit a running server: probe it, ask every check, and say what was found."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ordinate import registry
from ordinate.audit.base import Finding, Outcome, Where
from ordinate.audit.kinds import kind
from ordinate.audit.names import check_class, identifier
from ordinate.audit.server.budget import Budget, Spent
from ordinate.audit.server.check import ServerCheck
from ordinate.audit.server.client import Client, Limits, ServerFault
from ordinate.audit.server.judging import noise
from ordinate.audit.server.probing import probe
from ordinate.audit.server.server import RESERVE, Server
from ordinate.audit.server.tokenizers import LocalTokenizer
from ordinate.errors import InputError, positive_integer

Report = Callable[[str, float, float], None]
"""Called with what is being done, how much of it is done, and how much there is."""

LENGTHS = (16, 32, 256, 512)
"""Around these lengths, and at the window, prompts are compared, [token]."""

_PACKAGE = "ordinate.audit.server.checks"
# A beginning of its own, a few tokens after each length, and room for an answer.
_AROUND = 12
_LEAST_WINDOW = 64
# A server that stalls once may be busy; twice, it is not waited for again.
_STALLS = 2


@dataclass(frozen=True)
class ServerAudit:
    """What the checks found in one server.

    Args:
        subject: facts about the server and the run, by name: its "url" and "model"; the settings of `Offers` under
            "offers"; whose "tokenizer" counted; the "lengths" compared; what repeating a request changes,
            "chance_nat", and computing it in other pieces, "shape_nat"; "requests" and "tokens" used; the "seed" of
            the prompts' beginnings; and, where not all checks could be asked, why it "ended"
        outcomes: in the order in which they were found
        findings: the gravest first
    """

    subject: dict[str, Any]
    outcomes: tuple[Outcome, ...]
    findings: tuple[Finding, ...]


def audit_server(
    url: str,
    model: str,
    *,
    tokenizer: str | Path | None = None,
    window: int | None = None,
    budget: Budget | None = None,
    limits: Limits | None = None,
    key: str | None = None,
    lengths: Sequence[int] | None = None,
    checks: Sequence[str] | None = None,
    seed: int | None = None,
    progress: Report | None = None,
) -> ServerAudit:
    """Ask a running OpenAI-compatible server whether it handles position consistently.

    Only short answers to prose are asked for, greedily. Every prompt begins like no other, so that what is cached of
    it is known. The server is changed in nothing but its cache.

    Args:
        url: of its API, as "http://127.0.0.1:8080/v1"
        model: its name there
        tokenizer: a Hugging Face directory, tokenizer.json, GGUF file or model's name whose tokenizer is the model's;
            the server's own is used where it has one and none is given
        window: of the server, [token]; as it declares itself where not given
        budget: of requests, tokens and time
        limits: of one request
        key: sent as a bearer token (`read_key` reads it from a file)
        lengths: of the prompts compared, [token]; those of `LENGTHS` and the window where not given
        checks: names of the checks asked; all where not given
        seed: of the prompts' beginnings; drawn where not given, since a server may still cache those of another audit
        progress: told which check is asked

    Returns:
        what was found; where the budget ends, or the server stops answering, what was found until then

    Raises:
        InputError: a URL, window, length, check or tokenizer that cannot be used
        Unavailable: httpx2 is not installed, or the server cannot be reached, answers nothing that can be used, or
            offers neither completions nor chat
    """
    for name in checks or ():
        find_check(name)
    if window is not None and positive_integer("window", window) < _LEAST_WINDOW:
        raise InputError(f"window must be at least {_LEAST_WINDOW} tokens, got {window}")
    _sorted(lengths)
    local = None if tokenizer is None else LocalTokenizer(tokenizer)
    budget = budget or Budget()
    seed = secrets.randbits(32) if seed is None else seed
    if progress:
        progress("checks: probing the server", 0, len(check_names() if checks is None else checks) + 1)
    with Client(url, key=key, limits=limits, budget=budget) as client:
        try:
            server = probe(client, model, local, window, seed)
        except Spent as spent:
            raise InputError(f"{spent}, before it is known what {client.url} offers: allow more") from spent
        return audit_probed(server, budget=budget, lengths=lengths, checks=checks, seed=seed, progress=progress)


def audit_probed(
    server: Server,
    *,
    budget: Budget,
    lengths: Sequence[int] | None = None,
    checks: Sequence[str] | None = None,
    seed: int | None = None,
    progress: Report | None = None,
) -> ServerAudit:
    """Audit a server that `probe` has opened; its client keeps to this budget meanwhile, whatever its own is.

    Args:
        server: not asked by others meanwhile
        budget: of requests, tokens and time
        lengths, checks, progress: as for `audit_server`
        seed: of the prompts' beginnings, for the record

    Raises:
        InputError: a length or check that cannot be used
    """
    asked = [find_check(name) for name in (check_names() if checks is None else checks)]
    client, own = server.client, server.client.budget
    client.budget = budget
    try:
        server.lengths = _chosen(server, _sorted(lengths), to_window=lengths is None)
        outcomes, ended = _ask(server, asked, progress)
        facts = {
            "url": client.url,
            "model": server.model,
            "offers": asdict(server.offers),
            "tokenizer": None if server.tokenizer is None else server.tokenizer.source,
            "lengths": list(server.lengths),
            **_noise(server),
            "requests": budget.spent_requests,
            "tokens": budget.spent_tokens,
            "seed": seed,
            "ended": ended,
        }
    finally:
        client.budget = own
    return ServerAudit(facts, tuple(outcomes), findings(outcomes))


def _sorted(lengths: Sequence[int] | None) -> list[int]:
    found = sorted({positive_integer("length", length) for length in (LENGTHS if lengths is None else lengths)})
    if not found or found[0] < _AROUND + 1:
        raise InputError(f"lengths must be one or more, each of at least {_AROUND + 1} tokens, got {found}")
    return found


def check_names() -> list[str]:
    """The names of the checks of a server."""
    return registry.names(_PACKAGE)


def find_check(name: str) -> ServerCheck:
    """The check with this name, "-" or "_" in it.

    Raises:
        InputError: there is none; the message suggests the nearest
    """
    return check_class(_PACKAGE, name, "check of a server")()


def findings(outcomes: Sequence[Outcome]) -> tuple[Finding, ...]:
    """One finding for each kind of fault that a check shows: the case with the largest difference stands for it."""
    grouped: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.status == "failed" and outcome.kind is not None:
            grouped.setdefault((outcome.check, outcome.kind), []).append(outcome)
    made = [_finding(check, name, group) for (check, name), group in grouped.items()]
    order = {"error": 0, "warning": 1, "note": 2}
    return tuple(sorted(made, key=lambda finding: (order[finding.severity], finding.kind, finding.check)))


def _finding(check: str, name: str, group: list[Outcome]) -> Finding:
    best = max(group, key=lambda outcome: outcome.numbers.get("rms_nat") or 0.0)
    about = kind(name)
    return Finding(
        check=check,
        kind=name,
        severity=about.severity,
        title=about.title,
        cases=tuple(f"{identifier(outcome.check)}: {outcome.case}" for outcome in group),
        where=best.where or Where(),
        evidence=f"{best.case}: {best.evidence}",
        numbers=best.numbers,
        remedy=about.remedy,
        reports=about.reports or find_check(check).reports,
    )


def _chosen(server: Server, lengths: list[int], *, to_window: bool) -> tuple[int, ...]:
    """The lengths that the window holds, and one that fills it where that is asked for."""
    window = server.offers.window
    if window is None:
        return tuple(lengths)
    overhead = (server.offers.overhead or 4 * RESERVE) if server.endpoint == "chat" else 0
    largest = server.inside(window - RESERVE - _AROUND - overhead)
    if largest < lengths[0]:
        raise InputError(f"the window of {window} tokens leaves no room for a prompt of {lengths[0]}")
    chosen = [length for length in lengths if length <= largest]
    return tuple(sorted({*chosen, largest})) if to_window else tuple(chosen)


def _ask(server: Server, checks: list[ServerCheck], progress: Report | None) -> tuple[list[Outcome], str]:
    outcomes: list[Outcome] = []
    ended, stalls = "", 0
    for index, check in enumerate(checks):
        if progress:
            progress(f"checks: {check.id} ({index + 1} of {len(checks)})", index + 1, len(checks) + 1)
        if ended:
            outcomes.append(Outcome(check.name, "", "undecided", evidence=f"not asked: {ended}"))
            continue
        why = check.applies(server)
        if why is not None:
            outcomes.append(Outcome(check.name, "", "not applicable", evidence=why))
            continue
        try:
            for outcome in check.outcomes(server):
                outcomes.append(outcome)
        except Spent as spent:
            outcomes.append(Outcome(check.name, "", "undecided", evidence=str(spent)))
            # Less is asked by others: only time ends for all.
            if server.client.budget.spent_requests >= server.client.budget.requests or "s is spent" in str(spent):
                ended = str(spent)
        except ServerFault as fault:
            outcomes.append(Outcome(check.name, "", "undecided", evidence=f"{fault.reason}: {fault}"))
            stalls += fault.reason in ("timeout", "connection", "busy")
            if fault.reason == "connection" or stalls >= _STALLS:
                ended = str(fault)
    if progress:
        progress("checks: done", len(checks) + 1, len(checks) + 1)
    return outcomes, ended


def _noise(server: Server) -> dict[str, float | None]:
    """What was measured of the server's noise, without asking it anything more."""
    if "repeats" not in server.measured or "decoding" not in server.measured:
        return {"chance_nat": None, "shape_nat": None}
    level = noise(server, "prefix_reuse", server.lengths[-1])
    return {"chance_nat": level.chance, "shape_nat": level.shape}
