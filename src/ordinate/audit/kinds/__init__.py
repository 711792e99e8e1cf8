"""The kinds of fault that the audit can name: a closed list, with what to do and where each was reported."""

from ordinate.audit.kinds.base import Kind
from ordinate.audit.kinds.models import MODELS, UNEXPLAINED
from ordinate.audit.kinds.servers import SERVERS
from ordinate.errors import InputError
from ordinate.registry import suggestion

__all__ = ["KINDS", "Kind", "kind"]

KINDS: dict[str, Kind] = {kind.name: kind for kind in (*MODELS, *SERVERS, UNEXPLAINED)}
"""Every kind by its name."""


def kind(name: str) -> Kind:
    """The kind with this name.

    Raises:
        InputError: there is none; the message suggests the nearest

    >>> kind("restart").title
    'Positions start again at 0 in a pass that follows others.'
    """
    if name not in KINDS:
        raise InputError(f"unknown kind of fault {name!r}{suggestion(name, list(KINDS))}")
    return KINDS[name]
