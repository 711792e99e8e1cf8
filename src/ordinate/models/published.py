"""Configurations that well-known models were published with: a JSON file each, and where it is from."""

from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import msgspec

from ordinate.models._records import load


class Published(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was published of a model, without its weights.

    Args:
        name: the word that the model is known by here, which is the file's name too
        title: what it is, in words
        source: where its config.json stands
        config: what of it says the shape of the model and what it does with position, in its own words
    """

    name: str
    title: str
    source: str
    config: dict[str, Any]


def published_names() -> list[str]:
    """The names of the published configurations, in alphabetical order.

    >>> "llama-2-7b" in published_names()
    True
    """
    return sorted(entry.name.removesuffix(".json") for entry in _root().iterdir() if entry.name.endswith(".json"))


def published(name: str) -> Published:
    """The published configuration of a model.

    Raises:
        InputError: none is here under this name; the message suggests the nearest
        Unavailable: its file is damaged

    >>> published("llama-2-7b").config["num_hidden_layers"]
    32
    """
    return load(_root(), name, published_names(), Published)


def _root() -> Traversable:
    return files("ordinate.models") / "published"
