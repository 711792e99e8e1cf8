"""From a method's name and a target length to the method's numbers, and to what the configuration declares."""

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ordinate.errors import InputError, got, positive
from ordinate.files.json import read_json
from ordinate.registry import suggestion
from ordinate.scaling.abf import Abf
from ordinate.scaling.base import Scaling
from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.linear import Linear
from ordinate.scaling.llama3 import Llama3
from ordinate.scaling.longrope import LongRope
from ordinate.scaling.ntk import Ntk
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.base import Rotary


@dataclass(frozen=True)
class Stretched:
    """A method with its numbers.

    Args:
        scaling: the method
        maximum: what `max_position_embeddings` is to be, [token]: the length before scaling for linear and
            dynamic_ntk, the target for the others
    """

    scaling: Scaling
    maximum: int

    @property
    def factor(self) -> float | None:
        """The method's factor, or None where it has none."""
        return getattr(self.scaling, "factor", None)


def methods() -> list[str]:
    """The names of the methods that a window can be stretched by.

    >>> methods()
    ['abf', 'dynamic_ntk', 'linear', 'llama3', 'longrope', 'ntk', 'yarn']
    """
    return sorted(_METHODS)


def stretch(method: str, rope: Rotary, *, trained: int, to: int, options: Mapping[str, Any]) -> Stretched:
    """Turn a method's name and a target into numbers.

    Args:
        method: one of `methods()`
        rope: the trained scheme
        trained: the length that the model was trained at, before any scaling, [token]
        to: the target, longer than `trained`, [token]
        options: numbers that replace the method's own, by name; None counts as not given

    Raises:
        InputError: an unknown method, an option that it does not have, a missing one that it needs, or a factor
            that leads to another length than `to`

    >>> from ordinate.schemes.rope import Rope
    >>> stretch("linear", Rope(head_dim=64), trained=2048, to=8192, options={})
    Stretched(scaling=Linear(factor=4.0), maximum=2048)
    """
    if method not in _METHODS:
        raise InputError(f"unknown method {method!r}{suggestion(method, [*methods(), 'auto'])}")
    given = {name: value for name, value in options.items() if value is not None}
    known = [name for name in inspect.signature(_METHODS[method]).parameters if name not in ("rope", "trained", "to")]
    for name in given:
        if name not in known:
            raise InputError(f"method {method} has no {name}; it takes {', '.join(known)}")
    return _METHODS[method](rope, trained, to, **given)


def exact_factor(trained: int, to: int, factor: float | None) -> float:
    """The factor that leads from `trained` to `to`, also where the product is rounded down.

    Raises:
        InputError: the factor that was given leads elsewhere
    """
    # Compared as floats: a product that overflows rounds to no integer.
    if factor is not None and abs(trained * positive("factor", factor) - to) > 0.5:
        raise InputError(
            f"factor must be {to / trained:g} to stretch {trained} tokens to {to}, got {factor:g}, "
            f"which leads to {trained * factor:.15g}"
        )
    exact = to / trained
    return exact if math.floor(trained * exact) == to else math.nextafter(exact, math.inf)


def _linear(rope: Rotary, trained: int, to: int, factor: float | None = None) -> Stretched:
    del rope
    return Stretched(Linear(exact_factor(trained, to, factor)), trained)


def _dynamic_ntk(rope: Rotary, trained: int, to: int, factor: float | None = None) -> Stretched:
    del rope
    return Stretched(DynamicNtk(exact_factor(trained, to, factor), trained), trained)


def _ntk(rope: Rotary, trained: int, to: int, factor: float | None = None) -> Stretched:
    del rope
    least = to / trained
    if factor is not None and factor < least:
        raise InputError(f"factor must be >= {least:g} to stretch {trained} tokens to {to}, got {factor:g}")
    return Stretched(Ntk(least if factor is None else factor), to)


def _abf(rope: Rotary, trained: int, to: int, base: float | None = None) -> Stretched:
    """A larger base; where none is given, the one under which the pair that turns once in the trained length turns
    once in the target: base ** (ln(to / 2 pi) / ln(trained / 2 pi)).

    Source: Liu et al. 2023, arXiv:2310.05209, theorem 2. Releases that were trained on took larger ones.
    """
    if base is None:
        if trained <= 2 * math.pi:
            raise InputError(f"method abf needs base, because no pair turns once in {trained} tokens")
        return Stretched(Abf(rope.base ** (math.log(to / (2 * math.pi)) / math.log(trained / (2 * math.pi)))), to)
    if positive("base", base) <= rope.base:
        raise InputError(f"base must be > the trained base {rope.base:g}, got {base:g}")
    return Stretched(Abf(base), to)


def _yarn(
    rope: Rotary,
    trained: int,
    to: int,
    factor: float | None = None,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
    attention_factor: float | None = None,
) -> Stretched:
    del rope
    scaling = Yarn(exact_factor(trained, to, factor), trained, attention_factor, beta_fast, beta_slow)
    return Stretched(scaling, to)


def _llama3(
    rope: Rotary,
    trained: int,
    to: int,
    factor: float | None = None,
    low_freq_factor: float = 1.0,
    high_freq_factor: float = 4.0,
) -> Stretched:
    """Llama 3's blend. A factor below to / trained is allowed: Llama 3.1 has 8 for 16 times its length."""
    del rope
    most = to / trained
    if factor is not None and factor > most:
        raise InputError(f"factor must be <= {most:g}, to / trained, or the window would be longer, got {factor:g}")
    scaling = Llama3(most if factor is None else factor, trained, low_freq_factor, high_freq_factor)
    return Stretched(scaling, to)


def _longrope(
    rope: Rotary,
    trained: int,
    to: int,
    factor: float | None = None,
    short_factor: Any = None,
    long_factor: Any = None,
    attention_factor: float | None = None,
) -> Stretched:
    for name, values in (("short_factor", short_factor), ("long_factor", long_factor)):
        if values is None:
            raise InputError(f"method longrope needs {name}, a list of {len(rope.plain())} divisors found by search")
    scaling = LongRope(short_factor, long_factor, exact_factor(trained, to, factor), trained, attention_factor)
    for length in (trained, to):
        scaling.frequencies(rope, length)  # refuses lists of another length
    return Stretched(scaling, to)


_METHODS: Mapping[str, Callable[..., Stretched]] = {
    "abf": _abf,
    "dynamic_ntk": _dynamic_ntk,
    "linear": _linear,
    "llama3": _llama3,
    "longrope": _longrope,
    "ntk": _ntk,
    "yarn": _yarn,
}


def read_divisors(file: str | Path) -> dict[str, list[float]]:
    """LongRoPE's two lists from a JSON file: `{"short_factor": [...], "long_factor": [...]}`.

    Args:
        file: the file; a whole config.json serves too, whose `rope_parameters` or `rope_scaling` hold the lists

    Returns:
        both lists by name

    Raises:
        InputError: the file does not hold them
    """
    values = read_json(file, name=str(file))
    for key in ("rope_parameters", "rope_scaling"):
        if isinstance(values.get(key), dict):
            values = values[key]
            break
    lists = {}
    for name in ("short_factor", "long_factor"):
        entries = values.get(name)
        if not isinstance(entries, list) or not entries:
            raise InputError(f"{file}: {name} must be a list of divisors, one a pair, got {got(entries)}")
        lists[name] = [positive(f"{file}: {name}[{i}]", entry) for i, entry in enumerate(entries)]
    return lists
