"""A model's rotary module under one regime: tables for the length that each row has, or none at all."""

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ordinate.errors import InputError
from ordinate.ops import attend as attend_to
from ordinate.ops import rotate
from ordinate.spec import LayerGroup
from ordinate.transformers.attention import Sight
from ordinate.transformers.call import device_of
from ordinate.transformers.length_tables import LengthTables
from ordinate.transformers.rotary import replacement
from ordinate.transformers.unrotated import layout

# Tokens of the pass that is compared; within every window they stand on the same tables.
_COMPARED = 8
# Of the largest channel of q and k in float32; half precision is compared by its own step.
_TOLERANCE = 1e-4


class Turning:
    """What a model's rotary module returns under `use_cache`.

    Args:
        own: the module
        groups: the groups that rotate, by name
        unrotated: those of them whose q and k attention turns, so that they get cos = 1 and sin = 0 here

    Attributes:
        lengths: of the pass that is going on, by group: [batch, tokens], int64, settled, 0 for none; None between
            passes, when the module is left alone
    """

    def __init__(self, own: nn.Module, groups: Mapping[str, LayerGroup], unrotated: Sequence[str]) -> None:
        self.lengths: Mapping[str, Tensor] | None = None
        self._rotary = replacement(_exact(own), groups, float32_angles=False)
        self._unrotated = set(unrotated)
        self._first = next(iter(groups))
        self._own = own
        self._signature = inspect.signature(own.forward)
        self._asked: dict[str, Any] = {}
        self._handles = [
            own.register_forward_pre_hook(self._before, with_kwargs=True),
            own.register_forward_hook(self._instead),
        ]

    @property
    def step(self) -> float:
        """The relative step of the coarsest floats that the module itself keeps."""
        return max((torch.finfo(part.dtype).eps for part in self._own.buffers() if part.is_floating_point()), default=0)

    def undo(self) -> None:
        """Leave the module to itself."""
        for handle in self._handles:
            handle.remove()

    def check_last(self) -> None:
        """Refuse a module whose tables something else replaces after this."""
        if next(reversed(self._own._forward_hooks), None) != self._handles[1].id:
            raise InputError(
                f"{type(self._own).__name__} was changed after use_cache: undo use_cache first, and use it again after"
            )

    def _before(self, module: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> Any:  # noqa: ARG002
        """Ask the module for one position only: what it returns is not used, and where it grew it shrinks again."""
        if self.lengths is None:
            return None
        self._asked = dict(self._signature.bind(*given, **named).arguments)
        short = self._asked | {"position_ids": torch.zeros_like(self._asked["position_ids"][:1, :1])}
        return (), short

    def _instead(self, module: nn.Module, given: Any, made: Any) -> Any:  # noqa: ARG002
        if self.lengths is None:
            return None
        asked, self._asked = self._asked, {}
        layer_type = asked.get("layer_type")
        name = self._first if layer_type is None else layer_type
        positions, x = asked["position_ids"], asked["x"]
        if name in self._unrotated:
            one = made[0].new_ones(()).expand(*positions.shape, made[0].shape[-1])
            return one, torch.zeros_like(one)
        lengths = self.lengths.get(name)
        of_rows = [0] if lengths is None else lengths[:, 0].tolist()
        if len(positions) < len(of_rows) and len(set(of_rows)) > 1:
            positions = positions.expand(len(of_rows), -1)
        named = {} if layer_type is None else {"layer_type": layer_type}
        if len(set(of_rows)) == 1:
            return self._table(x, positions, of_rows[0], named)
        tables = [self._table(x, positions[row : row + 1], length, named) for row, length in enumerate(of_rows)]
        cos, sin = (torch.cat(parts) for parts in zip(*tables, strict=True))
        return cos, sin

    def _table(self, x: Tensor, positions: Tensor, length: int, named: dict[str, Any]) -> tuple[Tensor, Tensor]:
        # Every method turns a single token as it does without any.
        self._rotary.length = length or 1
        return self._rotary(x, positions, **named)


def _exact(own: nn.Module) -> nn.Module:
    """A module as it was made: one of transformers' changes as it is called, and is rounded with its model."""
    rounded = any(buffer.is_floating_point() and buffer.itemsize < 4 for buffer in own.buffers())
    config = getattr(own, "config", None)
    return copy.deepcopy(own) if not rounded or config is None else type(own)(config)


class _Witness:
    """A pass that keeps the turned q and k of each layer."""

    def __init__(self, group_of: Callable[[int], LayerGroup], turned_here: Sequence[str]) -> None:
        self._group_of = group_of
        self._tables = dict.fromkeys(turned_here)
        self.found: dict[int, tuple[Tensor, Tensor]] = {}

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor, seen: Sight, **settings: Any) -> Tensor:
        group = self._group_of(layer)
        if group.layer_type in self._tables:
            cos, sin = LengthTables(group).table(0, query.shape[1], query.device)
            pairing, part = layout(group)
            query, key = rotate(query, key, cos, sin, pairing=pairing, part=part)
        self.found[layer] = query, key
        bias = None if seen.bias is None else seen.bias.to(torch.promote_types(seen.bias.dtype, torch.float32))
        return attend_to(
            query, key, value, causal=seen.causal, window=seen.window, mask=seen.seen, bias=bias, **settings
        )


@torch.no_grad()
def check_turning(
    decoder: Any, turning: Turning, unrotated: Sequence[str], group_of: Callable[[int], LayerGroup]
) -> None:
    """Refuse a model whose attention turns q and k otherwise than its configuration says.

    A few tokens pass twice, turned by the model and turned here; q and k must be the same in every layer.

    Raises:
        InputError: they are not, or the model does not hand on what it is given
    """
    if not any(kind.kind is kind.VAR_KEYWORD for kind in inspect.signature(decoder.forward).parameters.values()):
        raise InputError(f"{type(decoder).__name__} takes no further keywords, so attention cannot know positions")
    device = device_of(decoder)
    ids = torch.arange(_COMPARED, device=device)[None] % decoder.config.vocab_size
    training = decoder.training
    decoder.eval()
    try:
        found = []
        for ours in (False, True):
            turning.lengths = {name: torch.zeros_like(ids) for name in unrotated} if ours else None
            witness = _Witness(group_of, unrotated if ours else ())
            decoder(
                input_ids=ids,
                position_ids=torch.arange(_COMPARED, device=device)[None],
                use_cache=False,
                ordinate_reading=witness,
            )
            found.append(witness.found)
    finally:
        turning.lengths = None
        decoder.train(training)
    if not any(group_of(layer).layer_type in unrotated for layer in found[0]):
        raise InputError(
            f"{type(decoder).__name__} does not hand its keywords to attention, which cannot know positions"
        )
    for layer, expected in found[0].items():
        for letter, plain, own in zip("qk", expected, found[1][layer], strict=True):
            tolerance = max(_TOLERANCE, 16 * max(torch.finfo(plain.dtype).eps, turning.step))
            apart = float((plain.double() - own.double()).abs().max() / plain.double().abs().max().clamp(min=1e-30))
            if not apart <= tolerance:
                raise InputError(
                    f"layer {layer} of {type(decoder).__name__} turns {letter} otherwise than its configuration says "
                    f"(up to {apart:.3g} of its largest channel), so its keys cannot be kept un-rotated"
                )
