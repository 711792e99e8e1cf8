"""The keys of a configuration that say what a spec says, in an architecture's own names."""

from typing import Any

from ordinate.dialects.huggingface.architectures import Architecture
from ordinate.dialects.huggingface.layers import ATTENTION, NOT_ROTATING, UNUSED
from ordinate.dialects.huggingface.spelling import settings
from ordinate.dialects.huggingface.unrotated_words import unrotated_words
from ordinate.errors import InputError
from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.linear import Linear
from ordinate.scaling.longrope import LongRope
from ordinate.schemes.axial import Axial
from ordinate.schemes.base import Rotary
from ordinate.spec import LayerGroup, Spec


def compose(spec: Spec, model_type: str, known: Architecture, *, typed: bool) -> dict[str, Any]:
    """A configuration of the keys that have to do with position.

    Args:
        spec: what the model does with position
        model_type: the architecture, "" for a configuration without one
        known: what is known of it
        typed: list the layer types

    Raises:
        InputError: something that this architecture's keys cannot say
    """
    words = Words(spec, known)
    if model_type:
        words.config["model_type"] = model_type
    words.config |= dict.fromkeys(known.marks, True)
    words.heads()
    if spec.layers is not None:
        words.put("num_hidden_layers", spec.layers)
    if typed and known.unrotated != "gpt_neo":
        words.layer_types()
    if not words.rotating or (known.rotates == "position_embedding_type" and not words.turns):
        words.config |= unrotated_words(spec, known, words.put)
        if words.rotating:
            words.settings()
        return words.config
    words.windows()
    words.which_rotate()
    words.settings()
    words.length()
    words.scales()
    return words.config


def settings_name(group: LayerGroup) -> str:
    """The layer type under which a group's rotary settings stand."""
    name = group.layer_type.removeprefix(f"{UNUSED}_").removesuffix(NOT_ROTATING)
    return name.split("_base_")[0]


