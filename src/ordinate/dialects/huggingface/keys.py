"""The keys of one configuration: typed, bounded, with the architecture's defaults behind them and notes of reading."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from ordinate.dialects.huggingface.architectures import Architecture
from ordinate.errors import InputError, finite, got, positive_integer

# Beyond what any model has; they keep what is built from untrusted numbers small.
MAXIMUM_LAYERS = 4096
MAXIMUM_WIDTH = 65536
MAXIMUM_LENGTH = 2**40

ALIASES = {
    "hidden_size": ("n_embd", "d_model", "model_dim", "dim", "embed_dim"),
    "num_attention_heads": ("n_head", "n_heads", "num_heads", "attention_heads", "encoder_attention_heads"),
    "num_key_value_heads": ("num_kv_heads", "n_kv_heads", "n_head_kv", "kv_n_heads", "multi_query_group_num"),
    "num_hidden_layers": ("n_layer", "n_layers", "num_layers", "encoder_layers", "depth"),
    "max_position_embeddings": (
        *("n_positions", "n_ctx", "max_sequence_length", "seq_length", "max_seq_len", "model_max_length"),
        *("context_length", "max_context_length"),
    ),
    "head_dim": ("head_size", "attention_head_dim", "kv_channels", "d_kv"),
}
"""What else a key is called where the architecture is unknown, or names nothing."""


class Found(NamedTuple):
    """A value (None where there is none), what its key is called, and where it is from."""

    value: Any
    key: str
    source: str


class Keys:
    """Typed access to a configuration; a key that is absent has its architecture's default, or is None.

    Args:
        name: what the configuration is called in messages
        config: its keys
        model_type: its architecture's name
        known: what is known of that architecture
        prefix: where the keys stand in the whole, "text_config." say

    Besides, the notes of the reading: `sources` for each value of the spec, and `warnings`.
    """

    def __init__(
        self, name: str, config: Mapping[str, Any], model_type: str, known: Architecture | None, prefix: str = ""
    ) -> None:
        self.name = name
        self.config = config
        self.model_type = model_type
        self.known = known or Architecture()
        self.recognised = known is not None
        self.prefix = prefix
        self.origin: dict[str, str] = {}
        self.asked: set[str] = set()
        self.sources: dict[str, str] = {}
        # Texts alone, in the order of their noting: a file may give rise to as many as it has keys.
        self.warnings: dict[str, None] = {}

    def warn(self, text: str) -> None:
        """Note a remark for whoever reads the spec, once."""
        self.warnings.setdefault(text)

    def label(self, key: str) -> str:
        """The key and its configuration, for messages."""
        return f"{self.name}: {self.where(key)}"

    def found(self, key: str) -> Found:
        """A value, what the key is called, and where the value is from."""
        own = self.known.names.get(key, key)
        old = self.known.old_names.get(key, own)
        self.asked |= {old, own, key, *ALIASES.get(key, ())}
        for spelling in dict.fromkeys((old, own, key)):
            if self.config.get(spelling) is not None:
                return Found(self.config[spelling], spelling, self.where(spelling))
        for spelling in dict.fromkeys((own, key)):
            # A null is not the default but none: Mistral 7B v0.3 has no window, where the default has one.
            if spelling in self.config:
                return Found(None, spelling, f"{self.where(spelling)} is null")
            if spelling in self.known.defaults:
                return Found(self.known.defaults[spelling], spelling, self.assumed(spelling))
        for spelling in ALIASES.get(key, ()):
            if self.config.get(spelling) is not None:
                return Found(self.config[spelling], spelling, self.where(spelling))
        return Found(None, own, f"{self.where(own)} is absent")

    def where(self, key: str) -> str:
        """The place of a key in the configuration."""
        return f"{self.prefix}{self.origin.get(key, '')}{key}"

    def assumed(self, key: str) -> str:
        """The source of a default."""
        model_type = self.model_type or "an architecture without a name"
        return f"assumed: transformers' default for {model_type}; {self.where(key)} is absent"

    def get(self, key: str) -> Any:
        """A value as it stands, or None."""
        return self.found(key).value

    def given(self, key: str) -> Any:
        """A value that the configuration itself has, or None."""
        self.asked.add(key)
        return self.config.get(key)

    def integer(self, key: str, *, most: int = MAXIMUM_WIDTH) -> int | None:
        """An integer >= 1 and at most `most`."""
        found = self.found(key)
        return None if found.value is None else whole(self.label(found.key), found.value, most)

    def length(self, key: str = "max_position_embeddings") -> int | None:
        """A number of positions."""
        return self.integer(key, most=MAXIMUM_LENGTH)

    def number(self, key: str) -> float | None:
        """A finite number."""
        value = self.get(key)
        return None if value is None else finite(self.label(key), value)

    def flag(self, key: str) -> bool | None:
        """A boolean."""
        value = self.get(key)
        if value is not None and not isinstance(value, bool):
            raise InputError(f"{self.label(key)} must be true or false, got {got(value)}")
        return value

    def at_default(self, *names: str) -> bool:
        """Whether these keys have the architecture's own default values."""
        found = [self.found(key) for key in names]
        return all(self.known.defaults.get(f.key) == f.value for f in found)

    def unread(self) -> list[str]:
        """The keys that have to do with rotation by their name, say something, and were not asked for."""
        return [
            key
            for key, value in self.config.items()
            if re.search(r"(^|_)(rope|rotary|alibi|ntk)", key)
            and key not in self.asked
            and value not in (None, False, [], {})
        ]

    def overlaid(self, values: Mapping[str, Any], where: str) -> Self:
        """The same configuration as some of its layers see it, with keys of their own; notes are shared."""
        if not values:
            return self
        view = type(self)(self.name, {**self.config, **values}, self.model_type, self.known, self.prefix)
        view.recognised = self.recognised
        view.sources, view.warnings, view.asked = self.sources, self.warnings, self.asked
        view.origin = dict.fromkeys(values, where)
        return view


def shown(key: str) -> str:
    """A key as messages show it: itself where it is a word, else in quotes and cut short."""
    return key if re.fullmatch(r"[\w.\-]{1,60}", key) else got(key)


def whole(label: str, value: Any, most: int) -> int:
    """Return `value` as an int from 1 to `most`; a float that is whole is taken for one, as configurations have it."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    number = positive_integer(label, value)
    if number > most:
        raise InputError(f"{label} must be at most {most}, got {got(number)}")
    return number
