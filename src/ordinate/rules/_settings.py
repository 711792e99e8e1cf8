"""The rotary settings of a configuration as they stand, in Hugging Face's words whatever the file's."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ordinate.dialects.huggingface.parameters import BASE_KEYS, GLOBAL_BASE_KEYS, LEGACY_TYPES, LOCAL_BASE_KEYS

# Beyond what any setting means; it keeps arithmetic on untrusted numbers finite.
MAXIMUM_NUMBER = 1e15

GGUF_KEYS = {
    "rope_type": "rope.scaling.type",
    "factor": "rope.scaling.factor",
    "original_max_position_embeddings": "rope.scaling.original_context_length",
    "attention_factor": "rope.scaling.attn_factor",
    "beta_fast": "rope.scaling.yarn_beta_fast",
    "beta_slow": "rope.scaling.yarn_beta_slow",
    "rope_theta": "rope.freq_base",
}
MISTRAL_KEYS = {
    "factor": "factor",
    "original_max_position_embeddings": "original_max_position_embeddings",
    "beta_fast": "beta",
    "beta_slow": "alpha",
}


@dataclass(frozen=True)
class Settings:
    """One set of rotary settings.

    Args:
        values: the settings that are not null, by Hugging Face's word
        where: the path of the object that they stand in
        layer_type: the layers that they are for, "" for all
        names: the file's own path of a setting, where it is not `where` and the word
    """

    values: Mapping[str, Any]
    where: str
    layer_type: str = ""
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def type(self) -> str:
        """The scaling method's word, old ones replaced; "" where it is no word."""
        word = self.values.get("rope_type", self.values.get("type", "default"))
        return LEGACY_TYPES.get(word, word) if isinstance(word, str) else ""

    def key(self, word: str) -> str:
        """The path of a setting in the file."""
        return self.names.get(word) or f"{self.where}.{word}"

    def number(self, word: str) -> float | None:
        """A finite number, or None."""
        return number(self.values.get(word))


def number(value: Any) -> float | None:
    """A finite number of a sensible size, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int) and abs(value) > MAXIMUM_NUMBER:
        return None
    read = float(value)
    return read if math.isfinite(read) and abs(read) <= MAXIMUM_NUMBER else None


def of_config(config: Mapping[str, Any], prefix: str) -> Iterator[Settings]:
    """The settings of a Hugging Face configuration, those of each layer type apart."""
    for key in ("rope_parameters", "rope_scaling"):
        given = config.get(key)
        if not isinstance(given, Mapping) or not given:
            continue
        where = f"{prefix}{key}"
        sets = {name: inner for name, inner in given.items() if isinstance(inner, Mapping)}
        if not sets:
            yield Settings(_said(given), where)
        for name, inner in sets.items():
            yield Settings(_said(inner), f"{where}.{name}", name)


def of_gguf(metadata: Mapping[str, Any], architecture: str) -> Iterator[Settings]:
    """The settings of a GGUF file."""
    names = {word: f"{architecture}.{key}" for word, key in GGUF_KEYS.items()}
    values = {word: metadata[key] for word, key in names.items() if key in metadata}
    if f"{architecture}.rope.scale_linear" in metadata and "factor" not in values:
        names["factor"] = f"{architecture}.rope.scale_linear"
        values["factor"] = metadata[names["factor"]]
    if "factor" in values:
        values.setdefault("rope_type", "linear")
    if values.get("rope_type") == "none":
        values["rope_type"] = "default"
    if values:
        yield Settings(values, f"{architecture}.rope.scaling", "", names)


def of_params(params: Mapping[str, Any]) -> Iterator[Settings]:
    """The settings of Mistral's params.json, which knows YaRN alone."""
    yarn = params.get("yarn")
    if isinstance(yarn, Mapping):
        values = {word: yarn[key] for word, key in MISTRAL_KEYS.items() if yarn.get(key) is not None}
        names = {word: f"yarn.{key}" for word, key in MISTRAL_KEYS.items()}
        yield Settings({**values, "rope_type": "yarn"}, "yarn", "", names)


def base_of(config: Mapping[str, Any], settings: Settings) -> tuple[Any, str] | None:
    """The base that a configuration itself gives a set of settings, and its path; None where it has none."""
    if "rope_theta" in settings.values:
        return settings.values["rope_theta"], settings.key("rope_theta")
    local = "sliding" in settings.layer_type
    keys = (*LOCAL_BASE_KEYS, *BASE_KEYS) if local else (*GLOBAL_BASE_KEYS, *BASE_KEYS[1:])
    for key in (*keys, "compress_rope_theta", "layer_rope_theta"):
        if config.get(key) is not None:
            return config[key], key
    return None


def _said(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
