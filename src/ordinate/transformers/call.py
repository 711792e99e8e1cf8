"""One call of a decoder: which tokens it brings, and where each of them stands."""

import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ordinate.errors import InputError
from ordinate.spec import LayerGroup
from ordinate.transformers.cache import PositionCache

# Of the largest number: far above rounding, far below what a learned vector of another position does.
_ALIKE = 1e-3


def decoder_of(model: Any) -> Any:
    """The module that all of a model's passes go through: its decoder, without the head."""
    found = model.get_decoder()
    # Llama 4's text model names itself.
    return getattr(model, "model", model) if found is model else found


def device_of(decoder: Any) -> torch.device:
    """Where a decoder takes its tokens; of weights that accelerate has offloaded, where it brings them to."""
    embeddings = decoder.get_input_embeddings()
    device = embeddings.weight.device
    if device.type != "meta":
        return device
    brought_to = getattr(getattr(embeddings, "_hf_hook", None), "execution_device", None)
    return torch.device("cpu" if brought_to is None else brought_to)


def arguments_of(decoder: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by name, under the names of transformers 5.24."""
    names = [name for name in inspect.signature(decoder.forward).parameters if name != "self"]
    call = dict(zip(names, given, strict=False)) | named
    old = call.pop("past_key_values", None)
    if old is not None:
        call["cache"] = old
    return call


@torch.no_grad()
def first_position(decoder: Any, groups: Iterable[LayerGroup]) -> int | None:
    """What a decoder calls the first position where it counts itself: 0, or RoBERTa's 2; None where it is not told.

    Args:
        decoder: the module that is called
        groups: its layers
    """
    if "position_ids" not in inspect.signature(decoder.forward).parameters:
        return None
    candidates = [0, *(getattr(group.encoding, "offset", 0) for group in groups)]
    training = decoder.training
    decoder.eval()
    ids = torch.full((1, 4), 3, device=device_of(decoder))
    try:
        own = decoder(input_ids=ids, use_cache=False).last_hidden_state
        for first in candidates:
            told = decoder(
                input_ids=ids, position_ids=torch.arange(4, device=ids.device)[None] + first, use_cache=False
            )
            if (told.last_hidden_state - own).abs().max() <= _ALIKE * own.abs().max():
                return first
    finally:
        decoder.train(training)
    return None


@dataclass(frozen=True)
class Tokens:
    """The tokens of a call.

    Args:
        text: [batch, tokens, 1], ids, or [batch, tokens, width], embeddings
        positions: [batch, tokens], int64, -1 for padding, [token]
        several_axes: each stands on several axes (M-RoPE), of which `positions` has the furthest
    """

    text: Tensor
    positions: Tensor
    several_axes: bool

    @property
    def reached(self) -> Tensor:
        """Where each row goes on after these: [batch], int64, [token]."""
        return self.positions.amax(1) + 1

    @property
    def ascending(self) -> bool:
        """Whether each row's tokens stand one after the other."""
        latest = self.positions.cummax(1).values[:, :-1]
        later = self.positions[:, 1:]
        return bool(((later > latest) | (later < 0)).all())


def tokens_of(call: dict[str, Any], cache: PositionCache | None) -> Tokens:
    """The tokens that a call brings.

    Where a call gives no positions, each row counts its own tokens on from those in the cache, and padding is left
    out, as `generate` does it: so a row does not change with the padding before it.

    Args:
        call: arguments by name
        cache: what the tokens follow

    Raises:
        InputError: no text, or none of its tokens, another batch than the cache has, a mask that does not cover it,
            positions of another shape, or that are no integers
    """
    ids, embeddings = call.get("input_ids"), call.get("inputs_embeds")
    if (ids is None) == (embeddings is None):
        raise InputError("a call must give input_ids or inputs_embeds, one of them")
    text = embeddings if ids is None else ids[..., None]
    assert text is not None  # noqa: S101 - one of them is given
    batch, tokens = text.shape[:2]
    if not batch or not tokens:
        raise InputError(f"a call must bring a token or more a row, got {batch} rows of {tokens}")
    if cache is not None:
        cache.check_rows(batch)
    there = torch.ones(batch, tokens, dtype=torch.bool, device=text.device)
    mask = call.get("attention_mask")
    if isinstance(mask, Tensor) and mask.ndim == 2:
        before = 0 if cache is None else cache.entries
        if mask.shape != (batch, before + tokens):
            raise InputError(
                f"attention_mask must cover the {before} entries of the cache and {tokens} tokens, "
                f"{[batch, before + tokens]}, got {list(mask.shape)}"
            )
        there = mask[:, before:].to(text.device) != 0
    positions = call.get("position_ids")
    if positions is not None and not (isinstance(positions, Tensor) and positions.dtype in (torch.int32, torch.int64)):
        kind = positions.dtype if isinstance(positions, Tensor) else type(positions).__name__
        raise InputError(f"position_ids must be a tensor of int64 or int32, got {kind}")
    axes = positions is not None and positions.ndim == 3
    if positions is None:
        start = torch.zeros(batch, dtype=torch.int64) if cache is None else cache.next_positions(batch)
        positions = start.to(text.device)[:, None] + there.cumsum(1) - 1
    elif axes:
        positions = positions.amax(0)
    if positions.ndim == 1:
        positions = positions[None]
    if positions.shape[1] != tokens or len(positions) not in (1, batch):
        raise InputError(f"position_ids must be [1 or {batch}, {tokens}], got {list(positions.shape)}")
    positions = positions.to(text.device, torch.int64).expand(batch, tokens)
    if bool((positions < 0)[there].any()):
        raise InputError(f"position_ids must be >= 0 where a token is, got {int(positions[there].min())}")
    return Tokens(text, positions.where(there, -1), axes)
