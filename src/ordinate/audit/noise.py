"""What rounding alone changes in a model's outputs: the floor under every finding."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from ordinate.audit.base import Refusal
from ordinate.audit.comparison import compare
from ordinate.audit.runs import Held, Run

if TYPE_CHECKING:
    from ordinate.audit.subject import Subject

FACTOR = 5.0
"""How many times the floor a difference must be to count."""

# A batch that differs by more than so many times what rounding can do is no noise: `batch_rows` tells of it.
_CREDIBLE = 4.0
_PERTURBED = 2
# Of the values' size: rounding differences in a tensor that are never counted, however small the floor measured.
_ROUNDINGS = 4.0


@dataclass(frozen=True)
class Noise:
    """A model's noise floor.

    Args:
        logits: the largest difference of a logit that rounding makes, [logit]
        layers: for each layer the largest difference of a key and of a value vector, relative to its length, [1]
        samples: what each way of measuring gave, [logit]
        epsilon: the relative rounding of the model's dtype, [1]
    """

    logits: float
    layers: tuple[tuple[float, float], ...]
    samples: dict[str, float]
    epsilon: float

    @property
    def threshold(self) -> float:
        """The largest difference of a logit that is no fault, [logit]."""
        return FACTOR * self.logits

    def layer_thresholds(self, layer: int) -> tuple[float, float]:
        """The same for the keys and the values of a layer, relative, [1]."""
        keys, values = self.layers[layer] if layer < len(self.layers) else (0.0, 0.0)
        least = _ROUNDINGS * self.epsilon
        return FACTOR * max(keys, least), FACTOR * max(values, least)


def measure(subject: "Subject") -> Noise:
    """Measure the noise floor: same ids in other batch shapes, and with every module's result rounded otherwise.

    A sample of another batch shape that is far above what rounding can do is left out: it is a fault, not noise.
    """
    reference = subject.reference
    epsilon = float(torch.finfo(subject.dtype).eps)
    scale = float(reference.logits.float().abs().max())
    samples: dict[str, float] = {}
    layers: list[tuple[float, float]] = []
    for seed in range(_PERTURBED):
        with rounded_otherwise(subject.model, epsilon, seed):
            run = subject.alone()
        samples[f"rounded otherwise, {seed}"] = compare(reference, run, distributions=False).max_difference
        layers = _worst(layers, reference.layers, run.layers)
    rounding = max(max(samples.values()), epsilon * scale)
    for rows in (2, len(subject.batch())):
        try:
            batch = subject.whole(subject.ids[:1].expand(rows, -1)).row(0)
        except Refusal:
            continue
        samples[f"batch of {rows}"] = compare(reference, batch, distributions=False).max_difference
    credible = [sample for sample in samples.values() if sample <= _CREDIBLE * rounding]
    return Noise(max(rounding, *credible), tuple(layers), samples, epsilon)


@contextmanager
def rounded_otherwise(model: nn.Module, epsilon: float, seed: int) -> Iterator[None]:
    """Let each linear layer, norm and embedding of a model return its result as if rounded otherwise.

    result + epsilon / 2 * (its vector's root mean square) * noise, noise of variance 1
    """
    drawn = torch.Generator().manual_seed(seed)

    def perturb(module: nn.Module, given: Any, result: Any) -> Any:  # noqa: ARG001
        if not isinstance(result, Tensor) or not result.is_floating_point() or result.ndim < 2:
            return result
        size = result.float().square().mean(-1, keepdim=True).sqrt()
        noise = torch.randn(result.shape, generator=drawn).to(result.device)
        return (result.float() + 0.5 * epsilon * size * noise).to(result.dtype)

    # Tables of angles are no results of rounding in the model's dtype.
    handles = [
        module.register_forward_hook(perturb)
        for name, module in model.named_modules()
        if not list(module.children()) and "rotary" not in name and next(module.parameters(), None) is not None
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def apart(reference: Tensor, found: Tensor) -> Tensor:
    """How far vectors are from a reference, relative to the longer of its own length and the layer's usual one.

    Args:
        reference, found: [..., tokens, heads, dim]

    Returns:
        [..., tokens, heads], float32
    """
    expected = reference.float()
    lengths = expected.norm(dim=-1)
    usual = lengths.mean() if lengths.numel() else lengths.new_zeros(())
    distance = (found.float() - expected).norm(dim=-1) / torch.maximum(lengths, usual).clamp(min=1e-30)
    return torch.where(distance.isnan(), torch.inf, distance)


def _worst(
    before: list[tuple[float, float]], reference: tuple[Held | None, ...], found: tuple[Held | None, ...]
) -> list[tuple[float, float]]:
    worst = []
    for number, (expected, held) in enumerate(zip(reference, found, strict=False)):
        keys, values = before[number] if number < len(before) else (0.0, 0.0)
        if expected is not None and held is not None:
            keys = max(keys, float(apart(expected.keys, held.keys).max()))
            values = max(values, float(apart(expected.values, held.values).max()))
        worst.append((keys, values))
    return worst


__all__ = ["FACTOR", "Noise", "Run", "apart", "measure", "rounded_otherwise"]
