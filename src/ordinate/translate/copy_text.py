"""What a GGUF copy has otherwise than its source, and the proof that it has the settings it was given."""

from collections.abc import Sequence
from typing import Any

from ordinate.dialects.base import Loss
from ordinate.fingerprint import differences
from ordinate.schema import beginning
from ordinate.spec import Spec
from ordinate.translate.dictionary import difference_to_dict, losses_to_list
from ordinate.translate.difference_text import change_lines
from ordinate.translate.proof import prove
from ordinate.translate.text import bullet, loss_lines, proof_lines


def copy_to_text(
    before: Spec, wanted: Spec, after: Spec | None, losses: Sequence[Loss], warnings: Sequence[str]
) -> str:
    """What llama.cpp does not heed, what changed (old -> new), and the proof.

    Args:
        before: as read from the source
        wanted: whose settings the copy gets
        after: as read back from the copy; None where none was written
        losses: what llama.cpp does not heed
        warnings: what to beware of
    """
    lines = [*loss_lines(losses)] if losses else []
    if losses:
        lines = ["losses", *lines]
    if warnings:
        lines += ["beware", *(line for warning in warnings for line in bullet(warning))]
    if after is None:
        return "\n".join([*lines, "no copy is written, because llama.cpp would not heed all of it: --lossy writes it"])
    changes = list(change_lines(differences(before, after)))
    lines += ["changed in the copy, old -> new", *(f"  {line}" for line in changes or ["nothing"])]
    lines += ["proof: read back from the copy, against --from"]
    lines += [f"  {line}" for line in proof_lines(prove(wanted, after))]
    return "\n".join(lines)


def copy_to_dict(
    before: Spec, wanted: Spec, after: Spec | None, losses: Sequence[Loss], warnings: Sequence[str]
) -> dict[str, Any]:
    """The same as a JSON object: `schema_version`, `kind`, `written`, `losses`, `warnings`, `changes`, `proof`."""
    found = None if after is None else difference_to_dict(before, after, differences(before, after), ())
    proof = None if after is None else difference_to_dict(wanted, after, (), prove(wanted, after))["proof"]
    return {
        **beginning("gguf-copy"),
        "written": after is not None,
        "losses": losses_to_list(losses),
        "warnings": list(warnings),
        "changes": None if found is None else found["differences"],
        "proof": proof,
    }
