"""llama.cpp's command line: the flags that set a model's base, scaling and context, and what they say."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ordinate.dialects.llama_cpp.model_types import LOG_MULTIPLIER, gguf_architecture
from ordinate.dialects.llama_cpp.semantics import main_group
from ordinate.dialects.llama_cpp.words import base_of, rebased
from ordinate.dialects.llama_cpp.yarn import FAST, SLOW
from ordinate.errors import InputError, finite, got, one_of, positive, positive_integer
from ordinate.scaling.abf import Abf
from ordinate.scaling.base import Scaling
from ordinate.scaling.linear import Linear
from ordinate.scaling.llama3 import Llama3
from ordinate.scaling.longrope import LongRope
from ordinate.scaling.ntk import Ntk
from ordinate.scaling.proportional import Proportional
from ordinate.scaling.yarn import Yarn
from ordinate.spec import Spec

TYPE, SCALE, INVERSE, BASE = "rope-scaling", "rope-scale", "rope-freq-scale", "rope-freq-base"
LENGTH, SHARE, MAGNITUDE = "yarn-orig-ctx", "yarn-ext-factor", "yarn-attn-factor"
BETA_FAST, BETA_SLOW, CONTEXT = "yarn-beta-fast", "yarn-beta-slow", "ctx-size"
FLAGS = (TYPE, SCALE, INVERSE, BASE, LENGTH, SHARE, MAGNITUDE, BETA_FAST, BETA_SLOW, CONTEXT)
TYPES = ("none", "linear", "yarn")


def to_flags(spec: Spec) -> dict[str, Any]:
    """Spell a spec in flags: the base always, and a scaling that flags can say."""
    flags: dict[str, Any] = {}
    main = main_group(spec)
    if main is not None:
        group = spec.groups[main]
        stretch = group.stretch
        if stretch is None or isinstance(stretch, (Abf, Ntk)):
            flags[TYPE] = "none"
        elif isinstance(stretch, (Linear, Proportional)):
            flags |= {TYPE: "linear", SCALE: float(stretch.factor)}
        elif isinstance(stretch, Yarn):
            flags |= {TYPE: "yarn", SCALE: float(stretch.factor), LENGTH: stretch.original_max_position_embeddings}
            # All are given, because a file's own would count where a flag is absent.
            flags |= {SHARE: 1.0, BETA_FAST: float(stretch.beta_fast), BETA_SLOW: float(stretch.beta_slow)}
        # The base of the compressed layers of DeepSeek-V4 has a key and no flag.
        if main != "compress":
            flags[BASE] = base_of(group)
    if spec.window.declared is not None:
        flags[CONTEXT] = spec.window.declared
    return flags


def sayable(spec: Spec) -> bool:
    """Whether flags have words for the scaling, heeded or not; others are in the file or nowhere."""
    main = main_group(spec)
    return main is None or isinstance(spec.groups[main].stretch, (type(None), Abf, Ntk, Linear, Proportional, Yarn))


def to_text(settings: Mapping[str, Any]) -> str:
    """The flags of settings as they are pasted behind `llama-server -m FILE`.

    >>> to_text({"rope-scaling": "linear", "rope-scale": 4.0, "ctx-size": 8192})
    '--rope-scaling linear --rope-scale 4 -c 8192'
    """
    words = []
    for flag in FLAGS:
        if flag in settings:
            value = settings[flag]
            words.append("-c" if flag == CONTEXT else f"--{flag}")
            words.append(str(int(value) if isinstance(value, float) and value.is_integer() and value < 1e15 else value))
    return " ".join(words)


def from_flags(settings: Mapping[str, Any], model: Spec) -> Spec:
    """What flags say, laid over what the model's file says: an absent flag leaves the file's.

    Raises:
        InputError: a value that llama.cpp refuses or that gives no frequencies, or a scaling on top of the file's
            factor tensors, which llama.cpp would both apply
    """
    window, groups, sources = model.window, dict(model.groups), dict(model.sources)
    if CONTEXT in settings:
        window = replace(window, declared=positive_integer(CONTEXT, settings[CONTEXT]))
    main = main_group(model)
    if main is None:
        return replace(model, window=window)
    group = groups[main]
    if LENGTH in settings:
        window = replace(window, trained=positive_integer(LENGTH, settings[LENGTH]))
    before = group.stretch
    if BASE in settings:
        group = rebased(group, positive(BASE, settings[BASE]))
    if {TYPE, SCALE, INVERSE} & settings.keys():
        stretch = _method(settings, replace(model, window=window), before)
        group = replace(group, stretch=stretch)
        sources[f"{main}.scaling"] = ", ".join(f"--{flag}" for flag in FLAGS if flag in settings and flag != CONTEXT)
    groups[main] = group
    return replace(model, groups=groups, window=window, sources=sources)


def _method(settings: Mapping[str, Any], model: Spec, before: Scaling | None) -> Scaling | None:
    if SCALE in settings and INVERSE in settings:
        raise InputError(f"one of {SCALE} and {INVERSE} must be given, got both")
    kind = one_of(TYPE, settings.get(TYPE, "yarn" if isinstance(before, Yarn) else "linear"), TYPES)
    factor = getattr(before, "factor", 1.0) if isinstance(before, (Linear, Yarn)) else 1.0
    if SCALE in settings:
        factor = positive(SCALE, settings[SCALE])
    elif INVERSE in settings:
        factor = 1 / positive(INVERSE, settings[INVERSE])
    if isinstance(before, (Llama3, LongRope)):
        # The tensors in the file count whatever the flags say.
        if kind == "none" or factor == 1:
            return before
        raise InputError(f"the file is scaled by {before.name} already, and {TYPE} {kind} would scale it again")
    share = finite(SHARE, settings.get(SHARE, 1.0 if kind == "yarn" else 0.0))
    if kind == "yarn" and share == 0:
        kind = "linear"
    if kind == "none" or (kind == "linear" and factor == 1):
        return None
    if kind == "linear":
        return Linear(factor)
    if share not in (1, -1):
        raise InputError(f"{SHARE} must be 0, 1 or -1 (by itself), got {share:g}")
    length = settings.get(LENGTH, getattr(before, "original_max_position_embeddings", model.window.trained))
    if length is None:
        raise InputError(f"{LENGTH} is missing, and the model does not say how long it was trained; got {got(None)}")
    method = Yarn(
        factor,
        positive_integer(LENGTH, length),
        beta_fast=settings.get(BETA_FAST, FAST),
        beta_slow=settings.get(BETA_SLOW, SLOW),
        magnitude_factor=settings.get(MAGNITUDE),
    )
    if isinstance(before, Yarn) and gguf_architecture(model) in LOG_MULTIPLIER:
        # The multiplier is in the file, and no flag replaces it.
        return replace(method, mscale=before.mscale, mscale_all_dim=before.mscale_all_dim)
    return method
