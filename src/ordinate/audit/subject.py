"""A loaded model under audit: what is known of it, the reference pass, and other ways of computing the same."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from ordinate.audit.base import Refusal
from ordinate.audit.calling import FOREIGN, Caller
from ordinate.audit.noise import Noise, measure
from ordinate.audit.runs import Held, Run, held_layers, joined, stacked
from ordinate.audit.sizes import crossing, default_length, longest
from ordinate.caches import Frozen
from ordinate.errors import InputError, positive_integer
from ordinate.spec import Spec

# Ids of special tokens are small as a rule; padding and ends of text change positions in some models.
_FIRST_ID = 8
ROWS = 2


class Subject:
    """A loaded transformers model with its ids, its reference pass and its noise.

    Every way of running returns a `Run` whose token t is token t of the ids, so that it compares with `reference`.

    Args:
        model: of transformers: causal, encoder, or encoder and decoder
        spec: what it does with position; None where that is not known
        ids: [tokens], what is read; None for ids drawn at random
        length: tokens of the reference pass; what suits the model's size where not given. Where frequencies change
            past some length it goes no further: what happens there is a matter for checks of their own.
        name: what the model is called

    Attributes:
        call: the model, called and counted
        caching: what `ordinate.transformers.use_cache` made of the model, or None
        ids: [2, length], int64; two rows of other tokens, so that what concerns later rows alone is seen
        window: how many tokens the model takes, or None where that is not known, [token]
        crossing: the length past which frequencies change, or None, [token]
    """

    def __init__(
        self,
        model: Any,
        spec: Spec | None = None,
        *,
        ids: Tensor | None = None,
        length: int | None = None,
        name: str = "model",
    ) -> None:
        self.model, self.spec, self.name = model, spec, name
        self.crossing = crossing(spec)
        self.caching = _caching_of(model)
        self.window = longest(model, spec)
        if self.caching is not None and isinstance(self.caching.regime, Frozen):
            self.window = min(self.caching.regime.fixed, self.window or self.caching.regime.fixed)
        wanted = default_length(model, self.window, self.crossing) if length is None else length
        wanted = wanted if self.crossing is None else min(wanted, self.crossing)
        if positive_integer("length", wanted) < 16:
            raise InputError(f"length must be >= 16 tokens for two runs to be told apart, got {wanted}")
        if self.window is not None and wanted > self.window:
            raise InputError(f"length must be at most {self.window}, the model's window, got {wanted}")
        if ids is not None and (ids.ndim != 1 or len(ids) < 2 * wanted):
            raise InputError(f"ids must be at least {2 * wanted} tokens, got {list(ids.shape)}")
        rows = self.other_ids(0, ROWS * wanted) if ids is None else ids[: ROWS * wanted]
        self.ids = rows.reshape(ROWS, wanted).clone()
        self.call = Caller(model, self.other_ids(1, 24))

    @property
    def length(self) -> int:
        """Tokens of the reference pass."""
        return self.ids.shape[1]

    @property
    def dtype(self) -> torch.dtype:
        """The type that the model computes in."""
        return next(p.dtype for p in self.model.parameters() if p.is_floating_point())

    @property
    def causal(self) -> bool:
        """Whether a token's output depends on those before it alone."""
        return self.call.decodes

    @property
    def has_logits(self) -> bool:
        """Whether the outputs are logits of next tokens."""
        return self.call.decodes

    @property
    def windows(self) -> list[int]:
        """How many tokens the sliding layers see, of each group that has a window, [token]."""
        groups = () if self.spec is None else self.spec.groups.values()
        return [group.sliding_window for group in groups if group.sliding_window is not None]

    @property
    def takes_positions(self) -> bool:
        return self.call.takes_positions

    def other_ids(self, seed: int, tokens: int) -> Tensor:
        """Ids drawn at random, the same for the same seed, [tokens]."""
        vocabulary = int(self.model.get_input_embeddings().num_embeddings)
        vocabulary = min(vocabulary, int(getattr(self.model.config, "vocab_size", vocabulary) or vocabulary))
        if vocabulary <= 2 * _FIRST_ID:
            raise InputError(f"a vocabulary of at least {2 * _FIRST_ID + 1} ids is needed, got {vocabulary}")
        drawn = torch.Generator().manual_seed(seed)
        return torch.randint(_FIRST_ID, vocabulary, (tokens,), generator=drawn)

    @cached_property
    def reference(self) -> Run:
        """One plain forward pass over each row alone, and the keys of a second one that keeps them all."""
        plain = stacked([self.whole(row[None]) for row in self.ids], "one pass")
        return replace(plain, layers=self.alone().layers) if self.call.decodes else plain

    def alone(self) -> Run:
        """Each row alone in one pass, with the keys of all its tokens where the model makes keys."""
        run = self.keeping if self.call.decodes else self.whole
        return stacked([run(row[None]) for row in self.ids], "one pass")

    @cached_property
    def noise(self) -> Noise:
        """What rounding alone changes."""
        return measure(self)

    def reference_for(self, tokens: int) -> Run:
        """The reference of the first `tokens` ids: a part of the one reference where later tokens cannot matter."""
        positive_integer("tokens", tokens)
        if self.causal:
            return self.reference.first(tokens)
        return stacked([self.whole(row[None, :tokens]) for row in self.ids], "one pass")

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

    def full_cache(self) -> Any:
        """An empty cache that keeps every token in every layer; the model's own where layers keep other things."""
        from transformers import DynamicCache, EncoderDecoderCache

        cache = DynamicCache(config=self.model.config)
        if any(type(layer).__name__ not in ("DynamicLayer", "DynamicSlidingWindowLayer") for layer in cache.layers):
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
        if past:
            empty = logits[0].new_zeros(rows, past, logits[0].shape[-1])
            logits.insert(0, empty)
            starts.insert(0, torch.zeros(rows, past, dtype=torch.int64))
        layers = () if cache is None else held_layers(cache, past + tokens)
        title = name or f"passes of {sizes[0]}"
        return Run(title, joined(logits), there, joined(starts), layers, (0,) * rows, batch=rows, cache=cache)

    def padded(
        self,
        lengths: Sequence[int],
        side: str,
        *,
        decode: int = 0,
        given: bool = True,
        filling: int | None = None,
        further: int = 0,
    ) -> Run:
        """Rows of different lengths in one batch, each the beginning of one of the subject's two rows, in turn.

        Args:
            lengths: tokens of each row, at most `length`
            side: where padding stands, "left" or "right"
            decode: the last tokens of each row that are computed one by one on the cache, on the left side alone
            given: whether positions are counted from the mask and given, as `generate` does; the model's own where
                False, or where it takes none
            filling: the id that stands in padding; the model's own where not given
            further: places of padding that the longest row has, [token]

        Returns:
            each row without its padding
        """
        width = max(lengths) + further
        mask = torch.zeros(len(lengths), width, dtype=torch.int64)
        ids = torch.full((len(lengths), width), self.padding_id if filling is None else filling)
        places = torch.full((len(lengths), width), -1)
        for row, tokens in enumerate(lengths):
            start = width - tokens if side == "left" else 0
            mask[row, start : start + tokens] = 1
            ids[row, start : start + tokens] = self.ids[row % ROWS, :tokens]
            places[row, :tokens] = torch.arange(start, start + tokens)
        positions = (mask.cumsum(-1) - 1).clamp(min=0) if given and self.takes_positions else None
        first = width - decode
        if decode or self.call.decodes:
            run = self.chunked([first, *[1] * decode], ids=ids, positions=positions, mask=mask)
        else:
            run = self.whole(ids, positions=positions, mask=mask)
        return _without_padding(run, places, lengths, f"{side} padding")

    def rows_alone(self, lengths: Sequence[int]) -> Run:
        """What rows of `padded` must equal: each row alone, a row for each length."""
        of = tuple(row % ROWS for row in range(len(lengths)))
        if self.causal:
            reference = self.reference.first(max(lengths))
            picked = list(of)
            layers = tuple(
                None if held is None else Held(held.keys[picked], held.values[picked], held.there[picked])
                for held in reference.layers
            )
            return Run(
                "rows alone",
                reference.logits[picked],
                reference.there[picked],
                reference.starts[picked],
                layers,
                (0,) * len(of),
            )
        width = max(lengths)
        runs = [self.whole(self.ids[row, :tokens][None]) for row, tokens in zip(of, lengths, strict=True)]
        pads = [(0, 0, 0, width - tokens) for tokens in lengths]
        logits = torch.cat([nn.functional.pad(run.logits, pad) for run, pad in zip(runs, pads, strict=True)])
        there = torch.arange(width)[None] < torch.tensor(list(lengths))[:, None]
        return Run("rows alone", logits, there, torch.zeros(there.shape, dtype=torch.int64), before=(0,) * len(of))

    def rows(self, of: Sequence[int], tokens: int | None = None) -> Tensor:
        """Rows of the ids by their numbers, cut to so many tokens."""
        return self.ids[list(of), :tokens]

    def crop(self, cache: Any, tokens: int) -> None:
        """Take the last tokens off a cache, as transformers' own `crop` does.

        Raises:
            Refusal: the cache cannot
        """
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

    def packed(self, lengths: Sequence[int], *, masked: bool = False, first: Tensor | None = None) -> Run:
        """Documents one after another in a row, positions from 0 in each: the beginnings of the subject's own rows.

        Args:
            lengths: tokens of each document
            masked: whether a mask of blocks is given beside the positions
            first: [rows, tokens], other ids for the first document

        Returns:
            a row for each document of each row
        """
        from ordinate.positions import from_lengths

        documents = [self.ids[:, :tokens] for tokens in lengths]
        if first is not None:
            documents[0] = first
        positions = torch.from_numpy(from_lengths(list(lengths))).expand(ROWS, -1)
        mask = self._blocks(lengths) if masked else None
        logits, _ = self.call(torch.cat(documents, 1), positions=positions, mask=mask)
        begins = [sum(lengths[:number]) for number in range(len(lengths))]
        places = torch.full((len(lengths), max(lengths)), -1)
        for number, (begin, tokens) in enumerate(zip(begins, lengths, strict=True)):
            places[number, :tokens] = torch.arange(begin, begin + tokens)
        there = (places >= 0).repeat(ROWS, 1)
        split = torch.cat([one[places.clamp(min=0).to(logits.device)] for one in logits])
        of = tuple(row for row in range(ROWS) for _ in lengths)
        starts = torch.zeros(there.shape, dtype=torch.int64)
        return Run("packed documents", split, there, starts, before=tuple(begins) * ROWS, of=of, batch=ROWS)

    def _blocks(self, lengths: Sequence[int]) -> Tensor:
        """A causal mask within each document, added to attention logits: [rows, 1, tokens, tokens]."""
        document = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(list(lengths)))
        place = torch.arange(len(document))
        seen = (document[:, None] == document) & (place[:, None] >= place)
        hidden = torch.zeros(seen.shape, dtype=self.dtype).masked_fill(~seen, torch.finfo(self.dtype).min)
        return hidden.expand(ROWS, 1, -1, -1)

    @property
    def padding_id(self) -> int:
        """What stands in padded places: the model's own padding id, or 0."""
        found = getattr(self.model.config, "pad_token_id", None)
        return found if isinstance(found, int) and found >= 0 else 0

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """The model in evaluation mode, and then as it was."""
        training = self.model.training
        self.model.eval()
        try:
            yield
        finally:
            self.model.train(training)


