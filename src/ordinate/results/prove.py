"""The original and the extended model, side by side on real text."""

from ordinate.prove.result import Proof

COMMAND = "ordinate prove ORIGINAL EXTENDED --format json"
FORM = Proof
