"""The GGUF keys and factor tensors that say a model's frequencies to llama.cpp, and what they say."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ordinate.dialects.llama_cpp.factors import DIVISORS, LONG, NOT_TURNING, SHORT, free
from ordinate.dialects.llama_cpp.model_types import LOG_MULTIPLIER, ONE_LIST, TWO_LISTS, gguf_architecture
from ordinate.dialects.llama_cpp.semantics import is_local, main_group
from ordinate.dialects.llama_cpp.yarn import FAST, READS_BETAS, SLOW
from ordinate.errors import InputError, got, positive, positive_integer
from ordinate.scaling.abf import Abf
from ordinate.scaling.base import Scaling, ntk_base
from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.linear import Linear
from ordinate.scaling.longrope import LongRope
from ordinate.scaling.ntk import Ntk
from ordinate.scaling.proportional import Proportional
from ordinate.scaling.yarn import Yarn, magnitude
from ordinate.schemes.alibi import Alibi
from ordinate.schemes.base import Rotary
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup, Spec

TENSORS = (DIVISORS, SHORT, LONG)
BASE, LOCAL_BASE, COMPRESS_BASE = "rope.freq_base", "rope.freq_base_swa", "attention.compress_rope_freq_base"
TYPE, FACTOR, LENGTH = "rope.scaling.type", "rope.scaling.factor", "rope.scaling.original_context_length"
MAGNITUDE, LOG = "rope.scaling.attn_factor", "rope.scaling.yarn_log_multiplier"
BETA_FAST, BETA_SLOW = "rope.scaling.yarn_beta_fast", "rope.scaling.yarn_beta_slow"
CONTEXT, BIAS = "context_length", "attention.max_alibi_bias"
KEYS = (BASE, LOCAL_BASE, COMPRESS_BASE, TYPE, FACTOR, LENGTH, MAGNITUDE, LOG, BETA_FAST, BETA_SLOW, CONTEXT, BIAS)
# The key has another meaning in Granite's files, where it switches rotation off.
KEPT = ("rope.scaling.finetuned",)


@dataclass(frozen=True)
class Words:
    """What a GGUF file has to hold.

    Args:
        keys: values by key, without the architecture's prefix
        tensors: factor tensors by name, [pairs], float32
    """

    keys: Mapping[str, str | int | float]
    tensors: Mapping[str, np.ndarray]


def to_words(spec: Spec) -> Words:
    """Spell a spec's frequencies for a GGUF file, in words that llama.cpp heeds where it has such words.

    Raises:
        InputError: no words say this: dynamic scaling, or divisors in an architecture that loads no factor tensor
    """
    word = gguf_architecture(spec)
    keys: dict[str, str | int | float] = {}
    tensors: dict[str, np.ndarray] = {}
    main = main_group(spec)
    if main is not None:
        group = spec.groups[main]
        for name, other in spec.groups.items():
            key = base_key(name, main)
            if isinstance(other.encoding, Rotary) and key is not None:
                keys[key] = base_of(other)
        more, tensors = _scaling_words(group, word, spec)
        keys |= more
    for group in spec.groups.values():
        if isinstance(group.encoding, Alibi):
            keys[BIAS] = float(group.encoding.bias_max)
    if spec.window.declared is not None:
        keys[CONTEXT] = spec.window.declared
    return Words(keys, tensors)


def held_by_file(spec: Spec) -> bool:
    """Whether the spec is as it was read from a GGUF file, which then holds its words."""
    main = main_group(spec)
    source = "" if main is None else spec.sources.get(f"{main}.scaling", "--")
    return spec.container == "gguf" and not source.startswith("--")


def base_key(name: str, main: str) -> str | None:
    """The key of a group's base; None where there is none, and the group has the main one's."""
    if name == main:
        return COMPRESS_BASE if name == "compress" else BASE
    if is_local(name):
        return LOCAL_BASE
    return BASE if main == "compress" and name == "main" else None


def base_of(group: LayerGroup) -> float:
    """The base of a group, a scaling that only changes it included."""
    rope, stretch = group.rope, group.stretch
    if isinstance(stretch, Abf):
        return float(stretch.base)
    if isinstance(stretch, Ntk):
        return ntk_base(rope.base, rope.spectrum_dim, stretch.factor)
    return float(rope.base)


def _scaling_words(group: LayerGroup, word: str, spec: Spec) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    rope, stretch = group.rope, group.stretch
    if stretch is None or isinstance(stretch, (Abf, Ntk)):
        if isinstance(rope, Rope) and rope.part == "proportional" and rope.rotary_dim < rope.head_dim:
            if word not in ONE_LIST:
                raise InputError(f"llama.cpp loads no {DIVISORS} for {word}, and pairs that do not turn need it")
            return {TYPE: "none"}, {DIVISORS: _turning(rope)}
        return {TYPE: "none"}, {}
    if isinstance(stretch, Linear):
        length = {} if spec.window.trained is None else {LENGTH: spec.window.trained}
        return {TYPE: "linear", FACTOR: float(stretch.factor), **length}, {}
    if isinstance(stretch, DynamicNtk):
        raise InputError("no words of llama.cpp say dynamic scaling, whose base grows with the text")
    if isinstance(stretch, Proportional):
        raise InputError(f"a GGUF file cannot divide by {stretch.factor:g} beside pairs that do not turn; a flag can")
    if isinstance(stretch, LongRope) and stretch.short_factor != stretch.long_factor:
        if word not in TWO_LISTS:
            raise InputError(f"llama.cpp loads no {LONG} for {word}, and longrope needs two lists")
        keys = {
            TYPE: "longrope",
            LENGTH: stretch.original_max_position_embeddings,
            MAGNITUDE: float(stretch.attention_factor()),
        }
        lists = {SHORT: stretch.short_factor, LONG: stretch.long_factor}
        return keys, {name: np.array(values, np.float32) for name, values in lists.items()}
    if isinstance(stretch, Yarn) and (word not in ONE_LIST or heeded(stretch, word)):
        return _yarn_words(stretch, word), {}
    return _divided_words(group, word, stretch, spec)


def heeded(stretch: Yarn, word: str) -> bool:
    """Whether llama.cpp reads all of this YaRN from GGUF keys: rounded ends, its own betas, its own ramp."""
    betas = word in READS_BETAS or (stretch.beta_fast, stretch.beta_slow) == (FAST, SLOW)
    return stretch.truncate and stretch.ramp == "index" and betas


def _yarn_words(stretch: Yarn, word: str) -> dict[str, Any]:
    keys: dict[str, Any] = {
        TYPE: "yarn",
        FACTOR: float(stretch.factor),
        LENGTH: stretch.original_max_position_embeddings,
    }
    if word in READS_BETAS or (stretch.beta_fast, stretch.beta_slow) != (FAST, SLOW):
        keys |= {BETA_FAST: float(stretch.beta_fast), BETA_SLOW: float(stretch.beta_slow)}
    full = stretch.mscale_all_dim
    computed = magnitude(stretch.factor)
    if full and word in LOG_MULTIPLIER:
        tenth = word != "mistral3"
        keys[LOG] = 0.1 * full if tenth else float(full)
        computed = magnitude(stretch.factor, full if tenth else 1.0) / magnitude(stretch.factor, full)
    extra = stretch.attention_factor() / computed
    if abs(extra - 1) > 1e-9:
        keys[MAGNITUDE] = extra
    return keys


def _divided_words(
    group: LayerGroup, word: str, stretch: Scaling, spec: Spec
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """One divisor a pair, which holds whatever does not depend on the length."""
    if word not in ONE_LIST:
        raise InputError(f"llama.cpp loads no {DIVISORS} for {word}, and {stretch.name} has no other words")
    divisors = group.rope.plain() / stretch.frequencies(group.rope)
    keys: dict[str, Any] = {TYPE: "none"}
    length = getattr(stretch, "original_max_position_embeddings", spec.window.trained)
    if length is not None and stretch.name != "llama3":
        keys[LENGTH] = int(length)
    factor = stretch.attention_factor()
    if factor != 1:
        keys[MAGNITUDE] = float(factor)
    return keys, {DIVISORS: divisors.astype(np.float32)}


def _turning(rope: Rope) -> np.ndarray:
    """1 for the pairs that turn and 1e30 for the others, over the whole head."""
    values = np.full(rope.head_dim // 2, NOT_TURNING, np.float32)
    values[: rope.rotary_dim // 2] = 1
    return values


def from_words(settings: Mapping[str, Any], model: Spec) -> Spec:
    """What GGUF keys and factor tensors, without the architecture's prefix, say of a model's scaling.

    Raises:
        InputError: a value out of range
    """
    main = main_group(model)
    groups, sources = dict(model.groups), dict(model.sources)
    for name, group in model.groups.items():
        if isinstance(group.encoding, Alibi) and BIAS in settings:
            groups[name] = replace(group, encoding=Alibi(group.encoding.heads, positive(BIAS, settings[BIAS])))
        if not isinstance(group.encoding, Rotary):
            continue
        key = None if main is None else base_key(name, main)
        if key is not None and key in settings:
            groups[name] = rebased(group, positive(key, settings[key]))
    trained = settings.get(LENGTH)
    declared = settings.get(CONTEXT, model.window.declared)
    if main is not None and {TYPE, FACTOR, *TENSORS} & settings.keys():
        groups[main] = replace(groups[main], stretch=_method(settings, model, groups[main]))
        sources[f"{main}.scaling"] = f"GGUF: {', '.join(key for key in settings if 'rope' in key)}"
        sources["attention_factor"] = MAGNITUDE if MAGNITUDE in settings else ""
    window = replace(
        model.window,
        declared=None if declared is None else positive_integer(CONTEXT, declared),
        trained=model.window.trained if trained is None else positive_integer(LENGTH, trained),
    )
    return replace(model, groups=groups, window=window, sources=sources)


def as_read(spec: Spec, held: Mapping[str, Any]) -> Spec:
    """What llama.cpp is asked for by a file that holds these words: YaRN's ramp is as in the spec, said or not."""
    said, main = from_words(held, spec), main_group(spec)
    if main is None:
        return said
    wanted, stretch = spec.groups[main].stretch, said.groups[main].stretch
    if not isinstance(wanted, Yarn) or not isinstance(stretch, Yarn):
        return said
    ramp = {name: getattr(wanted, name) for name in ("truncate", "ramp", "beta_fast", "beta_slow")}
    return replace(said, groups={**said.groups, main: replace(said.groups[main], stretch=replace(stretch, **ramp))})


