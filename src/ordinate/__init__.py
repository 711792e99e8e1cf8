"""Ordinate gives every token its place: positional encoding for Transformers.

Nothing here imports torch. `ordinate.torch` and `ordinate.transformers` do.
"""

from typing import Any

from ordinate import registry
from ordinate.dialects import read
from ordinate.errors import InputError, Unavailable
from ordinate.spec import Heads, LayerGroup, Spec, Window

__version__ = "0.1.0"

__all__ = [
    "Heads",
    "InputError",
    "LayerGroup",
    "Spec",
    "Unavailable",
    "Window",
    "__version__",
    "read",
    "scalings",
    "scheme",
    "schemes",
]


def schemes() -> list[str]:
    """The names of all positional schemes.

    >>> "alibi" in schemes()
    True
    """
    return registry.names("ordinate.schemes")


def scheme(name: str) -> Any:
    """The class of a scheme by its name.

    Raises:
        InputError: no scheme has this name

    >>> scheme("rope")(head_dim=4).plain()
    array([1.  , 0.01])
    """
    return registry.lookup("ordinate.schemes", name, "scheme")


def scalings() -> list[str]:
    """The names of all scaling methods.

    >>> "yarn" in scalings()
    True
    """
    return registry.names("ordinate.scaling")
