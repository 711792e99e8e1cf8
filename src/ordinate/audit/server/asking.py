"""The audit of a server as the command line asks for it."""

from collections.abc import Sequence
from pathlib import Path

from ordinate.audit.server.budget import Budget
from ordinate.audit.server.keys import given_key
from ordinate.audit.server.run import Report, ServerAudit, audit_server
from ordinate.errors import InputError


def asked(
    url: str,
    model: str | None,
    *,
    tokenizer: str | None = None,
    window: int | None = None,
    key_file: Path | None = None,
    key_variable: str | None = None,
    requests: int = Budget.requests,
    tokens: int = Budget.tokens,
    seconds: float = Budget.seconds,
    checks: Sequence[str] | None = None,
    progress: Report | None = None,
) -> ServerAudit:
    """Audit a server with what a command line can say: see `audit_server`.

    Args:
        url: of its API
        model: its name there
        tokenizer: whose tokenizer is the model's
        window: of the server, [token]
        key_file: that holds the key
        key_variable: the name of an environment variable that holds the key
        requests: at most
        tokens: at most
        seconds: at most, [s]
        checks: names of the checks asked
        progress: told which check is asked

    Raises:
        InputError: no model, two keys, or what `audit_server` refuses
        Unavailable: as for `audit_server`
    """
    if not model:
        raise InputError(
            f"--url needs --model, the model's name at the server: {url.rstrip('/')}/models lists what it serves"
        )
    key = given_key(key_file, key_variable)
    budget = Budget(requests, tokens, seconds)
    return audit_server(
        url, model, tokenizer=tokenizer, window=window, budget=budget, key=key, checks=checks, progress=progress
    )
