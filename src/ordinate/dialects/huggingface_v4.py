"""transformers 4: `rope_theta` beside `rope_scaling`, and the other keys from before `rope_parameters`."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from ordinate.dialects.base import Dialect, Interpretation, Loss, Written
from ordinate.dialects.huggingface.agreement import disagreements
from ordinate.dialects.huggingface.overrides import laid_over, placed
from ordinate.dialects.huggingface.writer import write
from ordinate.errors import InputError
from ordinate.scaling.proportional import Proportional
from ordinate.schemes.base import Rotary
from ordinate.spec import Spec

SOURCE = "huggingface/transformers 4.57.0, src/transformers/modeling_rope_utils.py"
BESIDE = ("rope_theta", "partial_rotary_factor")
LOCAL = {"modernbert": ("global_rope_theta", "local_rope_theta")}
"""Where other names than `rope_theta` and `rope_local_base_freq` are used for the two bases."""


class HuggingFaceV4(Dialect):
    """Hugging Face transformers, `config.json` in the spelling of version 4.

    Base and turning share stand beside `rope_scaling`. Settings by layer type have no word but a base of their own
    for layers with a window (Gemma 3, ModernBERT); the type "proportional" came with version 5.
    """

    name: ClassVar[str] = "huggingface_v4"
    title: ClassVar[str] = "Hugging Face transformers 4"
    version: ClassVar[str] = "4.57.0"

    def write(self, spec: Spec) -> Written:
        written = write(spec)
        config = dict(written.settings)
        losses: list[Loss] = list(written.losses)
        if isinstance(config.get("rope_parameters"), dict):
            losses += _older(config, spec)
            losses += disagreements(spec, self.read(config, spec), SOURCE) if not losses else []
        losses += self.interpret(spec).losses
        text = json.dumps(config, indent=2, allow_nan=False)
        steps = (*written.steps, placed(spec, stale="rope_parameters"))
        return replace(written, settings=config, text=text, losses=tuple(losses), steps=steps)

    def read(self, settings: Mapping[str, Any], model: Spec) -> Spec:
        if isinstance(settings, Mapping) and "rope_parameters" in settings:
            raise InputError("huggingface_v4: unknown setting 'rope_parameters', which is version 5's")
        return laid_over(settings, model)

    def interpret(self, spec: Spec, capacity: int | None = None) -> Interpretation:
        del capacity
        groups, losses = dict(spec.groups), []
        for name, group in spec.groups.items():
            rope = group.encoding
            proportional = isinstance(rope, Rotary) and getattr(rope, "part", "first") == "proportional"
            if proportional or isinstance(group.stretch, Proportional):
                what = "version 4 does not know rope_type 'proportional' and stops with a KeyError"
                losses.append(Loss("rope_type", what, SOURCE, name if len(groups) > 1 else None))
        return Interpretation(replace(spec, groups=groups), tuple(losses))


def _older(config: dict[str, Any], spec: Spec) -> list[Loss]:
    """Respell `rope_parameters` in place; what has no older word is a loss."""
    parameters = config.pop("rope_parameters")
    sets = {name: value for name, value in parameters.items() if isinstance(value, dict)}
    if not sets:
        _flat(config, parameters)
        return []
    wide = next((name for name in sets if "sliding" not in name), next(iter(sets)))
    _flat(config, sets[wide])
    losses = []
    for name, value in sets.items():
        if name == wide:
            continue
        plain = value.get("rope_type", "default") == "default"
        same = value.get("partial_rotary_factor") == sets[wide].get("partial_rotary_factor")
        local = "sliding" in name
        if local:
            wide_key, local_key = LOCAL.get(spec.architecture, ("rope_theta", "rope_local_base_freq"))
            config[wide_key] = config.pop("rope_theta", sets[wide]["rope_theta"])
            config[local_key] = value["rope_theta"]
        if not (local and plain and same):
            losses.append(Loss("rope_parameters", f"settings of {name} have no word of their own", SOURCE, name))
    return losses


def _flat(config: dict[str, Any], parameters: Mapping[str, Any]) -> None:
    for key in BESIDE:
        if key in parameters:
            config[key] = parameters[key]
    rest = {key: value for key, value in parameters.items() if key not in BESIDE}
    if rest.get("rope_type") not in ("default", "axial") or len(rest) > 1:
        config["rope_scaling"] = rest
