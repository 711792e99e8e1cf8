"""The pair layout of a model's files, and the note of it that a conversion leaves."""

from collections.abc import Mapping
from typing import Any, cast

from ordinate.dialects.huggingface import architecture
from ordinate.dialects.huggingface.architectures import Switch
from ordinate.dialects.huggingface.reader import TEXT_KEYS, read
from ordinate.dialects.huggingface.rotary import RECORD
from ordinate.errors import InputError, one_of
from ordinate.spec import Spec
from ordinate.weights.cuts import PairLayout

METADATA = "ordinate.pairing"
"""The key in the metadata of a safetensors file."""
LAYOUTS = ("half", "interleaved")


def stored_layout(spec: Spec) -> PairLayout:
    """The layout of a model's files; DeepSeek's "interleaved-in-half-out" is interleaved.

    Raises:
        InputError: nothing rotates, or the layout is unknown
    """
    pairings = {group.pairing for group in spec.groups.values() if group.pairing is not None}
    if not pairings:
        raise InputError(f"{spec.name}: no layer rotates, so there is no pair layout to convert")
    found = {"interleaved" if pairing.startswith("interleaved") else pairing for pairing in pairings}
    if len(found) > 1 or "unknown" in found:
        raise InputError(
            f"{spec.name}: how model_type {spec.architecture or 'unknown'!r} pairs channels is not known here"
        )
    return cast(PairLayout, found.pop())


def checked_metadata(metadata: Mapping[str, str], layout: PairLayout, name: str) -> None:
    """Compare the note in a file's metadata, where there is one, with the layout that the configuration says.

    Raises:
        InputError: they differ
    """
    noted = metadata.get(METADATA)
    if noted is not None and one_of(f"{name}: {METADATA}", noted, LAYOUTS) != layout:
        raise InputError(f"{name} notes {noted} pairs, and its configuration says {layout}: which is true is unknown")


def noted_metadata(metadata: Mapping[str, str], layout: PairLayout) -> dict[str, str]:
    """A file's metadata with the note of its layout; "format", without which transformers refuses any metadata, too."""
    return {"format": "pt", **metadata, METADATA: layout}


def noted_configuration(config: Mapping[str, Any], layout: PairLayout) -> dict[str, Any]:
    """A configuration with the note of its layout.

    The note stands in the language model's part and, where that is a part, in the whole too. `rope_interleave`,
    by which transformers knows how DeepSeek's files are paired, is set as well. `auto_map` is left out: it points to
    code, which is not copied.

    Args:
        config: as parsed JSON
        layout: of the files
    """
    noted: dict[str, Any] = {key: value for key, value in config.items() if key != "auto_map"} | {RECORD: layout}
    model_type = noted.get("model_type")
    known = architecture(model_type) if isinstance(model_type, str) else None
    if known is not None and isinstance(known.pairing, Switch):
        noted[known.pairing.key] = known.pairing.true.startswith(layout)
    keys = [*TEXT_KEYS, *([known.text[0]] if known is not None and known.text is not None else [])]
    for key in dict.fromkeys(keys):
        part = noted.get(key)
        if isinstance(part, dict):
            noted[key] = noted_configuration(part, layout)
    return noted


def turned_layout(config: Mapping[str, Any], name: str) -> PairLayout:
    """The layout that transformers' code turns, whatever a note says.

    Args:
        config: as parsed JSON
        name: what messages call it

    Raises:
        InputError: it is not known
    """
    return stored_layout(read(_without_note(config), name=name))


def _without_note(config: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: _without_note(value) if isinstance(value, Mapping) else value
        for key, value in config.items()
        if key != RECORD
    }
