"""torchtitan's dialect: `RoPE.Config` of each kind of layers."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from ordinate.dialects._departures import Departures, rotating, whole
from ordinate.dialects._own_words import OwnWords
from ordinate.dialects._params import Params
from ordinate.errors import InputError, at_least, boolean, even_integer, got, one_of, positive
from ordinate.scaling.base import Scaling
from ordinate.scaling.llama3 import Llama3
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.multimodal import Multimodal
from ordinate.schemes.rope import Rope
from ordinate.spec import Spec, Window

FORMATS = ("ComplexRoPE", "CosSinRoPE")
WORDS = frozenset(
    {
        *("format", "dim", "max_context_length", "theta", "scaling", "scaling_factor", "low_freq_factor"),
        *("high_freq_factor", "original_max_position_embeddings", "rope_factor", "beta_fast", "beta_slow"),
        *("original_seq_len", "truncate"),
    }
)


class TorchTitan(OwnWords):
    """torchtitan, whose models have a `RoPE.Config` in the attention of each kind of layers.

    `scaling` is none, llama or yarn. YaRN runs where `rope_factor` is above 1, with every number of the ramp and
    `truncate`. cos and sin are never scaled: a model that wants YaRN's magnitude has it in its softmax scale.
    `ComplexRoPE` turns interleaved pairs, `CosSinRoPE` half pairs, and the latter refuses llama.

    Source: pytorch/torchtitan, torchtitan/models/common/rope.py.
    """

    name: ClassVar[str] = "torchtitan"
    title: ClassVar[str] = "torchtitan"
    version: ClassVar[str] = "b5bcd76c, 2026-08-21"
    source: ClassVar[str] = "pytorch/torchtitan: torchtitan/models/common/rope.py"
    one_rope: ClassVar[bool] = False

    def depart(self, departures: Departures, spec: Spec, capacity: int | None) -> None:
        del spec, capacity
        if not isinstance(departures.group.encoding, Multimodal):
            departures.one_position()
        departures.leading_channels()
        departures.fold_base()
        stretch = departures.group.stretch
        if isinstance(stretch, Llama3):
            return
        if not isinstance(stretch, Yarn):
            departures.drop_stretch()
            return
        departures.stretch("ramp", "has its ramp over the index of pairs", ramp="index")
        factor = stretch.attention_factor()
        departures.stretch(
            "attention_factor",
            f"never scales cos and sin, and its model has to multiply the softmax scale by {factor**2:.6g}",
            magnitude_factor=1.0,
            mscale=None,
            mscale_all_dim=None,
        )

    def say(self, spec: Spec) -> dict[str, Any]:
        said: dict[str, Any] = {}
        for group in rotating(spec):
            complex_pairs = group.pairing != "half" or isinstance(group.stretch, Llama3)
            entry: dict[str, Any] = {
                "format": FORMATS[0] if complex_pairs else FORMATS[1],
                "dim": group.rope.rotary_dim,
                "max_context_length": spec.window.declared or spec.window.trained or 2048,
                "theta": whole(group.rope.base),
            }
            stretch = group.stretch
            if isinstance(stretch, Llama3):
                entry |= {
                    "scaling": "llama",
                    "scaling_factor": whole(stretch.factor),
                    "low_freq_factor": whole(stretch.low_freq_factor),
                    "high_freq_factor": whole(stretch.high_freq_factor),
                    "original_max_position_embeddings": stretch.original_max_position_embeddings,
                }
            elif isinstance(stretch, Yarn):
                entry |= {
                    "scaling": "yarn",
                    "rope_factor": whole(stretch.factor),
                    "beta_fast": whole(stretch.beta_fast),
                    "beta_slow": whole(stretch.beta_slow),
                    "original_seq_len": stretch.original_max_position_embeddings,
                    "truncate": stretch.truncate,
                }
            said[group.layer_type] = entry
        return said

    def text(self, settings: Mapping[str, Any]) -> str:
        lines = []
        for layer_type, entry in settings.items():
            fields = ", ".join(f"{key}={value!r}" for key, value in entry.items() if key != "format")
            lines.append(f"{entry['format']}.Config({fields})  # {layer_type}")
        return "\n".join(lines)

    def steps(self, spec: Spec) -> tuple[str, ...]:
        turned = [
            group.layer_type
            for group in rotating(spec)
            if group.pairing == "half" and isinstance(group.stretch, Llama3)
        ]
        if not turned:
            return ()
        return (
            "CosSinRoPE refuses llama scaling, so ComplexRoPE is taken: rewrite the q and k weights from half to "
            "interleaved pairs: ordinate convert IN OUT --pairing interleaved",
        )

    def read(self, settings: Mapping[str, Any], model: Spec) -> Spec:
        entries = self.words(settings, frozenset(model.groups))
        groups, declared, trained = dict(model.groups), model.window.declared, model.window.trained
        for group in rotating(model):
            entry = entries.inner(group.layer_type, WORDS)
            if entry is None:
                raise InputError(f"{entries.label(group.layer_type)} is missing: these layers turn")
            stretch = _scaling(entry)
            dim = even_integer(entry.label("dim"), entry.values.get("dim"))
            if dim != group.rope.rotary_dim:
                raise InputError(f"{entry.label('dim')} must be {group.rope.rotary_dim}, as in the model, got {dim}")
            theta = entry.number("theta")
            base = 10000.0 if theta is None else positive(entry.label("theta"), theta)
            encoding: Any = group.encoding
            if isinstance(encoding, Rope) and encoding.part == "proportional":
                encoding = replace(encoding, part="first")
            declared = entry.required("max_context_length")
            trained = getattr(stretch, "original_max_position_embeddings", trained)
            groups[group.layer_type] = replace(group, encoding=replace(encoding, base=base), stretch=stretch)
        return replace(model, groups=groups, window=Window(trained, declared))


def _scaling(entry: Params) -> Scaling | None:
    one_of(entry.label("format"), entry.values.get("format"), FORMATS)
    kind = one_of(entry.label("scaling"), entry.values.get("scaling", "none"), ("none", "llama", "yarn"))

    def number(key: str, default: float) -> float:
        value = entry.number(key)
        return default if value is None else positive(entry.label(key), value)

    if kind == "llama":
        if entry.values["format"] == "CosSinRoPE":
            raise InputError(f"{entry.label('scaling')} must be none or yarn for CosSinRoPE, got {got(kind)}")
        return Llama3(
            at_least(entry.label("scaling_factor"), number("scaling_factor", 8.0), 1),
            entry.integer("original_max_position_embeddings") or 8192,
            low_freq_factor=number("low_freq_factor", 1.0),
            high_freq_factor=number("high_freq_factor", 4.0),
        )
    factor = number("rope_factor", 1.0)
    if kind == "none" or factor <= 1:
        return None
    return Yarn(
        factor,
        entry.integer("original_seq_len") or 4096,
        magnitude_factor=1.0,
        beta_fast=number("beta_fast", 32.0),
        beta_slow=number("beta_slow", 1.0),
        truncate=boolean(entry.label("truncate"), entry.values.get("truncate", True)),
    )
