"""A loaded transformers model whose cached decoding follows one regime, until it is undone."""

from collections.abc import Mapping
from typing import Any, Self

import torch
from torch import Tensor, nn
from transformers import DynamicCache
from transformers.cache_utils import Cache

from ordinate.caches import Frozen, PerRow, Recompute, Regime, Stamp
from ordinate.caches import regime as regime_named
from ordinate.dialects import read
from ordinate.errors import InputError
from ordinate.schemes.base import Rotary
from ordinate.spec import LayerGroup
from ordinate.transformers import unrotated
from ordinate.transformers.acceleration import rotary_module
from ordinate.transformers.cache import PositionCache
from ordinate.transformers.call import Tokens, arguments_of, decoder_of, first_position, tokens_of
from ordinate.transformers.decoders import check_decoder
from ordinate.transformers.generation import check_generation
from ordinate.transformers.length_tables import LengthTables
from ordinate.transformers.rerun import alike, last_tokens, whole_text
from ordinate.transformers.row_lengths import are_turned_otherwise, row_lengths
from ordinate.transformers.turning import Turning, check_turning
from ordinate.transformers.unrotated import Reading, runs_of


class Caching:
    """What `use_cache` changed in a model; `undo`, or the end of a `with` block, changes it back.

    Args:
        model: what was changed
        regime: which length each row is turned by
        groups: the model's layers by the name of their group
    """

    def __init__(self, model: Any, regime: Regime, groups: Mapping[str, LayerGroup]) -> None:
        self.model = model
        self.regime = regime
        self._groups = dict(groups)
        self._by_length = [name for name, group in groups.items() if depends_on_length(group)]
        self._unrotated = self._by_length if isinstance(regime, PerRow) else []
        self.stamps = {
            name: Stamp(group, "rotated" if self._is_kept_rotated(name) else "unrotated", regime)
            for name, group in groups.items()
        }
        self._decoder: nn.Module = decoder_of(model)
        self._tables = {name: LengthTables(groups[name]) for name in self._unrotated}
        self._attention_before: str | None = None
        self._turning: Turning | None = None
        self._tokens_wanted: int | None = None
        self._filled: PositionCache | None = None
        self._handles: list[Any] = []
        self._first_position = first_position(self._decoder, groups.values())

    def new_cache(self, held: Cache | None = None) -> PositionCache:
        """An empty cache for this model.

        Args:
            held: an empty cache of transformers whose layers are to hold keys and values, such as a `StaticCache`;
                a `DynamicCache` of the model's configuration where not given
        """
        return PositionCache(self.stamps, DynamicCache(config=self._config) if held is None else held)

    def undo(self) -> None:
        """Give the model its own attention, tables and caches back."""
        if self._attention_before is not None:
            self.model.set_attn_implementation(self._attention_before)
            self._attention_before = None
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        if self._turning is not None:
            self._turning.undo()
            self._turning = None
        if self._is_installed:  # another use of the model, after this one was undone, keeps what is its own
            self.model.__dict__.pop(_PREPARE, None)
            del self._decoder.__dict__[_MARK]

    def __enter__(self) -> Self:
        if not self._is_installed:
            raise InputError(f"this use_cache of {type(self.model).__name__} has been undone: call use_cache again")
        return self

    def __exit__(self, *raised: object) -> None:
        self.undo()

    @property
    def _is_installed(self) -> bool:
        return self._decoder.__dict__.get(_MARK) is self

    @property
    def _config(self) -> Any:
        return self._decoder.config

    def _is_kept_rotated(self, name: str) -> bool:
        return isinstance(self._groups[name].encoding, Rotary) and name not in self._unrotated

    def _install(self) -> None:
        if _MARK in self._decoder.__dict__:
            raise InputError(f"{type(self.model).__name__} is under use_cache already: undo that first")
        try:
            if self._by_length:
                rotating = {name: group for name, group in self._groups.items() if isinstance(group.encoding, Rotary)}
                self._turning = Turning(rotary_module(self.model), rotating, self._unrotated)
            if self._unrotated:
                self._attention_before = self._config._attn_implementation
                unrotated.register()
                self.model.set_attn_implementation(unrotated.NAME)
                if self._config._attn_implementation != unrotated.NAME:
                    raise InputError(f"{type(self.model).__name__} takes no attention from transformers' registry")
                assert self._turning is not None  # noqa: S101 - keys are un-rotated only where they are turned by length
                check_turning(self._decoder, self._turning, self._unrotated, self._group_of)
        except BaseException:
            self.undo()
            raise
        self._decoder.__dict__[_MARK] = self
        self._handles += [
            self._decoder.register_forward_pre_hook(self._before, with_kwargs=True),
            self._decoder.register_forward_hook(self._after, with_kwargs=True, always_call=True),
        ]
        if hasattr(self.model, _PREPARE):
            self.model.__dict__[_PREPARE] = self._prepared(getattr(self.model, _PREPARE))

    def _before(self, decoder: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[()], Any]:
        """What a pass over the decoder is given: a cache, positions, what its rows are turned by."""
        self._check_installed()
        call = arguments_of(decoder, given, named)
        cache = self._cache_of(call)
        tokens = tokens_of(call, cache)
        if cache is not None and call.get("attention_mask") is None:
            needed = cache.needed_mask(*tokens.text.shape[:2])
            call["attention_mask"] = None if needed is None else needed.to(tokens.text.device)
        if cache is not None and not tokens.several_axes:
            cache.check_next(tokens.positions)
        self._tokens_wanted, self._filled = None, cache
        if self._by_length and tokens.several_axes:
            raise InputError("a scaling that depends on the length needs one position a token, got several axes")
        lengths = self._lengths(tokens, cache)
        if cache is not None and isinstance(self.regime, Recompute) and are_turned_otherwise(cache, lengths):
            self._tokens_wanted = tokens.text.shape[1]
            tokens, call = whole_text(decoder, call, tokens, cache)
            cache.reset()
            lengths = self._lengths(tokens, None)
        if cache is not None:
            keeps = self._by_length and isinstance(self.regime, Recompute)
            nothing = torch.zeros_like(tokens.positions)
            turned = {name: of_rows for name, of_rows in lengths.items() if name not in self._unrotated}
            marks = {name: turned.get(name, nothing) for name in self.stamps}
            text = tokens.text if keeps else None
            if text is not None and cache.entries:
                cache.text, text = alike(decoder, cache.text, text)
            cache.begin(tokens.positions, marks, text)
        if self._first_position is not None and call.get("position_ids") is None:
            call["position_ids"] = tokens.positions.clamp(min=0) + self._first_position
        if self._turning is not None:
            self._turning.lengths = lengths
        if self._unrotated:
            call["ordinate_reading"] = self._reading(tokens, cache, lengths)
        return (), call

    def _after(self, decoder: nn.Module, given: Any, named: Any, made: Any) -> Any:  # noqa: ARG002
        """What a pass returns: of a text that ran again, the tokens that were asked for."""
        if self._turning is not None:
            self._turning.lengths = None
        wanted, cache = self._tokens_wanted, self._filled
        self._tokens_wanted = self._filled = None
        if made is None:  # the pass has failed
            return None
        if cache is not None:
            cache.finish()
        return made if wanted is None else last_tokens(made, wanted)

    def _reading(self, tokens: Tokens, cache: PositionCache | None, lengths: Mapping[str, Tensor]) -> Reading:
        for tables in self._tables.values():
            tables.forget()
        return Reading(
            tokens.positions,
            None if cache is None else cache.here,
            {name: runs_of(lengths[name]) for name in self._unrotated},
            self._group_of,
            self._tables,
            cache is not None or tokens.ascending,
        )

    def _group_of(self, layer: int) -> LayerGroup:
        for group in self._groups.values():
            if group.layers is None or layer in group.layers:
                return group
        raise InputError(f"layer {layer} of {type(self.model).__name__} is in none of its groups")

    def _cache_of(self, call: dict[str, Any]) -> PositionCache | None:
        """The cache of a call; a new one where the model would make one."""
        cache = call.get("cache")
        if cache is None:
            wanted = call.get("use_cache")
            wanted = getattr(self._config, "use_cache", False) if wanted is None else wanted
            checkpointing = getattr(self._decoder, "gradient_checkpointing", False) and self._decoder.training
            if not wanted or (checkpointing and torch.is_grad_enabled()):
                return None
            cache = call["cache"] = self.new_cache()
        return self._checked(cache)

    def _checked(self, cache: Any) -> PositionCache:
        if not isinstance(cache, PositionCache):
            raise InputError(
                f"a model under use_cache needs a cache that knows its positions: leave it out or give new_cache(), "
                f"got {type(cache).__name__}"
            )
        cache.check(self.stamps)
        return cache

    def _lengths(self, tokens: Tokens, cache: PositionCache | None) -> dict[str, Tensor]:
        names = self._by_length
        if not names and isinstance(self.regime, Frozen):  # it refuses what is beyond it, whatever the scaling
            names = list(self._groups)[:1]
        return row_lengths(self.regime, {name: self._groups[name].stretch for name in names}, tokens, cache)

    def _check_installed(self) -> None:
        """Refuse a model whose attention or rotary module was changed after `use_cache`."""
        name = self._config._attn_implementation
        if self._unrotated and name != unrotated.NAME:
            raise InputError(
                f"use_cache needs attention {unrotated.NAME!r}, got {name!r}: undo use_cache before attention changes"
            )
        if self._turning is not None:
            self._turning.check_last()

    def _prepared(self, own: Any) -> Any:
        """`generate`'s choice of a cache, given positions."""

        def prepare(
            generation_config: Any, model_kwargs: dict[str, Any], generation_mode: Any, batch: int, longest: int
        ) -> None:
            given = model_kwargs.get("cache")
            if given is not None:
                self._checked(given)
            by_length = {name: self._groups[name] for name in self._by_length}
            check_generation(self.regime, by_length, generation_mode, longest)
            own(generation_config, model_kwargs, generation_mode, batch, longest)
            made = model_kwargs.get("cache")
            if made is not None and given is None:
                model_kwargs["cache"] = self.new_cache(made)

        return prepare


