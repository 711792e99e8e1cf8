"""Prompts for backends, of ids or of text."""

from collections.abc import Sequence

from ordinate.validate.builder import Prompt
from ordinate.validate.tokenizers import ByteTokenizer


def prompt(ids: Sequence[int], text: str = "", mode: str = "base") -> Prompt:
    return Prompt(
        ids=tuple(ids),
        text=text,
        head=0,
        tail=0,
        placed={},
        context=(0, 0),
        question=(0, len(ids)),
        filler_tokens=0,
        mode=mode,
        nonce=None,
        filler="prose",
        places="spread",
        length=len(ids),
        reserve=0,
        task="passkey",
        index=0,
        seed=0,
    )


def written(text: str) -> Prompt:
    """In bytes."""
    return prompt(ByteTokenizer().encode(text), text)
