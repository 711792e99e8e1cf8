"""A whole text through a decoder again, in the place of the tokens that follow it."""

from typing import Any

import torch
from torch import Tensor
from transformers.utils.generic import ModelOutput

from ordinate.errors import InputError
from ordinate.transformers.cache import PositionCache
from ordinate.transformers.call import Tokens

_OF_THE_CALL = ("input_ids", "inputs_embeds", "attention_mask", "position_ids")


def whole_text(
    decoder: Any, call: dict[str, Any], tokens: Tokens, cache: PositionCache
) -> tuple[Tokens, dict[str, Any]]:
    """The tokens of a cache and of a call, and the call that brings them all.

    Args:
        decoder: the module that is called
        call: its arguments by name
        tokens: what the call brings
        cache: what it follows, which keeps its text

    Raises:
        InputError: an argument that says something of each new token, or a mask of another kind than [batch, tokens]
    """
    mask = call.get("attention_mask")
    if mask is not None and not (isinstance(mask, Tensor) and mask.ndim == 2):
        raise InputError(
            "regime 'recompute' needs an attention_mask of [batch, tokens] to run the text again, got another"
        )
    for name, value in call.items():
        if name not in _OF_THE_CALL and isinstance(value, Tensor) and value.ndim >= 2:
            raise InputError(f"regime 'recompute' cannot run the text again with {name}, which it does not keep")
    text = torch.cat(alike(decoder, cache.text, tokens.text), 1)
    positions = torch.cat([cache.positions, tokens.positions], 1)
    name = "inputs_embeds" if text.is_floating_point() else "input_ids"
    call = {key: value for key, value in call.items() if key not in _OF_THE_CALL}
    call[name] = text if name == "inputs_embeds" else text[..., 0]
    if mask is None and bool((positions < 0).any()):
        mask = (positions >= 0).long()
    call["attention_mask"] = mask
    return Tokens(text, positions, several_axes=False), call


def alike(decoder: Any, *texts: Tensor) -> list[Tensor]:
    """Texts as ids where all are, else all as embeddings.

    Args:
        decoder: the module that embeds
        texts: [batch, tokens, 1], ids, or [batch, tokens, width], embeddings
    """
    if not any(text.is_floating_point() for text in texts):
        return list(texts)
    embed = decoder.get_input_embeddings()
    return [text if text.is_floating_point() else embed(text[..., 0]) for text in texts]


def last_tokens(made: Any, tokens: int) -> Any:
    """What a decoder returned, of its last tokens alone.

    Args:
        made: its output, or a tuple that begins with the last hidden state
        tokens: how many
    """
    if isinstance(made, ModelOutput):
        for name, value in list(made.items()):
            if name in ("last_hidden_state", "hidden_states"):
                made[name] = _each(value, lambda state: state[:, -tokens:])
            elif name == "attentions":
                made[name] = _each(value, lambda weights: weights[:, :, -tokens:])
        return made
    return (made[0][:, -tokens:], *made[1:])


def _each(value: Any, of: Any) -> Any:
    return of(value) if isinstance(value, Tensor) else tuple(of(part) for part in value)
