"""Write `dialects/huggingface/architectures.json`: what transformers' code says about position and its configs do not.

    python tools/make_architectures.py [model ...]      # all models when none is named; minutes

Every fact is taken from the installed transformers by running it where it can be run: configurations are built and
printed, and each model's own rotation is fed channels 1 to 8 and a quarter turn, which shows how it pairs them. What
cannot be had so is in BY_HAND, with its reason. No model is built and nothing is downloaded.
"""

import contextlib
import importlib
import inspect
import json
import logging
import os
import pkgutil
import re
import sys
import textwrap
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import transformers
import transformers.models
from architectures_by_hand import BY_HAND
from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

OUT = Path(__file__).parents[1] / "src/ordinate/dialects/huggingface/architectures.json"
CANONICAL_WORDS = """
    hidden_size num_attention_heads num_key_value_heads num_hidden_layers max_position_embeddings head_dim
    sliding_window layer_types
"""
CANONICAL = CANONICAL_WORDS.split()
# The other keys whose defaults the reader falls back upon.
KEY_WORDS = """
    qk_rope_head_dim qk_nope_head_dim v_head_dim kv_lora_rank embed_dim num_heads rotary_dim d_head d_kv
    memory_attention_hidden_size memory_attention_downsample_rate memory_attention_num_attention_heads
    memory_attention_num_layers use_sliding_window max_window_layers local_attention attention_chunk_size
    rope_interleave query_pre_attn_scalar attention_multiplier attn_temperature_tuning floor_scale attn_scale
    no_rope_layer_interval original_max_position_embeddings position_embedding_type use_mem_rope alibi multi_query
    num_kv_heads new_decoder_architecture relative_attention_num_buckets relative_attention_max_distance pad_token_id
    max_source_positions max_target_positions attn_config max_relative_positions position_buckets pos_att_type
    relative_attention position_biased_input embedding_size input_embedding_size sinusoidal_embeddings clamp_len
    rotary_embedding_base
"""
KEYS = [*CANONICAL[:-1], *KEY_WORDS.split()]
WORDS = {
    (-5, -6, -7, -8, 1, 2, 3, 4): ("half", 1),
    (5, 6, 7, 8, -1, -2, -3, -4): ("half", -1),
    (-2, 1, -4, 3, -6, 5, -8, 7): ("interleaved", 1),
    (-2, -4, -6, -8, 1, 3, 5, 7): ("interleaved-in-half-out", 1),
}
INTERVAL_KEYS = ("sliding_window_pattern", "global_attn_every_n_layers", "full_attention_interval")


def modules_of(name: str, prefix: str) -> list[ModuleType]:
    """The modules of a model whose names begin so; those that need what is not installed are left out."""
    package = importlib.import_module(f"transformers.models.{name}")
    found = []
    for info in pkgutil.iter_modules(package.__path__):
        if info.name.startswith(prefix):
            with contextlib.suppress(ModuleNotFoundError):
                found.append(importlib.import_module(f"{package.__name__}.{info.name}"))
    return found


def borrowed(name: str) -> list[ModuleType]:
    """The modules of the model whose classes a model without code of its own is built from."""
    class_name = MODEL_MAPPING_NAMES.get(name)
    return [sys.modules[getattr(transformers, class_name).__module__]] if isinstance(class_name, str) else []


def configurations(name: str) -> dict[str, type]:
    """The configuration classes that a model defines, by class name."""
    return {
        key: value
        for module in modules_of(name, "configuration_")
        for key, value in vars(module).items()
        if inspect.isclass(value)
        and issubclass(value, transformers.PreTrainedConfig)
        and value.__module__ == module.__name__
    }


def printed(config_class: type, **settings: Any) -> dict[str, Any] | None:
    """What a configuration of this class prints, or None where it cannot be built so."""
    try:
        return config_class(**settings).to_dict()
    except (ValueError, TypeError, KeyError, AttributeError, ZeroDivisionError, IndexError):
        return None
    # huggingface_hub's validation errors have no public base class.
    except Exception as error:
        if "Validation" in type(error).__name__:
            return None
        raise


