"""DeepSeek's dialect: the configuration of its own inference code."""

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from ordinate.dialects._departures import Departures, rotating, whole
from ordinate.dialects._own_words import OwnWords, laid_over
from ordinate.errors import at_least, finite, positive
from ordinate.scaling.yarn import Yarn, magnitude
from ordinate.schemes.base import Rotary
from ordinate.spec import LayerGroup, Spec, Window

# What the code has where the file says nothing.
LENGTH, ORIGINAL, BASE, FACTOR = 16384, 4096, 10000.0, 40.0
WORDS = frozenset({"beta_fast", "beta_slow", "max_seq_len", "mscale", "original_seq_len", "rope_factor", "rope_theta"})


class DeepSeek(OwnWords):
    """DeepSeek's own inference code for V2 and V3, told by `ModelArgs`.

    It scales by YaRN alone, and only where `max_seq_len` is past `original_seq_len`; the ends of the ramp are rounded
    always. cos and sin are never scaled. The magnitude is on the softmax scale, which is multiplied by
    (0.1 mscale ln(rope_factor) + 1) ** 2 for the turning channels and the others alike. Pairs are interleaved.

    Source: deepseek-ai/DeepSeek-V3, inference/model.py, `ModelArgs`, `precompute_freqs_cis` and `MLA`.
    """

    name: ClassVar[str] = "deepseek"
    title: ClassVar[str] = "DeepSeek's inference code"
    version: ClassVar[str] = "9b4e978, 2025-08-27"
    source: ClassVar[str] = "deepseek-ai/DeepSeek-V3: inference/model.py"
    pairing: ClassVar[str | None] = "interleaved"
    every_layer: ClassVar[bool] = True

    def depart(self, departures: Departures, spec: Spec, capacity: int | None) -> None:
        departures.one_position()
        departures.leading_channels()
        departures.fold_base()
        departures.drop_temperature()
        stretch = departures.group.stretch
        if not isinstance(stretch, Yarn):
            departures.drop_stretch()
            departures.to("softmax_scale", "has it as 1 / sqrt(head_dim) without YaRN", softmax_scale=None)
            return
        length = capacity or spec.window.declared or LENGTH
        original = stretch.original_max_position_embeddings
        if length <= original:
            why = f"scales only where max_seq_len is past original_seq_len {original}, and it is {length}"
            departures.to("rope_type", why, stretch=None, softmax_scale=None)
            return
        departures.stretch("truncate", "rounds the ends of the ramp always", truncate=True, ramp="index")
        departures.stretch(
            "attention_factor",
            "never scales cos and sin: the magnitude is on its softmax scale",
            magnitude_factor=1.0,
            mscale=None,
            mscale_all_dim=None,
        )

    def say(self, spec: Spec) -> dict[str, Any]:
        first = next(rotating(spec))
        length = spec.window.declared or LENGTH
        said: dict[str, Any] = {"rope_theta": whole(first.rope.base), "max_seq_len": length}
        if not isinstance(first.stretch, Yarn):
            # No length is past itself, so that nothing is scaled.
            return said | {"original_seq_len": length, "rope_factor": 1, "mscale": 1}
        return said | {
            "original_seq_len": first.stretch.original_max_position_embeddings,
            "rope_factor": whole(first.stretch.factor),
            "beta_fast": whole(first.stretch.beta_fast),
            "beta_slow": whole(first.stretch.beta_slow),
            "mscale": whole(_mscale(first, first.stretch.factor)),
        }

    def text(self, settings: Mapping[str, Any]) -> str:
        return json.dumps(dict(settings), indent=2)

    def read(self, settings: Mapping[str, Any], model: Spec) -> Spec:
        keys = self.words(settings, WORDS)
        base = keys.number("rope_theta")
        base = BASE if base is None else positive(keys.label("rope_theta"), base)
        length, original = keys.integer("max_seq_len") or LENGTH, keys.integer("original_seq_len") or ORIGINAL
        factor, mscale = keys.number("rope_factor"), keys.number("mscale")
        fast, slow = keys.number("beta_fast"), keys.number("beta_slow")
        if length <= original:
            return laid_over(_scaled(model, 1.0), base, None, Window(length, length))
        factor = FACTOR if factor is None else at_least(keys.label("rope_factor"), factor, 1)
        yarn = Yarn(
            factor,
            original,
            magnitude_factor=1.0,
            beta_fast=32.0 if fast is None else positive(keys.label("beta_fast"), fast),
            beta_slow=1.0 if slow is None else positive(keys.label("beta_slow"), slow),
        )
        scale = magnitude(factor, 1.0 if mscale is None else finite(keys.label("mscale"), mscale)) ** 2
        return laid_over(_scaled(model, scale), base, yarn, Window(original, length))


def _scaled(model: Spec, scale: float) -> Spec:
    """A model whose softmax scale is that of its heads times `scale`."""
    groups = {
        name: replace(group, softmax_scale=None if scale == 1 else scale * group.rope.head_dim**-0.5)
        if isinstance(group.encoding, Rotary)
        else group
        for name, group in model.groups.items()
    }
    return replace(model, groups=groups)


def _mscale(group: LayerGroup, factor: float) -> float:
    """The `mscale` whose magnitude, squared, is what the softmax scale has over 1 / sqrt(head_dim)."""
    if group.softmax_scale is None or factor <= 1:
        return 0.0
    over = math.sqrt(max(group.softmax_scale * math.sqrt(group.rope.head_dim), 0.0))
    return round((over - 1) / (0.1 * math.log(factor)), 12)
