"""Whether a model, or a server, handles position consistently."""

from ordinate.audit.report import Document

COMMAND = "ordinate audit MODEL --format json"
BEFORE = {"version", "subject", "findings", "outcomes"}
FORM = Document
