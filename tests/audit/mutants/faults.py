"""The faults that can be planted, by name: where each acts, what it breaks, and the kind of fault that it is.

A fault of positions cannot be planted in a part of the model that never sees them: `scopes` are those that make
sense, `elsewhere` says why the others do not.
"""

from collections.abc import Callable
from dataclasses import dataclass

from audit.mutants import position_faults as wrong

ALL = ("everywhere", "one_layer", "one_head", "later_rows", "far")
EMBEDDED = ("everywhere", "later_rows", "far")
_EMBEDDING = "a learned table is added to the embedding, before there are layers and heads"
WINDOW = 32
TABLE = 512


@dataclass(frozen=True)
class Fault:
    """A planted fault.

    Args:
        name: as tests spell it
        subject: the clean model that it is planted in, a name in `subjects.SUBJECTS`
        kind: the kind of fault that an audit must name
        site: what it changes: "positions" of new q and k, "query" positions alone, "table" of cos and sin, "stored"
            keys, keys that are "cached" already, new "values", "pairing", "mask", "bias", "lengths" that frequencies
            depend on, "cache"
        shown_by: the name of a function in `ways` whose result the fault changes
        position: for the sites "positions" and "query": a call to its wrong positions
        scopes: the parts of a model that it can be planted in
        elsewhere: why not in the others
        dtypes: of the models that it is a fault in
        first_position: tokens at positions before it are spared, whatever the scope
    """

    name: str
    subject: str
    kind: str
    site: str
    shown_by: str
    position: Callable | None = None
    scopes: tuple[str, ...] = ALL
    elsewhere: str = ""
    dtypes: tuple[str, ...] = ("float32", "bfloat16")
    first_position: int = 0


def _embedded(name, kind, shown_by, position, **more):
    return Fault(
        name, "learned", kind, "positions", shown_by, position, **{"scopes": EMBEDDED, "elsewhere": _EMBEDDING, **more}
    )


_TABLES = {
    "scopes": ("everywhere", "one_layer", "one_head", "later_rows"),
    "elsewhere": "a table that ends is wrong behind its end only",
}
_FAR_ONLY = {**_TABLES, "elsewhere": "it is wrong past a position of its own only"}
_SWITCH = {
    "scopes": ("everywhere", "one_layer", "one_head", "later_rows"),
    "elsewhere": "the switch itself lies at position 64",
}
_MODULE = {"scopes": ("everywhere", "one_layer", "one_head", "far"), "elsewhere": "one row shows it"}

