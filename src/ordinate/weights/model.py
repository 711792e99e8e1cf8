"""The files of a model or an adapter whose weights are to be converted."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ordinate.errors import InputError, got
from ordinate.files.json import read_json
from ordinate.files.safetensors import SafetensorsHeader, StoredTensor, read_header
from ordinate.files.weight_files import INDEX, SINGLE, weight_files, weight_map

ADAPTER = "adapter_config.json"
ADAPTER_WEIGHTS = "adapter_model.safetensors"
# Never copied: weights apart from those that the model is made of, and code.
_LEFT_OUT = frozenset(
    {
        ".bin",
        ".pt",
        ".pth",
        ".ckpt",
        ".pkl",
        ".pickle",
        ".py",
        ".pyc",
        ".gguf",
        ".safetensors",
        ".msgpack",
        ".h5",
        ".so",
    }
)


@dataclass(frozen=True)
class Files:
    """What a model is made of.

    Args:
        directory: where its files are
        config: its configuration; of an adapter, `adapter_config.json`
        headers: of its weight files, in the order of their names
        others: the further files that go with it
        left_out: the names of what does not: code, other weights, folders, and a model card that may no longer be true
        adapter: it is an adapter (PEFT)
    """

    directory: Path
    config: dict[str, Any]
    headers: tuple[SafetensorsHeader, ...]
    others: tuple[Path, ...]
    left_out: tuple[str, ...]
    adapter: bool

    @property
    def tensors(self) -> dict[str, StoredTensor]:
        """All tensors by name."""
        return {name: tensor for header in self.headers for name, tensor in header.tensors.items()}


def read_files(source: str | os.PathLike[str]) -> Files:
    """Find and read the configuration and the headers of a model's weights.

    Args:
        source: a Hugging Face directory, an adapter's directory, or a safetensors file with its configuration beside

    Raises:
        InputError: there is none, weights are pickled or GGUF, an index and its files disagree, or a tensor is in
            two files
    """
    path = Path(source)
    if not os.path.lexists(path):
        raise InputError(f"{path} does not exist")
    alone = not path.is_dir()
    directory = path.parent if alone else path
    if alone and path.suffix != ".safetensors":
        raise InputError(f"{path} must be a Hugging Face directory or a safetensors file with config.json beside it")
    adapter = not (directory / "config.json").is_file() and (directory / ADAPTER).is_file()
    name = ADAPTER if adapter else "config.json"
    if not (directory / name).is_file():
        raise InputError(f"{directory} has no config.json, which says how its heads are cut")
    config = read_json(directory / name, name=str(directory / name))
    weights = [path] if alone else weight_files(directory, ADAPTER_WEIGHTS if adapter else SINGLE)
    headers = tuple(read_header(file) for file in weights)
    seen: dict[str, Path] = {}
    for header in headers:
        for tensor in header.tensors:
            if tensor in seen:
                raise InputError(f"tensor {got(tensor)} is in {seen[tensor].name} and in {header.path.name}")
            seen[tensor] = header.path
    if not alone and not adapter and len(headers) > 1:
        _check_index(directory / INDEX, {name: file.name for name, file in seen.items()})
    own = {directory / name, *weights}
    rest = [] if alone else [file for file in sorted(directory.iterdir()) if file not in own]
    others = tuple(file for file in rest if _goes_along(file))
    return Files(directory, config, headers, others, tuple(file.name for file in rest if file not in others), adapter)


def _check_index(index: Path, places: Mapping[str, str]) -> None:
    for tensor, file in weight_map(index).items():
        if places.get(tensor) != file:
            where = f"is in {places[tensor]}" if tensor in places else "is in none of its files"
            raise InputError(f"{index}: tensor {got(tensor)} must be in {file}, and {where}")


def _goes_along(file: Path) -> bool:
    return file.is_file() and file.suffix.lower() not in _LEFT_OUT and file.name != "README.md"
