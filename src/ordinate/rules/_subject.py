"""What a rule looks at: the file as it stands, what reading it gave, and the files beside it."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ordinate.dialects.huggingface.architectures import Architecture, architecture
from ordinate.dialects.huggingface.keys import Keys
from ordinate.dialects.huggingface.reader import MAXIMUM_DEPTH, TEXT_KEYS
from ordinate.errors import InputError
from ordinate.rules._files import Files, Stored
from ordinate.rules._places import line_of, lines_by_key
from ordinate.rules._settings import Settings, number, of_config, of_gguf, of_params
from ordinate.schemes.base import Rotary
from ordinate.spec import LayerGroup, Spec

MAXIMUM_SETS = 64
MAIN = ("config.json", "params.json", "adapter_config.json")
_MAIN = frozenset(MAIN)
Kind = Literal["huggingface", "params", "gguf", "adapter"]


@dataclass
class Subject:
    """A model's files, as rules see them; nothing here raises on what stands in a file.

    Args:
        kind: whose file the main one is; an adapter's says nothing of position itself
        file: the main file's path, as messages have it
        values: what it holds, as parsed; GGUF metadata without the arrays
        spec: what reading it gave, or None
        error: why reading it failed, or None
        files: the files beside it
        engine: the engine that a rule is asked about, or None
        text: the main file's JSON, for line numbers
    """

    kind: Kind
    file: str
    values: Mapping[str, Any]
    spec: Spec | None = None
    error: str | None = None
    files: Files = field(default_factory=Files)
    engine: str | None = None
    text: bytes = b""

    @cached_property
    def _language_model(self) -> tuple[Mapping[str, Any], str, str]:
        """The keys of the language model, their prefix, and its model type."""
        config, prefix, kind = self.values, "", _word(self.values.get("model_type"))
        for _ in range(MAXIMUM_DEPTH):
            known = architecture(kind)
            key, part = known.text if known is not None and known.text is not None else ("", "")
            key = key or next((k for k in TEXT_KEYS if isinstance(config.get(k), Mapping)), "")
            inner = config.get(key)
            if not isinstance(inner, Mapping) or (known is not None and not known.text):
                return config, prefix, kind
            config, prefix, kind = inner, f"{prefix}{key}.", _word(inner.get("model_type")) or part
        return config, prefix, kind

    @property
    def config(self) -> Mapping[str, Any]:
        """The keys of the language model; all keys where there is no part for it."""
        return self._language_model[0] if self.kind == "huggingface" else self.values

    @property
    def prefix(self) -> str:
        """The path of those keys, "text_config." say."""
        return self._language_model[1] if self.kind == "huggingface" else ""

    @property
    def model_type(self) -> str:
        """The language model's architecture."""
        if self.kind == "huggingface":
            return self._language_model[2]
        return _word(self.values.get("general.architecture"))

    @property
    def known(self) -> Architecture | None:
        """What is known of that architecture."""
        return architecture(self.model_type) if self.kind == "huggingface" else None

    def get(self, key: str) -> Any:
        """A value under any of its names, with the architecture's default behind it, or None."""
        if self.kind == "gguf":
            gguf = {"max_position_embeddings": "context_length", "rope_theta": "rope.freq_base"}
            return self.values.get(f"{self.model_type}.{gguf.get(key, key)}")
        if self.kind == "params":
            return self.values.get(key)
        return Keys("", self.config, self.model_type, self.known, self.prefix).get(key)

    def key(self, key: str) -> str:
        """The path of one of these keys under the name that the file has for it."""
        if self.kind == "gguf":
            return f"{self.model_type}.{'context_length' if key == 'max_position_embeddings' else key}"
        if self.kind == "params":
            return key
        found = Keys("", self.config, self.model_type, self.known, self.prefix).found(key).key
        return f"{self.prefix}{found}"

    def number(self, key: str) -> float | None:
        """A finite number, as `get` finds it."""
        return number(self.get(key))

    @cached_property
    def settings(self) -> tuple[Settings, ...]:
        """The rotary settings as they stand."""
        if self.kind == "gguf":
            return tuple(of_gguf(self.values, self.model_type))
        sets = of_params(self.values) if self.kind == "params" else of_config(self.config, self.prefix)
        return tuple(islice(sets, MAXIMUM_SETS))

    def scaled(self, *types: str) -> Iterator[Settings]:
        """The settings of these types."""
        return (settings for settings in self.settings if settings.type in types)

    def original(self, settings: Settings) -> tuple[float, str] | None:
        """The length before stretching and its path: one outside the settings goes first, as in transformers."""
        word = "original_max_position_embeddings"
        outside = number(self.config.get(word)) if not settings.layer_type else None
        if outside is not None:
            return outside, f"{self.prefix}{word}"
        inside = settings.number(word)
        return None if inside is None else (inside, settings.key(word))

    @property
    def length(self) -> float | None:
        """The file's `max_position_embeddings` or `context_length`, [token]."""
        return self.number("max_position_embeddings")

    @property
    def declared(self) -> int | None:
        """The length that the model promises, stretching included, [token]."""
        return None if self.spec is None else self.spec.window.declared

    @cached_property
    def rotating(self) -> tuple[LayerGroup, ...]:
        """The groups of layers that rotate; settings that no layer has are left out."""
        groups = () if self.spec is None else self.spec.groups.values()
        return tuple(g for g in groups if isinstance(g.encoding, Rotary) and g.layers != ())

    def group(self, settings: Settings) -> LayerGroup | None:
        """The layers that these settings are for, as read."""
        for group in self.rotating:
            if settings.layer_type in ("", group.layer_type) and group.scaling is not None:
                return group
        return next((g for g in self.rotating if settings.layer_type in ("", g.layer_type)), None)

    def frequencies(self, group: LayerGroup, length: int | None = None) -> np.ndarray | None:
        """A group's frequencies, [pairs], [rad/token]; None where they leave float64."""
        try:
            return group.frequencies(length)
        except InputError:
            return None

    @cached_property
    def _lines(self) -> Mapping[str, int]:
        return lines_by_key(self.text)

    def place(self, key: str, file: str | None = None) -> tuple[str, int | None]:
        """The file and line of a setting, in the main file or in one beside it."""
        if file is None:
            return self.file, line_of(self._lines, key)
        folder = self.files.directory
        return (file if folder is None else os.path.join(folder, file)), line_of(self.files.lines(file), key)


