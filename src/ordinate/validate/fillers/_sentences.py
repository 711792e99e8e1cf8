"""Prose cut into sentences."""

import re

# Not after a title or an initial: "Mr. Bennet", "J. Smith".
_END = re.compile(
    r"(?<=[.!?])(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMessrs\.)(?<!\bDr\.)(?<!\bSt\.)(?<!\b[A-Z]\.)([\"'])?\s+(?=[\"'(]?[A-Z])"
)
LONGEST = 400  # characters; longer ones would leave large steps between the places a record can take


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a text, each on one line, marks of emphasis taken out; headings and tables are left out."""
    found = []
    for paragraph in re.split(r"\n\s*\n", text):
        line = " ".join(paragraph.replace("_", "").split())
        if re.search(r"[.!?]['\")]?$", line) and not re.search(r"[*\[\]]|\n {3}", paragraph):
            found.append(line)
    return found


def cut(paragraph: str) -> list[str]:
    """The sentences of a paragraph that are not too long.

    >>> cut('"Is he?" Mr. Bennet said. He went.')
    ['"Is he?"', 'Mr. Bennet said.', 'He went.']
    """
    found, start = [], 0
    for match in _END.finditer(paragraph):
        found.append(paragraph[start : match.start()] + (match.group(1) or ""))
        start = match.end()
    found.append(paragraph[start:])
    return [sentence for sentence in found if 0 < len(sentence) <= LONGEST]
