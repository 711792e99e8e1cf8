"""How far a model reaches: trained, declared, extended, and by a validation effective."""

from pathlib import Path

from ordinate.errors import InputError, got
from ordinate.files.json import read_json
from ordinate.plan.result import Reach
from ordinate.spec import Spec

CARD = "card.json"
_VERSIONS = (1,)


def reach(spec: Spec, run: Path | None = None) -> Reach:
    """The four lengths of a model.

    Args:
        spec: of the model
        run: the folder of a validation run, or its card

    Raises:
        InputError: the run has no card, or one that cannot be read
    """
    trained, declared = spec.window.trained, spec.window.declared
    group = next((g for g in spec.groups.values() if g.stretch is not None and g.layers != ()), None)
    extended = declared if group is not None and declared != trained else None
    effective, source = (None, None) if run is None else _effective(run)
    by = group.scaling if group is not None and extended is not None else None
    return Reach(trained, declared, extended, by, effective, source)


def _effective(run: Path) -> tuple[int | None, str]:
    """What a card's headline says: the task that reaches least."""
    file = run / CARD if run.is_dir() else run
    if not file.is_file():
        raise InputError(f"{run} must be a run folder with {CARD}, which `ordinate validate` writes at its end")
    card = read_json(file, name=str(file))
    if card.get("kind") != "validate" or card.get("schema_version") not in _VERSIONS:
        found = (card.get("kind"), card.get("schema_version"))
        raise InputError(f"{file} must be of kind 'validate' and schema version 1, got {got(found)}")
    headline = card.get("headline")
    if headline is None:
        return None, f"{run.name}: no task is above its floor"
    if not isinstance(headline, dict):
        raise InputError(f"{file}: headline must be an object, got {got(headline)}")
    length, subject = headline.get("effective"), headline.get("subject")
    if not isinstance(subject, str) or not (length is None or (type(length) is int and length > 0)):
        raise InputError(f"{file}: headline must have a subject and an effective length, got {got(headline)}")
    if length is None:
        return None, f"{run.name}: {subject} is not supported at any length that was tested"
    return length, f"{run.name}: {subject} reaches least"
