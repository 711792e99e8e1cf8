"""The scaling method that a set of rotary settings asks for, and the lengths before and after it."""

import math
from dataclasses import dataclass

from ordinate.dialects.huggingface.keys import MAXIMUM_LENGTH, Keys, whole
from ordinate.dialects.huggingface.parameters import Parameters
from ordinate.errors import InputError, boolean, finite, got
from ordinate.scaling.base import Scaling
from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.linear import Linear
from ordinate.scaling.llama3 import Llama3
from ordinate.scaling.longrope import LongRope
from ordinate.scaling.ntk import Ntk
from ordinate.scaling.proportional import Proportional
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.base import Rotary
from ordinate.spec import Window

MAXIMUM_DIVISORS = 32768


@dataclass(frozen=True)
class Stretch:
    """A scaling method, or None, with the window before and after it, and how each is known."""

    method: Scaling | None
    window: Window
    source: str
    trained_source: str | None = None


def read_stretch(keys: Keys, entry: Parameters, rope: Rotary) -> Stretch:
    """Read how frequencies are stretched.

    `max_position_embeddings` is the length before scaling for linear and dynamic, after it for yarn, llama3 and
    longrope, whose length before is `original_max_position_embeddings`.

    Raises:
        InputError: a setting that the type needs is missing or out of range, or has the wrong number of entries
    """
    length = keys.length()
    source = keys.found("max_position_embeddings").source
    if entry.type in ("default", "axial"):
        return Stretch(None, Window(length, length), source)
    if entry.type == "proportional":
        factor = entry.number("factor")
        method = None if factor in (None, 1) else Proportional(_factor(entry))
        return Stretch(method, Window(length, length), source)
    if entry.type in ("linear", "dynamic"):
        return _before(keys, entry, length, source)
    original = _original(keys, entry, length)
    given = "original_max_position_embeddings" in entry.values
    known_by = entry.source("original_max_position_embeddings") if given else None
    if entry.type == "llama3":
        low, high = (_needed(entry, key) for key in ("low_freq_factor", "high_freq_factor"))
        llama3 = Llama3(_factor(entry), original, low, high)
        return Stretch(llama3, _after(keys, entry, original, length, llama3.factor), source, known_by)
    factor = _factor_or_ratio(keys, entry, original, length)
    method = _yarn(keys, entry, original, factor) if entry.type == "yarn" else _longrope(entry, original, factor, rope)
    return Stretch(method, _after(keys, entry, original, length, factor), source, known_by)


def _before(keys: Keys, entry: Parameters, length: int | None, source: str) -> Stretch:
    """Linear and dynamic: `max_position_embeddings` counts before scaling."""
    if entry.type == "dynamic" and entry.values.get("alpha") is not None:
        alpha = entry.number("alpha")
        if keys.known.alpha and alpha:
            return Stretch(Ntk(alpha), Window(length, length), f"{source}; alpha makes dynamic a fixed NTK")
        keys.warn(
            f"{entry.source('alpha')} is no setting that transformers reads for {keys.model_type!r}: it is ignored"
        )
    factor = _factor(entry)
    if entry.type == "dynamic":
        if length is None:
            raise InputError(f"{keys.label('max_position_embeddings')} is missing: dynamic scaling starts there")
        method: Scaling = DynamicNtk(factor, length)
    else:
        method = Linear(factor)
    if keys.known.counts_after and entry.type == "linear":
        # Gemma 3's releases count after scaling, and its layers with a window were never scaled.
        keys.warn(
            f"{keys.model_type} is released with max_position_embeddings counted after linear scaling: the length "
            "before it is not in the configuration"
        )
        return Stretch(method, Window(None, length), source)
    declared = None if length is None else math.floor(_reached(entry, length, factor))
    return Stretch(method, Window(length, declared), f"{source}, the length before {entry.type} scaling, times factor")


def _after(keys: Keys, entry: Parameters, original: int, length: int | None, factor: float) -> Window:
    """YaRN, Llama-3 and LongRoPE: `max_position_embeddings` counts after scaling."""
    product = round(_reached(entry, original, factor))
    if length is None:
        return Window(original, product)
    if entry.type == "llama3":  # Llama 3.2 declares half of what its factor reaches
        return Window(original, length)
    if length < product:
        keys.warn(
            f"factor {factor:g} times original_max_position_embeddings {original} is {product}, but "
            f"max_position_embeddings is {length}: engines that stop there do not reach the stretched length"
        )
    elif length > product:
        keys.warn(
            f"max_position_embeddings {length} is more than factor {factor:g} times original_max_position_embeddings "
            f"{original}, {product}: positions past that are past what was stretched for"
        )
    return Window(original, max(length, product))


