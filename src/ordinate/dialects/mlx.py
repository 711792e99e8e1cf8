"""MLX: mlx-lm, which reads `config.json`, and `mx.fast.rope`, whose `freqs` are reciprocal."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ordinate.dialects import huggingface
from ordinate.dialects._departures import departure
from ordinate.dialects._mlx_layers import heeded, read_as, respelled
from ordinate.dialects.base import Dialect, Interpretation, Loss, Written, over_groups
from ordinate.dialects.huggingface.overrides import (
    NOTHING,
    known_keys,
    laid_over,
    positional_losses,
    positional_words,
    rotates,
    unwrapped,
    wrapped,
)
from ordinate.dialects.vllm import ratio_magnitude, regime
from ordinate.errors import InputError, got
from ordinate.scaling.longrope import LongRope
from ordinate.scaling.yarn import Yarn, magnitude
from ordinate.schemes.axial import Axial
from ordinate.schemes.base import Rotary
from ordinate.schemes.multimodal import Multimodal
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup, Spec

ROPE = "ml-explore/mlx-lm d78bf58e (2026-08-22), mlx_lm/models/rope_utils.py"


class Mlx(Dialect):
    """mlx-lm, which reads Hugging Face's configuration; there are no flags, the file itself is edited.

    Differs from what the words say: YaRN is rounded always, and its magnitude is computed from `mscale` (1) and
    `mscale_all_dim` (0), whatever `attention_factor` says; LongRoPE takes the long list at every length, with a
    magnitude from the two lengths; multimodal RoPE has one axis. Of layers that do not rotate alike, each of its models
    reads words of its own (`rope_local_base_freq` for Gemma 3), and drops keys that it does not have.

    For models of one's own, `mx.fast.rope` takes any frequencies: an array of their reciprocals, [token/rad].

    Source: mlx-lm, mlx_lm/models/rope_utils.py; mlx, python/src/fast.cpp.
    """

    name: ClassVar[str] = "mlx"
    title: ClassVar[str] = "MLX (mlx-lm)"
    version: ClassVar[str] = "d78bf58e, 2026-08-22"

    def write(self, spec: Spec) -> Written:
        if not rotates(spec):
            return Written({}, "", (), (NOTHING,))
        config = huggingface.write(spec)
        words = positional_words(spec, config.settings)
        parameters = words["rope_parameters"]
        if any(isinstance(value, dict) for value in parameters.values()):
            words = respelled(spec, words)
        else:
            # Most of its models read these two, some the new word.
            words["rope_theta"] = parameters["rope_theta"]
            scaling = {k: v for k, v in parameters.items() if k not in ("rope_theta", "partial_rotary_factor")}
            if scaling != {"rope_type": "default"}:
                words["rope_scaling"] = scaling
        settings = {"config": wrapped(spec, words), "mx.fast.rope": fast_rope(spec)}
        text = json.dumps(settings["config"], indent=2, allow_nan=False)
        # What its model has no word for is not among the words that are read back.
        unsaid = over_groups(spec, lambda group: heeded(spec, group)).losses
        losses = dict.fromkeys((*unsaid, *self.interpret(self.read(settings, spec)).losses))
        steps = (*config.steps, "put these keys into config.json, in the place of those that are there")
        return Written(settings, text, (*positional_losses(config.losses), *losses), steps)

    def read(self, settings: Mapping[str, Any], model: Spec) -> Spec:
        known_keys(self.name, settings, ("config", "mx.fast.rope"))
        words = settings.get("config", {})
        if not isinstance(words, Mapping):
            raise InputError(f"mlx: config must be an object, got {got(words)}")
        return read_as(laid_over(words, model), unwrapped(words)) if words else model

    def interpret(self, spec: Spec, capacity: int | None = None) -> Interpretation:
        del capacity

        def change(group: LayerGroup) -> tuple[LayerGroup, list[Loss]]:
            after, losses = heeded(spec, group)
            axes, found = _axes(after)
            after, losses = axes, losses + found
            group = after
            match group.stretch:
                case Yarn():
                    rounded = replace(after, stretch=replace(group.stretch, truncate=True))
                    losses += departure(after, rounded, "truncate", "the ramp is always rounded", ROPE)
                    upper = 1.0 if group.stretch.mscale is None else group.stretch.mscale
                    lower = group.stretch.mscale_all_dim or 0.0
                    factor = magnitude(group.stretch.factor, upper) / magnitude(group.stretch.factor, lower)
                    own = replace(group.stretch, truncate=True, magnitude_factor=factor)
                    after = replace(after, stretch=own)
                    what = "the magnitude is computed from mscale and mscale_all_dim alone"
                    word = "mscale" if group.stretch.magnitude_factor is None else "attention_factor"
                    losses += departure(rounded, after, word, what, ROPE)
                case LongRope():
                    long = regime(after, group.stretch, long=True, factor=after.attention_factor())
                    losses += departure(after, long, "short_factor", "the long list is taken at every length", ROPE)
                    factor = ratio_magnitude(group.stretch, spec.window.declared)
                    after = regime(after, group.stretch, long=True, factor=factor)
                    what = "the magnitude is computed from the two lengths, whatever attention_factor or factor say"
                    losses += departure(long, after, "attention_factor", what, ROPE)
                case _:
                    pass
            return after, losses

        return over_groups(spec, change)


def fast_rope(spec: Spec) -> dict[str, dict[str, Any]]:
    """What `mx.fast.rope` takes for each group of layers that rotates by one axis, exact for any static scaling.

    `freqs` are the reciprocals of the frequencies after scaling, [token/rad]; None where a pair does not turn, which
    is `mx.inf` there. The magnitude multiplies q and k before.
    """
    arguments = {}
    for name, group in spec.groups.items():
        if isinstance(group.encoding, Rotary) and not isinstance(group.encoding, Axial):
            used = group.frequencies(spec.window.declared)
            with np.errstate(divide="ignore"):
                reciprocal = np.where(used == 0, np.nan, 1 / used)
            arguments[name] = {
                "dims": 2 * len(used),
                "traditional": str(group.pairing).startswith("interleaved"),
                "base": None,
                "scale": getattr(group.encoding, "direction", 1) * 1.0,
                "freqs": [None if np.isnan(value) else float(value) for value in reciprocal],
                "magnitude": group.attention_factor(spec.window.declared),
            }
    return arguments


def _axes(group: LayerGroup) -> tuple[LayerGroup, list[Loss]]:
    rope = group.encoding
    if not isinstance(rope, Multimodal):
        return group, []
    plain = Rope(rope.head_dim, rope.rotary_dim, rope.base, rope.pairing)
    what = f"one axis only: the {len(rope.sections)} axes of images and videos are not told apart; text is the same"
    return replace(group, encoding=plain), [Loss("mrope_section", what, ROPE)]
