"""SGLang: `--json-model-override-args`, whose `rope_scaling` is merged into the model's, and `--context-length`."""

import json
import shlex
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
    rope_sets,
    rotates,
    unwrapped,
    wrapped,
)
from ordinate.dialects.vllm import latent_yarn, ratio_magnitude
from ordinate.errors import InputError, finite, got, positive_integer
from ordinate.scaling.abf import Abf
from ordinate.scaling.base import ntk_base
from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.longrope import LongRope
from ordinate.scaling.proportional import Proportional
from ordinate.scaling.yarn import Yarn, magnitude
from ordinate.spec import LayerGroup, Spec

ROPE = "sgl-project/sglang 0.5.23, python/sglang/srt/layers/rotary_embedding"
CLEARED = (
    *("factor", "original_max_position_embeddings", "attention_factor", "low_freq_factor", "high_freq_factor"),
    *("beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate", "short_factor", "long_factor"),
)
"""Settings of one type that would otherwise be left from the model's own configuration in another."""


class Sglang(Dialect):
    """SGLang, which reads Hugging Face's configuration and merges overrides into it.

    What the model's own settings have beside those given stays, so that every key is said and the others are null.
    Differs from what the words say: `attention_factor` is ignored (`attn_factor` multiplies the magnitude instead);
    the mscales count also where one is 0; "dynamic" is fixed at `factor` times the window; LongRoPE switches one
    token late; "proportional" has no factor; YaRN of MLA is rounded always.

    Source: SGLang 0.5.23, python/sglang/srt/layers/rotary_embedding, python/sglang/srt/utils/hf_transformers.
    """

    name: ClassVar[str] = "sglang"
    title: ClassVar[str] = "SGLang"
    version: ClassVar[str] = "0.5.23"

    def write(self, spec: Spec) -> Written:
        if not rotates(spec):
            return Written({}, "", (), (NOTHING,))
        config = huggingface.write(spec)
        words = positional_words(spec, config.settings)
        latent = any(g.heads is not None and g.heads.latent_dim is not None for g in spec.groups.values())
        for values in rope_sets(words):
            _own_words(values, latent=latent)
        words = {"rope_scaling" if key == "rope_parameters" else key: value for key, value in words.items()}
        settings: dict[str, Any] = {"json_model_override_args": wrapped(spec, words)}
        said = json.dumps(settings["json_model_override_args"], allow_nan=False)
        text = f"--json-model-override-args {shlex.quote(said)}"
        if spec.window.declared is not None:
            settings["context_length"] = spec.window.declared
            text += f" --context-length {spec.window.declared}"
        losses = self.interpret(self.read(settings, spec), spec.window.declared).losses
        return Written(settings, text, (*positional_losses(config.losses), *losses), config.steps)

    def read(self, settings: Mapping[str, Any], model: Spec) -> Spec:
        known_keys(self.name, settings, ("json_model_override_args", "context_length"))
        self.capacity(settings)
        words = settings.get("json_model_override_args", {})
        if not isinstance(words, Mapping):
            raise InputError(f"sglang: json_model_override_args must be an object, got {got(words)}")
        words = unwrapped(words)
        given = words.pop("rope_scaling", words.pop("rope_parameters", {}))
        if not isinstance(given, Mapping):
            raise InputError(f"sglang: rope_scaling must be an object, got {got(given)}")
        if not words and not given:
            return model
        base = huggingface.write(model).settings.get("rope_parameters")
        merged = {**(base if isinstance(base, Mapping) else {}), **given}
        if "rope_type" in given:
            merged.pop("type", None)
        words["rope_parameters"] = json.loads(json.dumps(merged))
        said = [_their_words(values) for values in rope_sets(words)]
        spec = laid_over(words, model)
        marks = {f"{name}.magnitude": "attn_factor" for name in spec.groups} if any(said) else {}
        return replace(spec, sources={**spec.sources, **marks})

    def capacity(self, settings: Mapping[str, Any]) -> int | None:
        length = settings.get("context_length")
        return None if length is None else positive_integer("sglang: context_length", length)

    def interpret(self, spec: Spec, capacity: int | None = None) -> Interpretation:
        del capacity  # lists switch by position, tables grow

        def change(group: LayerGroup) -> tuple[LayerGroup, list[Loss]]:
            own = f"{group.layer_type}.magnitude" in spec.sources
            match group.stretch:
                case DynamicNtk():
                    return _dynamic(group, group.stretch)
                case Proportional():
                    after = replace(group, stretch=None)
                    what, source = "'proportional' has no factor here", f"{ROPE}/rope_variant.py"
                    return after, departure(group, after, "factor", what, source)
                case LongRope():
                    return _longrope(group, group.stretch, spec, own=own)
                case Yarn() if group.heads is not None and group.heads.latent_dim is not None:
                    return latent_yarn(group, group.stretch, f"{ROPE}/rope_variant.py")
                case Yarn() if not own:
                    return _yarn(group, group.stretch)
                case _:
                    return group, []

        return over_groups(spec, change)


