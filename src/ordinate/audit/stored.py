"""Keys in a cache against the projection that they come from: turned once, by their position, at one magnitude?

Keys that are stored wrong are wrong in the reference's cache too, which nothing reads there: only what reads the cache
later differs. The layer's own projection says what they should be.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from ordinate.audit.base import Refusal
from ordinate.audit.fit import Diagnosis, Keys, keys_of

if TYPE_CHECKING:
    from ordinate.audit.subject import Subject

# The modules whose result is turned, the last of them that a layer has.
_PROJECTIONS = ("k_proj", "k_norm", "k_layernorm")
_LEAST = 0.99
# Of a vector's length: what rounding cannot change.
_APART = 0.1
_LONGER = 0.02
# The share of keys that must be longer by one and the same factor.
_ALIKE = 0.25


def stored(subject: "Subject", layer: int) -> Diagnosis | None:
    """What is wrong with the keys that a layer stores, or None where nothing is, or where it cannot be told."""
    module = _projection(subject.model, layer)
    if module is None:
        return None
    seen: list[Tensor] = []
    try:
        with _results(module, seen):
            run = subject.keeping(subject.ids)
    except Refusal:
        return None
    held = run.layers[layer] if layer < len(run.layers) else None
    if held is None or not seen or seen[-1].numel() != held.keys.numel():
        return None
    plain = seen[-1]
    if plain.ndim == 4 and plain.shape[1] != held.keys.shape[1]:
        plain = plain.transpose(1, 2)
    plain = plain.reshape(held.keys.shape)
    rows, tokens, heads, _ = held.keys.shape
    places = torch.stack([torch.arange(rows).repeat(tokens - 1), torch.arange(1, tokens).repeat_interleave(rows)], 1)
    # The last tokens are the ones that a fault of far positions reaches.
    for head in range(heads):
        for some in (places, places.flip(0)):
            for keys in keys_of(subject.spec, layer, plain, held.keys, some, (head,)):
                found = _judged(keys, subject.length)
                if found is not None:
                    return None if _turns(subject, module) else found
    return None


def _turns(subject: "Subject", module: nn.Module) -> bool:
    """Whether what a module returns is turned already, as by a norm behind the rotation.

    One token everywhere has one state everywhere, whatever it sees of the others.
    """
    seen: list[Tensor] = []
    with _results(module, seen):
        subject.keeping(subject.ids[:1, :1].expand(1, subject.length))
    along = seen[-1].transpose(1, 2) if seen[-1].ndim == 4 and seen[-1].shape[2] == subject.length else seen[-1]
    first, last = along[0, 0].float(), along[0, -1].float()
    return bool((first - last).norm() > _APART * first.norm())


def _judged(keys: Keys, length: int) -> Diagnosis | None:
    fit = keys.fit(2 * length)
    if fit.agreement < _LEAST:
        return None
    own = keys.places[:, 1]
    wrong = fit.shifts != own
    if bool(wrong.any()) and not bool(fit.shifts[wrong].any()):
        return Diagnosis("rotation_count", "stored keys are not turned at all")
    if bool(wrong.any()) and torch.equal(fit.shifts[wrong], 2 * own[wrong]):
        return Diagnosis("rotation_count", "stored keys are turned twice")
    if bool(wrong.any()) and torch.equal(fit.shifts[wrong], -own[wrong]):
        return Diagnosis("rotation_count", "stored keys are turned the wrong way")
    expected = keys.group.attention_factor()
    lengths = keys.magnitudes()
    other = lengths[(lengths - expected).abs() > _LONGER * expected]
    # Keys of a low precision are each off by something else.
    alike = len(other) >= _ALIKE * len(lengths) and float(other.max() - other.min()) <= _LONGER / 2 * float(
        other.mean()
    )
    if not bool(wrong.any()) and alike:
        found = float(other.median())
        words = f"stored keys are {found:.4g} times as long as before they were turned, not {expected:.4g} times"
        return Diagnosis("magnitude", words, {"magnitude": found})
    return None


def _projection(model: nn.Module, layer: int) -> nn.Module | None:
    found = {
        name.rsplit(".", 1)[-1]: module
        for name, module in model.named_modules()
        if f".{layer}." in f".{name}" and name.rsplit(".", 1)[-1] in _PROJECTIONS
    }
    return next((found[name] for name in reversed(_PROJECTIONS) if name in found), None)


@contextmanager
def _results(module: nn.Module, seen: list[Tensor]) -> Iterator[None]:
    """Keep what a module returns."""

    def keep(module: nn.Module, given: Any, result: Any) -> None:  # noqa: ARG001
        if isinstance(result, Tensor):
            seen.append(result.detach())

    handle = module.register_forward_hook(keep)
    try:
        yield
    finally:
        handle.remove()
