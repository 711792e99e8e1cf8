"""Bounded readers of the files models come in: untrusted input ends here."""