def rebased(group: LayerGroup, base: float) -> LayerGroup:
    """The group with another base, where that is not what its scaling has done already."""
    if isinstance(group.stretch, (Abf, Ntk)):
        group = replace(group, stretch=None)
    encoding: Any = group.encoding
    if group.rope.base == base:
        return group
    return replace(group, encoding=replace(encoding, base=base))


def _divisors(name: str, values: Any, group: LayerGroup) -> tuple[float, ...]:
    """One divisor a pair: of the whole head where only a part of its pairs turns."""
    rope = group.encoding
    part = isinstance(rope, Rope) and rope.part == "proportional"
    pairs = rope.head_dim // 2 if isinstance(rope, Rope) and part else group.rope.pairs
    sound = isinstance(values, (list, tuple)) and len(values) == pairs
    if not sound or not all(isinstance(v, (int, float)) and 0 < v < math.inf for v in values):
        raise InputError(f"{name} must be a list of {pairs} numbers > 0, got {got(values)}")
    return tuple(float(value) for value in values)


def _method(settings: Mapping[str, Any], model: Spec, group: LayerGroup) -> Scaling | None:
    kind, extra = settings.get(TYPE, "linear"), positive(MAGNITUDE, settings.get(MAGNITUDE, 1.0))
    length = settings.get(LENGTH, model.window.trained)
    if (SHORT in settings) != (LONG in settings):
        raise InputError(f"{SHORT} and {LONG} must both be given, got one of them")
    lists = {name: _divisors(name, settings[name], group) for name in TENSORS if name in settings}
    if SHORT in lists:
        original = positive_integer(LENGTH, length)
        factor = max((model.window.declared or original) / original, 1.0)
        return LongRope(lists[SHORT], lists[LONG], factor, original, magnitude_factor=extra)
    if DIVISORS in lists:
        if isinstance(group.encoding, Rope) and group.encoding.part == "proportional":
            return None
        return free(np.array(lists[DIVISORS]), length=length, magnitude=extra)
    if kind == "none":
        return None
    factor = positive(FACTOR, settings.get(FACTOR, 1.0))
    if kind == "linear":
        return Linear(factor) if factor != 1 else None
    if kind != "yarn":
        raise InputError(f"{TYPE} must be none, linear or yarn, or longrope with two lists, got {got(kind)}")
    log = settings.get(LOG)
    own = full = None
    if log:
        word = gguf_architecture(model)
        full = positive(LOG, log) * (1 if word == "mistral3" else 10)
        own = 1.0 if word == "mistral3" else full
    method = Yarn(
        factor,
        positive_integer(LENGTH, length),
        beta_fast=settings.get(BETA_FAST, FAST),
        beta_slow=settings.get(BETA_SLOW, SLOW),
        mscale=own,
        mscale_all_dim=full,
    )
    return method if extra == 1 else replace(method, magnitude_factor=extra * method.attention_factor())