def _caching_of(model: Any) -> Any:
    # The import brings transformers' models with it.
    from ordinate.transformers.caching import caching_of

    return caching_of(model)


def _sizes(chunk: int | Sequence[int], tokens: int) -> list[int]:
    if isinstance(chunk, int):
        whole, rest = divmod(tokens, positive_integer("chunk", chunk))
        return [chunk] * whole + [rest] * bool(rest)
    sizes = [size for size in chunk if size]
    if sum(sizes) != tokens:
        raise InputError(f"chunks must add up to {tokens} tokens, got {sum(sizes)}")
    return sizes


def _without_padding(run: Run, places: Tensor, lengths: Sequence[int], name: str) -> Run:
    there = places >= 0
    index = places.clamp(min=0)
    logits = run.logits.gather(1, index[:, :, None].expand(-1, -1, run.logits.shape[-1]).to(run.logits.device))
    before = tuple(int(place) for place in places[:, 0])
    starts = (run.starts.gather(1, index) - torch.tensor(before)[:, None]).clamp(min=0)
    layers = () if run.cache is None else held_layers(run.cache, run.tokens, places)
    whose = tuple(row % ROWS for row in range(len(lengths)))
    return Run(name, logits, there, starts, layers, before, (), whose, len(lengths), run.cache)
