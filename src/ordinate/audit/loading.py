"""A model as plain transformers loads it, on the CPU, where its weights fit into memory."""

import os
from pathlib import Path
from typing import Any

import transformers

from ordinate.errors import InputError, Unavailable
from ordinate.files.weight_files import weight_files
from ordinate.transformers.convert import checked_directory

# Weights, and half as much again for what is computed.
_SHARE = 1.5


def load_plain(directory: Path) -> tuple[Any, Any]:
    """Load a causal language model and its tokenizer, with nothing of Ordinate's in it.

    Nothing is downloaded, unpickled or run from the directory.

    Args:
        directory: a Hugging Face directory with safetensors weights and a tokenizer

    Raises:
        InputError: no weights, no tokenizer, or a model that transformers cannot load
        Unavailable: it does not fit into this machine's free memory
    """
    directory = checked_directory(directory)
    needed = int(_SHARE * sum(file.stat().st_size for file in weight_files(directory)))
    free = _free_memory()
    if free is not None and needed > free:
        raise Unavailable(
            f"{directory} needs about {needed / 2**30:.1f} GiB of memory, and {free / 2**30:.1f} are free"
        )
    options = {"local_files_only": True, "trust_remote_code": False}
    bars = transformers.utils.logging.is_progress_bar_enabled()
    transformers.utils.logging.disable_progress_bar()
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(directory, **options)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            directory, use_safetensors=True, dtype="auto", **options
        )
    except (OSError, ValueError, RuntimeError, ImportError, KeyError) as error:
        line = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{directory} cannot be loaded by transformers: {line}") from error
    finally:
        if bars:
            transformers.utils.logging.enable_progress_bar()
    return model.eval(), tokenizer


def _free_memory() -> int | None:
    """What the operating system says is free [byte], or None where it does not say."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
