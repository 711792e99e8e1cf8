"""The same target tokens behind more and more context, real, shuffled and foreign: which passages there are."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np

from ordinate.errors import InputError, one_of, positive_integer
from ordinate.validate.streams import stream

Context = Literal["real", "shuffled", "foreign"]
CONTEXTS: tuple[Context, ...] = ("real", "shuffled", "foreign")


@dataclass(frozen=True)
class Passage:
    """One measurement: the loss of the target's tokens behind one context.

    Args:
        document: which text the target is of: the cluster that intervals are drawn over
        target: its tokens in that text, [start, stop)
        context: "real": what stands before the target; "shuffled": the same tokens, in blocks in random order;
            "foreign": as many tokens of the next text
        length: of the whole, beginning-of-text tokens and target included, [token]
    """

    document: int
    target: tuple[int, int]
    context: Context
    length: int


class LanguageModelling:
    """How much a text that goes before helps to foretell what follows.

    A target is the same at every length and before every context, so that lengths differ in nothing but what a model
    can look back to: neither in how hard the tokens are, nor in how many of them stand early in a window. Real against
    shuffled shows the use of order, shuffled against foreign that of the words alone.

    Measured as `language` in a validation run. Beside it stand, for one text, `ordinate.validate.perplexity` (sliding
    windows, loss by position, and LongPPL, whose long and short losses are those of a real passage at two lengths), and
    for two models on the same text, `ordinate.prove`.

    Source: Press et al. 2022, arXiv 2108.12409, appendix B (tokens that stand early in a window cost more).
    Differs from the paper: the scored tokens are fixed, so that nothing is to be told apart afterwards.

    Args:
        target: scored tokens of a passage, [token]
        block: tokens of a block that keeps its order in a shuffled context, [token]
    """

    name = "language_modelling"
    title = "Loss of the same tokens behind growing contexts"
    abilities = ("retrieve",)

    def __init__(self, target: int = 256, block: int = 16) -> None:
        self.target, self.block = positive_integer("target", target), positive_integer("block", block)

    def passages(
        self, documents: Sequence[int], lengths: Sequence[int], *, targets: int = 1, seed: int = 0
    ) -> tuple[Passage, ...]:
        """All passages: each target behind each context at each length.

        Args:
            documents: how many tokens each text has, [token]
            lengths: of the whole, [token]
            targets: in each text
            seed: of the targets' places

        Raises:
            InputError: fewer than two texts, a length that leaves no context, or a text too short for the longest
        """
        targets = positive_integer("targets", targets)
        if len(documents) < 2:
            raise InputError(f"a foreign context needs at least 2 documents, got {len(documents)}")
        if not lengths or min(lengths) <= self.target:
            raise InputError(f"lengths must exceed the target's {self.target} tokens, got {list(lengths)}")
        found: list[Passage] = []
        for document, tokens in enumerate(documents):
            room = tokens - max(lengths)
            if room < 0:
                raise InputError(f"document {document} must have at least {max(lengths)} tokens, got {tokens}")
            starts = stream(seed, self.name, document).integers(0, room + 1, targets) + max(lengths) - self.target
            for start, context, length in product(starts.tolist(), CONTEXTS, sorted(set(lengths))):
                found.append(Passage(document, (start, start + self.target), context, length))
        return tuple(found)

    def ids(
        self, passage: Passage, documents: Sequence[Sequence[int]], *, bos: Sequence[int] = (), seed: int = 0
    ) -> tuple[int, ...]:
        """The tokens of a passage, exactly `length` of them; the last `target` of them are scored.

        Args:
            passage: of `passages`
            documents: the texts' tokens
            bos: what the model's texts begin with; it takes the place of the first tokens of the context
            seed: of the shuffling
        """
        one_of("context", passage.context, CONTEXTS)
        start, stop = passage.target
        own = np.asarray(documents[passage.document], dtype=np.int64)
        wanted = passage.length - len(bos) - (stop - start)
        if wanted < 0 or wanted > start:
            raise InputError(f"document {passage.document} must have {wanted} tokens before the target, got {start}")
        before = own[start - wanted : start]
        if passage.context == "shuffled":
            generator = stream(seed, self.name, passage.document, f"shuffled {start}")
            before = _shuffled(before, self.block, generator)
        elif passage.context == "foreign":
            other = np.asarray(documents[(passage.document + 1) % len(documents)], dtype=np.int64)
            if len(other) < wanted:
                raise InputError(f"the foreign document must have {wanted} tokens, got {len(other)}")
            end = min(max(start, wanted), len(other))
            before = other[end - wanted : end]
        return (*map(int, bos), *before.tolist(), *own[start:stop].tolist())


def _shuffled(tokens: np.ndarray, block: int, generator: np.random.Generator) -> np.ndarray:
    """The tokens with their blocks in another order; as they are where there is but one block."""
    blocks = [tokens[i : i + block] for i in range(0, len(tokens), block)]
    order = generator.permutation(len(blocks))
    while len(blocks) > 1 and (np.diff(order) == 1).all():
        order = generator.permutation(len(blocks))
    return np.concatenate([blocks[i] for i in order]) if blocks else tokens
