"""A spec's identity, and what two specs differ in."""

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ordinate.errors import InputError, got
from ordinate.schemes.base import Rotary
from ordinate.spec import LayerGroup, Spec

# Raised whenever the content that is hashed changes its form: prints of different forms never agree.
FORM = "ordinate spec 1"

ABSENT = "absent"
"""Stands for a layer group that a spec does not have."""


@dataclasses.dataclass(frozen=True)
class Difference:
    """One thing in which two specs differ.

    Args:
        path: where, such as "groups.full_attention.encoding.base"
        a: its value in the first; `ABSENT` where it is a layer group that the first does not have
        b: its value in the second, likewise
        relative: |a - b| / max(|a|, |b|), for frequencies and magnitudes, [1]
    """

    path: str
    a: Any
    b: Any
    relative: float | None = None


def fingerprint(spec: Spec) -> str:
    """The identity of what a spec does with position: sha256 of its numbers, in hexadecimal.

    Counted are the window, and of each group its scheme, scaling, pairing, layers, heads, sliding window, softmax
    scale and temperature, every field at its exact value; not counted are names, the container, sources and
    warnings. The same in every process and on every machine; 8 and 8.0 are the same number.

    >>> from ordinate.schemes.rope import Rope
    >>> from ordinate.spec import LayerGroup, Spec, Window
    >>> group = LayerGroup("full_attention", Rope(head_dim=64), pairing="half")
    >>> spec = Spec("a model", "llama", "huggingface", {"full_attention": group}, Window(2048, 2048))
    >>> fingerprint(spec) == fingerprint(dataclasses.replace(spec, name="another"))
    True
    """
    text = json.dumps([FORM, canonical(spec)], sort_keys=True, ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def canonical(spec: Spec) -> dict[str, Any]:
    """What counts of a spec, in plain dicts, lists, strings, booleans and None; a number is written by its bits."""
    return {
        "window": _plain(spec.window),
        "layers": _plain(spec.layers),
        "groups": {name: _plain(group) for name, group in spec.groups.items()},
    }


def differences(a: Spec, b: Spec, length: int | None = None) -> list[Difference]:
    """What two specs differ in: each field that counts for the fingerprint, then what follows from it.

    For each layer group that both have and that rotates in both, the pair whose frequencies are furthest apart, and
    the attention factors, are given with their relative difference.

    Args:
        a: the one
        b: the other
        length: tokens seen so far, for frequencies that depend on it, [token]

    Returns:
        Fields in the order of the spec, then frequencies and factors; empty exactly where the fingerprints agree.
    """
    found = [
        *_compared("window", a.window, b.window),
        *_compared("layers", a.layers, b.layers),
        *_compared("groups", a.groups, b.groups),
    ]
    for name in a.groups:
        if name in b.groups:
            found.extend(_effects(f"groups.{name}", a.groups[name], b.groups[name], length))
    return found


def _compared(path: str, a: Any, b: Any) -> Iterator[Difference]:
    """The fields in which two values differ; a field of different classes, such as a scaling method, is one."""
    if _plain(a) == _plain(b):
        return
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for key in [*a, *(key for key in b if key not in a)]:
            yield from _compared(f"{path}.{key}", a.get(key, ABSENT), b.get(key, ABSENT))
    elif dataclasses.is_dataclass(a) and type(a) is type(b):
        for field in dataclasses.fields(a):
            yield from _compared(f"{path}.{field.name}", getattr(a, field.name), getattr(b, field.name))
    else:
        yield Difference(path, a, b)


def _effects(path: str, a: LayerGroup, b: LayerGroup, length: int | None) -> Iterator[Difference]:
    """The largest relative difference in frequency, and the difference in magnitude, of two groups that rotate."""
    if not isinstance(a.encoding, Rotary) or not isinstance(b.encoding, Rotary):
        return
    left, right = a.frequencies(length), b.frequencies(length)
    if len(left) == len(right):
        larger = np.maximum(np.abs(left), np.abs(right))
        relative = np.abs(left - right) / np.where(larger > 0, larger, 1)
        worst = int(relative.argmax())
        if relative[worst] > 0:
            where = f"{path}.frequencies[{worst}]"
            yield Difference(where, float(left[worst]), float(right[worst]), float(relative[worst]))
    else:
        yield Difference(f"{path}.pairs", len(left), len(right))
    factors = a.attention_factor(length), b.attention_factor(length)
    if factors[0] != factors[1]:
        yield Difference(f"{path}.attention_factor", *factors, abs(factors[0] - factors[1]) / max(factors))


def _plain(value: Any) -> Any:
    """A value in JSON's terms, dataclasses with their class's name."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, float)):
        if isinstance(value, int) and int(float(value)) != value:
            return str(value)
        # `hex` has every bit of the number; -0.0 + 0.0 is 0.0.
        return (float(value) + 0.0).hex()
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"class": type(value).__name__, **fields}
    raise InputError(f"a spec must be made of numbers, words, lists and dataclasses, got {got(value)}")
