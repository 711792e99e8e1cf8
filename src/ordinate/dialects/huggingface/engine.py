"""transformers as an engine: what it computes from a configuration."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from ordinate.dialects._departures import departure
from ordinate.dialects.base import Dialect, Interpretation, Loss, Written, over_groups
from ordinate.dialects.huggingface.architectures import architecture
from ordinate.dialects.huggingface.overrides import laid_over, placed
from ordinate.dialects.huggingface.writer import READER, write
from ordinate.errors import InputError
from ordinate.scaling.abf import Abf
from ordinate.scaling.longrope import LongRope
from ordinate.scaling.ntk import Ntk
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup, Spec


class HuggingFace(Dialect):
    """Hugging Face transformers, `config.json` in the spelling of version 5.

    Differs from what the words say: inside settings for each layer type `truncate` is overlooked; architectures
    that turn the whole head overlook `partial_rotary_factor` in plain RoPE; Phi-3.5-MoE stays with the short list.

    Source: transformers 5.24.0, modeling_rope_utils.py, executed.
    """

    name: ClassVar[str] = "huggingface"
    title: ClassVar[str] = "Hugging Face transformers"
    version: ClassVar[str] = "5.24.0"

    def write(self, spec: Spec) -> Written:
        written = write(spec)
        losses = self.interpret(self.read(written.settings, spec)).losses
        steps = (*written.steps, placed(spec, stale="rope_theta and rope_scaling beside rope_parameters"))
        return replace(written, losses=(*written.losses, *losses), steps=steps)

    def read(self, settings: Mapping[str, Any], model: Spec) -> Spec:
        return laid_over(settings, model)

    def interpret(self, spec: Spec, capacity: int | None = None) -> Interpretation:
        del capacity  # lengths decide, not what is allocated
        known = architecture(spec.architecture)
        nested: bool | None = None

        def change(group: LayerGroup) -> tuple[LayerGroup, list[Loss]]:
            nonlocal nested
            rope, stretch = group.encoding, group.stretch
            if isinstance(stretch, Yarn) and not stretch.truncate:
                nested = is_nested(spec) if nested is None else nested
                if nested:
                    after = replace(group, stretch=replace(stretch, truncate=True))
                    what = "truncate is overlooked in settings for each layer type, and the ramp is rounded"
                    return after, departure(group, after, "truncate", what, READER)
            if isinstance(stretch, LongRope) and known is not None and known.magnitudes:
                after = replace(group, stretch=replace(stretch, long_factor=stretch.short_factor))
                source = "huggingface/transformers 5.24.0, src/transformers/models/phimoe/modeling_phimoe.py"
                return after, departure(group, after, "long_factor", "the short list is taken at every length", source)
            whole = known is not None and known.whole and isinstance(stretch, None | Abf | Ntk)
            part = isinstance(rope, Rope) and rope.part == "first" and rope.rotary_dim < rope.head_dim
            if whole and part and isinstance(rope, Rope):
                after = replace(group, encoding=replace(rope, rotary_dim=rope.head_dim))
                what = f"plain RoPE of {spec.architecture} turns the whole head"
                return after, departure(group, after, "partial_rotary_factor", what, READER)
            return group, []

        return over_groups(spec, change)


def is_nested(spec: Spec) -> bool:
    """Whether a model's settings stand in its configuration by layer type, or would have to."""
    if spec.container == "huggingface":
        return any(
            re.search(r"rope_(parameters|scaling)\.\w+$", source) is not None
            for key, source in spec.sources.items()
            if key.endswith(".scaling")
        )
    try:
        words = write(spec).settings.get("rope_parameters") or {}
    except InputError:
        return False
    return any(isinstance(value, dict) for value in words.values())