class Words:
    """A configuration as it grows; a key that the architecture calls otherwise is put under its own name."""

    def __init__(self, spec: Spec, known: Architecture) -> None:
        self.spec, self.known = spec, known
        self.config: dict[str, Any] = {}
        self.groups = list(spec.groups.values())
        self.rotating = [group for group in self.groups if isinstance(group.encoding, Rotary)]
        # Settings that no layer has are kept among them.
        self.turns = any(group.layers != () for group in self.rotating)

    def put(self, key: str, value: Any) -> None:
        """Set a key by the name that it has elsewhere."""
        self.config[self.known.names.get(key, key)] = value

    def has(self, key: str) -> bool:
        """Whether the architecture has a value of its own for a key that is left out."""
        return self.known.names.get(key, key) in self.known.defaults or key in self.known.defaults

    def heads(self) -> None:
        """The shape of attention; that of layers which see everything has keys of its own where it differs."""
        shaped = {group.layer_type: group.heads for group in self.groups if group.heads is not None}
        common = [
            heads for name, heads in shaped.items() if name != "full_attention" and name not in self.known.overrides
        ]
        if not shaped:
            if self.rotating:
                self.put("head_dim", self.rotating[0].rope.head_dim)
            return
        heads = common[0] if common else next(iter(shaped.values()))
        self.put("num_attention_heads", heads.query)
        self.put("num_key_value_heads", heads.key_value)
        if "multi_query" in self.known.defaults:
            self.put("multi_query", heads.key_value == 1)
            self.put("num_kv_heads", heads.key_value)
            if heads.key_value == 1:
                self.put("new_decoder_architecture", False)
        if heads.latent_dim is not None and heads.rotary_key_dim is not None:
            self.put("kv_lora_rank", heads.latent_dim)
            self.put("qk_rope_head_dim", heads.rotary_key_dim)
            self.put("qk_nope_head_dim", heads.head_dim - heads.rotary_key_dim)
            self.put("v_head_dim", heads.value_dim)
            return
        self.put("head_dim", self._width(heads.head_dim))
        if heads.value_dim != heads.head_dim or self.has("v_head_dim"):
            self.put("v_head_dim", heads.value_dim)
        full = shaped.get("full_attention", heads)
        own = self.known.overrides.get("full_attention", {})
        if full.head_dim != own.get("head_dim", heads.head_dim):
            self.put("global_head_dim", full.head_dim)
        if full.key_value != own.get("num_key_value_heads", heads.key_value):
            self.put("num_global_key_value_heads", full.key_value)

    def _width(self, head_dim: int) -> int:
        """The width of a head; an odd one is rounded up where all of it turns, as transformers does."""
        return head_dim + 1 if head_dim % 2 and any(g.rotary_dim == head_dim + 1 for g in self.rotating) else head_dim

    def layer_types(self) -> None:
        """The type of each layer; one that is in no group has no attention."""
        count = self.spec.layers
        if count is None or any(group.layers is None for group in self.groups):
            return
        types = ["linear_attention"] * count
        for group in self.groups:
            name = settings_name(group)
            name = self.known.labels.get(name, [name])[0]
            if name not in ATTENTION and group.layers:
                raise InputError(f"no layer type of transformers is called {name!r}")
            for layer in group.layers or ():
                types[layer] = name
        self.put("layer_types", types)

    def windows(self) -> None:
        """How many tokens a query sees where it does not see all."""
        for group in self.groups:
            if group.sliding_window is None:
                continue
            chunked = group.layer_type.startswith("chunked")
            local = "local_attention" in self.known.defaults
            key = "attention_chunk_size" if chunked else "local_attention" if local else "sliding_window"
            self.put(key, group.sliding_window)
        sliding = any(group.sliding_window is not None for group in self.groups)
        if not sliding and self.has("sliding_window"):
            self.put("sliding_window", None)
        if not sliding and self.has("attention_chunk_size"):
            self.put("attention_chunk_size", None)
        if "use_sliding_window" in self.known.defaults or (sliding and self.known.defaults.get("max_window_layers")):
            self.put("use_sliding_window", sliding)

    def which_rotate(self) -> None:
        """Which layers rotate, in the architecture's own way of saying it."""
        rule = self.known.rotates
        by_layer: dict[int, LayerGroup] = {layer: group for group in self.groups for layer in group.layers or ()}
        count = self.spec.layers or 0
        if rule == "no_rope_layers":
            turns = [isinstance(by_layer[i].encoding, Rotary) if i in by_layer else False for i in range(count)]
            self.put("no_rope_layers", [int(turn) for turn in turns])
        elif rule == "layer_rope_theta" and len(self.groups) > 1:
            rotary = [by_layer[i].encoding if i in by_layer else None for i in range(count)]
            self.put("layer_rope_theta", [e.base if isinstance(e, Rotary) else 0 for e in rotary])
        elif rule == "use_mem_rope":
            self.put("use_mem_rope", self.turns)
        elif rule == "alibi":
            self.put("alibi", False)
        elif rule == "position_embedding_type" and self.known.defaults.get(rule) not in ("rotary", "rope"):
            self.put(rule, "rotary" if self.has("pad_token_id") else "rope")

    def settings(self) -> None:
        """`rope_parameters`: one set, or one a layer type where they differ or the architecture has them so."""
        sets: dict[str, Any] = {}
        for group in self.groups:
            name = settings_name(group)
            if isinstance(group.encoding, Rotary):
                if name not in sets or sets[name] is None:
                    sets[name] = self._of(group)
            elif name not in sets and self.known.rotates is None:
                sets[name] = None
        own = any(isinstance(value, dict) for value in (self.known.rope or {}).values())
        values = list(sets.values())
        if not own and all(value == values[0] for value in values):
            self.put("rope_parameters", values[0])
        else:
            self.put("rope_parameters", sets)

    def _of(self, group: LayerGroup) -> dict[str, Any]:
        rope, known = group.rope, self.known
        latent = group.heads is not None and group.heads.latent_dim is not None
        width = rope.head_dim if group.heads is None else self._width(group.heads.head_dim)
        spelled = settings(rope, group.stretch, width, share=not latent)
        if "rotary_dim" in known.defaults and not latent and spelled["rope_type"] != "proportional":
            spelled.pop("partial_rotary_factor", None)
            self.put("rotary_dim", rope.rotary_dim)
        elif not latent and not isinstance(rope, Axial) and self._share_by_default():
            spelled.setdefault("partial_rotary_factor", 1.0)
        if known.magnitudes and isinstance(group.stretch, LongRope):
            spelled |= dict.fromkeys(("short_mscale", "long_mscale"), spelled.pop("attention_factor"))
        original = spelled.get("original_max_position_embeddings")
        if original is not None and self.has("original_max_position_embeddings"):
            self.put("original_max_position_embeddings", original)
        if group.temperature is not None and group.temperature.form == "ministral3":
            spelled["llama_4_scaling_beta"] = group.temperature.scale
            spelled.setdefault("original_max_position_embeddings", int(group.temperature.interval))
        return spelled

    def _share_by_default(self) -> bool:
        """Whether a part of the head turns where the configuration does not say."""
        return self.known.partial != 1 or "partial_rotary_factor" in str(self.known.rope)

    def length(self) -> None:
        """`max_position_embeddings`: before scaling for linear and dynamic, after it for the others."""
        group = min(self.rotating, key=lambda g: (g.layers == (), g.sliding_window is not None))
        window = self.spec.window
        match group.stretch:
            case DynamicNtk():
                length = group.stretch.window
            case Linear() if not self.known.counts_after:
                length = window.trained
            case _:
                length = window.declared
        if length is not None or self.has("max_position_embeddings"):
            self.put("max_position_embeddings", length)

    def scales(self) -> None:
        """What multiplies q k and queries, where the configuration says it."""
        first = self.rotating[0]
        rule, scale = self.known.scale, first.softmax_scale
        width = first.rope.head_dim if first.heads is None else first.heads.head_dim
        if rule == "query_pre_attn_scalar":
            scalar = width if scale is None else scale**-2
            self.put("query_pre_attn_scalar", round(scalar) if abs(scalar - round(scalar)) < 1e-6 else scalar)
        elif rule == "attention_multiplier" and scale is not None:
            self.put("attention_multiplier", scale)
        for group in self.groups:
            if group.temperature is not None and group.temperature.form == "llama4":
                self.put("attn_temperature_tuning", True)
                self.put("attn_scale", group.temperature.scale)
                self.put("floor_scale", group.temperature.interval)
                return
        if self.known.temperature == "llama4":
            self.put("attn_temperature_tuning", False)