def word_of(rotation: Any) -> tuple[str, int] | None:
    """How a rotation pairs channels, and its direction; None where its signature is another."""
    channels = torch.arange(1.0, 9.0)
    names = list(inspect.signature(rotation).parameters)
    tables = {"cos": 0.0, "sin": 1.0}
    for shape in ((1, 1, 1, 8), (1, 1, 8)):
        for width in (8, 4):
            for lead in ((1, 1), (1,)):
                arguments = []
                for parameter in names:
                    if parameter in tables:
                        arguments.append(torch.full((*lead, width), tables[parameter]))
                    elif parameter in ("q", "k", "x", "tensor"):
                        arguments.append(channels.reshape(shape))
                    else:
                        break
                with contextlib.suppress(RuntimeError, TypeError, ValueError, IndexError):
                    result = rotation(*arguments)
                    result = result[0] if isinstance(result, tuple) else result
                    if result.numel() == 8:
                        vector = tuple(int(v) for v in result.flatten().round().tolist())
                        word = next((word for known, word in WORDS.items() if known == vector), None)
                        if word is not None:
                            return word
    return None


def attentions(modules: list[ModuleType]) -> dict[str, str]:
    """Of each class that rotates: its source, by the name of its configuration class."""
    found: dict[str, str] = {}
    for module in modules:
        for value in vars(module).values():
            if inspect.isclass(value) and issubclass(value, torch.nn.Module) and value.__module__ == module.__name__:
                source = textwrap.dedent(inspect.getsource(value))
                if re.search(r"\bapply_\w*rot\w*\(", source):
                    annotation = inspect.signature(value.__init__).parameters.get("config")
                    name = getattr(getattr(annotation, "annotation", None), "__name__", "")
                    # A class that indexes or compresses keys rotates beside the attention proper.
                    if not re.search(r"Indexer|Compressor", value.__name__):
                        found[name] = found.get(name, "") + source
    return found


def pairing_of(config_class: type, modules: list[ModuleType], axial: bool) -> dict[str, Any]:
    """How this configuration's attention pairs channels, from the rotations that it calls."""
    sources = attentions(modules)
    source = sources.get(config_class.__name__) or (next(iter(sources.values())) if len(sources) == 1 else None)
    names = set(re.findall(r"\b(apply_\w*rot\w*)\(", source or " ".join(sources.values())))
    if source is None and len(names) > 1:
        names = {n for n in names if ("vision" in n or "2d" in n) == axial}
    rotations = {n: getattr(m, n) for m in modules for n in names if hasattr(m, n)}
    words = {name: word_of(rotation) for name, rotation in rotations.items()}
    switch = "apply_rotary_pos_emb_interleave"
    if source and "config.rope_interleave" in source and set(words) == {"apply_rotary_pos_emb", switch}:
        switched = words[switch]
        if switched is not None:
            return {"pairing": {"key": "rope_interleave", "true": switched[0], "false": "half"}}
    known = {word for word in words.values() if word}
    if len(known) != 1:
        return {"pairing": "unknown"} if words else {}
    word, direction = known.pop()
    return {"pairing": word} | ({"direction": direction} if direction != 1 else {})


def rotary_source(config_class: type, modules: list[ModuleType]) -> str:
    """The source of the rotary classes of this configuration, or of all where none names it."""
    named, others = "", ""
    for module in modules:
        for value in vars(module).values():
            here = inspect.isclass(value) and value.__module__ == module.__name__
            if here and re.search("Rotary|Rope", value.__name__):
                source = inspect.getsource(value)
                annotation = inspect.signature(value.__init__).parameters.get("config")
                if getattr(getattr(annotation, "annotation", None), "__name__", "") == config_class.__name__:
                    named += source
                elif "Vision" not in value.__name__:
                    others += source
    return named or others


