"""The rotary settings of a configuration, in all their spellings, as one set of values for each kind of layers."""

from collections.abc import Mapping
from typing import Any

from ordinate.dialects.huggingface.keys import MAXIMUM_WIDTH, Found, Keys, shown
from ordinate.errors import InputError, finite, got, positive
from ordinate.registry import suggestion

TYPES = ("default", "linear", "dynamic", "yarn", "longrope", "llama3", "proportional", "axial")
LEGACY_TYPES = {"su": "longrope", "mrope": "default"}
BASE_KEYS = ("rope_theta", "rotary_emb_base", "rotary_embedding_base", "rope_base", "rotary_base")
PARTIAL_KEYS = ("partial_rotary_factor", "rotary_pct", "rotary_percent", "rope_pct")
LOCAL_BASE_KEYS = ("rope_local_base_freq", "local_rope_theta", "swa_rope_theta")
GLOBAL_BASE_KEYS = ("global_rope_theta", "rope_theta")
ROTARY_KEYS = (
    "rope_parameters",
    "rope_scaling",
    *dict.fromkeys((*BASE_KEYS, *PARTIAL_KEYS, *LOCAL_BASE_KEYS, *GLOBAL_BASE_KEYS, "rotary_dim", "rope_type")),
)
COMMON = ("rope_type", "type", "rope_theta", "partial_rotary_factor")
SECTION_KEYS = ("mrope_section", "xdrope_section", "mrope_interleaved")
USED = {
    "default": (),
    "axial": (),
    "linear": ("factor",),
    "dynamic": ("factor", "alpha"),
    "proportional": ("factor",),
    "llama3": ("factor", "original_max_position_embeddings", "low_freq_factor", "high_freq_factor"),
    "yarn": (
        *("factor", "original_max_position_embeddings", "attention_factor", "beta_fast", "beta_slow"),
        *("mscale", "mscale_all_dim", "truncate"),
    ),
    "longrope": (*("factor", "original_max_position_embeddings", "attention_factor", "short_factor", "long_factor"),),
}
# A note for people: nothing is computed from it.
INERT = ("finetuned",)


class Parameters:
    """The rotary settings of one kind of layers.

    Args:
        keys: the configuration, for messages and notes
        values: the settings, as they stand under `where`
        where: the key that they stand under, "rope_parameters" say
        nested: they are one of several sets
    """

    def __init__(self, keys: Keys, values: Mapping[str, Any], where: str, *, nested: bool = False) -> None:
        self.keys = keys
        self.where = where
        self.nested = nested
        self.values = {key: value for key, value in values.items() if value is not None}
        self.nulls = {key for key, value in values.items() if value is None}
        self.sources: dict[str, str] = {}
        self.type = self._type()

    def label(self, key: str) -> str:
        """The setting and its place, for messages."""
        return f"{self.keys.name}: {self.source(key)}"

    def source(self, key: str) -> str:
        """Where a setting is from."""
        return self.sources.get(key, f"{self.where}.{key}")

    def set(self, key: str, found: Found) -> None:
        """Put in a setting that stands elsewhere in the configuration."""
        self.values[key] = found.value
        self.sources[key] = found.source

    def number(self, key: str) -> float | None:
        """A finite number."""
        value = self.values.get(key)
        return None if value is None else finite(self.label(key), value)

    @property
    def base(self) -> float:
        """The base of the frequencies."""
        if "rope_theta" not in self.values:
            raise InputError(
                f"{self.keys.label('rope_theta')} is missing, and no default is known for model_type "
                f"{self.keys.model_type!r}"
            )
        return positive(self.label("rope_theta"), self.values["rope_theta"])

    @property
    def partial(self) -> float:
        """The share of the head that turns."""
        if "partial_rotary_factor" not in self.values:
            return 1.0
        share = positive(self.label("partial_rotary_factor"), self.values["partial_rotary_factor"])
        if share > MAXIMUM_WIDTH:
            raise InputError(f"{self.label('partial_rotary_factor')} must be at most {MAXIMUM_WIDTH}, got {share:g}")
        return share

    def note_unused(self) -> None:
        """Warn of settings that this rope type does not read, and of those that no type does."""
        used = {*COMMON, *USED[self.type], *INERT}
        if self.keys.known.scheme == "multimodal" or not self.keys.recognised:
            used |= set(SECTION_KEYS)
        if self.keys.known.temperature == "ministral3":
            # Their releases repeat the declared length among the settings.
            used |= {"llama_4_scaling_beta", "max_position_embeddings"}
        if self.keys.known.magnitudes:
            used |= {"short_mscale", "long_mscale"}
        known = {key for keys in USED.values() for key in keys} | {*COMMON, *SECTION_KEYS}
        for key in self.values:
            if key in used or key in self.sources:
                continue
            if key in known:
                self.keys.warn(f"{self.where}.{key} has no effect with rope_type {self.type!r}")
            else:
                self.keys.warn(f"{self.where}.{shown(key)} is no setting that transformers reads here: it is ignored")

    def _type(self) -> str:
        words = {}
        for key in ("rope_type", "type"):
            if key in self.values:
                word = self.values[key]
                if not isinstance(word, str):
                    raise InputError(f"{self.label(key)} must be a string, got {got(word)}")
                words[key] = {**LEGACY_TYPES, **self.keys.known.legacy_types}.get(word, word)
        if len(set(words.values())) > 1:
            raise InputError(
                f"{self.label('rope_type')} is {self.values['rope_type']!r} and {self.label('type')} is "
                f"{self.values['type']!r}: engines disagree on which to read, so they must agree"
            )
        word = next(iter(words.values()), "default")
        if word not in TYPES:
            raise InputError(f"{self.label('rope_type')} is unknown: {got(word)}{suggestion(word, TYPES)}")
        return self.keys.known.type if word == "default" else word


