"""Typed reading of a configuration for planning, with the provenance of every number."""

from typing import Any

from ordinate.dialects.huggingface.keys import MAXIMUM_LAYERS, Keys, whole
from ordinate.errors import InputError, got

MAXIMUM = 2**40
"""No size in a configuration is beyond it."""


class Missing(InputError):
    """A configuration lacks a key that only the size of the weights needs."""


class Values:
    """Keys of a configuration, each noted in `sources` where it was used.

    Args:
        keys: of the language model
    """

    def __init__(self, keys: Keys) -> None:
        self.keys = keys
        self.sources: dict[str, str] = {}

    @property
    def model_type(self) -> str:
        return self.keys.model_type

    def raw(self, key: str) -> Any:
        """A value as it stands in the configuration, or None; an inner one by its path, "attn_config.kv_n_heads"."""
        first, *rest = key.split(".")
        value = self.keys.given(first)
        for part in rest:
            value = value.get(part) if isinstance(value, dict) else None
        return value

    def whole(self, *names: str, default: int | None = None) -> int:
        """An integer >= 1 under the first of these names that the configuration has, else the default.

        Raises:
            Missing: it has none of them and there is no default
            InputError: it has one that is no such integer
        """
        value = self.optional(*names)
        if value is not None:
            return value
        if default is None:
            raise Missing(f"{self.keys.label(names[0])} is missing, which the size of the model needs")
        self.sources[names[0]] = f"assumed: the architecture's default {default}; {names[0]} is absent"
        return default

    def optional(self, *names: str) -> int | None:
        """An integer >= 1 under the first of these names that the configuration or its architecture has, or None."""
        for name in names:
            value = self.raw(name)
            if value is not None:
                self.sources[name] = self.keys.where(name)
                return whole(self.keys.label(name), value, MAXIMUM)
        for name in names:
            found = self.keys.found(name) if "." not in name else None
            if found is not None and found.value is not None and not isinstance(found.value, list):
                self.sources[name] = found.source
                return whole(self.keys.label(found.key), found.value, MAXIMUM)
        return None

    def zero(self, *names: str, default: int = 0) -> int:
        """An integer >= 0 under the first of these names that the configuration has, else the default."""
        for name in names:
            value = self.raw(name)
            if value is not None:
                self.sources[name] = self.keys.where(name)
                return 0 if value == 0 and not isinstance(value, bool) else whole(self.keys.label(name), value, MAXIMUM)
        return default

    def flag(self, *names: str, default: bool) -> bool:
        """A boolean under the first of these names that the configuration has, else the default."""
        for name in names:
            value = self.raw(name)
            if value is not None:
                if not isinstance(value, bool):
                    raise InputError(f"{self.keys.label(name)} must be true or false, got {got(value)}")
                self.sources[name] = self.keys.where(name)
                return value
        return default

    def layer_numbers(self, name: str, count: int) -> tuple[int, ...] | None:
        """A list of layers from 0 on, or None where the configuration has none."""
        value = self.raw(name)
        if value is None:
            return None
        if not isinstance(value, list) or not all(type(entry) is int and 0 <= entry < count for entry in value):
            raise InputError(f"{self.keys.label(name)} must list layers from 0 to {count - 1}, got {got(value)}")
        self.sources[name] = self.keys.where(name)
        return tuple(sorted(set(value)))

    def layers(self, *names: str, default: int | None = None) -> int:
        """A number of layers."""
        count = self.whole(*names, default=default)
        return whole(self.keys.label(names[0]), count, MAXIMUM_LAYERS)
