"""Texts to measure models on: six novels that ship with the package, and a reader of a user's own file.

Jane Austen's six completed novels are in the public domain; `austen/provenance.json` says where each was taken from,
its sha256, and what was changed; `tools/make_texts.py` made the files. The lines, of about 70 characters, are kept as
they were, each ended by a newline.
"""

from ordinate.texts.local import read_file
from ordinate.texts.shipped import names, read
from ordinate.texts.text import Provenance, Text

__all__ = ["Provenance", "Text", "names", "read", "read_file"]
