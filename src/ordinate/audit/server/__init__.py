"""Is position handled consistently by a running server? Asked through its OpenAI-compatible API alone."""

from ordinate.extras import need

need("validate", "httpx2")

from ordinate.audit.server.asking import asked  # noqa: E402
from ordinate.audit.server.budget import Budget  # noqa: E402
from ordinate.audit.server.client import Limits, ServerFault  # noqa: E402
from ordinate.audit.server.keys import read_key  # noqa: E402
from ordinate.audit.server.run import ServerAudit, audit_probed, audit_server, check_names, find_check  # noqa: E402

__all__ = [
    "Budget",
    "Limits",
    "ServerAudit",
    "ServerFault",
    "asked",
    "audit_probed",
    "audit_server",
    "check_names",
    "find_check",
    "read_key",
]
