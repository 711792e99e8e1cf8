"""TensorRT-LLM, which reads a Hugging Face configuration of one set of rotary settings."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from ordinate.dialects import huggingface
from ordinate.dialects._departures import departure
from ordinate.dialects.base import Dialect, Interpretation, Loss, Written, over_groups
from ordinate.dialects.huggingface.overrides import (
    NOTHING,
    known_keys,
    laid_over,
    positional_losses,
    positional_words,
    rotates,
    wrapped,
)
from ordinate.dialects.vllm import ratio_magnitude, regime
from ordinate.errors import InputError, got, positive_integer
from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.longrope import LongRope
from ordinate.scaling.proportional import Proportional
from ordinate.scaling.yarn import Yarn, magnitude
from ordinate.schemes.base import Rotary
from ordinate.spec import LayerGroup, Spec

PARAMETERS = "NVIDIA/TensorRT-LLM, tensorrt_llm/_torch/attention_backend/interface.py (RopeParams)"
TABLES = "NVIDIA/TensorRT-LLM, tensorrt_llm/functional.py (RopeEmbeddingUtils)"


class TensorRtLlm(Dialect):
    """TensorRT-LLM, whose `RopeParams` are read from `rope_theta` and `rope_scaling` of the configuration.

    Differs from what the words say: YaRN is rounded always, and its magnitude is computed from `mscale` (1) and
    `mscale_all_dim` (0), whatever `attention_factor` says; "dynamic" needs `alpha`, without which it stops;
    settings by layer type are not read; LongRoPE's list is chosen once, by `max_seq_len`; "proportional" is unknown.

    Source: TensorRT-LLM, tensorrt_llm/_torch/attention_backend/interface.py, tensorrt_llm/functional.py.
    """

    name: ClassVar[str] = "tensorrt_llm"
    title: ClassVar[str] = "TensorRT-LLM"
    version: ClassVar[str] = "2026, as stored"

    def write(self, spec: Spec) -> Written:
        if not rotates(spec):
            return Written({}, "", (), (NOTHING,))
        config = huggingface.write(spec)
        words = positional_words(spec, config.settings)
        parameters = words["rope_parameters"]
        if not any(isinstance(value, dict) for value in parameters.values()):
            words["rope_theta"] = parameters["rope_theta"]
            if "partial_rotary_factor" in parameters:
                words["partial_rotary_factor"] = parameters["partial_rotary_factor"]
            scaling = {k: v for k, v in parameters.items() if k not in ("rope_theta", "partial_rotary_factor")}
            if scaling != {"rope_type": "default"}:
                # It reads "type" first.
                words["rope_scaling"] = {"type": scaling["rope_type"], **scaling}
        settings: dict[str, Any] = {"config": wrapped(spec, words)}
        text = json.dumps(settings["config"], indent=2, allow_nan=False)
        if spec.window.declared is not None:
            settings["max_seq_len"] = spec.window.declared
        losses = self.interpret(self.read(settings, spec), spec.window.declared).losses
        steps = [*config.steps, "put these keys into config.json, in the place of those that are there"]
        if spec.window.declared is not None:
            steps.append(f"start it with --max_seq_len {spec.window.declared}")
        return Written(settings, text, (*positional_losses(config.losses), *losses), tuple(steps))

    def read(self, settings: Mapping[str, Any], model: Spec) -> Spec:
        known_keys(self.name, settings, ("config", "max_seq_len"))
        self.capacity(settings)
        words = settings.get("config", {})
        if not isinstance(words, Mapping):
            raise InputError(f"tensorrt_llm: config must be an object, got {got(words)}")
        return laid_over(words, model) if words else model

    def capacity(self, settings: Mapping[str, Any]) -> int | None:
        length = settings.get("max_seq_len")
        return None if length is None else positive_integer("tensorrt_llm: max_seq_len", length)

    def interpret(self, spec: Spec, capacity: int | None = None) -> Interpretation:
        turning = [g for g in spec.groups.values() if isinstance(g.encoding, Rotary) and g.layers != ()]
        first = next((g for g in turning if g.sliding_window is None), turning[0] if turning else None)

        def change(group: LayerGroup) -> tuple[LayerGroup, list[Loss]]:
            if first is None or not isinstance(group.encoding, Rotary) or group.layers == ():
                return group, []
            after, losses = group, []
            if (group.encoding, group.stretch) != (first.encoding, first.stretch):
                after = replace(group, encoding=first.encoding, stretch=first.stretch)
                what = f"settings by layer type are not read, and those of {first.layer_type} count everywhere"
                losses += departure(group, after, "rope_parameters", what, PARAMETERS)
            found, more = _one(after, spec, capacity)
            return found, losses + more

        return over_groups(spec, change)


def _one(group: LayerGroup, spec: Spec, capacity: int | None) -> tuple[LayerGroup, list[Loss]]:
    if getattr(group.encoding, "part", "first") == "proportional":
        return group, [Loss("rope_type", "'proportional' is no type here: it stops", PARAMETERS)]
    match group.stretch:
        case Yarn():
            yarn = group.stretch
            rounded = replace(group, stretch=replace(yarn, truncate=True))
            losses = departure(group, rounded, "truncate", "the ramp is always rounded", TABLES)
            upper = 1.0 if yarn.mscale is None else yarn.mscale
            factor = magnitude(yarn.factor, upper) / magnitude(yarn.factor, yarn.mscale_all_dim or 0.0)
            after = replace(group, stretch=replace(yarn, truncate=True, magnitude_factor=factor))
            what = "the magnitude is computed from mscale and mscale_all_dim alone"
            word = "mscale" if yarn.magnitude_factor is None else "attention_factor"
            return after, losses + departure(rounded, after, word, what, TABLES)
        case DynamicNtk():
            after = replace(group, stretch=None)
            what = "'dynamic' needs alpha and stops without; shown are plain frequencies"
            lengths = (spec.window.trained, spec.window.declared)
            return after, departure(group, after, "rope_type", what, TABLES, lengths)
        case Proportional():
            after = replace(group, stretch=None)
            return after, departure(group, after, "factor", "'proportional' is no type here", PARAMETERS)
        case LongRope():
            length = group.stretch.original_max_position_embeddings
            most = capacity or spec.window.declared
            long = most is None or most > length
            chosen = regime(group, group.stretch, long=long, factor=group.attention_factor())
            what = (
                f"the {'long' if long else 'short'} list is taken for every sequence, because max_seq_len is "
                f"{'above' if long else 'not above'} {length}"
            )
            losses = departure(group, chosen, "short_factor" if long else "long_factor", what, TABLES)
            after = regime(group, group.stretch, long=long, factor=ratio_magnitude(group.stretch, spec.window.declared))
            what = "the magnitude is computed from the two lengths, whatever attention_factor or factor say"
            return after, losses + departure(chosen, after, "attention_factor", what, TABLES)
        case _:
            return group, []
