"""Passes of a causal model: tokens read into a cache, and logits for those alone that are scored."""

from collections.abc import Sequence
from typing import Any

import torch
import transformers
from torch import Tensor

from ordinate.errors import InputError, Unavailable
from ordinate.transformers.caching import Caching
from ordinate.transformers.prefill import crop

# Logits held at a time: 64 positions of a vocabulary of 49,152 take 12.6 MB.
_SCORED_AT_ONCE = 64


class Passes:
    """Reads token ids in chunks, one prompt at a time.

    Args:
        model: of transformers
        chunk: tokens read at a time
        caching: where a scaling depends on the length, what makes caches for it; None: transformers' own caches
    """

    def __init__(self, model: Any, chunk: int, caching: Caching | None) -> None:
        self.model, self.chunk, self.caching = model, chunk, caching

    def read(self, ids: Sequence[int]) -> Any:
        """A cache that holds ids."""
        if self.caching is None:
            cache: Any = transformers.DynamicCache(config=self.model.config)
        else:
            cache = self.caching.new_cache()
        decoder = self.model.get_decoder()
        for start in range(0, len(ids), self.chunk):
            decoder(**self._given(ids[start : start + self.chunk], cache))
        return cache

    def _given(self, ids: Sequence[int], cache: Any) -> dict[str, Any]:
        """Tokens that follow a cache, as a pass is given them."""
        past, device = cache.get_seq_length(), self.model.device
        return {
            "input_ids": torch.tensor([list(ids)], device=device),
            "attention_mask": torch.ones(1, past + len(ids), dtype=torch.bool, device=device),
            "position_ids": torch.arange(past, past + len(ids), device=device)[None],
            "cache": cache,
            "use_cache": True,
        }

    def cropped(self, cache: Any, held: int, ids: Sequence[int]) -> Any:
        """A cache that holds the first `held` tokens alone: this one cut, or where it cannot be, another."""
        if not held:
            return self.read(())
        try:
            crop(cache, held)
        except InputError:  # a window's layer has let go of what would be seen again
            return self.read(ids)
        return cache

    def logits(self, ids: Sequence[int], cache: Any) -> Tensor:
        """Of tokens that follow a cache, [tokens, vocabulary], float32."""
        logits = self.model(**self._given(ids, cache)).logits[0]
        if bool(logits[-1].isnan().any()):
            raise Unavailable(f"the model's logits behind {cache.get_seq_length()} tokens are not numbers")
        return logits.float()

    def scored(self, ids: Sequence[int], cache: Any) -> tuple[Tensor, Tensor]:
        """Of each token but the first: its loss in float64 [nat], and whether it is the likeliest."""
        nats, top1 = [], []
        for start in range(0, len(ids) - 1, _SCORED_AT_ONCE):
            here = ids[start : min(start + _SCORED_AT_ONCE, len(ids) - 1)]
            wanted = torch.tensor(ids[start + 1 : start + 1 + len(here)], device=self.model.device)
            logits = self.logits(here, cache)
            nats.append(torch.nn.functional.cross_entropy(logits, wanted, reduction="none").double())
            top1.append(logits.argmax(-1) == wanted)
        return torch.cat(nats), torch.cat(top1)