_PREPARE = "_prepare_cache_for_generation"
_MARK = "_ordinate_caching"


def use_cache(model: Any, regime: str = "per_row", length: int | None = None) -> Caching:
    """Let a loaded model's cached decoding follow one regime, so that it does not depend on how a text is cut.

    Every call of the model, and `generate` in every mode, then makes a `PositionCache` where it would have made a
    cache, counts each row's positions without its padding, and turns each row by its own length, never by the
    batch's. Calls without a cache follow the regime as well. Nothing but this model is changed.

    regime "per_row": the row at position m is turned by length m + 1, q and all keys that it sees
    regime "frozen": all by `length`
    regime "recompute": all by the length reached; where that turns them otherwise, the whole text runs again

    Where no scaling depends on the length the three are one, and the model computes as it did before.

    Args:
        model: a causal language model of transformers, decoder only
        regime: "per_row", "frozen" or "recompute"
        length: of "frozen", which no position may reach; else None, [token]

    Returns:
        what undoes it

    Raises:
        InputError: no model of transformers, an encoder, an encoder-decoder, one without attention, one under
            `use_cache` already, one whose rotary module is not where Llama's and its kin's is or whose attention turns
            q and k otherwise than its configuration says
    """
    chosen = regime_named(regime, length)
    check_decoder(model)
    groups = {name: group for name, group in read(model.config.to_dict()).groups.items() if group.layers != ()}
    caching = Caching(model, chosen, groups)
    caching._install()
    return caching


def caching_of(model: Any) -> Caching | None:
    """What `use_cache` made of a model of transformers, of any architecture; None where it is as it was."""
    modules = model.modules() if isinstance(model, nn.Module) else ()
    return next((module.__dict__[_MARK] for module in modules if _MARK in module.__dict__), None)


def depends_on_length(group: LayerGroup) -> bool:
    """Whether q and k of these layers are turned by the length of the sequence."""
    return isinstance(group.encoding, Rotary) and group.stretch is not None and "static" not in group.stretch.traits
