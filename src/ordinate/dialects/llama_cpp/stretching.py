"""What a GGUF file says about stretched frequencies: `rope.scaling.*`, and the factor tensors beside it."""

from dataclasses import dataclass

import numpy as np

from ordinate.dialects.llama_cpp import factors
from ordinate.dialects.llama_cpp.architectures import Architecture
from ordinate.dialects.llama_cpp.keys import MAXIMUM_LENGTH, Keys
from ordinate.dialects.llama_cpp.yarn import read_yarn
from ordinate.errors import InputError, at_least, positive
from ordinate.registry import suggestion
from ordinate.scaling.base import Scaling
from ordinate.scaling.linear import Linear
from ordinate.scaling.longrope import LongRope
from ordinate.scaling.ntk import Ntk
from ordinate.schemes.base import Rotary
from ordinate.spec import Window

TYPES = ("none", "linear", "yarn", "longrope")


@dataclass(frozen=True)
class Stretch:
    """A scaling method, or none, and what is known with it.

    Args:
        method: the scaling, or None
        source: the keys it was read from
        window: the length before stretching, and with it
        turning: how many pairs turn, where the rest has no frequency at all (Gemma 4)
    """

    method: Scaling | None
    source: str
    window: Window
    turning: int | None = None


@dataclass(frozen=True)
class Settings:
    """The keys that several methods share.

    Args:
        declared: `context_length`, [token]
        original: `rope.scaling.original_context_length`, [token]
        kind: `rope.scaling.type`, "none" or "linear" where it is absent
        factor: `rope.scaling.factor` or `rope.scale_linear`, 1 where there is none
        attention: `rope.scaling.attn_factor`, which multiplies the magnitude, 1 where there is none
        source: the keys of type and factor
    """

    declared: int | None
    original: int | None
    kind: str
    factor: float
    attention: float
    source: str


def read_stretch(keys: Keys, known: Architecture, rope: Rotary, declared: int | None) -> Stretch:
    """Read how the frequencies of full-attention layers are stretched.

    Args:
        keys: the file's metadata
        known: what its architecture implies
        rope: the frequencies before stretching
        declared: `context_length`, [token]

    Raises:
        InputError: an unknown type, a factor that is missing or below 1, tensors of another length than the pairs,
            or a combination of methods that no scaling here has
    """
    settings = _settings(keys, declared)
    short = factors.read_divisors(keys.file, factors.SHORT, rope.pairs)
    long = factors.read_divisors(keys.file, factors.LONG, rope.pairs)
    divisors = factors.read_divisors(keys.file, factors.DIVISORS, rope.pairs, padded=known.full_share != 1)
    alpha = keys.number("rope.scaling.alpha") or None
    if (short is None) != (long is None):
        raise InputError(f"{keys.file.path} must have both {factors.SHORT} and {factors.LONG}, and has one of them")
    methods = {
        factors.LONG: long is not None,
        factors.DIVISORS: divisors is not None,
        keys.full("rope.scaling.type"): settings.kind == "yarn",
        keys.full("rope.scaling.alpha"): alpha is not None,
    }
    chosen = [name for name, there in methods.items() if there]
    if len(chosen) > 1:
        raise InputError(f"{keys.file.path} stretches twice: by {chosen[0]} and by {chosen[1]}")
    if short is not None and long is not None:
        return _longrope(keys, short, long, settings)
    if settings.kind == "longrope":
        raise InputError(f"{keys.label('rope.scaling.type')} is longrope, and the file has no {factors.LONG}")
    if settings.kind == "yarn":
        return _yarn(keys, known, settings)
    if divisors is not None:
        return _divided(keys, rope, divisors, settings)
    if alpha is not None:
        if settings.factor != 1 or settings.attention != 1:
            raise InputError(f"{keys.label('rope.scaling.alpha')} stands beside another stretching")
        method = Ntk(at_least(keys.label("rope.scaling.alpha"), alpha, 1))
        return Stretch(method, keys.full("rope.scaling.alpha"), Window(declared, declared))
    return _linear(keys, known, rope, settings)


def _settings(keys: Keys, declared: int | None) -> Settings:
    kind = keys.word("rope.scaling.type")
    if kind is not None and kind not in TYPES:
        raise InputError(f"{keys.label('rope.scaling.type')} is unknown: {kind!r}{suggestion(kind, TYPES)}")
    keys.flag("rope.scaling.finetuned")  # how the scaling came about, which changes no number
    original = keys.integer("rope.scaling.original_context_length", most=MAXIMUM_LENGTH)
    attention = keys.number("rope.scaling.attn_factor")
    attention = 1.0 if attention is None else positive(keys.label("rope.scaling.attn_factor"), attention)
    name = "rope.scaling.factor"
    factor, old = keys.number(name), keys.number("rope.scale_linear")
    if factor is None and old is not None:
        name, factor = "rope.scale_linear", old
    source = keys.full("rope.scaling.type") if kind else ""
    # llama.cpp takes a factor of 0 for none.
    if not factor:
        if kind == "yarn":
            raise InputError(f"{keys.label(name)} is missing: yarn has no default factor")
        return Settings(declared, original, kind or "none", 1.0, attention, source)
    factor = at_least(keys.label(name), factor, 1)
    if kind == "none":
        if factor != 1:
            keys.warn(f"{keys.full(name)} is {factor:g} and has no effect, because the scaling type is none")
        return Settings(declared, original, kind, 1.0, attention, source)
    source = f"{source}, {keys.full(name)}" if kind else f"{keys.full(name)}; type assumed linear, as llama.cpp does"
    return Settings(declared, original, kind or "linear", factor, attention, source)