def scale_of(config_class: type, modules: list[ModuleType]) -> dict[str, Any]:
    """What multiplies q k, where it is not 1 / sqrt(head_dim)."""
    source = attentions(modules).get(config_class.__name__) or "".join(attentions(modules).values())
    for pattern, word in (
        (r"self\.scaling = config\.query_pre_attn_scalar ?\*\* ?-0\.5", "query_pre_attn_scalar"),
        (r"self\.scaling = config\.attention_multiplier", "attention_multiplier"),
        (r"self\.scaling = yarn_apply_mscale\(", "yarn"),
        (r"self\.scaling = \(self\.head_dim / 2\) \*\* -0\.5", "half_head"),
    ):
        if re.search(pattern, source):
            return {"scale": word}
    return {}


def ropes_of(config_class: type, default: dict[str, Any]) -> dict[str, Any]:
    """What the class puts in where a configuration says nothing of rotation."""
    own = default.get("rope_parameters")
    if own is None:
        return {"theta": default["rope_theta"]} if default.get("rope_theta") else {}
    theta = config_class.default_theta
    if isinstance(theta, dict) and "global" in theta:
        theta = {"full_attention": theta["global"], "sliding_attention": theta["local"]}
    facts: dict[str, Any] = {"theta": theta}
    bare = printed(config_class, rope_parameters={"rope_type": "linear", "factor": 1.0})
    partial = (own if bare is None else bare["rope_parameters"]).get("partial_rotary_factor", 1)
    if partial != 1:
        facts["partial"] = partial
    kind = getattr(config_class, "default_rope_type", "default")
    if kind != "default":
        facts["type"] = kind
    plain = {"rope_theta": theta, "rope_type": kind, "partial_rotary_factor": partial}
    if own and {"partial_rotary_factor": 1, **own} != plain:
        facts["rope"] = own
    return facts


def layers_of(config_class: type, names: dict[str, str], default: dict[str, Any]) -> dict[str, Any]:
    """The layer types that the class gives a configuration that lists none: their period, and the key that sets it."""
    own = names.get("layer_types", "layer_types")
    if not default.get(own):
        return {}

    def types(count: int, **settings: Any) -> list[str] | None:
        key = names.get("num_hidden_layers", "num_hidden_layers")
        result = printed(config_class, **{key: count}, **settings)
        return [t for t in result[own] if t != "mlp"] if result and len(result.get(own) or ()) >= count else None

    listed = types(24)
    if listed is None:
        return {"layers": default[own]}
    period = next((p for p in range(1, 13) if all(listed[i] == listed[i % p] for i in range(23))), None)
    shorter = types(23)
    if period is None or shorter is None:
        return {"layers": default[own]}
    facts: dict[str, Any] = {"pattern": listed[:period]}
    if shorter == listed[1:] and period > 1:
        facts["from_end"] = True
    elif shorter[:-1] != listed[:22]:
        return {"layers": default[own]}
    elif shorter[-1] != listed[22]:
        facts["last"] = shorter[-1]
    for key in INTERVAL_KEYS:
        changed = types(24, **{key: 3})
        if changed and changed != listed and all(changed[i] == changed[i % 3] for i in range(24)):
            facts["interval"] = key
    return facts


def overrides_of(default: dict[str, Any]) -> dict[str, Any]:
    """Keys that layers of one type have otherwise than the rest, where all layers of the type agree."""
    per_layer, types = default.get("per_layer_config"), default.get("layer_types")
    if not per_layer or not types:
        return {}
    by_type: dict[str, list[dict[str, Any]]] = {}
    for index, layer_type in enumerate(types):
        entry = per_layer.get(index) or per_layer.get(f"{index:02d}") or {}
        by_type.setdefault(layer_type, []).append({k: v for k, v in entry.items() if k in KEYS})
    found = {t: entries[0] for t, entries in by_type.items() if entries[0] and all(e == entries[0] for e in entries)}
    return {"overrides": found} if found else {}


