"""Write `tests/golden/audited.json`: what the audit says of small models of many architectures of transformers.

    python tools/audit_architectures.py     # minutes; `make docs` then writes docs/audited.md from it

Tracing by torch.compile is left out. The models are those of `tests/audit/architectures.py`. Only verdicts are kept,
no numbers: these are the same on every machine. `tests/audit/test_architectures.py` audits some of them anew, and all
with `make test-slow`.
"""

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "tests/golden/audited.json"
# The gravest first.
# Tracing takes longer than all other checks together.
TRACED = "torch_compile"
STATUSES = ("failed", "refused", "passed", "not applicable")


def main() -> int:
    """Audit every architecture and write what was found; return the exit code."""
    import torch
    import transformers

    sys.path.insert(0, str(ROOT / "tests"))
    from audit.architectures import ARCHITECTURES  # pyright: ignore[reportMissingImports]

    transformers.utils.logging.set_verbosity_error()
    made = {name: verdicts(name) for name in ARCHITECTURES}
    versions = {"transformers": transformers.__version__, "torch": torch.__version__.split("+")[0]}
    OUT.write_text(json.dumps({"versions": versions, "architectures": made}, indent=1) + "\n", encoding="utf-8")
    return 0


def verdicts(name: str) -> dict[str, Any]:
    """What the audit says of one architecture in float32: the status of each check, and the kinds of each finding."""
    from audit.architectures import ARCHITECTURES, LENGTH, build  # pyright: ignore[reportMissingImports]

    from ordinate.audit import audit_model
    from ordinate.audit.run import all_checks

    chosen = [check.name for check in all_checks() if check.name != TRACED]
    # A text that ends where frequencies change: what lies behind is the matter of checks of their own.
    length = 64 if name in ("llama-dynamic", "phi3-longrope") else LENGTH
    audit = audit_model(build(name), checks=chosen, length=length, name=name)
    status = {}
    kinds: dict[str, list[str]] = {}
    for outcome in audit.outcomes:
        before = status.get(outcome.check, STATUSES[-1])
        status[outcome.check] = min(before, outcome.status, key=STATUSES.index)
        if outcome.kind is not None:
            kinds.setdefault(outcome.check, []).append(outcome.kind)
    found = {check: sorted(set(names)) for check, names in kinds.items()}
    return {
        "does": ARCHITECTURES[name].does,
        "checks": dict(sorted(status.items())),
        "kinds": dict(sorted(found.items())),
    }


if __name__ == "__main__":
    raise SystemExit(main())
