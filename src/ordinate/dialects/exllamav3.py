"""ExLlamaV3's dialect: Hugging Face's words in config.json, and other frequencies from some of them."""

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from ordinate.dialects import huggingface
from ordinate.dialects._departures import Departures
from ordinate.dialects.base import Dialect, Interpretation, Loss, Written, over_groups
from ordinate.dialects.huggingface.keys import MAXIMUM_LENGTH, whole
from ordinate.dialects.huggingface.overrides import unwrapped
from ordinate.errors import InputError
from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.longrope import LongRope
from ordinate.scaling.yarn import Yarn, magnitude
from ordinate.schemes.base import Rotary
from ordinate.spec import LayerGroup, Spec

LENGTH = "max_position_embeddings"
# The only architectures whose own code folds `mscale_all_dim` into the softmax scale.
MSCALE_RATIO = ("deepseek_v3",)
# The only architecture that heeds the length that the engine is started for.
SWITCHING = ("phi3",)


class ExLlamaV3(Dialect):
    """ExLlamaV3, which reads config.json, in the old spelling or the new.

    YaRN's factor is max_position_embeddings / original_max_position_embeddings, whatever `factor` says. Its magnitude
    is `attention_factor`, else the ratio of mscales for DeepSeek-V3, else 1 beside `llama_4_scaling_beta`, else
    0.1 ln(factor) + 1. LongRoPE's list is chosen once, by max_position_embeddings (Phi-3: by the length it is started
    for), and so is its magnitude. "dynamic" is refused when the model is loaded.

    Source: turboderp-org/exllamav3, exllamav3/util/rope.py and exllamav3/model/config.py.
    """

    name: ClassVar[str] = "exllamav3"
    title: ClassVar[str] = "ExLlamaV3"
    version: ClassVar[str] = "4f8ad01, 2026-08-08"
    source: ClassVar[str] = "turboderp-org/exllamav3: exllamav3/util/rope.py"

    def write(self, spec: Spec) -> Written:
        sayable, losses = self._sayable(spec)
        written = huggingface.write(sayable)
        run = self.interpret(self._read(written.settings, spec))
        return Written(
            written.settings,
            json.dumps(dict(written.settings), indent=2),
            (*losses, *written.losses, *run.losses),
            written.steps,
        )

    def read(self, settings: Mapping[str, Any], model: Spec) -> Spec:
        if not isinstance(settings, Mapping):
            raise InputError(f"{self.title}: settings must be an object, got {type(settings).__name__}")
        return self._read({**huggingface.write(self._sayable(model)[0]).settings, **settings}, model)

    def read_configuration(self, config: Mapping[str, Any], model: Spec) -> Spec:
        return self._read(config, model)

    def _read(self, config: Mapping[str, Any], model: Spec) -> Spec:
        """What a whole configuration says."""
        read = huggingface.read(config, name=model.name)
        value = unwrapped(config).get(LENGTH)
        if value is None:
            return read
        # The length counts as it stands, where other engines take the larger of it and factor times the original one.
        length = whole(f"{self.title}: {LENGTH}", value, MAXIMUM_LENGTH)
        if not any(isinstance(group.stretch, (Yarn, LongRope)) for group in read.groups.values()):
            return read
        return replace(read, window=replace(read.window, declared=length))

    def interpret(self, spec: Spec, capacity: int | None = None) -> Interpretation:
        def change(group: LayerGroup) -> tuple[LayerGroup, list[Loss]]:
            departures = Departures(group, spec.window, title=self.title, source=self.source)
            if not isinstance(group.encoding, Rotary):
                return group, []
            stretch = group.stretch
            if isinstance(stretch, DynamicNtk):
                raise InputError(f"{self.title} refuses rope_type 'dynamic' when it loads {spec.name}")
            if isinstance(stretch, Yarn):
                _depart_yarn(departures, stretch, spec)
            elif isinstance(stretch, LongRope):
                _depart_longrope(departures, stretch, spec, capacity)
            return departures.group, departures.losses

        return over_groups(spec, change)

    def _sayable(self, spec: Spec) -> tuple[Spec, tuple[Loss, ...]]:
        """A spec without dynamic scaling, and with the window from which YaRN's factor follows."""

        def change(group: LayerGroup) -> tuple[LayerGroup, list[Loss]]:
            departures = Departures(group, spec.window, title=self.title, source=self.source)
            if isinstance(group.stretch, DynamicNtk):
                departures.to("rope_type", "refuses dynamic scaling, which is left out", stretch=None)
            return departures.group, departures.losses

        found = over_groups(spec, change)
        declared = spec.window.declared
        reached = {
            round(group.stretch.factor * group.stretch.original_max_position_embeddings)
            for group in spec.groups.values()
            if isinstance(group.stretch, Yarn)
        }
        if len(reached) != 1 or declared is None or declared in reached:
            return found.spec, found.losses
        length = reached.pop()
        what = (
            f"{self.title} takes YaRN's factor from {LENGTH}, so that {length} is written, which gives the model's own "
            f"factor, and not {declared}"
        )
        window = replace(spec.window, declared=length)
        return replace(found.spec, window=window), (*found.losses, Loss(LENGTH, what, self.source))


