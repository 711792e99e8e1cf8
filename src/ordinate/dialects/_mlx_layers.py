"""Which words mlx-lm reads for layers that do not all rotate alike: each of its models has its own."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ordinate.dialects._departures import departure
from ordinate.dialects.base import Loss
from ordinate.dialects.huggingface.writer import MODEL_TYPES
from ordinate.scaling.abf import Abf
from ordinate.scaling.linear import Linear
from ordinate.scaling.ntk import Ntk
from ordinate.schemes.base import Rotary
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup, Spec

MODELS = "ml-explore/mlx-lm d78bf58e (2026-08-22), mlx_lm/models"


@dataclass(frozen=True)
class Words:
    """What one of mlx-lm's models reads.

    Args:
        file: of the model, in mlx_lm/models
        nested: `rope_parameters` by layer type; else `rope_theta`, for all layers or for those without a window
        local: the key of the base of layers with a window; None where they have that of the others
        scaling: whether it reads a scaling, for layers without a window where it is not nested
        dropped: rope types that it takes for the default
    """

    file: str
    nested: bool = False
    local: str | None = None
    scaling: bool = True
    dropped: tuple[type, ...] = ()

    @property
    def source(self) -> str:
        """Where that can be seen."""
        return f"{MODELS}/{self.file}.py"


KNOWN = {
    "gemma3_text": Words("gemma3_text", local="rope_local_base_freq"),
    "gemma3n_text": Words("gemma3n", local="rope_local_base_freq", scaling=False),
    "gemma4_text": Words("gemma4_text", nested=True),
    "laguna": Words("laguna", nested=True),
    "mellum": Words("mellum", nested=True, dropped=(Linear,)),
    "mimo_v2_flash": Words("mimo_v2_flash", local="swa_rope_theta", scaling=False),
    "olmo3": Words("olmo3"),
}


def words_of(spec: Spec) -> Words | None:
    """What is known of the model's words in mlx-lm, or None."""
    return KNOWN.get(MODEL_TYPES.get(spec.architecture, spec.architecture))


def respelled(spec: Spec, words: Mapping[str, Any]) -> dict[str, Any]:
    """`rope_parameters` by layer type in the words of mlx-lm's model, where it reads others.

    A `rope_scaling` of None takes the place of one that the file may have.
    """
    known = words_of(spec)
    if known is None or known.nested:
        return dict(words)
    sets = words["rope_parameters"]
    wide = next((values for name, values in sets.items() if not _local(name)), None) or next(iter(sets.values()))
    said = {key: value for key, value in words.items() if key != "rope_parameters"}
    said["rope_theta"] = wide["rope_theta"]
    for name, values in sets.items():
        if known.local is not None and _local(name):
            said[known.local] = values["rope_theta"]
    if known.scaling:
        scaling = {k: v for k, v in wide.items() if k not in ("rope_theta", "partial_rotary_factor")}
        said["rope_scaling"] = None if scaling == {"rope_type": "default"} else scaling
    return said


def read_as(spec: Spec, settings: Mapping[str, Any]) -> Spec:
    """Give layers with a window the base of the others, where the model has one key for both."""
    known = words_of(spec)
    wide = next((group for name, group in spec.groups.items() if not _local(name) and _turns(group)), None)
    if known is None or known.nested or known.local or wide is None or "rope_theta" not in settings:
        return spec
    groups = {name: _rebased(group, wide) if _local(name) else group for name, group in spec.groups.items()}
    return replace(spec, groups=groups)


def heeded(spec: Spec, group: LayerGroup) -> tuple[LayerGroup, list[Loss]]:
    """A layer group as mlx-lm's model of this architecture builds it, and what of it has no word there."""
    turning = {name: other for name, other in spec.groups.items() if _turns(other) and other.layers != ()}
    if not _turns(group) or group.layers == ():
        return group, []
    known = words_of(spec)
    if known is None:
        alike = {(_plain(other), other.stretch) for other in turning.values()}
        if len(alike) < 2:
            return group, []
        what = (
            f"which words mlx-lm reads for the kinds of layers of {spec.architecture!r} is not known: a key that its "
            "model does not have is dropped without a word"
        )
        return group, [Loss("rope_parameters", what, f"{MODELS}/base.py")]
    after, losses = group, []
    local = _local(group.layer_type)
    wide = next((other for name, other in turning.items() if not _local(name)), group)
    if not known.nested and local and known.local is None:
        after = _rebased(group, wide)
        losses += departure(group, after, "rope_theta", "all layers have one base", known.source)
    unread = not known.nested and (local or not known.scaling)
    # A larger base is a word of its own.
    scaled = group.stretch is not None and not isinstance(group.stretch, (Abf, Ntk))
    if isinstance(group.stretch, known.dropped) or (unread and scaled):
        plain = replace(after, stretch=None)
        losses += departure(after, plain, "rope_type", "these layers are built without a scaling", known.source)
        after = plain
    return after, losses


def _local(name: str) -> bool:
    return "sliding" in name


def _turns(group: LayerGroup) -> bool:
    return isinstance(group.encoding, Rotary)


def _plain(group: LayerGroup) -> Any:
    """What of a scheme is said by layer type."""
    rope = group.rope
    return rope.base, rope.rotary_dim, getattr(rope, "part", "first") if isinstance(rope, Rope) else ""


def _rebased(group: LayerGroup, other: LayerGroup) -> LayerGroup:
    encoding: Any = group.encoding
    if not _turns(group) or encoding.base == other.rope.base:
        return group
    return replace(group, encoding=replace(encoding, base=other.rope.base))
