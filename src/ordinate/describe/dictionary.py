"""A spec as a JSON object."""

import dataclasses
import math
from typing import Any

import numpy as np

from ordinate.describe.wavelengths import turns, wavelengths
from ordinate.fingerprint import fingerprint
from ordinate.schema import beginning
from ordinate.schemes.base import Rotary
from ordinate.spec import Heads, LayerGroup, Spec


def to_dict(spec: Spec, length: int | None = None) -> dict[str, Any]:
    """A spec in plain dicts, lists, strings, numbers and None; no number is NaN or infinite.

    Keys without a value are None, so that every group has the same keys. Frequencies are in rad/token, wavelengths
    and windows in tokens, slopes in logit/token; a wavelength is None where a pair does not turn.

    Args:
        spec: what to describe
        length: tokens seen so far, for frequencies that depend on it; None as at construction, [token]

    Returns:
        `schema_version`, `kind`, `name`, `architecture`, `container`, `fingerprint`, `length`, `layers`, `window`,
        `groups`, `sources`, `warnings`
    """
    return {
        **beginning("describe"),
        "name": spec.name,
        "architecture": spec.architecture,
        "container": spec.container,
        "fingerprint": fingerprint(spec),
        "length": length,
        "layers": spec.layers,
        "window": {"trained": spec.window.trained, "declared": spec.window.declared},
        "groups": {name: _group(group, spec.window.trained, length) for name, group in spec.groups.items()},
        "sources": dict(spec.sources),
        "warnings": list(spec.warnings),
    }


def _group(group: LayerGroup, trained: int | None, length: int | None) -> dict[str, Any]:
    return {
        "scheme": group.scheme,
        "kind": group.encoding.kind,
        "scheme_parameters": _fields(group.encoding),
        "scaling": group.scaling,
        "scaling_parameters": None if group.stretch is None else _fields(group.stretch),
        "pairing": group.pairing,
        **_rotation(group, trained, length),
        "slopes": None if group.slopes is None else group.slopes.tolist(),
        "layers": None if group.layers is None else list(group.layers),
        "heads": None if group.heads is None else _heads(group.heads),
        "sliding_window": group.sliding_window,
        "softmax_scale": group.softmax_scale,
        "temperature": None if group.temperature is None else _fields(group.temperature),
    }


def _rotation(group: LayerGroup, trained: int | None, length: int | None) -> dict[str, Any]:
    found: dict[str, Any] = dict.fromkeys(
        ("rotary_dim", "pairs", "base", "frequencies", "attention_factor", "wavelengths", "turns_in_trained_window")
    )
    found["attention_factor"] = float(group.attention_factor(length))
    if not isinstance(group.encoding, Rotary):
        return found
    frequencies = group.frequencies(length)
    return found | {
        "rotary_dim": group.rotary_dim,
        "pairs": len(frequencies),
        "base": float(group.encoding.base),
        "frequencies": frequencies.tolist(),
        "wavelengths": [value if math.isfinite(value) else None for value in wavelengths(group, length).tolist()],
        "turns_in_trained_window": None if trained is None else turns(group, trained, length).tolist(),
    }


def _heads(heads: Heads) -> dict[str, Any]:
    return {**_fields(heads), "kind": heads.kind}


def _fields(value: Any) -> dict[str, Any]:
    """A dataclass's fields by name, in JSON's terms."""
    return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return value
