"""A loaded transformers model with Ordinate's rotation tables and attention, until it is undone."""

from typing import Any, Self

from torch import Tensor, nn

from ordinate.dialects import read
from ordinate.errors import InputError
from ordinate.schemes.base import Rotary
from ordinate.spec import LayerGroup
from ordinate.transformers import attention
from ordinate.transformers.rotary import DecoderRotary, replacement


class Acceleration:
    """What `accelerate` changed in a model; `undo`, or the end of a `with` block, changes it back.

    Args:
        model: what was changed
        before: the name of its attention until then
        handle: of the hook on its rotary module; None where nothing rotates
    """

    def __init__(self, model: Any, before: str, handle: Any) -> None:
        self.model = model
        self._before = before
        self._handle = handle

    def undo(self) -> None:
        """Give the model its own attention and tables back."""
        self.model.set_attn_implementation(self._before)
        if self._handle is not None:
            self._handle.remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.undo()


def accelerate(model: Any, *, float32_angles: bool = False) -> Acceleration:
    """Let `ordinate.ops.attend` compute a loaded model's attention, and Ordinate its cos and sin.

    The attention is chosen by its name in transformers' registry; the tables are put in the place of the rotary
    module's own by a forward hook, because transformers has no public hook for them. No other model is changed.

    Args:
        model: a causal language model of transformers
        float32_angles: leave the tables to transformers' float32 arithmetic, to the bit, errors included

    Returns:
        what undoes it

    Raises:
        InputError: a model whose rotary module is not where Llama's and its kin's is, or computes something else
    """
    groups = rotating_groups(model.config.to_dict())
    rotary, own = None, None
    if groups:
        own = rotary_module(model)
        rotary = replacement(own, groups, float32_angles=float32_angles)
    before = model.config._attn_implementation
    attention.register()
    model.set_attn_implementation(attention.NAME)
    handle = None if own is None or rotary is None else own.register_forward_hook(_hook(rotary), with_kwargs=True)
    return Acceleration(model, before, handle)


def rotating_groups(source: Any) -> dict[str, LayerGroup]:
    """The groups of layers that rotate q and k, by layer type; those that no layer is of are left out.

    Args:
        source: what `ordinate.read` reads
    """
    groups = read(source).groups.items()
    # A model may have no layer of a kind that its family has.
    return {name: group for name, group in groups if isinstance(group.encoding, Rotary) and group.layers != ()}


def rotary_module(model: Any) -> nn.Module:
    """The module that makes a model's cos and sin.

    Raises:
        InputError: there is none where Llama's and its kin's is
    """
    decoder = model.get_decoder()
    own = getattr(decoder, "rotary_emb", None)
    if not isinstance(own, nn.Module):
        raise InputError(f"{type(model).__name__} has no rotary module at {type(decoder).__name__}.rotary_emb")
    return own


def _hook(rotary: DecoderRotary) -> Any:
    def instead(module: nn.Module, given: Any, named: Any, made: Any) -> tuple[Tensor, Tensor]:  # noqa: ARG001
        return rotary(*given, **named)

    return instead
