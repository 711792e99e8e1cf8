"""An export is written: the documents, and the files of its format beside them."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib.resources import files
from os import PathLike

from ordinate.errors import InputError
from ordinate.validate.exports._documents import documents, words_of
from ordinate.validate.exports.base import Entry, Export, Format, Part, find
from ordinate.validate.sampling import Material
from ordinate.validate.sampling.answers import STOP
from ordinate.weights.directory import new_directory

VERSION = 1
"""Of the documents: it rises when a field changes its meaning or goes."""

Report = Callable[[str, float, float], None]
"""Called with what is being done, how much of it is done, and how much there is."""


def export(
    format: str | Format,
    out: str | PathLike[str],
    parts: Sequence[Part],
    material: Material,
    *,
    group: str = "ordinate",
    progress: Report | None = None,
) -> Export:
    """Write a folder for another evaluation tool.

    Every prompt is encoded once more before it is written: its text gives the ids that the builder made, with what the
    engine adds at both ends.

    Args:
        format: its name
        out: the folder to be made; it must not exist
        parts: what is exported; a cell that is given twice is written once
        material: what prompts are made of
        group: the name that all tasks begin with
        progress: called as it goes on

    Raises:
        InputError: nothing to export, cells of several modes or of one that the tool cannot send, a prompt that cannot
            be built, or a folder that exists
    """
    one = find(format) if isinstance(format, str) else format
    parts = tuple(dict.fromkeys(parts))
    if not parts:
        raise InputError("an export needs at least one cell of answers, got none")
    if not group.isidentifier():
        raise InputError(f"the name of the group must be an identifier, got {group!r}")
    modes = sorted({part.cell.mode for part in parts})
    if len(modes) > 1:
        raise InputError(f"an export holds one mode, got {', '.join(modes)}")
    if modes[0] not in one.modes:
        raise InputError(f"{one.title} sends messages: give the mode {' or '.join(one.modes)}, got {modes[0]!r}")
    names = _names(group, parts)
    prompts = sum(part.units * words_of(material, part).members for part in parts)
    entries, done = [], 0
    with new_directory(out) as folder:
        for part, name in zip(parts, names, strict=True):
            task = words_of(material, part)
            entry = Entry(
                name,
                part.cell.task,
                f"{name}.jsonl",
                part,
                task.members,
                task.chance(**dict(part.cell.difficulty)),
                part.cell.length + part.cell.reserve,
            )
            with (folder / entry.file).open("w", encoding="utf-8", newline="\n") as file:
                for row in documents(part, material):
                    file.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")
                    done += 1
                    if progress is not None:
                        progress("prompts", done, prompts)
            entries.append(entry)
        whole = _export(group, modes[0], entries, material)
        shipped = {name: (files(f"{__package__}._files") / name).read_text("utf-8") for name in one.shipped}
        for name, text in {**shipped, **one.files(whole), "export.json": _record(one, whole)}.items():
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return whole


def _export(group: str, mode: str, entries: Sequence[Entry], material: Material) -> Export:
    bos, template = material.tokenizer.bos, None if mode == "base" else material.template
    written = template is not None and bool(bos) and template.head[: len(bos)] == bos
    return Export(
        group,
        mode,
        tuple(entries),
        material.tokenizer.sha256,
        starts=mode == "base" and bool(bos),
        habit=bool(bos) and not written,
        stop=STOP if mode == "base" else (),
        window=max(entry.window for entry in entries),
    )


def _record(format: Format, whole: Export) -> str:
    """What was exported, with the cells in full, so that every document can be made again."""
    from ordinate import __version__

    record = {"version": VERSION, "format": format.name, "ordinate": __version__, **asdict(whole)}
    return json.dumps(record, indent=2, allow_nan=False) + "\n"


def _names(group: str, parts: Sequence[Part]) -> list[str]:
    """A name for each cell: group, task, difficulty, length, place, control; filler and seed where they differ."""
    several = {
        "filler": len({part.cell.filler for part in parts}) > 1,
        "seed": len({part.seed for part in parts}) > 1,
    }
    names = []
    for part in parts:
        cell = part.cell
        words = [group, cell.task, *(f"{key}{value}" for key, value in cell.difficulty)]
        words += [cell.filler.split(":")[0]] * several["filler"] + [f"seed{part.seed}"] * several["seed"]
        words += [str(cell.length), *filter(None, (cell.places, cell.control))]
        names.append("".join(letter if letter.isalnum() else "_" for letter in "_".join(words)))
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"two different cells would have the name {twice!r}: export them apart")
    return names