def _own_words(values: dict[str, Any], *, latent: bool) -> None:
    """Put the magnitude into the words that SGLang heeds, and clear what a merge would leave."""
    kind = values.get("rope_type")
    if kind == "yarn" and not latent:
        factor = values["factor"]
        wanted = values.pop("attention_factor", None)
        upper, lower = values.pop("mscale", None), values.pop("mscale_all_dim", None)
        if wanted is None and upper and lower:
            wanted = magnitude(factor, upper) / magnitude(factor, lower)
        values["attn_factor"] = 1.0 if wanted is None else wanted / magnitude(factor)
        values["extrapolation_factor"] = 1.0
    if kind == "longrope":
        values |= dict.fromkeys(("short_mscale", "long_mscale"), values.pop("attention_factor"))
    values |= {key: None for key in CLEARED if key not in values}
    if not latent:
        values.setdefault("partial_rotary_factor", 1.0)


def _their_words(values: dict[str, Any]) -> bool:
    """Turn SGLang's magnitudes into `attention_factor`; whether there was one. What is null is cleared."""
    for key in [key for key, value in values.items() if value is None]:
        del values[key]
    if values.get("rope_type", values.get("type")) == "linear" and not isinstance(values.get("factor"), float):
        raise InputError(f"sglang: linear's factor must be a float, as in 4.0, got {got(values.get('factor'))}")
    extrapolation = values.pop("extrapolation_factor", 1)
    if extrapolation != 1:
        raise InputError(f"sglang: extrapolation_factor must be 1, others are not covered, got {got(extrapolation)}")
    factor, attn = values.get("factor"), values.pop("attn_factor", None)
    long = values.pop("long_mscale", None)
    values.pop("short_mscale", None)
    if long is not None:
        values["attention_factor"] = finite("sglang: long_mscale", long)
        return True
    if attn is None or factor is None:
        return False
    number = finite("sglang: factor", factor)
    upper, lower = values.get("mscale"), values.get("mscale_all_dim")
    if upper is not None and lower is not None:
        ratio = magnitude(number, finite("mscale", upper)) / magnitude(number, finite("mscale_all_dim", lower))
    else:
        ratio = magnitude(number)
    values["attention_factor"] = ratio * finite("sglang: attn_factor", attn)
    return True


def _dynamic(group: LayerGroup, dynamic: DynamicNtk) -> tuple[LayerGroup, list[Loss]]:
    rope, longest = group.rope, dynamic.factor * dynamic.window
    growth = dynamic.factor * longest / dynamic.window - (dynamic.factor - 1)
    if dynamic.form == "ratio":
        growth = dynamic.factor
    after = replace(group, stretch=Abf(ntk_base(rope.base, rope.spectrum_dim, growth)) if growth != 1 else None)
    what = f"frequencies are those of {longest:g} tokens at every length, short prompts included"
    return after, departure(group, after, "rope_type", what, f"{ROPE}/rope_variant.py")


def _longrope(group: LayerGroup, longrope: LongRope, spec: Spec, *, own: bool) -> tuple[LayerGroup, list[Loss]]:
    length, said = longrope.original_max_position_embeddings, group.attention_factor()
    source = f"{ROPE}/rope_variant.py"
    switching = replace(longrope, original_max_position_embeddings=length + 1, magnitude_factor=said)
    late = replace(group, stretch=switching)
    what = (
        f"lists switch where a position is above {length}, one token late; the token at {length} is then turned as "
        "the first, one long request switches all of its batch, and cached keys keep the short list"
    )
    losses = departure(group, late, "long_factor", what, source, (length,))
    if own:
        return late, losses
    computed = ratio_magnitude(longrope, spec.window.declared)
    after = replace(group, stretch=replace(switching, magnitude_factor=computed))
    what = "the magnitude is computed from the two lengths, whatever attention_factor or factor say"
    return after, losses + departure(late, after, "attention_factor", what, source)


def _yarn(group: LayerGroup, yarn: Yarn) -> tuple[LayerGroup, list[Loss]]:
    factor = magnitude(yarn.factor)
    if yarn.mscale is not None and yarn.mscale_all_dim is not None:
        factor = magnitude(yarn.factor, yarn.mscale) / magnitude(yarn.factor, yarn.mscale_all_dim)
    after = replace(group, stretch=replace(yarn, magnitude_factor=factor))
    word = "attention_factor" if yarn.magnitude_factor is not None else "mscale"
    what = "attention_factor is ignored" if word == "attention_factor" else "the mscales count also where one is 0"
    return after, departure(group, after, word, what, f"{ROPE}/yarn.py")
