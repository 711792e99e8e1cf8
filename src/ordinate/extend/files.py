"""The files of a stretched model: copied from the source, and its configuration."""

import hashlib
import shutil
from pathlib import Path
from typing import Any

from ordinate.errors import InputError, got
from ordinate.extend.methods import Stretched
from ordinate.files.json import read_json
from ordinate.files.weight_files import weight_files
from ordinate.transformers.convert import Conversion, Report, write_json

# Older spellings of what now stands in `rope_parameters`.
_REPLACED = ("rope_scaling", "rope_theta", "rope_type")
# Never copied: weights (apart from those that the model is made of), code, and what says how weights were cut up.
_LEFT_OUT = frozenset({".bin", ".pt", ".pth", ".ckpt", ".pkl", ".py", ".gguf", ".safetensors", ".msgpack", ".h5"})


def copy_files(conversion: Conversion, directory: Path, progress: Report | None) -> dict[str, str]:
    """Copy every file but the configuration and the card.

    Args:
        conversion: the source as a Hugging Face directory
        directory: where to write
        progress: told how many bytes of weights are copied

    Returns:
        the sha256 of what the weights came from, by the file's name
    """
    weights = weight_files(conversion.directory)
    others = [
        file
        for file in sorted(conversion.directory.iterdir())
        if file.is_file() and file.suffix not in _LEFT_OUT and file.name not in ("config.json", "README.md")
    ]
    total, done, sums = sum(file.stat().st_size for file in weights), 0, {}
    # Copies, not links: whoever trains the new model in place must not change the source.
    for file in others:
        shutil.copyfile(file, directory / file.name)
    for file in weights:
        shutil.copyfile(file, directory / file.name)
        if conversion.sha256 is None:
            with file.open("rb") as handle:
                sums[file.name] = hashlib.file_digest(handle, "sha256").hexdigest()
        done += file.stat().st_size
        if progress:
            progress("copying", done, total)
    return sums if conversion.sha256 is None else {"GGUF file": conversion.sha256}


def write_configuration(
    source: Path,
    directory: Path,
    parameters: dict[str, Any],
    stretched: Stretched,
    to: int,
    trained: int,
    head_dim: int,
) -> None:
    """Write config.json with the new rotary settings, and the new length into the tokenizer's settings.

    Args:
        source: the directory whose configuration is taken
        directory: where to write; the tokenizer's files are there already
        parameters: the new `rope_parameters`
        stretched: the method with its numbers
        to: the new window, [token]
        trained: the length that the model was trained at, [token]
        head_dim: channels of a head

    Raises:
        InputError: the settings are not where a language model of one kind of layers has them
    """
    config = read_json(source / "config.json", name=str(source / "config.json"))
    if "text_config" in config:
        raise InputError(f"{source} keeps its language model's settings in text_config, which is not supported")
    present = config.get("rope_parameters")
    if isinstance(present, dict) and any(isinstance(value, dict) for value in present.values()):
        raise InputError(f"{source} has rope_parameters for each layer type, which is not supported: {got(present)}")
    # Code is not copied, so nothing may point to it; transformers has a class of its own for every known model.
    for key in (*_REPLACED, "auto_map"):
        config.pop(key, None)
    config["rope_parameters"] = parameters
    config["max_position_embeddings"] = stretched.maximum
    if "head_dim" in config and config["head_dim"] is None:
        # transformers 5.24 cannot compute yarn, dynamic and longrope from a null.
        config["head_dim"] = head_dim
    if "original_max_position_embeddings" in config:
        # Phi-3 keeps it here, and transformers lets it win over the one in `rope_parameters`.
        config["original_max_position_embeddings"] = trained
    write_json(directory / "config.json", config)
    tokenizer = directory / "tokenizer_config.json"
    if tokenizer.is_file():
        settings = read_json(tokenizer, name=str(tokenizer))
        if "model_max_length" in settings:
            settings["model_max_length"] = to
            write_json(tokenizer, settings)
