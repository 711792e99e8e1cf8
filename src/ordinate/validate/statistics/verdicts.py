"""The four words in which evidence ends."""

from typing import Literal

Verdict = Literal["supported", "refuted", "inconclusive", "not applicable"]
"""Supported and refuted are proved, each at its error rate; not applicable: the short baseline is at its floor."""