def _linear(keys: Keys, known: Architecture, rope: Rotary, settings: Settings) -> Stretch:
    """Linear scaling, or none; `context_length` counts before it, as in the configuration it was copied from."""
    declared, factor = settings.declared, settings.factor
    window, source = Window(settings.original or declared, declared), settings.source or "none in the file"
    if factor != 1 and settings.original is None and known.counts_after:
        keys.warn(
            f"{keys.architecture} is released with a length counted after linear scaling: the length before it is not "
            "in the file"
        )
        window = Window(None, declared)
    elif factor != 1 and settings.original is None and declared is not None:
        window = Window(declared, _reached(keys, declared, factor))
        keys.warn(
            f"{keys.full('context_length')} {declared} is taken for the length before linear scaling by {factor:g}, as "
            f"in the configuration it was copied from; llama.cpp stops there unless told otherwise"
        )
    if settings.attention != 1:
        uniform = factors.free(np.full(rope.pairs, factor), length=window.trained, magnitude=settings.attention)
        return Stretch(uniform, f"{source}, {keys.full('rope.scaling.attn_factor')}", window)
    return Stretch(None if factor == 1 else Linear(factor), source, window)


def _yarn(keys: Keys, known: Architecture, settings: Settings) -> Stretch:
    original, declared = settings.original, settings.declared
    source = f"{keys.full('rope.scaling.')}*"
    if original is None:
        if declared is None:
            raise InputError(f"{keys.label('rope.scaling.original_context_length')} is missing: yarn needs it")
        original = declared
        source += "; original_context_length assumed to be context_length, as llama.cpp does"
        keys.warn(
            "YaRN's original length is not in the file: the declared length is taken, which is wrong if it counts "
            "the stretching"
        )
    method, note = read_yarn(keys, known, settings.factor, original, settings.attention)
    product = _reached(keys, original, settings.factor)
    if declared is not None and declared < product:
        keys.warn(
            f"factor {settings.factor:g} times the original length {original} is {product}, but "
            f"{keys.full('context_length')} is {declared}: engines that stop there do not reach the stretched length"
        )
    return Stretch(method, source + note, Window(original, max(declared or 0, product)))


def _reached(keys: Keys, length: int, factor: float) -> int:
    """The length that a factor stretches to, [token]."""
    if length * factor > MAXIMUM_LENGTH:
        raise InputError(f"{keys.file.path}: {length} tokens stretched by {factor:g} are more than {MAXIMUM_LENGTH}")
    return round(length * factor)


def _longrope(keys: Keys, short: np.ndarray, long: np.ndarray, settings: Settings) -> Stretch:
    original, declared, factor = settings.original, settings.declared, settings.factor
    if original is None:
        raise InputError(f"{keys.label('rope.scaling.original_context_length')} is missing: longrope needs it")
    source = f"{factors.SHORT}, {factors.LONG}, {keys.full('rope.scaling.original_context_length')}"
    if factor == 1 and declared is not None:
        factor = max(declared / original, 1.0)
        source += "; factor assumed to be context_length / original_context_length"
    given = keys.number("rope.scaling.attn_factor")
    method = LongRope(tuple(short.tolist()), tuple(long.tolist()), factor, original)
    computed = method.attention_factor()
    if given is None and computed != 1:
        keys.warn(f"the file has no attn_factor: LongRoPE's is {computed:.6g}, and llama.cpp takes 1")
    elif given is not None:
        keys.sources["attention_factor"] = keys.full("rope.scaling.attn_factor")
    if given is not None and np.float32(given) != np.float32(computed):
        method = LongRope(method.short_factor, method.long_factor, factor, original, magnitude_factor=given)
        source += f", {keys.full('rope.scaling.attn_factor')}"
    keys.warn(
        f"llama.cpp takes the long factors for every token when its context is larger than {original} tokens, and the "
        "short ones otherwise"
    )
    return Stretch(method, source, Window(original, declared))


def _divided(keys: Keys, rope: Rotary, divisors: np.ndarray, settings: Settings) -> Stretch:
    """One divisor a pair: Llama-3's scaling where they determine it, Gemma 4's pairs that do not turn, or none."""
    source, declared = factors.DIVISORS, settings.declared
    if settings.factor == settings.attention == 1:
        turning = factors.turning_pairs(divisors)
        if turning is not None:
            return Stretch(None, source, Window(declared, declared), turning)
        if (divisors == 1).all():
            return Stretch(None, f"{source} (all 1)", Window(declared, declared))
        fitted = factors.fit_llama3(divisors, rope.plain())
        if fitted is not None:
            note = "four numbers fitted to it; low_freq_factor is 1 by convention, since only ratios can be recovered"
            trained = settings.original or fitted.original_max_position_embeddings
            return Stretch(fitted, f"{source} ({note})", Window(trained, declared))
    keys.warn(
        f"{source} holds divisors that do not determine Llama-3's four numbers: they are kept as they are, as a "
        "LongRoPE whose short and long lists agree"
    )
    length = settings.original or declared
    method = factors.free(divisors * settings.factor, length=length, magnitude=settings.attention)
    return Stretch(method, source, Window(settings.original, declared))
