"""One scaling method as llama.cpp computes it, by where it was said: a configuration, GGUF keys, or flags."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ordinate.dialects.base import Loss
from ordinate.dialects.llama_cpp.model_types import (
    LLAMA3_CONVERTED,
    LOG_MULTIPLIER,
    LONGROPE_CONVERTED,
    LONGROPE_MAGNITUDE_CONVERTED,
)
from ordinate.dialects.llama_cpp.yarn import FAST, READS_BETAS, SLOW
from ordinate.errors import InputError
from ordinate.scaling.base import Scaling
from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.llama3 import Llama3
from ordinate.scaling.longrope import LongRope
from ordinate.scaling.ntk import Ntk
from ordinate.scaling.proportional import Proportional
from ordinate.scaling.yarn import Yarn, magnitude
from ordinate.schemes.base import Rotary
from ordinate.spec import Window

CONVERSION = "ggml-org/llama.cpp, conversion/base.py"
PHI = "ggml-org/llama.cpp, conversion/phi.py"
CONTEXT = "ggml-org/llama.cpp, src/llama-context.cpp"
MODEL = "ggml-org/llama.cpp, src/llama-model.cpp"
RAMP = "ggml-org/llama.cpp, ggml/src/ggml.c, ggml_rope_yarn_corr_dims"
SAME = 1e-6
"""Relative difference below which two numbers are the same here."""

Run = tuple[Scaling | None, list[Loss]]


@dataclass(frozen=True)
class Setting:
    """What a scaling method is run under.

    Args:
        origin: where it was said: in a configuration that is converted, in GGUF keys, or in flags
        architecture: the GGUF architecture
        window: the model's
        capacity: the context that is allocated for a sequence, or None where nothing tells, [token]
        magnitude_source: the GGUF key of a magnitude, or "" where there is none
    """

    origin: Literal["configuration", "keys", "flags"]
    architecture: str
    window: Window
    capacity: int | None
    magnitude_source: str = ""


def run(stretch: Scaling | None, rope: Rotary, setting: Setting) -> Run:
    """A scaling method as llama.cpp computes it, and what of it is not heeded."""
    match stretch:
        case Yarn():
            return _yarn(stretch, rope, setting)
        case LongRope():
            return _longrope(stretch, setting)
        case Llama3() if setting.origin == "configuration" and setting.architecture not in LLAMA3_CONVERTED:
            lost = f"the converter of {setting.architecture} writes no factor tensor: frequencies stay plain"
            return None, [] if stretch.factor == 1 else [Loss("rope_type llama3", lost, CONVERSION)]
        case DynamicNtk():
            lost = "the converter drops it: the base never grows, and frequencies stay plain past the window"
            return None, [Loss("rope_type dynamic", lost, CONVERSION)]
        case Ntk() if setting.origin != "flags" and not _folds(setting):
            lost = f"not heeded for {setting.architecture}: the base stays {rope.base:g}"
            return None, [] if stretch.factor == 1 else [Loss("alpha", lost, CONVERSION)]
        case Proportional() if setting.origin != "flags":
            lost = f"taken for 1, not {stretch.factor:g}: the factor tensor holds 1 and 1e30 only"
            source = "ggml-org/llama.cpp, conversion/gemma.py"
            return None, [] if stretch.factor == 1 else [Loss("factor", lost, source)]
        case _:
            return stretch, []


def widest(stretch: Scaling, other: Scaling, rope: Rotary) -> tuple[float, int]:
    """The largest difference between two methods' frequencies relative to the first's, and its pair."""
    ours, theirs = stretch.frequencies(rope), other.frequencies(rope)
    relative = np.abs(theirs - ours) / np.abs(ours)
    return float(relative.max()), int(relative.argmax())


def _folds(setting: Setting) -> bool:
    """Whether a static alpha ends up in the base: HunYuan's converter folds it in, and its loader does."""
    return setting.architecture.startswith("hunyuan")


