"""ExLlamaV2's dialect: Hugging Face's old spelling in config.json, and flags over it."""

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from ordinate.dialects._departures import Departures, rotating, whole
from ordinate.dialects._own_words import OwnWords, fits, laid_over
from ordinate.dialects._params import Params
from ordinate.dialects.base import Written
from ordinate.errors import InputError, at_least, finite, got, one_of, positive
from ordinate.scaling.abf import Abf
from ordinate.scaling.base import Scaling
from ordinate.scaling.linear import Linear
from ordinate.scaling.llama3 import Llama3
from ordinate.scaling.longrope import LongRope
from ordinate.scaling.ntk import Ntk
from ordinate.scaling.yarn import Yarn, magnitude
from ordinate.schemes.multimodal import Multimodal
from ordinate.spec import LayerGroup, Spec, Window

FLAGS = ("length", "rope_scale", "rope_alpha")
WORDS = frozenset({"rope_theta", "rope_scaling", "original_max_position_embeddings", *FLAGS})
SCALING_WORDS = frozenset(
    {
        *("type", "factor", "original_max_position_embeddings", "low_freq_factor", "high_freq_factor"),
        *("short_factor", "long_factor"),
    }
)
MAXIMUM_DIVISORS = 32768


class ExLlamaV2(OwnWords):
    """ExLlamaV2, which reads config.json as transformers 4 writes it.

    `--rope_scale` divides positions; `--rope_alpha` multiplies the base by alpha^(d / (d - 2)). Of YaRN it takes the
    factor alone: the ramp is laid by `max_seq_len` in place of the original length, with betas 32 and 1, and nothing
    is scaled where `max_seq_len` is not past the original length. LongRoPE's list is chosen once, by `max_seq_len`,
    and so is its magnitude.

    Source: turboderp-org/exllamav2, exllamav2/config.py, rope.py and model_init.py.
    """

    name: ClassVar[str] = "exllamav2"
    title: ClassVar[str] = "ExLlamaV2"
    version: ClassVar[str] = "da07fac, 2025-12-09"
    source: ClassVar[str] = "turboderp-org/exllamav2: exllamav2/rope.py"

    def depart(self, departures: Departures, spec: Spec, capacity: int | None) -> None:
        if not isinstance(departures.group.encoding, Multimodal):
            departures.one_position()
        departures.leading_channels()
        departures.drop_temperature()
        if isinstance(departures.group.stretch, Abf):
            departures.fold_base()
        stretch, length = departures.group.stretch, capacity or spec.window.declared or 2048
        if isinstance(stretch, Yarn):
            _depart_yarn(departures, stretch, length)
        elif isinstance(stretch, LongRope):
            _depart_longrope(departures, stretch, length)
        elif not isinstance(stretch, (Linear, Ntk, Llama3)):
            departures.drop_stretch()

    def fixed(self, group: LayerGroup, spec: Spec) -> bool:
        """Gemma 3's layers with a window have base 10,000 in ExLlamaV2's own table, and no scaling."""
        return spec.architecture.startswith("gemma3") and group.layer_type == "sliding_attention"

    def write(self, spec: Spec) -> Written:
        # The words are those of the model: what the engine makes of them is not what it must be told.
        losses = self.held(spec).losses
        settings = self.say(spec)
        return Written(settings, self.text(settings), losses)

    def say(self, spec: Spec) -> dict[str, Any]:
        first = next(rotating(spec))
        stretch = first.stretch
        said: dict[str, Any] = {
            "rope_theta": whole(stretch.base if isinstance(stretch, Abf) else first.rope.base),
        }
        if spec.window.declared is not None:
            said["length"] = spec.window.declared
        if isinstance(stretch, Linear):
            said["rope_scale"] = whole(stretch.factor)
        elif isinstance(stretch, Ntk):
            said["rope_alpha"] = whole(stretch.factor)
        elif isinstance(stretch, Llama3):
            said["rope_scaling"] = {
                "type": "llama3",
                "factor": whole(stretch.factor),
                "low_freq_factor": whole(stretch.low_freq_factor),
                "high_freq_factor": whole(stretch.high_freq_factor),
                "original_max_position_embeddings": stretch.original_max_position_embeddings,
            }
        elif isinstance(stretch, Yarn):
            original = stretch.original_max_position_embeddings
            said["rope_scaling"] = {
                "type": "yarn",
                "factor": whole(stretch.factor),
                "original_max_position_embeddings": original,
            }
        elif isinstance(stretch, LongRope):
            said["original_max_position_embeddings"] = stretch.original_max_position_embeddings
            said["rope_scaling"] = {
                "type": "longrope",
                "short_factor": list(stretch.short_factor),
                "long_factor": list(stretch.long_factor),
            }
        return said

    def text(self, settings: Mapping[str, Any]) -> str:
        config = {key: value for key, value in settings.items() if key not in FLAGS}
        flags = " ".join(f"--{key} {settings[key]}" for key in FLAGS if key in settings)
        return json.dumps(config, indent=2) + ("\n" + flags if flags else "")

    def read(self, settings: Mapping[str, Any], model: Spec) -> Spec:
        keys = self.words(settings, WORDS)
        base = keys.base(10000.0, "ExLlamaV2 has this")
        length = keys.integer("length") or model.window.declared
        stretch = _stretch(keys, length)
        for group in rotating(model):
            if not fits(stretch, group):
                pairs = group.rope.pairs
                raise InputError(f"{keys.label('rope_scaling')} must have {pairs} divisors in each list, one a pair")
        trained = getattr(stretch, "original_max_position_embeddings", model.window.trained)
        read = laid_over(model, base, stretch, Window(trained, length))
        groups = {
            name: replace(group, encoding=model.groups[name].encoding, stretch=None)
            if self.fixed(group, model)
            else group
            for name, group in read.groups.items()
        }
        return replace(read, groups=groups)


