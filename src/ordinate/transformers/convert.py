"""Any model as a Hugging Face directory: GGUF files are converted once and kept."""

import hashlib
import json
import math
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs

from ordinate import models
from ordinate.errors import InputError
from ordinate.files.gguf import GgufFile, read_gguf
from ordinate.files.regular import read_range
from ordinate.files.safetensors import read_header
from ordinate.files.source import identify
from ordinate.files.weight_files import weight_files
from ordinate.registry import suggestion
from ordinate.transformers.gguf_config import read_config
from ordinate.transformers.gguf_tokenizer import read_tokenizer, read_tokenizer_config
from ordinate.transformers.gguf_weights import plan, read_weights
from ordinate.weights.directory import new_directory
from ordinate.weights.safetensors import write_safetensors

Report = Callable[[str, float, float], None]
"""Called with what is being done, how much of it is done, and how much there is."""

# The name of the converted form; a change in what the conversion writes takes the next number.
FORM = "float32-1"
_HASH_STEP = 2**24
_ABANDONED_AFTER = 86400.0  # [s]


@dataclass(frozen=True)
class Conversion:
    """A model as a Hugging Face directory, and where it came from.

    Args:
        directory: with config.json, safetensors weights and, where there is one, the tokenizer
        name: what the source is called: a model's name, or the name of its file or directory
        origin: what it is and where it comes from, where a record or the GGUF file says so
        licence: SPDX identifier, where a record or the GGUF file states one
        sha256: of the GGUF file; None where the source is a Hugging Face directory
    """

    directory: Path
    name: str
    origin: str | None = None
    licence: str | None = None
    sha256: str | None = None


def converted(source: str | Path, *, progress: Report | None = None, cache: Path | None = None) -> Path:
    """A Hugging Face directory for a model: the model's own where it is one, else its converted copy.

    A GGUF file is read by Ordinate's bounded reader, its weights dequantised to float32, which holds every
    supported type exactly (transformers does the same), and its rotary channels brought from interleaved to half
    pairs. The copy is kept in the user's cache directory by the hash of the file's content; a second call finds
    it there. It is written under another name first, so that no call ever sees a part of it.

    Args:
        source: a Hugging Face directory or its config.json, a GGUF file or a directory that holds one, or a name
            of `ordinate.models`
        progress: told how far hashing and conversion are
        cache: where converted models are kept; the platform's cache directory where not given

    Returns:
        a directory with config.json, safetensors weights and, for a GGUF file, its tokenizer

    Raises:
        InputError: no such source, no weights beside its configuration, pickled weights only, or a GGUF file that
            cannot be converted
        Unavailable: a named model's package is not installed
    """
    return convert(source, progress=progress, cache=cache).directory


def convert(source: str | Path, *, progress: Report | None = None, cache: Path | None = None) -> Conversion:
    """The same as `converted`, with what is known of the source.

    Args:
        source: as for `converted`
        progress: as for `converted`
        cache: as for `converted`

    Raises:
        InputError: as for `converted`
        Unavailable: as for `converted`
    """
    path, licence, origin = Path(source), None, None
    name = path.resolve().name
    # A path counts before a model's name, as in `ordinate.read`.
    if isinstance(source, str) and not os.path.exists(source):
        if source not in models.names():
            raise InputError(f"{source} does not exist, and is no model's name{suggestion(source, models.names())}")
        model = models.find(source)
        path, name, licence = model.path, model.name, model.record.licence
        origin = f"{model.record.title} ({model.record.upstream}, quantised by {model.record.quantised_by})"
    found = identify(path)
    if found.kind == "params":
        raise InputError(f"{found.file}: Meta's and Mistral's own directories hold no weights that can be converted")
    if found.kind == "huggingface":
        if found.file.name != "config.json":
            raise InputError(f"{found.file} must be a directory, or be named config.json, for its weights to be found")
        return Conversion(checked_directory(found.file.parent), name)
    gguf = read_gguf(found.file)
    licence, origin = licence or _stated(gguf, "general.license"), origin or _stated(gguf, "general.name")
    root, digest = Path(platformdirs.user_cache_dir("ordinate")) if cache is None else cache, sha256(gguf, progress)
    kept = root / "converted" / digest / FORM
    if not kept.is_dir():
        _remove_abandoned(kept.parent)
        try:
            with new_directory(kept) as partial:
                write_converted(gguf, partial, progress)
        except InputError:
            # Another process may have finished the same conversion first.
            if not kept.is_dir():
                raise
    return Conversion(checked_directory(kept), name, origin, licence, digest)


def _stated(gguf: GgufFile, key: str) -> str | None:
    value = gguf.metadata.get(key)
    return value if isinstance(value, str) and value.isprintable() else None


def checked_directory(directory: Path) -> Path:
    """Return a directory that has a configuration and whole safetensors weights, or raise `InputError`."""
    if not (directory / "config.json").is_file():
        raise InputError(f"{directory} has no config.json")
    for file in weight_files(directory):
        read_header(file)
    return directory


def sha256(gguf: GgufFile, progress: Report | None = None) -> str:
    """The sha256 of a GGUF file's content, in hexadecimal; an `InputError` where it changed since it was read."""
    digest, size = hashlib.sha256(), gguf.file.size
    for start in range(0, size, _HASH_STEP):
        end = min(start + _HASH_STEP, size)
        digest.update(read_range(gguf.file, start, end).data)
        if progress:
            progress("hashing", end, size)
    return digest.hexdigest()


def write_converted(gguf: GgufFile, directory: Path, progress: Report | None = None) -> None:
    """Write a GGUF file's configuration, tokenizer and weights into an empty directory.

    Args:
        gguf: the file's header
        directory: where to write
        progress: told how many bytes of weights are written

    Raises:
        InputError: the file cannot be converted; what is wrong is found before the weights are written
    """
    config = read_config(gguf)
    planned = plan(gguf, config)
    name, length = str(gguf.path), config["max_position_embeddings"]
    ids = {key: value for key, value in config.items() if key.endswith("_token_id")}
    write_json(directory / "tokenizer.json", read_tokenizer(gguf.metadata, name=name))
    write_json(directory / "tokenizer_config.json", read_tokenizer_config(gguf.metadata, length, name=name))
    write_json(directory / "config.json", config)
    write_json(directory / "generation_config.json", ids)
    template = gguf.metadata.get("tokenizer.chat_template")
    if isinstance(template, str):
        (directory / "chat_template.jinja").write_text(template, encoding="utf-8")
    shapes = {key: shape for key, (_, shape) in planned.items()}
    total = sum(4 * math.prod(shape) for shape in shapes.values())
    done = 0

    def tensors() -> Iterator[tuple[str, np.ndarray]]:
        nonlocal done
        for key, values in read_weights(gguf, config, planned):
            yield key, values
            done += values.nbytes
            if progress:
                progress("converting", done, total)

    write_safetensors(directory / "model.safetensors", shapes, tensors(), metadata={"format": "pt"})


def write_json(file: Path, content: dict[str, Any]) -> None:
    """Write a JSON object as Hugging Face's files have it: UTF-8, indented by two."""
    text = json.dumps(content, indent=2, ensure_ascii=False)
    file.write_text(text + "\n", encoding="utf-8")


def _remove_abandoned(directory: Path) -> None:
    """Remove what conversions that were killed more than a day ago left behind."""
    for partial in directory.glob(f".{FORM}.partial-*"):
        newest = max((file.stat().st_mtime for file in partial.iterdir()), default=partial.stat().st_mtime)
        if time.time() - newest > _ABANDONED_AFTER:
            shutil.rmtree(partial, ignore_errors=True)