def read_subject(source: str | os.PathLike[str] | Mapping[str, Any]) -> Subject:
    """Read what is to be checked.

    Args:
        source: a path, a model's name, what a configuration holds, or what several files hold, by their names;
            "tensors" then has dtype, shape and, where wanted, values of tensors, by theirs

    Raises:
        InputError: the file does not exist, is of no known kind, or is not JSON
        Unavailable: a named model's package is not installed
    """
    if isinstance(source, Mapping):
        return _of_files(source) if _MAIN & source.keys() else of_values(source, Files())
    if isinstance(source, str) and not os.path.exists(source):
        from ordinate import models

        if source in models.published_names():
            return of_values(models.published(source).config, Files(), file=source)
        source = models.path_of(source)
    return _read_path(Path(source))


def _of_files(given: Mapping[str, Any]) -> Subject:
    files = {name: values for name, values in given.items() if name.endswith(".json") and isinstance(values, Mapping)}
    tensors = {
        name: Stored(entry[0], tuple(entry[1]), given=tuple(entry[2]) if len(entry) > 2 else None)
        for name, entry in given.get("tensors", {}).items()
    }
    main = next((name for name in MAIN if name in files), MAIN[0])
    return of_values(files.get(main, {}), Files(given=files, given_tensors=tensors), file=main)


def of_values(
    values: Mapping[str, Any],
    files: Files,
    *,
    file: str = "config.json",
    text: bytes = b"",
) -> Subject:
    """A subject of a configuration or params.json that has been parsed."""
    from ordinate.dialects import read

    if "peft_type" in values and "model_type" not in values:
        return Subject("adapter", file, values, files=files, text=text)
    kind: Kind = "params" if values.keys() >= {"dim", "n_layers"} and "architectures" not in values else "huggingface"
    try:
        spec, error = read(values), None
    except InputError as refused:
        spec, error = None, str(refused)
    return Subject(kind, file, values, spec, error, files, text=text)


def _read_path(path: Path) -> Subject:
    from ordinate.files.json import parse_object
    from ordinate.files.source import identify
    from ordinate.rules._files import MAXIMUM_JSON_BYTES, read_text

    path = _of_adapter(path)
    found = identify(path)
    files = Files(found.file.parent)
    if found.kind == "gguf":
        return _read_gguf(found.file)
    text = read_text(found.file)
    values = parse_object(text, name=str(found.file), maximum_bytes=MAXIMUM_JSON_BYTES)
    return of_values(values, files, file=str(found.file), text=text)


def _of_adapter(path: Path) -> Path:
    """A directory that holds an adapter alone is checked by its adapter_config.json."""
    if path.is_dir() and not (path / "config.json").exists() and (path / "adapter_config.json").is_file():
        return path / "adapter_config.json"
    return path


def _read_gguf(path: Path) -> Subject:
    from ordinate.dialects import llama_cpp
    from ordinate.files.gguf import read_gguf
    from ordinate.files.gguf_values import GgufArray

    file = read_gguf(path)
    values = {key: value for key, value in file.metadata.items() if not isinstance(value, GgufArray)}
    tensors = {t.name: Stored(t.type_name, t.shape) for t in file.tensors.values()}
    try:
        spec, error = llama_cpp.read(file, name=path.name), None
    except InputError as refused:
        spec, error = None, str(refused)
    return Subject("gguf", str(path), values, spec, error, Files(given_tensors=tensors))


def _word(value: Any) -> str:
    return value if isinstance(value, str) and len(value) <= 100 else ""