_LIST = (
    Fault("restart", "rope", "restart", "positions", "steps", wrong.restart),
    Fault("chunk_restart", "rope", "restart", "positions", "chunks", wrong.chunk_restart),
    Fault("one_too_far", "rope", "offset", "positions", "steps", wrong.one_too_far),
    Fault("one_too_near", "rope", "offset", "positions", "steps", wrong.one_too_near),
    Fault("prefix_hit", "rope", "offset", "positions", "chunks", wrong.prefix_hit),
    Fault("shared_window", "rope", "shared_position", "positions", "chunks", wrong.shared_window),
    Fault("shared_last", "rope", "shared_position", "positions", "chunks", wrong.shared_last),
    Fault("batch_counted", "rope", "rows", "positions", "chunks", wrong.batch_counted),
    Fault("uint8_positions", "rope", "position_precision", "positions", "far", wrong.uint8),
    Fault(
        "left_pad_slots",
        "rope",
        "padding",
        "positions",
        "padded",
        wrong.left_pad_slots,
    ),
    Fault("one_vector", "rope", "rows", "positions", "padded", wrong.one_vector),
    Fault(
        "query_by_slots",
        "rope",
        "query_position",
        "query",
        "padded",
        lambda call: call.slots if call.past else call.positions,
    ),
    Fault("query_from_zero", "rope", "query_position", "query", "steps", wrong.restart),
    Fault("gaps_counted", "rope", "padding", "positions", "gaps", wrong.gaps_counted),
    Fault("rounded_positions", "rope", "position_precision", "positions", "far", wrong.rounded),
    Fault("bf16_frequencies", "rope", "table_precision", "table", "far"),
    Fault("bf16_tables", "rope", "table_precision", "table", "far", dtypes=("float32",)),
    Fault("table_clamped", "rope", "clamped", "positions", "past_the_table", wrong.clamped(TABLE), **_TABLES),
    Fault("table_wrapped", "rope", "clamped", "positions", "past_the_table", wrong.wrapped(TABLE), **_TABLES),
    Fault("short_table_clamped", "rope", "clamped", "positions", "far", wrong.clamped(TABLE // 4), **_TABLES),
    Fault(
        "cached_table_clamped",
        "rope",
        "clamped",
        "positions",
        "far_steps",
        wrong.clamped_on_a_cache(TABLE // 2),
        **_TABLES,
    ),
    Fault("by_shape", "rope", "state_kept", "positions", "after_the_same_shape", wrong.by_shape),
    Fault("crop_keeps_offset", "rope", "crop", "positions", "cropped", wrong.crop_keeps_offset),
    Fault("rank_local", "rope", "shards", "positions", "permuted", wrong.rank_local),
    Fault("positions_ignored", "rope", "positions_ignored", "positions", "permuted", wrong.ignored),
    Fault("pairing_later", "rope", "pairing", "pairing", "steps"),
    Fault("pairing_past_400", "rope", "pairing", "pairing", "far_steps", first_position=400, **_FAR_ONLY),
    Fault("rotated_again", "rope", "rotation_count", "stored", "steps"),
    Fault("stored_unrotated", "rope", "rotation_count", "stored", "steps"),
    Fault("turned_each_pass", "rope", "rotation_count", "cached", "steps"),
    Fault("stored_backwards", "rope", "rotation_count", "stored", "steps"),
    Fault("shift_unturned", "rope", "eviction", "cache", "shifted"),
    Fault("reorder_values_only", "rope", "reorder", "cache", "reordered"),
    Fault("cast_with_module", "rope", "table_cast", "table", "cast", dtypes=("float32",), **_MODULE),
    Fault("lost_on_meta", "rope", "table_lost", "table", "from_meta", **_MODULE),
    Fault("autocast_angles", "rope", "table_precision", "table", "autocast", dtypes=("float32",), **_MODULE),
    Fault("magnitude_again", "yarn", "magnitude", "stored", "steps"),
    Fault("shift_scales_again", "yarn", "magnitude", "cache", "shifted"),
    Fault("dynamic_switch", "dynamic", "length_switch", "lengths", "steps", **_SWITCH),
    Fault("longrope_switch", "longrope", "length_switch", "lengths", "steps", **_SWITCH),
    Fault("batch_longest", "longrope", "batch_length", "lengths", "short_beside_long", **_SWITCH),
    Fault("longer_call_kept", "dynamic", "state_kept", "lengths", "after_a_longer_call", **_SWITCH),
    Fault("ring_index", "sliding", "ring_index", "positions", "steps", wrong.ring_index(WINDOW)),
    Fault("window_short", "sliding", "window", "mask", "steps"),
    Fault("window_long", "sliding", "window", "mask", "steps"),
    Fault("key_index", "alibi", "bias_offset", "bias", "steps"),
    Fault("query_index_from_zero", "alibi", "bias_offset", "bias", "steps"),
    _embedded("offset_lost", "offset", "steps", wrong.offset_lost),
    _embedded("learned_restart", "restart", "steps", wrong.restart),
    _embedded("slots", "padding", "padded", wrong.slots),
    _embedded(
        "packed_global",
        "packing",
        "packed",
        wrong.packed_global,
        scopes=("everywhere", "later_rows"),
        elsewhere=f"{_EMBEDDING}; documents after the first are at low positions",
    ),
    _embedded(
        "learned_clamped_on_a_cache",
        "clamped",
        "far_steps",
        wrong.clamped_on_a_cache(TABLE // 2),
        scopes=("everywhere", "later_rows"),
        elsewhere=f"{_EMBEDDING}; a table that ends is wrong behind its end only",
    ),
    _embedded(
        "learned_clamped",
        "clamped",
        "past_the_table",
        wrong.clamped(TABLE),
        scopes=("everywhere",),
        elsewhere=f"{_EMBEDDING}; a table that ends is wrong behind its end only, where the rows that are spared raise",
    ),
)

FAULTS: dict[str, Fault] = {fault.name: fault for fault in _LIST}