def _yarn(stretch: Yarn, rope: Rotary, setting: Setting) -> Run:
    ran, losses = replace(stretch, truncate=True, ramp="index"), []
    for field in ("truncate", "ramp"):
        if getattr(stretch, field) != getattr(ran, field):
            error, pair = widest(stretch, replace(stretch, **{field: getattr(ran, field)}), rope)
            if error > SAME:
                what = {
                    "truncate": "the ends of the ramp are always rounded to whole pairs",
                    "ramp": "the ramp always runs over the index of pairs",
                }[field]
                losses.append(Loss(field, f"{what}: pair {pair} is {error:.1%} off", RAMP))
    betas = (stretch.beta_fast, stretch.beta_slow)
    if setting.origin != "flags" and setting.architecture not in READS_BETAS and betas != (FAST, SLOW):
        kept = replace(ran, beta_fast=FAST, beta_slow=SLOW)
        error, pair = widest(ran, kept, rope)
        if error > SAME:
            what = (
                f"{betas[0]:g} and {betas[1]:g} are read for {' and '.join(READS_BETAS)} only: {FAST:g} and "
                f"{SLOW:g} are taken, pair {pair} is {error:.1%} off"
            )
            losses.append(Loss("beta_fast, beta_slow", what, "ggml-org/llama.cpp, src/models/"))
        ran = kept
    said, computed = stretch.attention_factor(), _magnitude(stretch, setting)
    if abs(said - computed) > SAME * said:
        name = "attention_factor" if stretch.magnitude_factor is not None else "mscale"
        what = f"computed anew and what was given is overwritten: {computed:.6g}, where the model says {said:.6g}"
        losses.append(Loss(name, what, CONTEXT))
        ran = replace(ran, magnitude_factor=computed)
    return ran, losses


def _magnitude(stretch: Yarn, setting: Setting) -> float:
    """The magnitude that llama.cpp computes for YaRN."""
    extra = 1.0
    if setting.origin == "keys" and stretch.magnitude_factor is not None:
        given, ignored = (setting.magnitude_source.endswith(f".{key}") for key in ("attn_factor", "yarn_attn_factor"))
        if " and " in setting.magnitude_source:
            raise InputError(f"the magnitude is in two keys, of which one is heeded: {setting.magnitude_source}")
        if given and not ignored:
            # The reader has the product of this key and the computed magnitude, and so has llama.cpp.
            extra = stretch.magnitude_factor / replace(stretch, magnitude_factor=None).attention_factor()
    full = stretch.mscale_all_dim
    if not full or setting.architecture not in LOG_MULTIPLIER:
        return extra * magnitude(stretch.factor)
    # The file has mscale_all_dim alone; mscale is taken for 1, and for DeepSeek's for the same.
    own = full if setting.architecture == "deepseek2" else 1.0
    return extra * magnitude(stretch.factor, own) / magnitude(stretch.factor, full)


def _longrope(stretch: LongRope, setting: Setting) -> Run:
    short, long, trained = stretch.short_factor, stretch.long_factor, stretch.original_max_position_embeddings
    said, losses = stretch.attention_factor(), []
    if setting.origin == "configuration" and setting.architecture not in LONGROPE_CONVERTED:
        what = f"the converter of {setting.architecture} writes no factor tensors: frequencies stay plain, magnitude 1"
        return None, [Loss("rope_type longrope", what, CONVERSION)]
    if short != long:
        past = setting.capacity is not None and setting.capacity > trained
        used, name = (long, "long") if past else (short, "short")
        room = "an unknown length" if setting.capacity is None else f"{setting.capacity} tokens"
        what = (
            f"{name}_factor counts for every token, because the context is allocated for {room}; the model changes "
            f"lists where a text passes {trained}"
        )
        losses.append(Loss("short_factor, long_factor", what, f"{MODEL}, get_rope_factors"))
        short = long = used
    computed = _longrope_magnitude(stretch, setting)
    if abs(said - computed) > SAME * said:
        what = f"not in the file as the model has it: {computed:.6g}, where the model says {said:.6g}"
        losses.append(Loss("attention_factor", what, PHI))
    return replace(stretch, short_factor=short, long_factor=long, magnitude_factor=computed), losses


def _longrope_magnitude(stretch: LongRope, setting: Setting) -> float:
    if setting.origin != "configuration":
        # One list for every length is in rope_freqs.weight, and its magnitude is always from the key.
        written = setting.magnitude_source or stretch.short_factor == stretch.long_factor
        return stretch.attention_factor() if written else 1.0
    if setting.architecture not in LONGROPE_MAGNITUDE_CONVERTED or setting.window.declared is None:
        return 1.0
    factor = setting.window.declared / stretch.original_max_position_embeddings
    return replace(stretch, factor=factor, magnitude_factor=None).attention_factor()
