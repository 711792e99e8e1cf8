"""Ways of running a model that leave each token where it was: in one pass, in several on a cache, on a cache again."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from ordinate.audit.base import Refusal
from ordinate.audit.calling import FOREIGN, Caller
from ordinate.audit.runs import Run, held_layers, joined
from ordinate.errors import InputError, positive_integer


class Passes:
    """The passes of a `Subject` over its ids.

    Attributes:
        model: of transformers
        call: the model, called and counted
        caching: what `ordinate.transformers.use_cache` made of the model, or None
        ids: [rows, tokens], int64
    """

    model: Any
    call: Caller
    caching: Any
    ids: Tensor

    @property
    def dtype(self) -> torch.dtype:
        """The type that the model computes in."""
        return next(p.dtype for p in self.model.parameters() if p.is_floating_point())

    def whole(
        self, ids: Tensor | None = None, *, positions: Tensor | None = None, mask: Tensor | None = None, name: str = ""
    ) -> Run:
        """One pass without a cache.

        Args:
            ids: [rows, tokens]; the subject's own where not given
            positions: [rows, tokens]; the model's own where not given. Where they do not follow each other, give a
                mask too: without one transformers takes them for packed documents.
            mask: [rows, tokens], 1 where a token is real
        """
        ids = self.ids if ids is None else ids
        logits, _ = self.call(ids, mask=mask, positions=positions)
        there = torch.ones(ids.shape, dtype=torch.bool) if mask is None else mask.bool().cpu()
        starts = torch.zeros(ids.shape, dtype=torch.int64)
        return Run(name or "one pass", logits, there, starts, batch=len(ids), before=(0,) * len(ids))

    def keeping(self, ids: Tensor, *, positions: Tensor | None = None) -> Run:
        """One pass that keeps the keys of all tokens, in sliding layers too."""
        logits, cache = self.call(ids, positions=positions, cache=self.full_cache(), use_cache=True)
        tokens = ids.shape[1]
        there = torch.ones(ids.shape, dtype=torch.bool)
        layers = held_layers(cache, tokens) if cache is not None else ()
        return Run("one pass", logits, there, torch.zeros_like(there, dtype=torch.int64), layers, cache=cache)

    @property
    def carries_state(self) -> bool:
        """Whether some layers carry a state from token to token (Mamba, delta rules, convolutions) in place of keys."""
        from transformers import DynamicCache

        layers = DynamicCache(config=self.model.config).layers
        return any(type(layer).__name__ not in ("DynamicLayer", "DynamicSlidingWindowLayer") for layer in layers)

    def full_cache(self) -> Any:
        """An empty cache that keeps every token in every layer; the model's own where layers keep other things."""
        from transformers import DynamicCache, EncoderDecoderCache

        if self.carries_state:
            return None
        if self.caching is not None:
            return self.caching.new_cache(DynamicCache())
        if self.call.architecture == "encoder-decoder":
            return EncoderDecoderCache(DynamicCache(), DynamicCache())
        return DynamicCache()

    def chunked(
        self,
        chunk: int | Sequence[int],
        *,
        ids: Tensor | None = None,
        after: Run | None = None,
        cache: Any = None,
        positions: Tensor | None = None,
        mask: Tensor | None = None,
        name: str = "",
    ) -> Run:
        """Several passes that share the model's own default cache, positions left to the model.

        Args:
            chunk: tokens in each pass, or the tokens of each
            ids: [rows, tokens]; the subject's own where not given
            after: a run whose cache is gone on with; its tokens are the first of the result, not computed again
            cache: to go on with or start with, in place of that of `after`
            positions: [rows, tokens] of these ids; the model's own where not given
            mask: [rows, tokens before and these], 1 where a token is real
        """
        ids = self.ids if ids is None else ids
        rows, tokens = ids.shape
        past = 0 if after is None else after.tokens
        sizes = _sizes(chunk, tokens)
        cache = after.cache if after is not None and cache is None else cache
        logits, starts, done = [], [], 0
        for size in sizes:
            end = done + size
            out, cache = self.call(
                ids[:, done:end],
                mask=None if mask is None else mask[:, : past + end],
                positions=None if positions is None else positions[:, done:end],
                cache=cache,
                use_cache=True,
            )
            logits.append(out)
            starts.append(torch.full((rows, size), past + done))
            done = end
        there = torch.ones(rows, past + tokens, dtype=torch.bool)
        there[:, :past] = False
        if mask is not None:
            there[:, past:] &= mask[:, past : past + tokens].bool().cpu()
        if after is not None and past:
            empty = logits[0].new_zeros(rows, past, logits[0].shape[-1])
            logits.insert(0, empty)
            starts.insert(0, after.starts)
        layers = () if cache is None else held_layers(cache, past + tokens)
        title = name or f"passes of {sizes[0]}"
        return Run(title, joined(logits), there, joined(starts), layers, (0,) * rows, batch=rows, cache=cache)

    def crop(self, cache: Any, tokens: int) -> None:
        """Take the last tokens off a cache, as transformers' own `crop` does.

        Raises:
            Refusal: the cache cannot, or says that it cannot put back what its layers carry
        """
        if self.carries_state and not getattr(cache, "is_croppable", True):
            raise Refusal(f"{type(cache).__name__}.is_croppable is False: what its layers carry cannot be put back")
        self.on_cache(cache, "crop", -tokens)

    def recording(self, cache: Any) -> None:
        """Tell a cache with sliding layers that it will be cropped, where it wants to be told."""
        if hasattr(cache, "activate_past_recording"):
            self.on_cache(cache, "activate_past_recording")

    def on_cache(self, cache: Any, method: str, *given: Any) -> None:
        """Call a method of a cache.

        Raises:
            Refusal: it raised an error, or there is no such method
        """
        try:
            getattr(cache, method)(*given)
        except FOREIGN as error:
            line = (str(error).splitlines() or [""])[0]
            raise Refusal(f"{type(cache).__name__}.{method}: {type(error).__name__}: {line}") from error

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """The model in evaluation mode, and then as it was."""
        training = self.model.training
        self.model.eval()
        try:
            yield
        finally:
            self.model.train(training)


def _sizes(chunk: int | Sequence[int], tokens: int) -> list[int]:
    if isinstance(chunk, int):
        whole, rest = divmod(tokens, positive_integer("chunk", chunk))
        return [chunk] * whole + [rest] * bool(rest)
    sizes = [size for size in chunk if size]
    if sum(sizes) != tokens:
        raise InputError(f"chunks must add up to {tokens} tokens, got {sum(sizes)}")
    return sizes
