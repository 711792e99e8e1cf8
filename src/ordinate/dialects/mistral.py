"""Mistral's dialect: params.json with a rotary base, "yarn" and "llama_4_scaling"."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from ordinate.dialects._departures import Departures, rotating, whole
from ordinate.dialects._own_words import OwnWords, laid_over
from ordinate.dialects._params import MAXIMUM_LAYERS, MAXIMUM_WIDTH, Params
from ordinate.errors import InputError, at_least, even_integer, finite, got, positive
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.rope import Rope
from ordinate.spec import Heads, LayerGroup, Spec, Window
from ordinate.temperature import QueryTemperature

OWN_KEYS = frozenset(
    {
        "hidden_dim",
        "kv_lora_rank",
        "llama_4_scaling",
        "max_position_embeddings",
        "model_type",
        "moe",
        "multimodal",
        "sliding_window",
        "vision_encoder",
        "yarn",
    }
)
"""A params.json with one of these, and none of Meta's, is Mistral's."""

YARN_KEYS = frozenset({"factor", "original_max_position_embeddings", "beta", "alpha", "apply_scale"})
TEMPERATURE_KEYS = frozenset({"beta", "original_max_position_embeddings"})


def read(params: Mapping[str, Any], *, name: str) -> Spec:
    """Say what a Mistral model does with position, from its params.json.

    Channels are paired interleaved. In "yarn", `beta` is beta_fast and `alpha` beta_slow, and `apply_scale` false
    means a magnitude of 1. Only the text model is read; encoders of images or sound are not.

    Args:
        params: the object in the file
        name: what the spec calls the model

    Raises:
        InputError: a value that is missing, unknown or out of range

    Source: mistral-inference, args.py and transformer.py; vLLM, transformers_utils/configs/mistral.py.
    """
    keys = Params(params, name)
    if params.get("model_type") not in (None, "transformer"):
        raise InputError(f"{keys.label('model_type')} must be transformer, got {got(params['model_type'])}")
    layers = keys.required("n_layers", most=MAXIMUM_LAYERS)
    heads = _heads(keys)
    windows = _windows(keys, layers)
    # mistral-inference: 10,000 where there is a window (Mistral 7B v0.1), else a million.
    base = keys.base(
        10000.0 if any(windows) else 1e6,
        "rope_theta is absent, and mistral-inference has this " + ("with" if any(windows) else "without") + " a window",
    )
    latent = heads.rotary_key_dim is not None
    turning = even_integer(
        keys.label("qk_rope_head_dim" if latent else "head_dim"), heads.rotary_key_dim or heads.head_dim
    )
    rope = Rope(heads.head_dim, turning, base, "interleaved", "last" if turning < heads.head_dim else "first")
    keys.sources["pairing"] = "container mistral: interleaved"
    scaling = _yarn(keys, latent=latent)
    temperature = _temperature(keys)
    groups = {}
    for window in dict.fromkeys(windows):
        members = tuple(i for i, other in enumerate(windows) if other == window)
        kind = "sliding_attention" if window is not None and len(members) < layers else "full_attention"
        if kind in groups:
            raise InputError(f"{keys.label('sliding_window')} must have one window besides null, got {got(windows)}")
        if window is not None:
            keys.sources[f"{kind}.sliding_window"] = "sliding_window"
        groups[kind] = LayerGroup(kind, rope, scaling, "interleaved", members, heads, window, temperature=temperature)
    for key in ("vision_encoder", "multimodal"):
        if params.get(key):
            keys.warnings.append(f"{key} is in the file and is not described: only the text model is")
    window = _window(keys, scaling)
    return Spec(name, "mistral", "mistral", groups, window, layers, keys.sources, tuple(keys.warnings))


def _heads(keys: Params) -> Heads:
    latent = keys.integer("kv_lora_rank", most=MAXIMUM_WIDTH)
    if latent is None:
        return keys.heads()
    query = keys.required("n_heads", most=MAXIMUM_WIDTH)
    rotary = keys.required("qk_rope_head_dim", most=MAXIMUM_WIDTH)
    head_dim = keys.required("qk_nope_head_dim", most=MAXIMUM_WIDTH) + rotary
    return Heads(query, query, head_dim, keys.required("v_head_dim", most=MAXIMUM_WIDTH), latent, rotary)


def _windows(keys: Params, layers: int) -> list[int | None]:
    """The window of each layer; a list in the file is repeated over the layers."""
    value = keys.values.get("sliding_window")
    if not isinstance(value, (list, tuple)):
        return [keys.integer("sliding_window")] * layers
    if not value or layers % len(value):
        raise InputError(f"{keys.label('sliding_window')} must have a length that divides {layers}, got {len(value)}")
    pattern = [Params({"sliding_window": entry}, keys.name).integer("sliding_window") for entry in value]
    return pattern * (layers // len(pattern))


def _yarn(keys: Params, *, latent: bool) -> Yarn | None:
    yarn = keys.inner("yarn", YARN_KEYS)
    if yarn is None:
        keys.sources["scaling"] = "none in the file"
        return None
    factor = yarn.number("factor")
    if factor is None:
        raise InputError(f"{yarn.label('factor')} is missing: yarn has no default factor")
    fast, slow, apply_scale = yarn.number("beta"), yarn.number("alpha"), yarn.flag("apply_scale")
    absent = [
        key for key, value in (("beta 32", fast), ("alpha 1", slow), ("apply_scale true", apply_scale)) if value is None
    ]
    keys.sources["scaling"] = "yarn" + (f"; assumed: {', '.join(absent)}" if absent else "")
    if latent and apply_scale is not False:
        keys.warnings.append("yarn.apply_scale is true beside kv_lora_rank: engines differ on what it scales there")
    return Yarn(
        at_least(yarn.label("factor"), factor, 1),
        yarn.required("original_max_position_embeddings"),
        magnitude_factor=1.0 if apply_scale is False else None,
        beta_fast=32.0 if fast is None else positive(yarn.label("beta"), fast),
        beta_slow=1.0 if slow is None else positive(yarn.label("alpha"), slow),
    )


def _temperature(keys: Params) -> QueryTemperature | None:
    settings = keys.inner("llama_4_scaling", TEMPERATURE_KEYS)
    if settings is None:
        return None
    scale = settings.number("beta")
    if scale is None:
        raise InputError(f"{settings.label('beta')} is missing")
    keys.sources["temperature"] = "llama_4_scaling"
    interval = settings.required("original_max_position_embeddings")
    return QueryTemperature("ministral3", finite(settings.label("beta"), scale), float(interval))


def _window(keys: Params, scaling: Yarn | None) -> Window:
    declared = None
    for key in ("max_position_embeddings", "max_seq_len", "model_max_length"):
        value = keys.integer(key)
        if declared is None and value is not None:
            declared = value
            keys.sources["window.declared"] = key
        elif value is not None and value != declared:
            keys.warnings.append(f"{key} is {value}, and {keys.sources['window.declared']} is {declared}")
    if declared is None:
        keys.warnings.append("the file does not say how long its context is")
    if scaling is None:
        return Window(declared, declared)
    keys.sources["window.trained"] = "yarn.original_max_position_embeddings"
    return Window(scaling.original_max_position_embeddings, declared)


WORDS = frozenset({"llama_4_scaling", "max_position_embeddings", "rope_theta", "yarn"})


class Mistral(OwnWords):
    """Mistral's models, told by a params.json.

    It scales by YaRN alone: `beta` is beta_fast, `alpha` beta_slow, `apply_scale` whether the magnitude is YaRN's or
    1; no other magnitude can be said, and the ends of the ramp are rounded always. "llama_4_scaling" is the query
    temperature of every layer. Pairs are interleaved; only MLA's heads turn in part.

    Source: vllm-project/vllm, transformers_utils/configs/mistral.py; ggml-org/llama.cpp, conversion/mistral.py.
    """

    name: ClassVar[str] = "mistral"
    title: ClassVar[str] = "Mistral's params.json"
    version: ClassVar[str] = "as vLLM 0.33.0 reads it"
    source: ClassVar[str] = "vllm-project/vllm: vllm/transformers_utils/configs/mistral.py"
    pairing: ClassVar[str | None] = "interleaved"
    every_layer: ClassVar[bool] = True

    def depart(self, departures: Departures, spec: Spec, capacity: int | None) -> None:
        del spec, capacity
        departures.one_position()
        departures.fold_base()
        if not isinstance(departures.group.stretch, Yarn):
            departures.drop_stretch()
        heads = departures.group.heads
        if heads is None or heads.rotary_key_dim is None:
            departures.whole_head()
        temperature = departures.group.temperature
        if temperature is not None and not (temperature.form == "ministral3" and temperature.interval.is_integer()):
            departures.drop_temperature()
        stretch = departures.group.stretch
        if not isinstance(stretch, Yarn):
            return
        departures.stretch("truncate", "has no word for a ramp whose ends are not rounded", truncate=True, ramp="index")
        plain = replace(stretch, magnitude_factor=None, mscale=None, mscale_all_dim=None).attention_factor()
        factor = stretch.attention_factor()
        departures.stretch(
            "mscale" if stretch.magnitude_factor is None else "attention_factor",
            "has no word for a magnitude but YaRN's own and 1",
            magnitude_factor=1.0 if abs(factor - 1) < abs(factor - plain) else None,
            mscale=None,
            mscale_all_dim=None,
        )

    def say(self, spec: Spec) -> dict[str, Any]:
        first = next(rotating(spec))
        said: dict[str, Any] = {"rope_theta": whole(first.rope.base)}
        if spec.window.declared is not None:
            said["max_position_embeddings"] = spec.window.declared
        if isinstance(first.stretch, Yarn):
            said["yarn"] = {
                "factor": whole(first.stretch.factor),
                "original_max_position_embeddings": first.stretch.original_max_position_embeddings,
                "beta": whole(first.stretch.beta_fast),
                "alpha": whole(first.stretch.beta_slow),
                "apply_scale": first.stretch.magnitude_factor is None,
            }
        if first.temperature is not None:
            said["llama_4_scaling"] = {
                "beta": first.temperature.scale,
                "original_max_position_embeddings": int(first.temperature.interval),
            }
        return said

    def text(self, settings: Mapping[str, Any]) -> str:
        return json.dumps(dict(settings), indent=2)

    def read(self, settings: Mapping[str, Any], model: Spec) -> Spec:
        keys = self.words(settings, WORDS)
        base = keys.base(1e6, "mistral-inference has this")
        latent = any(group.heads is not None and group.heads.kind == "MLA" for group in model.groups.values())
        scaling, temperature = _yarn(keys, latent=latent), _temperature(keys)
        read = laid_over(model, base, scaling, _window(keys, scaling))
        groups = {
            name: replace(group, temperature=temperature) if isinstance(group.encoding, Rope) else group
            for name, group in read.groups.items()
        }
        return replace(read, groups=groups)
