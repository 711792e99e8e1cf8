"""One call of a model: which tokens it is given, what came before, and where they stand by right."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Pass:
    """What a model knows of one call.

    Args:
        positions: [rows, tokens], int64: where its tokens stand by right
        past: slots that the cache held before
        present: [rows, past + tokens], bool: which slots hold a token rather than padding; None where all do
        given: whether the caller gave the positions
        seen: tokens that ever went through the cache, cropped ones among them
        before: [rows, tokens]: the positions of the first pass of this shape since another shape came; None on a cache
    """

    positions: Tensor
    past: int
    present: Tensor | None
    given: bool
    seen: int
    before: Tensor | None = None

    @property
    def tokens(self):
        return self.positions.shape[1]

    @property
    def slots(self):
        """[rows, tokens]: the slot of each token in the cache."""
        return (self.past + torch.arange(self.tokens)).expand_as(self.positions)

    @property
    def padded(self):
        return self.present is not None and not bool(self.present.all())

    def key_positions(self, held):
        """[rows, past + tokens]: of every slot; `held` are those that the cache kept of the past."""
        if self.past == 0:
            return self.positions
        return torch.cat([held, self.positions], dim=1)


def right(shape, past, attention_mask, position_ids, seen):
    """The call as it should be read: given positions first, then those that the mask counts, then slots."""
    rows, tokens = shape
    flat = attention_mask if attention_mask is not None and attention_mask.dim() == 2 else None
    present = None if flat is None else flat.bool()
    if position_ids is not None:
        positions = position_ids.expand(rows, -1).to(torch.int64)
    elif present is not None:
        positions = (present.long().cumsum(1) - 1).clamp(min=0)[:, -tokens:]
    else:
        positions = (past + torch.arange(tokens)).expand(rows, -1)
    return Pass(positions, past, present, position_ids is not None, seen)
