"""MaxText's dialect: the rotary settings of its YAML configuration."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from ordinate.dialects._departures import Departures, rotating, whole
from ordinate.dialects._own_words import OwnWords, laid_over
from ordinate.dialects._params import Params
from ordinate.errors import InputError, at_least, one_of, positive_integer
from ordinate.scaling.base import Scaling
from ordinate.scaling.linear import Linear
from ordinate.scaling.llama3 import Llama3
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.multimodal import Multimodal
from ordinate.spec import LayerGroup, Spec, Window

LLAMA31 = Llama3(8.0, 8192, low_freq_factor=1.0, high_freq_factor=4.0)
WORDS = frozenset(
    {
        *("rope_type", "rope_max_timescale", "local_rope_max_timescale", "rope_linear_scaling_factor"),
        *("rope_use_scale", "max_position_embeddings", "original_max_position_embeddings", "rope_factor"),
        *("beta_fast", "beta_slow", "rope_truncate", "rope_attention_scaling", "rope_interleave"),
        *("partial_rotary_factor", "use_mrope", "mrope_section"),
    }
)


class MaxText(OwnWords):
    """MaxText, told by YAML or `key=value` on the command line.

    rope_type "default" turns half pairs, "llama3.1" interleaved ones by constants (8, 1, 4, 8192), "yarn" either.
    Linear scaling exists in "default" alone, and so does a base of its own for layers with a window. YaRN's magnitude
    is 1, or 0.1 ln(rope_factor) + 1 with `rope_attention_scaling`; its factor and betas, and every base, are whole
    numbers.

    Source: AI-Hypercomputer/maxtext, src/maxtext/layers/embeddings.py and attentions.py, configs/types.py.
    """

    name: ClassVar[str] = "maxtext"
    title: ClassVar[str] = "MaxText"
    version: ClassVar[str] = "e591f30c, 2026-08-22"
    source: ClassVar[str] = "AI-Hypercomputer/maxtext: src/maxtext/layers/embeddings.py"
    types: ClassVar[str] = "AI-Hypercomputer/maxtext: src/maxtext/configs/types.py"
    one_rope: ClassVar[bool] = False

    def depart(self, departures: Departures, spec: Spec, capacity: int | None) -> None:
        del capacity
        if not isinstance(departures.group.encoding, Multimodal):
            departures.one_position()
        departures.leading_channels()
        departures.fold_base()
        self._one_type(departures, spec)
        stretch = departures.group.stretch
        if isinstance(stretch, Yarn):
            self._depart_yarn(departures, stretch)
        elif isinstance(stretch, Llama3):
            why = "has Llama 3.1's constants alone"
            departures.stretch("factor", why, factor=8.0)
            departures.stretch("original_max_position_embeddings", why, original_max_position_embeddings=8192)
            departures.stretch("low_freq_factor", why, low_freq_factor=1.0, high_freq_factor=4.0)
        elif not isinstance(stretch, Linear):
            departures.drop_stretch()
        base = float(max(1, round(departures.rope.base)))
        departures.to(
            "rope_theta", "takes whole numbers", source=self.types, encoding=replace(departures.rope, base=base)
        )

    def _one_type(self, departures: Departures, spec: Spec) -> None:
        """What holds for all layers: the scaling, and with any other type than "default" the base."""
        first = _leading(spec)
        group = departures.group
        if group.layer_type == first.layer_type:
            if isinstance(group.encoding, Multimodal) or _part(group) != 1:
                departures.drop_stretch()
            return
        plain = replace(first, stretch=None) if isinstance(first.encoding, Multimodal) or _part(first) != 1 else first
        if plain.stretch != group.stretch:
            departures.to("rope_parameters", "has one scaling for all layers", stretch=plain.stretch)
        local = _local(group) and (plain.stretch is None or isinstance(plain.stretch, Linear)) and _part(first) == 1
        if not local or isinstance(first.encoding, Multimodal):
            why = 'has another base for layers with a window alone, and there for rope_type "default" alone'
            departures.to("rope_parameters", why, encoding=replace(departures.rope, base=first.rope.base))

    def _depart_yarn(self, departures: Departures, stretch: Yarn) -> None:
        factor = stretch.attention_factor()
        plain = replace(stretch, magnitude_factor=None, mscale=None, mscale_all_dim=None)
        departures.stretch("ramp", "has its ramp over the index of pairs", ramp="index")
        departures.stretch(
            "attention_factor" if stretch.magnitude_factor is not None else "mscale",
            "has no magnitude but 1 and YaRN's own",
            magnitude_factor=1.0 if abs(factor - 1) < abs(factor - plain.attention_factor()) else None,
            mscale=None,
            mscale_all_dim=None,
        )
        rounded = float(max(1, round(stretch.factor)))
        departures.stretch("factor", "takes whole numbers", source=self.types, factor=rounded)
        slow = float(max(1, round(stretch.beta_slow)))
        fast = float(max(slow + 1, round(stretch.beta_fast)))
        departures.stretch("beta_fast", "takes whole numbers", source=self.types, beta_fast=fast, beta_slow=slow)

    def say(self, spec: Spec) -> dict[str, Any]:
        first = _leading(spec)
        said: dict[str, Any] = {"rope_type": "default", "rope_max_timescale": int(first.rope.base)}
        if isinstance(first.encoding, Multimodal):
            said |= {"use_mrope": True, "mrope_section": list(first.encoding.sections)}
        if _part(first) != 1:
            said["partial_rotary_factor"] = _part(first)
        stretch = first.stretch
        if isinstance(stretch, Linear):
            said["rope_linear_scaling_factor"] = whole(stretch.factor)
        elif isinstance(stretch, Llama3):
            said |= {"rope_type": "llama3.1", "rope_use_scale": True}
        elif isinstance(stretch, Yarn):
            said |= {
                "rope_type": "yarn",
                "rope_factor": int(stretch.factor),
                "original_max_position_embeddings": stretch.original_max_position_embeddings,
                "beta_fast": int(stretch.beta_fast),
                "beta_slow": int(stretch.beta_slow),
                "rope_truncate": stretch.truncate,
                "rope_attention_scaling": stretch.magnitude_factor is None,
                "rope_interleave": first.pairing != "half",
            }
        if spec.window.declared is not None:
            said["max_position_embeddings"] = spec.window.declared
        local = [group for group in rotating(spec) if _local(group) and group.rope.base != first.rope.base]
        if local:
            said["local_rope_max_timescale"] = int(local[0].rope.base)
        return said

    def text(self, settings: Mapping[str, Any]) -> str:
        def value(entry: Any) -> str:
            return str(entry).lower() if isinstance(entry, bool) else str(entry)

        return "\n".join(f"{key}: {value(entry)}" for key, entry in settings.items())

    def steps(self, spec: Spec) -> tuple[str, ...]:
        first = _leading(spec)
        if isinstance(first.stretch, Llama3) and first.pairing == "half":
            return (
                "rewrite the q and k weights from half to interleaved pairs: "
                "ordinate convert IN OUT --pairing interleaved",
            )
        if first.pairing in ("interleaved", "interleaved-in-half-out") and not isinstance(
            first.stretch, (Llama3, Yarn)
        ):
            return (
                "rewrite the q and k weights from interleaved to half pairs: ordinate convert IN OUT --pairing half",
            )
        return ()

    def read(self, settings: Mapping[str, Any], model: Spec) -> Spec:
        keys = self.words(settings, WORDS)
        kind = one_of(keys.label("rope_type"), keys.values.get("rope_type"), ("default", "llama3.1", "yarn"))
        base = float(keys.integer("rope_max_timescale") or 10000)
        declared = keys.integer("max_position_embeddings")
        _check_layout(keys, model)
        stretch = _scaling(keys, kind)
        trained = getattr(stretch, "original_max_position_embeddings", None)
        if trained is None and declared is not None:
            trained = max(1, math.floor(declared / getattr(stretch, "factor", 1.0)))
        read = laid_over(model, base, stretch, Window(trained, declared))
        local = keys.integer("local_rope_max_timescale") if kind == "default" else None
        if local is None:
            return read
        groups: dict[str, LayerGroup] = {}
        for name, group in read.groups.items():
            encoding: Any = group.encoding
            groups[name] = replace(group, encoding=replace(encoding, base=float(local))) if _local(group) else group
        return replace(read, groups=groups)


def _scaling(keys: Params, kind: str) -> Scaling | None:
    if kind == "llama3.1":
        return LLAMA31 if keys.flag("rope_use_scale") in (None, True) else None
    if kind == "yarn":
        attention = keys.flag("rope_attention_scaling")
        truncate = keys.flag("rope_truncate")
        return Yarn(
            float(keys.integer("rope_factor") or 40),
            keys.integer("original_max_position_embeddings") or 4096,
            magnitude_factor=None if attention else 1.0,
            beta_fast=float(keys.integer("beta_fast") or 32),
            beta_slow=float(keys.integer("beta_slow") or 1),
            truncate=True if truncate is None else truncate,
        )
    factor = keys.number("rope_linear_scaling_factor")
    if factor in (None, 1):
        return None
    return Linear(at_least(keys.label("rope_linear_scaling_factor"), factor, 1))


def _check_layout(keys: Params, model: Spec) -> None:
    """Share, sections and pairs of a head are the model's: words that say otherwise are of another model."""
    first = _leading(model)
    part = keys.number("partial_rotary_factor")
    if part is not None and int(first.rope.head_dim * part) != first.rope.rotary_dim:
        raise InputError(
            f"{keys.label('partial_rotary_factor')} must be {_part(first):g}, as in the model, got {part:g}"
        )
    sections = keys.values.get("mrope_section")
    if keys.flag("use_mrope") or sections is not None:
        own = list(getattr(first.encoding, "sections", ()))
        given = sections if isinstance(sections, list) else []
        for section in given:
            positive_integer(keys.label("mrope_section"), section)
        if given != own:
            raise InputError(f"{keys.label('mrope_section')} must be {own}, as in the model")
    interleave, half = keys.flag("rope_interleave"), first.pairing == "half"
    if keys.values.get("rope_type") == "yarn" and interleave is half:
        raise InputError(
            f"{keys.label('rope_interleave')} must be {not half}, as the model's pairs are {first.pairing}"
        )


def _leading(spec: Spec) -> LayerGroup:
    """The group whose settings are the general ones: the first without a window."""
    groups = list(rotating(spec))
    if not groups:
        raise InputError(f"MaxText's words are of rotary position, and {spec.name} has none")
    return next((group for group in groups if not _local(group)), groups[0])


def _local(group: LayerGroup) -> bool:
    """Whether MaxText takes these layers for local ones."""
    return group.sliding_window is not None and "sliding" in group.layer_type


def _part(group: LayerGroup) -> float:
    """The share of a head that turns; MLA's part is told by other words."""
    if group.heads is not None and group.heads.rotary_key_dim is not None:
        return 1.0
    return group.rope.rotary_dim / group.rope.head_dim
