"""vLLM: `--hf-overrides`, whose values replace those of the configuration as a whole, and `--max-model-len`."""

import json
import math
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from ordinate.dialects import huggingface
from ordinate.dialects._departures import departure
from ordinate.dialects.base import Dialect, Interpretation, Loss, Written, over_groups
from ordinate.dialects.huggingface.architectures import architecture
from ordinate.dialects.huggingface.overrides import (
    NOTHING,
    known_keys,
    laid_over,
    positional_losses,
    positional_words,
    rope_sets,
    rotates,
    unwrapped,
    wrapped,
)
from ordinate.errors import InputError, got, positive_integer
from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.longrope import LongRope
from ordinate.scaling.proportional import Proportional
from ordinate.scaling.yarn import Yarn, magnitude
from ordinate.spec import LayerGroup, Spec

ROPE = "vllm-project/vllm 0.33.0, vllm/model_executor/layers/rotary_embedding"
SAID = "long_mscale"
"""The source of a magnitude that vLLM's own words say."""


class Vllm(Dialect):
    """vLLM, which reads Hugging Face's configuration and takes overrides of it.

    The values of `--hf-overrides` replace a key as a whole, so that base and turning share are restated. Differs from
    what the words say: plain "dynamic" is a no-op; LongRoPE's list is chosen once, by `--max-model-len`, and its
    magnitude follows from the two lengths or `short_mscale` and `long_mscale`, not from `attention_factor`;
    "proportional" has no factor; YaRN of MLA is rounded always and has no `attention_factor`.

    Source: vLLM 0.33.0, vllm/model_executor/layers/rotary_embedding/__init__.py and vllm/config/model.py.
    """

    name: ClassVar[str] = "vllm"
    title: ClassVar[str] = "vLLM"
    version: ClassVar[str] = "0.33.0"

    def write(self, spec: Spec) -> Written:
        if not rotates(spec):
            return Written({}, "", (), (NOTHING,))
        config = huggingface.write(spec)
        words = positional_words(spec, config.settings)
        for values in rope_sets(words):
            if values.get("rope_type") == "longrope":
                values |= dict.fromkeys(("short_mscale", "long_mscale"), values["attention_factor"])
        dynamic = any(isinstance(group.stretch, DynamicNtk) for group in spec.groups.values())
        # Past the table of a no-op there is no bounds check: the length before scaling is all that is safe.
        length = spec.window.trained if dynamic else spec.window.declared
        settings: dict[str, Any] = {"hf_overrides": wrapped(spec, words)}
        text = f"--hf-overrides {shlex.quote(json.dumps(settings['hf_overrides'], allow_nan=False))}"
        if length is not None:
            settings["max_model_len"] = length
            text += f" --max-model-len {length}"
        losses = self.interpret(self.read(settings, spec), length).losses
        return Written(settings, text, (*positional_losses(config.losses), *losses), config.steps)

    def read(self, settings: Mapping[str, Any], model: Spec) -> Spec:
        known_keys(self.name, settings, ("hf_overrides", "max_model_len"))
        self.capacity(settings)
        words = settings.get("hf_overrides", {})
        if not isinstance(words, Mapping):
            raise InputError(f"vllm: hf_overrides must be an object, got {got(words)}")
        if not words:
            return model
        words = json.loads(json.dumps(unwrapped(words)))
        said = False
        for values in rope_sets(words):
            if values.get("rope_type") == "linear" and not isinstance(values.get("factor"), float):
                raise InputError(f"vllm: linear's factor must be a float, as in 4.0, got {got(values.get('factor'))}")
            if values.get("rope_type") == "longrope" and values.get("long_mscale") is not None:
                said = True
                values["attention_factor"] = values["long_mscale"]
        spec = laid_over(words, model)
        marks = {f"{name}.magnitude": SAID for name in spec.groups} if said else {}
        return replace(spec, sources={**spec.sources, **marks})

    def capacity(self, settings: Mapping[str, Any]) -> int | None:
        length = settings.get("max_model_len")
        return None if length is None else positive_integer("vllm: max_model_len", length)

    def started_for(self, spec: Spec, capacity: int | None = None) -> int | None:
        """`--max-model-len`; where it is absent, LongRoPE's length before stretching, else the declared one."""
        for group in spec.groups.values():
            if capacity is None and isinstance(group.stretch, LongRope):
                return group.stretch.original_max_position_embeddings
        return super().started_for(spec, capacity)

    def interpret(self, spec: Spec, capacity: int | None = None) -> Interpretation:
        known = architecture(spec.architecture)
        lengths = (spec.window.trained, spec.window.declared)

        def change(group: LayerGroup) -> tuple[LayerGroup, list[Loss]]:
            match group.stretch:
                case DynamicNtk():
                    after = replace(group, stretch=None)
                    what = (
                        "plain 'dynamic' is a no-op, while the model's length is multiplied by the factor and no "
                        "bound of the table is checked; frequencies stay"
                    )
                    source = f"{ROPE}/dynamic_ntk_scaling_rope.py, vllm/config/model.py, csrc/pos_encoding_kernels.cu"
                    return after, departure(group, after, "rope_type", what, source, lengths)
                case Proportional():
                    after = replace(group, stretch=None)
                    return after, departure(
                        group, after, "factor", "'proportional' has no factor here", f"{ROPE}/gemma4_rope.py"
                    )
                case LongRope():
                    said = spec.sources.get(f"{group.layer_type}.magnitude") == SAID
                    own = said or (known is not None and known.magnitudes)
                    return _longrope(group, group.stretch, spec, capacity, own=own)
                case Yarn() if group.heads is not None and group.heads.latent_dim is not None:
                    return latent_yarn(group, group.stretch, f"{ROPE}/deepseek_scaling_rope.py")
                case _:
                    return group, []

        return over_groups(spec, change)


