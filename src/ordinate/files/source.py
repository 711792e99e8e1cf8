"""What a path holds: which file says how a model handles position, and in whose spelling."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ordinate.errors import InputError
from ordinate.files.gguf import MAGIC
from ordinate.files.json import read_json
from ordinate.files.regular import open_regular

Kind = Literal["huggingface", "params", "gguf"]

# Reading these runs whatever code their maker put in.
PICKLED = frozenset({".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"})
# Meta's and Mistral's names for what Hugging Face calls hidden_size and num_hidden_layers.
_PARAMS_KEYS = frozenset({"dim", "n_layers"})
_CHOICES = "a directory with config.json, params.json or one GGUF file, or one of these files"


@dataclass(frozen=True, slots=True)
class Source:
    """The file that says how a model handles position.

    Args:
        kind: "huggingface" (config.json), "params" (Meta, Mistral: params.json) or "gguf".
        file: the file to read.
        directory: the model's directory where one was given, else None.
    """

    kind: Kind
    file: Path
    directory: Path | None = None


def identify(path: str | os.PathLike[str]) -> Source:
    """Decide what a path holds, by content where a file is given: nothing but its beginning or its keys is read.

    A directory counts by the first of config.json, params.json and a single GGUF file that is in it. Files are
    told by content: GGUF by its first four bytes, params.json by the keys `dim` and `n_layers`. Pickled weights
    are never opened.

    Args:
        path: a directory or a file.

    Returns:
        Its kind, and the file to read.

    Raises:
        InputError: it does not exist, is empty, pickled or of no known kind, or holds several GGUF files.
    """
    path = Path(path)
    return _identify_directory(path) if os.path.isdir(path) else _identify_file(path)


def _identify_directory(path: Path) -> Source:
    try:
        names = sorted(os.listdir(path))
    except OSError as error:
        raise InputError(f"{path} cannot be listed: {error.strerror}") from None
    if "config.json" in names:
        return Source("huggingface", path / "config.json", path)
    if "params.json" in names:
        return Source("params", path / "params.json", path)
    gguf = [name for name in names if name.lower().endswith(".gguf")]
    if len(gguf) > 1:
        shown = ", ".join(map(_printable, gguf[:8])) + (f" and {len(gguf) - 8} more" if len(gguf) > 8 else "")
        raise InputError(f"{path} holds {len(gguf)} GGUF files, name the one that is meant: {shown}")
    if gguf:
        if _beginning(path / gguf[0]) != MAGIC:
            raise InputError(f"{path / gguf[0]} is not a GGUF file: it must begin with {MAGIC!r}")
        return Source("gguf", path / gguf[0], path)
    pickled = [name for name in names if Path(name).suffix.lower() in PICKLED]
    note = f"; pickled files such as {_printable(pickled[0])} are never opened" if pickled else ""
    raise InputError(f"{path} holds neither config.json nor params.json nor a GGUF file{note}")


def _identify_file(path: Path) -> Source:
    suffix = path.suffix.lower()
    if suffix in PICKLED and os.path.exists(path):
        raise InputError(f"{path} is a pickled file, which is never opened, because that runs code; give {_CHOICES}")
    beginning = _beginning(path)
    if not beginning:
        raise InputError(f"{path} is empty; give {_CHOICES}")
    if beginning == MAGIC:
        return Source("gguf", path)
    if suffix == ".gguf":
        raise InputError(f"{path} is not a GGUF file: it must begin with {MAGIC!r}, got {beginning!r}")
    if suffix == ".safetensors":
        raise InputError(f"{path} holds weights and no word on position; give {_CHOICES}")
    # Files in download caches are named by a hash.
    if suffix != ".json" and not beginning.lstrip().startswith(b"{"):
        raise InputError(f"{path} is of no known kind; give {_CHOICES}")
    keys = read_json(path, name=str(path)).keys()
    return Source("params" if keys >= _PARAMS_KEYS else "huggingface", path)


def _beginning(path: Path) -> bytes:
    with open_regular(path) as handle:
        return handle.read(len(MAGIC))


def _printable(name: str) -> str:
    return name if name.isprintable() else ascii(name)
