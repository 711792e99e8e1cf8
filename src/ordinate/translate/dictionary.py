"""Translations and comparisons as JSON objects."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from ordinate.dialects.base import Loss
from ordinate.fingerprint import Difference, fingerprint
from ordinate.schema import beginning
from ordinate.spec import Spec
from ordinate.translate.comparison import Row
from ordinate.translate.difference_text import relative_to_a
from ordinate.translate.proof import GroupProof
from ordinate.translate.translation import Translation


def translation_to_dict(translation: Translation, *, words: bool = True) -> dict[str, Any]:
    """A translation in plain dicts, lists, strings, numbers and None.

    Args:
        translation: what to show
        words: whether to give the words; without them `settings` and `text` are None

    Returns:
        `schema_version`, `kind`, `model`, `fingerprint`, `engine`, `version`, `faithful`, `settings`, `text`, `losses`,
        `steps`, `proof`
    """
    return {
        **beginning("translate"),
        "model": translation.model.name,
        "fingerprint": fingerprint(translation.model),
        "engine": translation.engine,
        "version": translation.version,
        "faithful": translation.faithful,
        "settings": dict(translation.written.settings) if words else None,
        "text": translation.written.text if words else None,
        "losses": [_loss(loss) for loss in translation.losses],
        "steps": list(translation.written.steps),
        "proof": [_proof(proof) for proof in translation.proof],
    }


def comparison_to_dict(model: Spec, rows: Sequence[Row]) -> dict[str, Any]:
    """Engines side by side: `schema_version`, `kind`, `model`, `fingerprint`, `engines`, an object each."""
    return {
        **beginning("engines"),
        "model": model.name,
        "fingerprint": fingerprint(model),
        "engines": [
            {
                "engine": row.engine,
                "version": row.version,
                "same": row.same,
                "refusal": row.refusal,
                "tokens": row.tokens,
                "elsewhere": row.elsewhere,
                "files_alone": row.files_alone,
                "losses": [_loss(loss) for loss in row.losses],
                "proof": [_proof(proof) for proof in row.proof],
            }
            for row in rows
        ],
    }


def difference_to_dict(
    a: Spec,
    b: Spec,
    found: Sequence[Difference],
    proofs: Sequence[GroupProof],
    *,
    names: tuple[str, str] | None = None,
) -> dict[str, Any]:
    """Two models side by side: `schema_version`, `kind`, `a`, `b`, `fingerprints`, `same`, `differences`, `proof`.

    `names` stand in the place of what their files call them; `relative` is relative to a.
    """
    called = names or (a.name, b.name)
    return {
        **beginning("diff"),
        "a": called[0],
        "b": called[1],
        "fingerprints": [fingerprint(a), fingerprint(b)],
        "same": not found,
        "differences": [
            {"path": entry.path, "a": _plain(entry.a), "b": _plain(entry.b), "relative": relative_to_a(entry)}
            for entry in found
        ],
        "proof": [_proof(proof) for proof in proofs],
    }


def losses_to_list(losses: Sequence[Loss]) -> list[dict[str, Any]]:
    """Losses as objects."""
    return [_loss(loss) for loss in losses]


def _loss(loss: Loss) -> dict[str, Any]:
    return dataclasses.asdict(loss)


def _proof(proof: GroupProof) -> dict[str, Any]:
    return {**_plain(proof), "exact": proof.exact}


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return value
