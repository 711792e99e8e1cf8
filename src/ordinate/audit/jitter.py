"""What the rounding of angles to float32 makes of a model's outputs."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    from ordinate.audit.subject import Subject

_HALF_UNIT = 2.0**-24


@contextmanager
def angles_jittered(subject: "Subject", seed: int) -> Iterator[list[str]]:
    """Let each module that makes a table of angles return one that float32 might have rounded otherwise.

    angle + position * frequency * 2**-24 * noise, noise uniform in -1 to 1, drawn for each token and channel pair

    That is what rounds the product of a position and a frequency; one with a power of two is exact. What rounds the
    frequency itself is no noise: it turns queries and keys alike.

    Args:
        subject: the model, whose spec is known
        seed: of the noise

    Yields:
        the names of the modules that returned such a table, filled as the model runs
    """
    assert subject.spec is not None  # noqa: S101 - schemes that promise nothing are not asked
    encodings = [np.abs(group.frequencies()) for group in subject.spec.groups.values() if group.rotary_dim]
    met: list[str] = []

    def hook(name: str) -> Any:
        def jitter(module: Any, given: tuple[Any, ...], named: dict[str, Any], result: Any) -> Any:  # noqa: ARG001
            positions = next(
                (
                    value
                    for value in (*given, *named.values())
                    if isinstance(value, Tensor) and value.dtype == torch.int64
                ),
                None,
            )
            jittered = None if positions is None else _jittered(result, positions, encodings, seed)
            if jittered is not None:
                met.append(name)
            return result if jittered is None else jittered

        return jitter

    handles = [
        module.register_forward_hook(hook(name), with_kwargs=True)
        for name, module in subject.model.named_modules()
        if "rotary" in type(module).__name__.lower()
    ]
    try:
        yield met
    finally:
        for handle in handles:
            handle.remove()


def _jittered(table: Any, positions: Tensor, encodings: list[np.ndarray], seed: int) -> Any:
    """The same table, cos and sin or complex, with other roundings; None where it is none of these."""
    if isinstance(table, Tensor) and table.is_complex():
        off = _errors(table.shape, positions, encodings, seed)
        return None if off is None else (table * torch.polar(torch.ones_like(off), off)).to(table.dtype)
    if not (isinstance(table, tuple) and len(table) == 2 and all(isinstance(part, Tensor) for part in table)):
        return None
    cos, sin = (part.double() for part in table)
    half = cos.shape[-1] // 2
    if torch.equal(cos[..., :half], cos[..., half:]):
        off = _errors((*cos.shape[:-1], half), positions, encodings, seed)
        off = None if off is None else torch.cat([off, off], -1)
    elif torch.equal(cos[..., 0::2], cos[..., 1::2]):
        off = _errors((*cos.shape[:-1], half), positions, encodings, seed)
        off = None if off is None else off.repeat_interleave(2, -1)
    else:
        off = _errors(cos.shape, positions, encodings, seed)
    if off is None:
        return None
    turned = cos * off.cos() - sin * off.sin(), sin * off.cos() + cos * off.sin()
    return tuple(part.to(table[0].dtype) for part in turned)


def _errors(shape: Any, positions: Tensor, encodings: list[np.ndarray], seed: int) -> Tensor | None:
    fitting = [frequencies for frequencies in encodings if len(frequencies) == shape[-1]]
    if not fitting:
        return None
    frequencies = np.maximum.reduce(fitting)
    rounded = np.frexp(frequencies.astype(np.float32))[0] != 0.5
    size = torch.from_numpy(frequencies * rounded * _HALF_UNIT).to(positions.device)
    while positions.ndim > len(shape) - 1:
        positions = positions.amax(0)
    drawn = torch.Generator().manual_seed(seed)
    noise = torch.rand(tuple(shape), generator=drawn, dtype=torch.float64).to(positions.device) * 2 - 1
    return positions.double()[..., None] * size * noise
