"""Words laid over a model's configuration: what engines that read Hugging Face's files take on their command line."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ordinate.dialects.base import Loss
from ordinate.dialects.huggingface.architectures import architecture
from ordinate.dialects.huggingface.reader import TEXT_KEYS, read
from ordinate.dialects.huggingface.writer import MODEL_TYPES, write
from ordinate.errors import InputError, got
from ordinate.schemes.base import Rotary
from ordinate.spec import Spec

NOTHING = "nothing to override: no layer rotates, and the engine reads the rest from the model's own configuration"


def rotates(spec: Spec) -> bool:
    """Whether any layer group has rotary settings to be said."""
    return any(isinstance(group.encoding, Rotary) for group in spec.groups.values())


def positional_words(spec: Spec, config: Mapping[str, Any]) -> dict[str, Any]:
    """Of a configuration, the keys that say how frequencies are stretched and how far; the rest is the model's own.

    Args:
        spec: of which the configuration was written
        config: as `ordinate.dialects.huggingface.write` gives it
    """
    known = architecture(str(config.get("model_type", MODEL_TYPES.get(spec.architecture, spec.architecture))))
    length = "max_position_embeddings"
    own = length if known is None else known.names.get(length, length)
    kept = ("rope_parameters", own, "original_max_position_embeddings")
    return {key: config[key] for key in kept if config.get(key) is not None}


def positional_losses(losses: Sequence[Loss]) -> tuple[Loss, ...]:
    """Of a configuration's losses, those of the keys that are overridden; heads and layers stay the model's own."""
    said = ("rope_parameters", "partial_rotary_factor", "mrope_section", "max_position_embeddings")
    return tuple(loss for loss in losses if loss.setting in said)


def part_key(spec: Spec) -> str:
    """The key under which a composite configuration keeps its language model; "" where it is no part.

    >>> from ordinate.dialects import read
    >>> part_key(read({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text"}}))
    'text_config'
    """
    if spec.container != "huggingface":
        return ""
    for source in spec.sources.values():
        found = re.search(rf"\b({'|'.join(TEXT_KEYS)})\.", source)
        if found:
            return found[1]
    return ""


def wrapped(spec: Spec, words: dict[str, Any]) -> dict[str, Any]:
    """Words under the key of the language model, where the configuration is of several parts."""
    key = part_key(spec)
    return {key: words} if key else words


def placed(spec: Spec, *, stale: str) -> str:
    """The step that says where a configuration's keys go.

    Args:
        spec: the model
        stale: the keys of another spelling, which must go
    """
    key = part_key(spec)
    where = f"config.json, under {key}," if key else "config.json,"
    return f"put these keys into the model's {where} in the place of those that are there, and take out {stale}"


def unwrapped(words: Mapping[str, Any]) -> dict[str, Any]:
    """Words without the key of the language model around them."""
    for key in TEXT_KEYS:
        inner = words.get(key)
        if isinstance(inner, Mapping):
            return {**{k: v for k, v in words.items() if k != key}, **inner}
    return dict(words)


def laid_over(words: Mapping[str, Any], model: Spec) -> Spec:
    """Read a model's configuration with some of its keys replaced, each as a whole.

    Args:
        words: keys and values; a whole configuration, with its model type, is read as it is
        model: whose configuration the words are laid over

    Raises:
        InputError: words of the wrong shape, or what `ordinate.dialects.huggingface.read` refuses
    """
    if not isinstance(words, Mapping):
        raise InputError(f"settings must be an object, got {got(words)}")
    if isinstance(words.get("model_type"), str) and "num_hidden_layers" in words:
        return read(words, name=model.name)
    base = dict(write(model).settings)
    inner = unwrapped(words)
    if "rope_scaling" in inner or "rope_theta" in inner:
        base.pop("rope_parameters", None)
    return read({**base, **inner}, name=model.name)


def known_keys(engine: str, settings: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    """Refuse settings that the engine's words do not have."""
    if not isinstance(settings, Mapping):
        raise InputError(f"{engine}: settings must be an object, got {got(settings)}")
    for key in settings:
        if key not in keys:
            raise InputError(f"{engine}: unknown setting {got(key)}, known: {', '.join(keys)}")


def rope_sets(words: dict[str, Any]) -> list[dict[str, Any]]:
    """The sets of rotary settings in a configuration's words: one, or one a layer type; they may be changed."""
    found = words.get("rope_parameters")
    if not isinstance(found, dict):
        return []
    inner = [value for value in found.values() if isinstance(value, dict)]
    return inner or [found]
