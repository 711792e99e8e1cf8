"""Which ways of generating a regime allows."""

from collections.abc import Mapping
from typing import Any

from transformers.generation.configuration_utils import GenerationMode

from ordinate.caches import Frozen, Recompute, Regime
from ordinate.errors import InputError
from ordinate.spec import LayerGroup


def check_generation(regime: Regime, by_length: Mapping[str, LayerGroup], mode: Any, longest: int) -> None:
    """Refuse what a regime cannot hold, before the first token is generated.

    Args:
        regime: of the cache
        by_length: the groups whose scaling depends on the length, by name
        mode: of transformers, a `GenerationMode`
        longest: what the text may come to, [token]

    Raises:
        InputError: a text past a frozen length; drafted tokens past a window under `Recompute`
    """
    if isinstance(regime, Frozen) and longest > regime.fixed:
        raise InputError(
            f"generate may come to {longest} tokens, which a cache frozen at length {regime.fixed} cannot hold"
        )
    if isinstance(regime, Recompute) and mode == GenerationMode.ASSISTED_GENERATION:
        for group in by_length.values():
            stretch = group.stretch
            if stretch is not None and stretch.settled(longest) != stretch.settled(1):
                raise InputError(
                    f"regime 'recompute' cannot check several drafted tokens in one pass past {stretch.name}'s "
                    "window, since each is turned by a length of its own: use 'per_row' or 'frozen'"
                )