def _depart_yarn(departures: Departures, stretch: Yarn, length: int) -> None:
    original = stretch.original_max_position_embeddings
    if length <= original:
        departures.to(
            "rope_type", f"scales only past the original length {original}, and max_seq_len is {length}", stretch=None
        )
        return
    departures.stretch("truncate", "rounds the ends of the ramp always", truncate=True, ramp="index")
    departures.stretch("beta_fast", "has betas 32 and 1", beta_fast=32.0, beta_slow=1.0)
    departures.stretch(
        "attention_factor" if stretch.magnitude_factor is not None else "mscale",
        "takes 0.1 ln(factor) + 1",
        magnitude_factor=magnitude(stretch.factor),
        mscale=None,
        mscale_all_dim=None,
    )
    departures.stretch(
        "original_max_position_embeddings",
        f"lays the ramp by max_seq_len {length} in place of the original length {original}",
        original_max_position_embeddings=length,
    )


def _depart_longrope(departures: Departures, stretch: LongRope, length: int) -> None:
    original = stretch.original_max_position_embeddings
    past = length > original
    chosen = stretch.long_factor if past else stretch.short_factor
    departures.stretch(
        "short_factor" if past else "long_factor",
        f"chooses the {'long' if past else 'short'} list at every length, for max_seq_len {length}",
        short_factor=chosen,
        long_factor=chosen,
    )
    factor = math.sqrt(1 + math.log(length / original) / math.log(original)) if past and original > 1 else 1.0
    departures.stretch("attention_factor", f"takes the magnitude from max_seq_len {length}", magnitude_factor=factor)


def _stretch(keys: Params, length: int | None) -> Scaling | None:
    scale, alpha = keys.number("rope_scale"), keys.number("rope_alpha")
    inner = keys.inner("rope_scaling", SCALING_WORDS)
    given = [key for key, value in (("rope_scale", scale), ("rope_alpha", alpha)) if value not in (None, 1)]
    if len(given) + (inner is not None) > 1:
        raise InputError(f"{keys.label('rope_scaling')}, rope_scale and rope_alpha must be one at most")
    if scale not in (None, 1):
        return Linear(at_least(keys.label("rope_scale"), scale, 1))
    if alpha not in (None, 1):
        return Ntk(at_least(keys.label("rope_alpha"), alpha, 1))
    if inner is None:
        return None
    kind = one_of(inner.label("type"), inner.values.get("type"), ("linear", "yarn", "longrope", "su", "llama3"))
    if kind in ("longrope", "su"):
        original = keys.required("original_max_position_embeddings")
        factor = max((length or original) / original, 1.0)
        return LongRope(_divisors(inner, "short_factor"), _divisors(inner, "long_factor"), factor, max(original, 2))
    factor = inner.number("factor")
    if factor is None:
        raise InputError(f"{inner.label('factor')} is missing")
    if kind == "linear":
        return Linear(at_least(inner.label("factor"), factor, 1))
    original = inner.required("original_max_position_embeddings")
    if kind == "yarn":
        return Yarn(at_least(inner.label("factor"), factor, 1), original)
    low, high = inner.number("low_freq_factor"), inner.number("high_freq_factor")
    if low is None or high is None:
        raise InputError(f"{inner.label('low_freq_factor')} and high_freq_factor must be given")
    return Llama3(at_least(inner.label("factor"), factor, 1), original, low, high)


def _divisors(keys: Params, key: str) -> tuple[float, ...]:
    values = keys.values.get(key)
    if not isinstance(values, (list, tuple)) or not 0 < len(values) <= MAXIMUM_DIVISORS:
        raise InputError(f"{keys.label(key)} must be a list of divisors, one a pair, got {got(values)}")
    return tuple(positive(f"{keys.label(key)}[{i}]", finite(key, value)) for i, value in enumerate(values))