def latent_yarn(group: LayerGroup, yarn: Yarn, source: str) -> tuple[LayerGroup, list[Loss]]:
    """DeepSeek's YaRN, as vLLM and SGLang have it for MLA: rounded always, and a magnitude from the mscales alone."""
    upper = 1.0 if yarn.mscale is None else yarn.mscale
    ratio = magnitude(yarn.factor, upper) / magnitude(yarn.factor, yarn.mscale_all_dim or 0.0)
    rounded = replace(group, stretch=replace(yarn, truncate=True))
    losses = departure(group, rounded, "truncate", "MLA's YaRN is always rounded", source)
    after = replace(group, stretch=replace(yarn, truncate=True, magnitude_factor=ratio))
    what = "MLA's magnitude is computed from mscale and mscale_all_dim alone"
    return after, losses + departure(rounded, after, "attention_factor", what, source)


def ratio_magnitude(longrope: LongRope, declared: int | None) -> float:
    """LongRoPE's magnitude from the two lengths: sqrt(1 + ln(declared / L) / ln L), 1 for a ratio <= 1."""
    length = longrope.original_max_position_embeddings
    ratio = 1.0 if declared is None else declared / length
    return 1.0 if ratio <= 1 or length < 2 else math.sqrt(1 + math.log(ratio) / math.log(length))


def regime(group: LayerGroup, longrope: LongRope, *, long: bool, factor: float) -> LayerGroup:
    """A group that keeps one of LongRoPE's lists at every length, with a magnitude."""
    values = longrope.long_factor if long else longrope.short_factor
    return replace(group, stretch=replace(longrope, short_factor=values, long_factor=values, magnitude_factor=factor))


def _longrope(
    group: LayerGroup, longrope: LongRope, spec: Spec, capacity: int | None, *, own: bool
) -> tuple[LayerGroup, list[Loss]]:
    length = longrope.original_max_position_embeddings
    # Where nobody says otherwise the engine serves the original length.
    long = (length if capacity is None else capacity) > length
    said = group.attention_factor()
    after = regime(group, longrope, long=long, factor=said)
    source = f"{ROPE}/phi3_long_rope_scaled_rope.py; vllm-project/vllm#27414"
    what = (
        f"the {'long' if long else 'short'} list is taken for every sequence, because max_model_len is "
        f"{'above' if long else 'not above'} {length}"
    )
    losses = departure(group, after, "short_factor" if long else "long_factor", what, source)
    if own:
        return after, losses
    computed = regime(group, longrope, long=long, factor=ratio_magnitude(longrope, spec.window.declared))
    what = "the magnitude is computed from the two lengths, whatever attention_factor or factor say"
    return computed, losses + departure(after, computed, "attention_factor", what, source)