def _reached(entry: Parameters, length: int, factor: float) -> float:
    """The length that a factor stretches to, before it is rounded, [token]."""
    if length * factor > MAXIMUM_LENGTH:
        raise InputError(f"{entry.label('factor')} {factor:g} stretches {length} tokens to more than {MAXIMUM_LENGTH}")
    return length * factor


def _original(keys: Keys, entry: Parameters, length: int | None) -> int:
    key = "original_max_position_embeddings"
    if key in entry.values:
        return whole(entry.label(key), entry.values[key], MAXIMUM_LENGTH)
    if length is None:
        raise InputError(f"{entry.label(key)} is missing, and so is max_position_embeddings: {entry.type} needs one")
    keys.warn(
        f"{entry.source(key)} is missing: max_position_embeddings {length} is taken, as transformers does, which is "
        "wrong if it counts the stretching"
    )
    return length


def _needed(entry: Parameters, key: str) -> float:
    value = entry.number(key)
    if value is None:
        raise InputError(f"{entry.label(key)} is missing: rope_type {entry.type!r} needs it")
    return value


def _factor(entry: Parameters) -> float:
    factor = _needed(entry, "factor")
    if factor < 1:
        raise InputError(f"{entry.label('factor')} must be >= 1, got {factor:g}")
    return factor


def _factor_or_ratio(keys: Keys, entry: Parameters, original: int, length: int | None) -> float:
    """The factor; the ratio of the lengths for LongRoPE without one, and where YaRN's is null."""
    if "factor" in entry.values or not (entry.type == "longrope" or "factor" in entry.nulls):
        return _factor(entry)
    if length is None:
        raise InputError(f"{entry.label('factor')} is missing, and so is max_position_embeddings to compute it from")
    ratio = length / original
    if entry.type == "yarn":
        keys.warn(f"{entry.source('factor')} is null: max_position_embeddings / original length, {ratio:g}, is taken")
    if ratio < 1 and entry.type == "yarn":
        raise InputError(f"{entry.label('factor')} is null, and {length} / {original} is below 1")
    return ratio


def _yarn(keys: Keys, entry: Parameters, original: int, factor: float) -> Yarn:
    if entry.base <= 1:
        raise InputError(f"{entry.label('rope_theta')} must be > 1 for yarn, got {entry.base:g}")
    truncate = boolean(entry.label("truncate"), entry.values.get("truncate", True))
    if entry.nested and not truncate:
        keys.warn(
            f"{entry.source('truncate')} is false and honoured here; transformers 5.24 overlooks it in settings for "
            "each layer type, and rounds the ramp"
        )
    return Yarn(
        factor,
        original,
        magnitude_factor=entry.number("attention_factor"),
        beta_fast=entry.number("beta_fast") or 32.0,
        beta_slow=entry.number("beta_slow") or 1.0,
        mscale=entry.number("mscale"),
        mscale_all_dim=entry.number("mscale_all_dim"),
        truncate=truncate,
    )


def _longrope(entry: Parameters, original: int, factor: float, rope: Rotary) -> LongRope:
    pairs = len(rope.plain())
    lists = {}
    for key in ("short_factor", "long_factor"):
        values = entry.values.get(key)
        if not isinstance(values, list | tuple) or not values:
            raise InputError(f"{entry.label(key)} must be a list of {pairs} divisors, one a pair, got {got(values)}")
        if len(values) != pairs:
            raise InputError(f"{entry.label(key)} must have {pairs} divisors, one a pair, got {len(values)}")
        lists[key] = tuple(finite(f"{entry.label(key)}[{i}]", value) for i, value in enumerate(values))
    return LongRope(
        lists["short_factor"],
        lists["long_factor"],
        factor,
        original,
        magnitude_factor=_magnitude(entry),
    )


def _magnitude(entry: Parameters) -> float | None:
    """LongRoPE's magnitude: Phi-3.5-MoE has one for each list, in place of `attention_factor`."""
    if not entry.keys.known.magnitudes:
        return entry.number("attention_factor")
    entry.keys.warn("transformers 5.24 takes the short factors of this architecture at every length")
    short, long = _needed(entry, "short_mscale"), _needed(entry, "long_mscale")
    if short != long:
        source = entry.source("short_mscale")
        entry.keys.warn(f"{source} {short:g} is taken for all lengths; past the original length it is {long:g}")
    return short
