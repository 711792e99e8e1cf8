"""What all measures share: whom they ask with what, and samples that say why there is no answer."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ordinate.validate.backends import Backend, Refusal
from ordinate.validate.cells import Sample
from ordinate.validate.sampling.material import Material

Ask = Callable[[], Sample]
"""Asks the backend and judges what it says. It raises `Unavailable` where there is no usable reply."""


@dataclass(frozen=True)
class Kitchen:
    """Who is asked, and what prompts are made of.

    Args:
        backend: what answers
        material: for its tokenizer
        added: how many more prompt tokens the engine counts in a chat mode than the prompt has, always as many: what a
            template of its own adds
    """

    backend: Backend
    material: Material
    added: int = 0


def fingerprint(ids: Sequence[int]) -> str:
    """SHA-256 of token ids in decimal, separated by spaces, in hexadecimal."""
    return hashlib.sha256(" ".join(map(str, ids)).encode()).hexdigest()


def failed(sample: Sample, why: str) -> Sample:
    """The sample where nothing could be asked, or what came is of no use."""
    return replace(sample, outcome="error", why=why)


def refused(sample: Sample, refusal: Refusal) -> Sample:
    """The sample where the engine said that it does not take the request."""
    status = f"status {refusal.status}: " if refusal.status else ""
    return replace(sample, outcome="refused", why=f"{status}{refusal}")