def read_parameters(keys: Keys) -> dict[str, Parameters | None]:
    """The rotary settings by layer type; one entry named "" where they are the same for all.

    A None is a layer type without position.

    Raises:
        InputError: settings of the wrong shape, an unknown type, or spellings that contradict each other
    """
    given, where = _given(keys)
    defaults = _by_layer_type(keys.known.rope)
    if any(isinstance(value, Mapping) for value in given.values()):
        sets = _nested(keys, given, where, defaults)
    elif defaults:
        flat = keys.known.flat or list(defaults)
        sets = {
            layer_type: Parameters(keys, given, where)
            if given and layer_type in flat
            else _assumed(keys, layer_type, default)
            for layer_type, default in defaults.items()
        }
    else:
        sets = {"": Parameters(keys, given, where) if given else _assumed(keys, "", keys.known.rope or {})}
    for layer_type, entry in sets.items():
        if entry is not None:
            _fill(keys, entry, layer_type, defaults)
            entry.note_unused()
    return sets


def _given(keys: Keys) -> tuple[Mapping[str, Any], str]:
    """The settings as they stand in the configuration, and their key; empty where it has none."""
    found = {}
    for key in ("rope_parameters", "rope_scaling"):
        value = keys.given(key)
        if value is not None and not isinstance(value, Mapping):
            raise InputError(f"{keys.label(key)} must be an object, got {got(value)}")
        if value:
            found[key] = value
    if len(found) == 2:
        new, old = found["rope_parameters"], found["rope_scaling"]
        differing = sorted(key for key in new.keys() & old.keys() if new[key] != old[key])
        if differing:
            raise InputError(
                f"{keys.label('rope_parameters')} and rope_scaling disagree on {differing[0]}: "
                f"{got(new[differing[0]])} and {got(old[differing[0]])}"
            )
        if new.keys() ^ old.keys():
            keys.warn("rope_parameters and rope_scaling are read together, where transformers reads rope_scaling alone")
        return {**old, **new}, keys.where("rope_parameters")
    return next(((value, keys.where(key)) for key, value in found.items()), ({}, keys.where("rope_parameters")))


def _by_layer_type(default: Mapping[str, Any] | None) -> dict[str, Any]:
    """An architecture's default settings, where it has them by layer type."""
    default = default or {}
    return dict(default) if any(isinstance(value, Mapping) for value in default.values()) else {}


def _assumed(keys: Keys, layer_type: str, default: Mapping[str, Any] | None) -> Parameters | None:
    """An architecture's default settings; base and share are left out, for keys elsewhere go before these."""
    if default is None:
        return None
    entry = Parameters(keys, {k: v for k, v in default.items() if k not in COMMON[2:]}, keys.where("rope_parameters"))
    entry.nested = bool(layer_type)
    entry.sources = dict.fromkeys(entry.values, keys.assumed("rope_parameters"))
    return entry


