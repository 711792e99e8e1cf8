"""How each engine spells a model's positional settings, and what it makes of them."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ordinate.errors import InputError, got
from ordinate.spec import Spec


def read(source: str | os.PathLike[str] | Mapping[str, Any]) -> Spec:
    """Say what a model does with position, from its files alone.

    A path counts first, then a model's name. Of a directory its config.json counts, else its params.json, else its
    GGUF file. A params.json with a key that only Meta's or only Mistral's have is theirs.

    Args:
        source: a Hugging Face directory or `config.json`, a GGUF file, a Meta or Mistral `params.json`,
            the name of a model or of a published configuration in `ordinate.models`, or what a `config.json` or
            `params.json` holds, as a dict

    Raises:
        InputError: what was given cannot be read, or says something impossible about position
        Unavailable: a named model's package is not installed
    """
    if isinstance(source, Mapping):
        return _read_mapping(source)
    if not isinstance(source, (str, os.PathLike)):
        raise InputError(f"source must be a path, a model's name or a dict, got {got(source)}")
    if isinstance(source, str) and not os.path.exists(source):
        return _read_named(source)
    return _read_path(Path(source), name=None)


def configuration(source: str | os.PathLike[str]) -> dict[str, Any] | None:
    """The config.json that `read` reads, or None where it reads another file.

    Args:
        source: a path or a model's name, as `read` takes it

    Raises:
        InputError: what was given cannot be read
        Unavailable: a named model's package is not installed
    """
    from ordinate.files.json import read_json
    from ordinate.files.source import identify

    if isinstance(source, str) and not os.path.exists(source):
        from ordinate import models

        if source in models.published_names():
            return models.published(source).config
        source = models.path_of(source)
    found = identify(Path(source))
    if found.kind == "gguf":
        return None
    values = read_json(found.file, name=str(found.file))
    return None if _is_params(values) else values


def _read_path(path: Path, *, name: str | None) -> Spec:
    """Read a file or directory; the spec is called `name`, or by what the file says, or by the path."""
    from ordinate.files.source import identify

    found = identify(path)
    called = (found.directory or found.file).resolve().name
    if found.kind == "gguf":
        from ordinate.dialects import llama_cpp
        from ordinate.files.gguf import read_gguf

        file = read_gguf(found.file)
        return llama_cpp.read(file, name=name or _word(file.metadata.get("general.name")) or called)
    from ordinate.files.json import read_json

    values = read_json(found.file, name=str(found.file))
    if _is_params(values):
        return _read_params(values, name=name or called, label=str(found.file))
    from ordinate.dialects import huggingface

    return huggingface.read(values, name=name or _word(values.get("_name_or_path")) or called)


def _read_named(name: str) -> Spec:
    """Read the model, or the published configuration, that `ordinate.models` has under this name."""
    from ordinate import models

    if name in models.published_names():
        from ordinate.dialects import huggingface

        return huggingface.read(models.published(name).config, name=name)
    return _read_path(models.path_of(name), name=name)


def _read_mapping(values: Mapping[str, Any]) -> Spec:
    if _is_params(values):
        return _read_params(values, name="params", label="params")
    from ordinate.dialects import huggingface

    return huggingface.read(
        values, name=_word(values.get("_name_or_path")) or _word(values.get("model_type")) or "config"
    )


def _is_params(values: Mapping[str, Any]) -> bool:
    """Whether this is a params.json; DistilBERT's config.json has the same words for its width and layers."""
    return values.keys() >= {"dim", "n_layers"} and not values.keys() & {"architectures", "transformers_version"}


def _read_params(values: Mapping[str, Any], *, name: str, label: str) -> Spec:
    """Read a params.json in the dialect whose own keys it has."""
    from ordinate.dialects import meta, mistral

    of_meta = sorted(key for key in meta.OWN_KEYS if values.get(key) is not None)
    of_mistral = sorted(key for key in mistral.OWN_KEYS if values.get(key) is not None)
    if of_meta and of_mistral:
        raise InputError(
            f"{label} has keys of Meta's ({', '.join(of_meta)}) and of Mistral's ({', '.join(of_mistral)})"
        )
    if not of_meta and not of_mistral:
        raise InputError(
            f"{label} must have a key that tells whose it is: of Meta's {', '.join(sorted(meta.OWN_KEYS))}, or of "
            f"Mistral's {', '.join(sorted(mistral.OWN_KEYS))}"
        )
    return (meta if of_meta else mistral).read(values, name=name)


def _word(value: Any) -> str | None:
    """A string of one line that is not empty, or None."""
    return value if isinstance(value, str) and value and value.isprintable() else None
