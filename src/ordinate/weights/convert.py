"""A model's files with q and k in the other pair layout, as a new directory."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ordinate.dialects.huggingface import read
from ordinate.errors import InputError, one_of
from ordinate.files.json import read_json
from ordinate.spec import Spec
from ordinate.weights.cuts import PairLayout
from ordinate.weights.directory import new_directory
from ordinate.weights.model import ADAPTER, Files, read_files
from ordinate.weights.plan import Plan, plan
from ordinate.weights.record import (
    LAYOUTS,
    checked_metadata,
    noted_configuration,
    noted_metadata,
    stored_layout,
    turned_layout,
)
from ordinate.weights.rewriting import Report, rewrite


@dataclass(frozen=True)
class Converted:
    """What a conversion did.

    Args:
        source: what was read
        directory: what was made
        model_type: the architecture
        before: the layout of the files that were read: "half", "interleaved" or "interleaved-in-half-out"
        pairing: the layout of those that were written
        turned: the layout that transformers turns for the new configuration
        moved: tensors that were reordered
        stayed: tensors that were copied as they are
        layers: layers whose q and k were reordered
        still: layers that attend without rotation, whose tensors stay
        towers: tensors of attention in vision and audio towers, which stay
        bytes: of the weights written
        files: the names of all files in the directory
        left_out: the names of what was not copied: code, other weights, folders and the model card
    """

    source: str
    directory: str
    model_type: str
    before: str
    pairing: str
    turned: str
    moved: int
    stayed: int
    layers: tuple[int, ...]
    still: tuple[int, ...]
    towers: int
    bytes: int
    files: tuple[str, ...]
    left_out: tuple[str, ...]


def convert(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    pairing: PairLayout,
    *,
    base: str | os.PathLike[str] | None = None,
    progress: Report | None = None,
) -> Converted:
    """Write a copy of a model whose q and k pair channels in the other way.

    half[i] = interleaved[order[i]], order = `half_order`, for the turning rows of each head

    Moved are rows of q and k projections, their biases, gains and row scales, fused or apart, and LoRA's B and DoRA's
    magnitude. Every other tensor keeps its bytes. Whatever may hold such rows and is not understood is refused. The
    new files note their layout: "ordinate.pairing" in each safetensors file, `ordinate_pairing` in config.json.

    Args:
        source: a Hugging Face directory, a safetensors file with config.json beside it, or an adapter's directory
        out: the directory to be made; it must not exist
        pairing: "half" or "interleaved"
        base: of an adapter, the directory or config.json of its model
        progress: told how many bytes are written

    Returns:
        what was done

    Raises:
        InputError: the files have this layout already, or cannot be converted; what is wrong with names, shapes and
            types is found before anything is written
    """
    one_of("pairing", pairing, LAYOUTS)
    files = read_files(source)
    config, name = _model_configuration(files, base)
    spec = read(config, name=name)
    before = stored_layout(spec)
    for header in files.headers:
        checked_metadata(header.metadata, before, str(header.path))
    if before == pairing:
        raise InputError(f"{source} is {pairing} already")
    planned = plan(spec, config, files.tensors, adapter=files.adapter)
    if files.directory.resolve() in Path(out).resolve().parents:
        raise InputError(f"{out} must not be within {files.directory}, which is never changed")
    new_config = noted_configuration(config, pairing)
    after = read(new_config, name=name)
    if stored_layout(after) != pairing:
        raise InputError(f"{name}: a note of the new layout in it would not be read, so nothing is converted")
    # An adapter's own settings have no place for a note: its safetensors file has it.
    settings = files.config if files.adapter else new_config
    with new_directory(out) as partial:
        written = _write(files, settings, planned, pairing, partial, progress)
        names = tuple(sorted(file.name for file in partial.iterdir()))
    turned = turned_layout(new_config, name)
    return _summary(source, out, spec, pairing, turned, planned, files, written, names)


def _model_configuration(files: Files, base: str | os.PathLike[str] | None) -> tuple[dict[str, Any], str]:
    if not files.adapter:
        if base is not None:
            raise InputError(f"{files.directory} is a model and no adapter, so it has no base: got {os.fspath(base)}")
        return files.config, str(files.directory / "config.json")
    if base is None:
        raise InputError(
            f"{files.directory} is an adapter: give its model's directory as base, which says how heads are cut"
        )
    kind = files.config.get("peft_type")
    if kind != "LORA":
        raise InputError(f"{files.directory / ADAPTER}: peft_type must be LORA (DoRA included), got {kind!r}")
    if files.config.get("fan_in_fan_out"):
        raise InputError(f"{files.directory / ADAPTER}: fan_in_fan_out transposes weights, which is not converted")
    if files.config.get("layer_replication"):
        raise InputError(f"{files.directory / ADAPTER}: layer_replication numbers layers anew, which is not converted")
    path = Path(base)
    path = path / "config.json" if path.is_dir() else path
    return read_json(path, name=str(path)), str(path)


def _write(
    files: Files, settings: dict[str, Any], planned: Plan, pairing: PairLayout, directory: Path, progress: Report | None
) -> int:
    for file in files.others:
        shutil.copyfile(file, directory / file.name)
    name = ADAPTER if files.adapter else "config.json"
    text = json.dumps(settings, indent=2, ensure_ascii=False)
    (directory / name).write_text(text + "\n", encoding="utf-8")
    total = sum(header.file.size for header in files.headers)
    report = None if progress is None else _counted(progress, total)
    return sum(
        rewrite(
            header,
            directory / header.path.name,
            planned.moves,
            pairing,
            noted_metadata(header.metadata, pairing),
            report,
        )
        for header in files.headers
    )


def _counted(progress: Report, total: int) -> Callable[[int], None]:
    done = 0

    def report(count: int) -> None:
        nonlocal done
        done += count
        progress("converting", done, total)

    return report


def _summary(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    spec: Spec,
    pairing: PairLayout,
    turned: str,
    planned: Plan,
    files: Files,
    written: int,
    names: tuple[str, ...],
) -> Converted:
    before = next(group.pairing for group in spec.groups.values() if group.pairing is not None)
    return Converted(
        source=str(source),
        directory=str(out),
        model_type=spec.architecture,
        before=before,
        pairing=pairing,
        turned=turned,
        moved=len(planned.moves),
        stayed=len(files.tensors) - len(planned.moves),
        layers=planned.layers,
        still=planned.still,
        towers=planned.towers,
        bytes=written,
        files=names,
        left_out=files.left_out,
    )
