"""A params.json, Meta's or Mistral's: typed, bounded, with notes of the reading."""

from collections.abc import Mapping
from typing import Any

from ordinate.errors import MAXIMUM_POSITION, InputError, finite, got, positive, positive_integer
from ordinate.spec import Heads

# Beyond what any model has; they keep what is built from untrusted numbers small.
MAXIMUM_LAYERS = 4096
MAXIMUM_WIDTH = 65536
MAXIMUM_HIDDEN = 2**24


class Params:
    """Typed access to a params.json; absent keys and null are None.

    Besides, the notes of the reading: `sources` for each value of the spec, and `warnings`.

    Args:
        values: the object in the file
        name: what messages call it
    """

    def __init__(self, values: Mapping[str, Any], name: str) -> None:
        self.values = values
        self.name = name
        self.sources: dict[str, str] = {}
        self.warnings: list[str] = []

    def label(self, key: str) -> str:
        """The key and its file, for messages."""
        return f"{self.name}: {key}"

    def integer(self, key: str, *, most: int = MAXIMUM_POSITION) -> int | None:
        """An integer >= 1 and at most `most`."""
        value = self.values.get(key)
        if value is None:
            return None
        number = positive_integer(self.label(key), value)
        if number > most:
            raise InputError(f"{self.label(key)} must be at most {most}, got {got(number)}")
        return number

    def required(self, key: str, *, most: int = MAXIMUM_POSITION) -> int:
        """An integer >= 1 that must be there."""
        number = self.integer(key, most=most)
        if number is None:
            raise InputError(f"{self.label(key)} is missing")
        return number

    def number(self, key: str) -> float | None:
        """A finite number."""
        value = self.values.get(key)
        return None if value is None else finite(self.label(key), value)

    def flag(self, key: str) -> bool | None:
        """A boolean."""
        value = self.values.get(key)
        if value is not None and not isinstance(value, bool):
            raise InputError(f"{self.label(key)} must be a boolean, got {got(value)}")
        return value

    def inner(self, key: str, known: frozenset[str]) -> "Params | None":
        """An object within, all of whose keys must be known."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise InputError(f"{self.label(key)} must be an object, got {got(value)}")
        for other in value:
            if other not in known:
                raise InputError(
                    f"{self.label(key)} has the unknown key {got(other)}, known: {', '.join(sorted(known))}"
                )
        return Params(value, self.label(key))

    def base(self, default: float, why: str) -> float:
        """`rope_theta`, or a default with the reason for it."""
        value = self.number("rope_theta")
        if value is None:
            self.sources["full_attention.base"] = f"assumed {default:g}: {why}"
            return default
        self.sources["full_attention.base"] = "rope_theta"
        return positive(self.label("rope_theta"), value)

    def heads(self) -> Heads:
        """Attention's shape, where every head has a key of its own width."""
        query = self.required("n_heads", most=MAXIMUM_WIDTH)
        key_value = self.integer("n_kv_heads", most=MAXIMUM_WIDTH) or query
        head_dim = self.integer("head_dim", most=MAXIMUM_WIDTH)
        if head_dim is None:
            width = self.required("dim", most=MAXIMUM_HIDDEN)
            if width % query:
                raise InputError(f"{self.label('dim')} must be a multiple of n_heads {query}, got {width}")
            head_dim = width // query
        if key_value > query or query % key_value:
            raise InputError(f"{self.label('n_kv_heads')} must divide n_heads {query}, got {key_value}")
        if head_dim > MAXIMUM_WIDTH:
            raise InputError(
                f"{self.label('dim')} gives heads of {head_dim} channels, at most {MAXIMUM_WIDTH} are read"
            )
        return Heads(query, key_value, head_dim, head_dim)
