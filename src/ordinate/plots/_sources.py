"""What `ordinate plot` is given: a model, a scheme with its numbers, or a result's JSON."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ordinate import registry
from ordinate.dialects import read
from ordinate.errors import InputError, got
from ordinate.results import find, read_file
from ordinate.schemes.base import Rotary, Scheme
from ordinate.spec import LayerGroup, Spec

S = TypeVar("S", bound=Scheme)


def model(source: str) -> Spec:
    """What `ordinate describe` reads: a model's files, or a model's name."""
    return read(source)


def layers(spec: Spec, name: str | None, kind: type[Any]) -> LayerGroup:
    """One group of a model's layers, by name, or the only one whose scheme is of a kind.

    Raises:
        InputError: no such group, none of the kind, or several of them and no name
    """
    if name is not None:
        if name not in spec.groups:
            raise InputError(f"{spec.name} has no layer group {name!r}{registry.suggestion(name, list(spec.groups))}")
        found = [spec.groups[name]]
    else:
        found = list(spec.groups.values())
    fitting = [group for group in found if isinstance(group.encoding, kind)]
    if not fitting:
        schemes = ", ".join(dict.fromkeys(group.scheme for group in found))
        raise InputError(f"this plot needs {_kind(kind)}, got {spec.name}, whose scheme is {schemes}")
    if len(fitting) > 1:
        names = ", ".join(group.layer_type for group in fitting)
        raise InputError(f"{spec.name} has several layer groups: choose one with --group, from {names}")
    return fitting[0]


def scheme(source: str, kind: type[S], group: str | None = None) -> S:
    """A scheme: `NAME`, `NAME:field=value,...`, or that of a model's layers.

    Raises:
        InputError: another kind of scheme, a field that it does not have, a value that it refuses

    >>> from ordinate.schemes.alibi import Alibi
    >>> scheme("alibi:heads=4", Alibi)
    Alibi(heads=4, bias_max=8.0, symmetric=True, scale=1.0)
    """
    name, _, settings = source.partition(":")
    if not names_scheme(source):
        return layers(model(source), group, kind).encoding  # pyright: ignore[reportReturnType]
    if group is not None:
        raise InputError(f"--group chooses layers of a model, got the scheme {source}")
    found = registry.lookup("ordinate.schemes", name, "scheme")
    if not issubclass(found, kind):
        raise InputError(f"this plot needs {_kind(kind)}, got {name}")
    fields = {field.name: field for field in dataclasses.fields(found)}  # pyright: ignore[reportArgumentType]
    given: dict[str, Any] = {}
    for setting in filter(None, settings.split(",")):
        field, equals, value = setting.partition("=")
        if not equals or field not in fields or field in given:
            raise InputError(f"{name} takes {', '.join(sorted(fields))}, once each as field=value, got {setting!r}")
        given[field] = _value(value)
    required = [name for name, field in fields.items() if field.default is dataclasses.MISSING]
    missing = [field for field in required if field not in given]
    if missing:
        raise InputError(f"{name} needs {', '.join(missing)}, as in {name}:{missing[0]}=..., got {source!r}")
    return found(**given)


def names_scheme(source: str) -> bool:
    """Whether a source is a scheme with its numbers; a path of that name counts first."""
    return source.partition(":")[0] in registry.names("ordinate.schemes") and not Path(source).exists()


def rotating(source: str, group: str | None) -> LayerGroup:
    """Layers that rotate: of a model, or a rotary scheme with its numbers."""
    if names_scheme(source):
        return LayerGroup("full_attention", scheme(source, Rotary, group))
    return layers(model(source), group, Rotary)


def angles(group: LayerGroup, positions: np.ndarray, length: int | None = None) -> np.ndarray:
    """The angle of each pair at each position, [positions, pairs], [rad]: of several axes, standing alike on all."""
    axes = getattr(group.rope, "axes", 1)
    at = positions if axes == 1 else np.broadcast_to(positions, (axes, len(positions)))
    return group.rope.angles(at, group.frequencies(length))


def result(source: str, *kinds: str) -> Mapping[str, Any]:
    """A result: a command's JSON, or the folder of a run of `ordinate validate`.

    Raises:
        InputError: no such file, no result that this version reads, or one of another kind
    """
    path = Path(source)
    if path.is_dir():
        if "validate" not in kinds:
            raise InputError(f"this plot needs a file with the JSON of {' or '.join(kinds)}, got the folder {source}")
        from ordinate.validate.cards import card_of

        return card_of(path).to_dict()
    if not path.exists():
        folder = ", or the folder of its run" if "validate" in kinds else ""
        commands = " or ".join(f"`{find(kind).command}`" for kind in kinds)
        raise InputError(f"{source} is no file that exists: this plot needs the JSON of {commands}{folder}")
    found = read_file(path)
    if found["kind"] not in kinds:
        raise InputError(f"{source} must be a result of {' or '.join(kinds)}, got kind {got(found['kind'])}")
    return found


def _kind(kind: type[Any]) -> str:
    name = getattr(kind, "name", None)
    return f"the scheme {name}" if name else f"a {kind.__name__.lower()} scheme"


def _value(text: str) -> Any:
    """A number, true or false, or else a word."""
    try:
        return json.loads(text)
    except ValueError:
        return text
