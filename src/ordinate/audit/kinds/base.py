"""What is said of a kind of fault."""

from dataclasses import dataclass

from ordinate.audit.base import Severity


@dataclass(frozen=True)
class Kind:
    """A kind of fault.

    Args:
        name: as it is printed and stored
        title: what is wrong, in a sentence
        remedy: what to do
        reports: public threads, "owner/name#n"
        severity: "error" where outputs are wrong, "warning" where they depend on what they should not depend on,
            "note" where outputs are right and what a user may do to the model would make them wrong
    """

    name: str
    title: str
    remedy: str
    reports: tuple[str, ...]
    severity: Severity = "error"
