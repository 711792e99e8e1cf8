"""A loaded model under audit: what is known of it, and the reference pass."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from ordinate.audit.base import Refusal
from ordinate.audit.batches import ROWS, Batches
from ordinate.audit.calling import Caller, generates
from ordinate.audit.noise import Noise, measure
from ordinate.audit.runs import Held, Run, stacked
from ordinate.audit.sizes import crossing, default_length, longest
from ordinate.caches import Frozen
from ordinate.errors import InputError, positive_integer
from ordinate.spec import Spec

# Ids of special tokens are small as a rule; padding and ends of text change positions in some models.
_FIRST_ID = 8
SHORTEST = 16
"""Of the texts that two runs can be told apart by, [token]."""
# So far past the length where frequencies change checks read at most.
_FURTHEST = 32


class Subject(Batches):
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
            fixed = self.caching.regime.fixed
            if fixed < SHORTEST:
                raise InputError(
                    f"an audit needs a cache frozen at a length of at least {SHORTEST} tokens, got {fixed}: "
                    "call use_cache with a longer one"
                )
            self.window = min(fixed, self.window or fixed)
            if self.crossing is not None and fixed <= self.crossing + _FURTHEST:
                # No text is read that would come to it, and none may be.
                self.crossing = None
        wanted = default_length(model, self.window, self.crossing) if length is None else length
        wanted = wanted if self.crossing is None else min(wanted, self.crossing)
        if positive_integer("length", wanted) < SHORTEST:
            raise InputError(f"length must be >= {SHORTEST} tokens for two runs to be told apart, got {wanted}")
        if self.window is not None and wanted > self.window:
            raise InputError(f"length must be at most {self.window}, the model's window, got {wanted}")
        if ids is not None and (ids.ndim != 1 or len(ids) < 2 * wanted):
            raise InputError(f"ids must be at least {2 * wanted} tokens, got {list(ids.shape)}")
        rows = self.other_ids(0, ROWS * wanted) if ids is None else ids[: ROWS * wanted]
        self.ids = rows.reshape(ROWS, wanted).clone()
        self.call = Caller(model, self.other_ids(1, 24))
        if self.call.decodes and self.caching is None:
            with self.evaluating():
                self._look()

    @property
    def length(self) -> int:
        """Tokens of the reference pass."""
        return self.ids.shape[1]

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

    def _look(self) -> None:
        """Find out whether the model keeps a cache, and whether it reads tokens that come after.

        A model that is asked to keep a cache may have none, and one that could decode may have been made an encoder;
        one that generates has not, unless its configuration says so.
        """
        ids = self.ids[:1, :SHORTEST]
        # The first token's neighbours stay: a mask that is off by one is a fault, and no encoder's.
        others = torch.cat([ids[:, : SHORTEST // 4], self.ids[1:2, SHORTEST // 4 : SHORTEST]], 1)
        try:
            (first, _), (second, cache) = self.call(ids), self.call(others, use_cache=True)
        except Refusal:
            return  # the plain pass says so
        self.call.keeps_cache = cache is not None
        if self.call.architecture == "causal" and first.ndim == 3:
            change = (first[0, 0] - second[0, 0]).float().abs().max()
            bound = torch.finfo(self.dtype).eps ** 0.5 * first[0, 0].float().abs().max()
            if bool(change > bound) and _sees_all(self.model):
                self.call.architecture, self.call.keeps_cache = "encoder", False

    def other_ids(self, seed: int, tokens: int) -> Tensor:
        """Ids drawn at random, the same for the same seed, [tokens]."""
        vocabulary = len(self.model.get_input_embeddings().weight)
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


def _sees_all(model: Any) -> bool:
    """Whether a model may look at tokens that come after: it generates none, or its configuration says so."""
    config = model.config.get_text_config()
    said = {name: getattr(config, name, None) for name in ("is_decoder", "is_causal", "causal")}
    both = getattr(config, "use_bidirectional_attention", None) or getattr(config, "attn_type", None) == "bi"
    return bool(both) or False in said.values() or not generates(model)


def _caching_of(model: Any) -> Any:
    # The import brings transformers' models with it.
    from ordinate.transformers.caching import caching_of

    return caching_of(model)