def _nested(
    keys: Keys, given: Mapping[str, Any], where: str, defaults: Mapping[str, Any]
) -> dict[str, Parameters | None]:
    """Settings that the configuration has by layer type."""
    sets: dict[str, Parameters | None] = {}
    for key, value in given.items():
        if isinstance(value, Mapping):
            if shown(key) != key:
                raise InputError(f"{keys.label('rope_parameters')} has settings for no layer type: {shown(key)}")
            sets[key] = Parameters(keys, value, f"{where}.{shown(key)}", nested=True)
        elif value is not None:
            keys.warn(f"{where}.{shown(key)} stands beside settings for each layer type and is ignored")
        elif shown(key) == key and key not in {"rope_theta", "partial_rotary_factor", *COMMON, *INERT}:
            sets[key] = None
    if isinstance(keys.known.theta, dict):
        # transformers takes null, and an entry that is not there, for the default of these architectures.
        for key, default in defaults.items():
            if sets.get(key) is None:
                sets[key] = _assumed(keys, key, default)
    return sets


def _fill(keys: Keys, entry: Parameters, layer_type: str, defaults: Mapping[str, Any]) -> None:
    """Put in what stands outside the settings: base, share and original length."""
    default = defaults.get(layer_type) or (keys.known.rope if not defaults else None) or {}
    theta = _base_elsewhere(keys, layer_type, defaults)
    if "rope_theta" not in entry.values:
        if theta is not None:
            entry.set("rope_theta", theta)
        else:
            own = keys.known.theta.get(layer_type) if isinstance(keys.known.theta, dict) else keys.known.theta
            base = default.get("rope_theta", own)
            if base is not None:
                entry.set("rope_theta", Found(base, "rope_theta", keys.assumed("rope_theta")))
    elif theta is not None and theta.value != entry.values["rope_theta"] and not entry.nested:
        keys.warn(f"{entry.source('rope_theta')} is read, and {theta.source}, which differs, is not")
    if "partial_rotary_factor" not in entry.values:
        share = _elsewhere(keys, PARTIAL_KEYS)
        if share is None:
            value = default.get("partial_rotary_factor", keys.known.partial)
            share = Found(value, "partial_rotary_factor", keys.assumed("partial_rotary_factor")) if value != 1 else None
        if share is not None:
            entry.set("partial_rotary_factor", share)
    elif not entry.nested:
        share = _elsewhere(keys, PARTIAL_KEYS)
        if share is not None and share.value != entry.values["partial_rotary_factor"]:
            keys.warn(f"{entry.source('partial_rotary_factor')} is read, and {share.source}, which differs, is not")
    if entry.type in ("yarn", "longrope", "llama3") and not entry.nested:
        original = keys.found("original_max_position_embeddings")
        if original.value is not None:
            inside = entry.values.get("original_max_position_embeddings", original.value)
            if inside != original.value:
                keys.warn(
                    f"{original.source} is read, as transformers does, and "
                    f"{entry.source('original_max_position_embeddings')}, which differs, is not"
                )
            entry.set("original_max_position_embeddings", original)


def _base_elsewhere(keys: Keys, layer_type: str, defaults: Mapping[str, Any]) -> Found | None:
    """The base of a layer type, from keys outside the settings."""
    if layer_type == "compress":
        return _elsewhere(keys, ("compress_rope_theta",))
    if "sliding" not in layer_type:
        attention = keys.given("attn_config")
        if isinstance(attention, Mapping) and attention.get("rope_theta") is not None:
            keys.warn("attn_config.rope_theta is read, where transformers 5.24 overlooks it and takes its default")
            return Found(attention["rope_theta"], "rope_theta", keys.where("attn_config.rope_theta"))
        return _elsewhere(keys, (*GLOBAL_BASE_KEYS, *BASE_KEYS[1:]))
    bases = {value.get("rope_theta") for value in defaults.values() if value}
    own = isinstance(keys.known.theta, dict) or len(bases) > 1
    return _elsewhere(keys, LOCAL_BASE_KEYS if own else (*LOCAL_BASE_KEYS, *BASE_KEYS))


def _elsewhere(keys: Keys, names: tuple[str, ...]) -> Found | None:
    """The first of these keys that the configuration itself has."""
    for key in names:
        if keys.given(key) is not None:
            return Found(keys.given(key), key, keys.where(key))
    return None