def _depart_yarn(departures: Departures, stretch: Yarn, spec: Spec) -> None:
    original, length = stretch.original_max_position_embeddings, spec.window.declared
    factor = stretch.factor if length is None else length / original
    departures.stretch("ramp", "has its ramp over the index of pairs", ramp="index")
    ratio = bool(stretch.mscale and stretch.mscale_all_dim)
    # The factor first, with a magnitude that follows from it where the model's own does.
    held = None if stretch.magnitude_factor is None and not ratio else stretch.attention_factor()
    moved = replace(stretch, ramp="index", factor=max(factor, 1.0), magnitude_factor=held)
    departures.to(
        "factor",
        f"takes {LENGTH} {length} / original_max_position_embeddings {original} for the factor",
        stretch=moved if factor >= 1 else _raised(moved, departures.rope, factor),
    )
    if stretch.magnitude_factor is not None:
        return
    if ratio and spec.architecture in MSCALE_RATIO:
        taken = magnitude(factor, stretch.mscale or 1.0) / magnitude(factor, stretch.mscale_all_dim or 1.0)
    else:
        taken = 1.0 if departures.group.temperature is not None else magnitude(factor)
    why = "takes 1 beside llama_4_scaling_beta, else 0.1 ln(factor) + 1, and mscale for DeepSeek-V3 alone"
    departures.stretch("mscale" if ratio else "attention_factor", why, magnitude_factor=taken)


def _raised(stretch: Yarn, rope: Rotary, factor: float) -> LongRope:
    """The divisors of a factor below 1, which raises frequencies."""
    ramp = stretch.interpolated(rope)
    divisors = tuple((1 / (1 - ramp + ramp / factor)).tolist())
    return LongRope(
        divisors,
        divisors,
        1.0,
        stretch.original_max_position_embeddings,
        magnitude_factor=stretch.attention_factor() if stretch.magnitude_factor is not None else 1.0,
    )


def _depart_longrope(departures: Departures, stretch: LongRope, spec: Spec, capacity: int | None) -> None:
    original, length = stretch.original_max_position_embeddings, spec.window.declared
    length = original if length is None else length
    chosen_by = capacity if capacity is not None and spec.architecture in SWITCHING else length
    past = chosen_by > original
    chosen = stretch.long_factor if past else stretch.short_factor
    departures.stretch(
        "short_factor" if past else "long_factor",
        f"chooses the {'long' if past else 'short'} list at every length, for {chosen_by} tokens",
        short_factor=chosen,
        long_factor=chosen,
    )
    grown = length > original > 1
    factor = math.sqrt(1 + math.log(length / original) / math.log(original)) if grown else 1.0
    departures.stretch(
        "attention_factor", f"takes the magnitude from max_position_embeddings {length}", magnitude_factor=factor
    )
