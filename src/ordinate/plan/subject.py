"""What is planned for: a model's spec, its configuration where it has one, and its files."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ordinate import models
from ordinate.dialects import configuration, read
from ordinate.dialects.huggingface import language_keys
from ordinate.errors import InputError
from ordinate.files.source import identify
from ordinate.plan.values import Values
from ordinate.spec import Spec


@dataclass(frozen=True)
class Subject:
    """A model, without its weights.

    Args:
        spec: what it does with position
        values: of its config.json; None where it has another file
        config: the whole of that file, or None
        file: the GGUF file, or None
        directory: where its weights may lie, or None
        published: the record of a well-known model, or None
    """

    spec: Spec
    values: Values | None
    config: Mapping[str, Any] | None
    file: Path | None = None
    directory: Path | None = None
    published: models.Published | None = None


def open_subject(source: str | os.PathLike[str] | Mapping[str, Any]) -> Subject:
    """Read what can be planned for.

    Args:
        source: as `ordinate.read` takes it

    Raises:
        InputError: it cannot be read
        Unavailable: a named model's package is not installed
    """
    spec = read(source)
    if isinstance(source, Mapping):
        config = dict(source) if spec.container == "huggingface" else None
        return Subject(spec, _values(spec, config), config)
    config = configuration(source)
    if isinstance(source, str) and not os.path.exists(source):
        if source in models.published_names():
            record = models.published(source)
            return Subject(spec, _values(spec, record.config), record.config, published=record)
        found = identify(models.find(source).path)
    else:
        found = identify(Path(source))
    file = found.file if found.kind == "gguf" else None
    directory = None if file is not None else (found.directory or found.file.parent)
    return Subject(spec, _values(spec, config), config, file, directory)


def _values(spec: Spec, config: Mapping[str, Any] | None) -> Values | None:
    return None if config is None else Values(language_keys(spec.name, config))


def dtype_of(subject: Subject) -> tuple[str, str]:
    """The floats in which the model computes, and where that is from.

    Raises:
        InputError: the configuration names another type
    """
    if subject.values is None:
        if subject.spec.container == "gguf":
            return "float16", "assumed: llama.cpp's default for its cache"
        return "bfloat16", "assumed: the release's weights are in bfloat16"
    for where, values in (("", subject.values.keys.config), ("the whole: ", subject.config or {})):
        for key in ("dtype", "torch_dtype"):
            value = values.get(key)
            if value is None:
                continue
            name = str(value).removeprefix("torch.")
            if name not in ("float32", "float16", "bfloat16"):
                raise InputError(f"{subject.spec.name}: {key} must be float32, float16 or bfloat16, got {value!r}")
            return name, f"{where}{key}"
    return "bfloat16", "assumed: dtype is absent"
