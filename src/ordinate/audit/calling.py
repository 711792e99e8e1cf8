"""A transformers model, called as its users call it: causal, encoder, or encoder and decoder."""

import inspect
from typing import Any, Literal

import torch
from torch import Tensor

from ordinate.audit.base import Refusal
from ordinate.errors import InputError

Architecture = Literal["causal", "encoder", "encoder-decoder"]

FOREIGN = (
    RuntimeError,
    ValueError,
    IndexError,
    KeyError,
    TypeError,
    AttributeError,
    NotImplementedError,
    AssertionError,
    ZeroDivisionError,
)
"""The errors of a model's code that are outcomes and no faults of the audit."""


class Caller:
    """Calls a model and counts the calls.

    Args:
        model: of transformers, in evaluation mode
        encoded: ids for the encoder of an encoder-decoder model, [tokens]

    Attributes:
        architecture: "causal", "encoder" or "encoder-decoder"
        takes_positions: whether position_ids can be given
        keeps_cache: whether the model returns a cache where it is asked to; `Subject` finds out
        passes, tokens: forward passes so far, and tokens in them
    """

    def __init__(self, model: Any, encoded: Tensor) -> None:
        if not isinstance(model, torch.nn.Module) or not hasattr(model, "config"):
            raise InputError(f"model must be a model of transformers, got {type(model).__name__}")
        self.model: Any = model
        self.parameters = set(inspect.signature(self.model.forward).parameters)
        self.architecture = _architecture(self.model, self.parameters)
        self.takes_positions = "position_ids" in self.parameters or "decoder_position_ids" in self.parameters
        self.keeps_cache = self.decodes
        self.passes = self.tokens = 0
        self._encoded = encoded[None].to(self.model.device)
        self._encoder_states: Any = None

    @property
    def decodes(self) -> bool:
        """Whether the model predicts a token after another."""
        return self.architecture != "encoder"

    def __call__(
        self,
        ids: Tensor,
        *,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
        cache: Any = None,
        use_cache: bool = False,
    ) -> tuple[Tensor, Any]:
        """One forward pass.

        Args:
            ids: [rows, tokens]
            mask: [rows, places of the cache and tokens], 1 where a token is real; None for all
            positions: [rows, tokens]; None for what the model takes by itself
            cache: to go on with; None for a new one of the model's own where `use_cache`
            use_cache: whether keys are kept

        Returns:
            logits, or hidden states where the model has no head: [rows, tokens, width]; and the cache

        Raises:
            Refusal: the model's code raised an error, or takes no positions
        """
        self.passes += 1
        self.tokens += ids.numel()
        given: dict[str, Any] = {"return_dict": True} if "return_dict" in self.parameters else {}
        decoder = "decoder_" if self.architecture == "encoder-decoder" else ""
        given[f"{decoder}input_ids"] = ids.to(self.model.device)
        if mask is not None:
            given[f"{decoder}attention_mask"] = mask.to(self.model.device)
        if positions is not None:
            if f"{decoder}position_ids" not in self.parameters:
                raise Refusal(f"{type(self.model).__name__} takes no {decoder}position_ids")
            given[f"{decoder}position_ids"] = positions.to(self.model.device)
        if self.decodes:
            given["use_cache"] = use_cache
            if cache is not None:
                given["cache"] = cache
        with torch.inference_mode():
            try:
                if decoder:
                    given["encoder_outputs"] = self._encoder_outputs(ids.shape[0])
                out = self.model(**given)
            except FOREIGN as error:
                line = (str(error).splitlines() or [""])[0]
                raise Refusal(f"{type(error).__name__}: {line}") from error
        logits = getattr(out, "logits", None)
        found = out.last_hidden_state if logits is None else logits
        if found.ndim != 3:
            raise InputError(
                f"{type(self.model).__name__} must give an output for each token, [rows, tokens, width], to be "
                f"audited, got {[*found.shape]} for {[*ids.shape]}: give the model without its head"
            )
        return found, getattr(out, "cache", None)

    def _encoder_outputs(self, rows: int) -> Any:
        from transformers.modeling_outputs import BaseModelOutput

        if self._encoder_states is None:
            self._encoder_states = self.model.get_encoder()(input_ids=self._encoded).last_hidden_state
        return BaseModelOutput(last_hidden_state=self._encoder_states.expand(rows, -1, -1))


def _architecture(model: Any, parameters: set[str]) -> Architecture:
    if "decoder_input_ids" in parameters:
        return "encoder-decoder"
    if "use_cache" not in parameters or getattr(model.config, "is_decoder", None) is False:
        return "encoder" if not generates(model) else "causal"
    return "causal"


def generates(model: Any) -> bool:
    """Whether a model has a head that predicts the next token."""
    return bool(getattr(model, "can_generate", lambda: False)())