def text_of(config_class: type, default: dict[str, Any]) -> dict[str, Any]:
    """Where the language model of a composite configuration is: its key and its model type."""
    for key in ("text_config", "llm_config", "thinker_config", "decoder", "language_config"):
        if key in (getattr(config_class, "sub_configs", None) or {}):
            part = default.get(key)
            return {"text": [key, part.get("model_type", "") if isinstance(part, dict) else ""]}
    return {}


def describe(config_class: type, modules: list[ModuleType]) -> dict[str, Any]:
    """All that is to be said of one configuration class."""
    default = printed(config_class)
    if default is None:
        return {}
    names = {k: v for k, v in config_class.attribute_map.items() if k in CANONICAL and k != v}
    facts: dict[str, Any] = {**text_of(config_class, default), **ropes_of(config_class, default)}
    axial = facts.get("type") == "axial"
    if "theta" in facts:
        facts |= pairing_of(config_class, modules, axial) | scale_of(config_class, modules)
        source = rotary_source(config_class, modules)
        if not axial and source and "partial_rotary_factor" not in source:
            facts["whole"] = True
    facts |= layers_of(config_class, names, default) | overrides_of(default)
    if names:
        facts["names"] = names
    mapped = {names.get(key, key) for key in KEYS} | set(KEYS)
    # A default that the signature does not have is computed from other keys, and so must the reader.
    fixed = {k: v.default for k, v in inspect.signature(config_class).parameters.items() if v.default is not v.empty}
    defaults = {k: default[k] for k in sorted(mapped) if default.get(k) is not None and fixed.get(k) is not None}
    if isinstance(defaults.get("attn_config"), dict):
        defaults["attn_config"] = {
            k: v for k, v in defaults["attn_config"].items() if k in ("alibi", "alibi_bias_max", "kv_n_heads")
        }
    facts["defaults"] = {k: v for k, v in defaults.items() if not isinstance(v, list)}
    return facts


def add_by_hand(table: dict[str, dict[str, Any]]) -> set[str]:
    """Add what is written down here, and return the model types that the table does not have."""
    unknown = set()
    for model_types, facts in BY_HAND:
        for model_type in model_types.split() or [""]:
            if model_type in table:
                table[model_type] |= facts
            else:
                unknown.add(model_type)
    return unknown


def main(chosen: list[str]) -> None:
    """Describe every model and write the table, or print it where models are named."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    table: dict[str, dict[str, Any]] = {}
    for info in pkgutil.iter_modules(transformers.models.__path__):
        if not info.ispkg or info.name in ("auto", "deprecated") or (chosen and info.name not in chosen):
            continue
        classes = configurations(info.name)
        defaults = {key: printed(value) or {} for key, value in classes.items()}
        rotates = any("rope_parameters" in d or d.get("rope_theta") for d in defaults.values())
        modules = (modules_of(info.name, "modeling_") or borrowed(info.name)) if rotates else []
        for key, value in classes.items():
            model_type = getattr(value, "model_type", "") or ""
            # Only one class without a model type stands alone and rotates: Evolla's protein encoder.
            if (model_type or key == "SaProtConfig") and model_type not in table:
                facts = describe(value, modules)
                if facts:
                    table[model_type] = facts
    unknown = add_by_hand(table)
    lines = [f"{json.dumps(key)}: {json.dumps(table[key], sort_keys=True)}" for key in sorted(table)]
    version = json.dumps(f"transformers {transformers.__version__}, by tools/make_architectures.py")
    text = '{"source": ' + version + ',\n"architectures": {\n' + ",\n".join(lines) + "\n}}\n"
    if chosen:
        sys.stdout.write(text)
        return
    if unknown:
        sys.exit(f"BY_HAND has model types that transformers does not: {', '.join(sorted(unknown))}")
    OUT.write_text(text, encoding="utf-8")
    sys.stderr.write(f"{OUT.name}: {len(table)} architectures, {os.path.getsize(OUT)} bytes\n")


if __name__ == "__main__":
    main(sys.argv[1:])
