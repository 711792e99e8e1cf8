"""The safetensors files that a directory's model or adapter is made of."""

from pathlib import Path

from ordinate.errors import InputError, got
from ordinate.files.json import read_json

SINGLE = "model.safetensors"
INDEX = f"{SINGLE}.index.json"
_PICKLED = (".bin", ".pt", ".pth")


def weight_files(directory: Path, single: str = SINGLE) -> list[Path]:
    """Find a directory's weights: its single file, else the files that its index names, in the order of their names.

    Args:
        directory: of a Hugging Face model or adapter
        single: the single file's name; beside another than a model's an index does not count

    Raises:
        InputError: it has none, or an index that names a file outside it; pickled weights do not count
    """
    if (directory / single).is_file():
        return [directory / single]
    index = directory / INDEX
    if single != SINGLE or not index.is_file():
        names = sorted(file.name for file in directory.iterdir())
        pickled = [f"pickled weights such as {name} are never opened" for name in names if name.endswith(_PICKLED)]
        gguf = [f"{name} is of another format" for name in names if name.endswith(".gguf")]
        note = "".join(f"; {text}" for text in [*pickled, *gguf][:1])
        raise InputError(
            f"{directory} has no weights: {single}{' or its index' * (single == SINGLE)} is required{note}"
        )
    names = set(weight_map(index).values())
    for name in names:
        if Path(name).name != name or not name.endswith(".safetensors"):
            raise InputError(f"{index}: weight_map must name safetensors files beside it, got {got(name)}")
    return [directory / name for name in sorted(names)]


def weight_map(index: Path) -> dict[str, str]:
    """Read which file holds each tensor, from an index.

    Raises:
        InputError: it cannot be read, or says so of none
    """
    found = read_json(index, name=str(index)).get("weight_map")
    if not isinstance(found, dict) or not found:
        raise InputError(f"{index}: weight_map must name the file of each tensor, got {got(found)}")
    for name in found.values():
        if not isinstance(name, str):
            raise InputError(f"{index}: weight_map must name safetensors files beside it, got {got(name)}")
    return found
