"""What attention reads in one layer, seen at torch's own operations: queries, keys, values and logits of each pass."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

_PRODUCTS = ("matmul", "__matmul__", "__rmatmul__", "bmm", "baddbmm", "__call__")
_FUSED = "scaled_dot_product_attention"
_SOFTMAX = "softmax"
# Logits that lie this far below a row's largest are hidden: no bias by distance reaches so far, every mask does.
_HIDDEN = 9000.0


@dataclass(frozen=True)
class Reading:
    """One call of attention in one pass.

    Args:
        ids: [rows, tokens], the tokens of the pass
        past: how many tokens the cache had taken before
        positions: [rows or 1, tokens], those that were given; None where the model counted
        queries: [rows, heads, tokens, head_dim], turned where the scheme turns them
        keys: [rows, key heads, slots, head_dim], as attention reads them
        values: [rows, key heads, slots, value_dim]
        logits: [rows, heads, tokens, slots], float32: what the softmax is given, with bias and mask
        result: [rows, heads, tokens, value_dim]
    """

    ids: Tensor
    past: int
    positions: Tensor | None
    queries: Tensor
    keys: Tensor
    values: Tensor
    logits: Tensor
    result: Tensor

    def visible(self) -> Tensor:
        """Which slots each query sees, [rows, heads, tokens, slots], bool."""
        return self.logits > self.logits.amax(-1, keepdim=True) - _HIDDEN


@contextmanager
def attention_read(model: nn.Module, place: int, layers: int) -> Iterator[list[Reading]]:
    """Keep what one layer's attention reads in every pass of a model.

    Fused attention is `scaled_dot_product_attention`; any other is taken for a product, a softmax of as many numbers
    and a product with what it gives. A pass is left out where its calls of attention cannot be dealt out to layers.

    Args:
        model: of transformers, that is given its tokens as `input_ids` or `decoder_input_ids`
        place: of the layer among those that keep keys, from 0
        layers: that keep keys

    Yields:
        a reading for each pass, filled as the model runs
    """
    found: list[Reading] = []
    recorder = _Recorder()

    def begin(module: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> None:  # noqa: ARG001
        recorder.calls.clear()
        cache = named.get("cache")
        # Behind the pass it has taken these tokens too.
        recorder.past = 0 if cache is None else int(cache.get_seq_length())

    def end(module: nn.Module, given: tuple[Any, ...], named: dict[str, Any], result: Any) -> None:  # noqa: ARG001
        ids = named.get("decoder_input_ids", named.get("input_ids"))
        # A decoder with an encoder attends twice in each layer, to itself first.
        each, over = divmod(len(recorder.calls), layers)
        if isinstance(ids, Tensor) and each and not over:
            given_positions = named.get("decoder_position_ids", named.get("position_ids"))
            reading = recorder.calls[place * each](_Pass(ids, recorder.past, given_positions))
            if reading is not None:
                found.append(reading)
        recorder.calls.clear()

    handles = [
        model.register_forward_pre_hook(begin, with_kwargs=True),
        model.register_forward_hook(end, with_kwargs=True),
    ]
    try:
        with recorder:
            yield found
    finally:
        for handle in handles:
            handle.remove()


@dataclass(frozen=True)
class _Pass:
    ids: Tensor
    past: int
    positions: Tensor | None


_Made = Callable[[_Pass], Reading | None]


class _Recorder(TorchFunctionMode):
    """Watches torch's operations for calls of attention; each is kept as what makes its `Reading` of the
    pass."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[_Made] = []
        self.past = 0
        self._product: tuple[Tensor, Tensor, Tensor] | None = None
        self._weighed: tuple[Tensor, Tensor, Tensor] | None = None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = kwargs or {}
        result = func(*args, **named)
        name = getattr(func, "__name__", "")
        if name == _FUSED:
            self.calls.append(_fused(args, named, result))
        elif name in _PRODUCTS and isinstance(result, Tensor) and result.ndim > 2:
            a, b = (named["batch1"], named["batch2"]) if "batch1" in named else args[-2:]
            self._multiplied(a, b, result)
        elif name == _SOFTMAX and self._product is not None:
            logits = args[0] if args else named["input"]
            a, b, product = self._product
            slots = product.shape[-1]
            # A sink is one number more, which takes part in the softmax and has no value.
            if logits.shape[-1] in (slots, slots + 1) and logits[..., :slots].numel() == product.numel():
                self._weighed = (a, b, logits[..., :slots])
        return result

    def _multiplied(self, a: Tensor, b: Tensor, result: Tensor) -> None:
        if self._weighed is not None:
            queries, keys, logits = self._weighed
            if a.shape[-2:] == logits.shape[-2:] and a.numel() == logits.numel():
                self.calls.append(lambda made: _reading(made, queries, keys.transpose(-1, -2), b, logits, result))
                self._weighed = self._product = None
                return
        self._product = (a, b, result)


def _fused(args: Any, named: dict[str, Any], result: Tensor) -> _Made:
    names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
    given = dict(zip(names, args, strict=False)) | named
    queries, keys, values, mask = given["query"], given["key"], given["value"], given.get("attn_mask")

    def read(made: _Pass) -> Reading | None:
        scale = given.get("scale")
        wide = keys.float().repeat_interleave(queries.shape[-3] // keys.shape[-3], -3)
        logits = queries.float() @ wide.transpose(-1, -2) * (queries.shape[-1] ** -0.5 if scale is None else scale)
        if given.get("is_causal"):
            seen = torch.ones(logits.shape[-2:], dtype=torch.bool, device=logits.device).tril()
            logits = logits.masked_fill(~seen, -torch.inf)
        if mask is not None:
            logits = logits.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else logits + mask
        return _reading(made, queries, keys, values, logits, result)

    return read


def _reading(
    made: _Pass, queries: Tensor, keys: Tensor, values: Tensor, logits: Tensor, result: Tensor
) -> Reading | None:
    """All with rows and heads as axes of their own; None where these cannot be made out."""
    rows, tokens = made.ids.shape
    # Of a single token, the queries that read one key head may stand where tokens do.
    if logits.shape[-2] != tokens and tokens > 1:
        return None
    sides = []
    for tensor, along in ((queries, tokens), (keys, None), (values, None), (logits, tokens), (result, tokens)):
        length = tensor.shape[-2] if along is None else along
        if tensor.numel() % (rows * tensor.shape[-1] * length):
            return None
        sides.append(tensor.detach().reshape(rows, -1, length, tensor.shape[-1]).clone())
    sides[3] = sides[3].float()
    return Reading(made.ids, made.past, made.positions, *sides)
