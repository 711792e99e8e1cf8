"""A model as plain transformers loads it, on the CPU, where its weights fit into memory."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers
from huggingface_hub.errors import StrictDataclassError

from ordinate import texts
from ordinate.errors import InputError, Unavailable
from ordinate.files.weight_files import weight_files
from ordinate.transformers.convert import checked_directory

# Weights, and half as much again for what is computed.
_SHARE = 1.5
_OPTIONS = {"local_files_only": True, "trust_remote_code": False}
_MEMORY = Path("/proc/meminfo")
_TOKENIZERS = ("tokenizer.json", "tokenizer_config.json", "tokenizer.model", "vocab.txt", "vocab.json")
# Of the text that is read: more tokens than any default length.
_CHARACTERS = 20_000


def load_plain(directory: Path) -> tuple[Any, Any]:
    """Load a causal language model and its tokenizer, with nothing of Ordinate's in it.

    Nothing is downloaded, unpickled or run from the directory.

    Args:
        directory: a Hugging Face directory with safetensors weights and a tokenizer

    Raises:
        InputError: no weights, no tokenizer, or a model that transformers cannot load
        Unavailable: it does not fit into this machine's free memory
    """
    directory = _fitting(directory)
    with _loading(directory):
        tokenizer = transformers.AutoTokenizer.from_pretrained(directory, **_OPTIONS)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            directory, use_safetensors=True, dtype="auto", **_OPTIONS
        )
    return model.eval(), tokenizer


def load_subject(directory: Path, dtype: str | None = None) -> tuple[Any, torch.Tensor | None]:
    """Load a model of the kind that its configuration names: causal, encoder and decoder, or encoder.

    Nothing is downloaded, unpickled or run from the directory.

    Args:
        directory: a Hugging Face directory with safetensors weights
        dtype: to compute in; that of the files where not given

    Returns:
        the model, and token ids of natural language where it has a tokenizer, [tokens]

    Raises:
        InputError: no weights, or a model that transformers cannot load
        Unavailable: it does not fit into this machine's free memory
    """
    directory = _fitting(directory)
    with _loading(directory):
        config = transformers.AutoConfig.from_pretrained(directory, **_OPTIONS)
        model, found = _automatic(config).from_pretrained(
            directory, use_safetensors=True, dtype=dtype or "auto", output_loading_info=True, **_OPTIONS
        )
        # A model without a tokenizer is audited on ids drawn at random.
        named = any((directory / name).exists() for name in _TOKENIZERS)
        tokenizer = transformers.AutoTokenizer.from_pretrained(directory, **_OPTIONS) if named else None
    # Nothing reads what an encoder pools: files of a masked language model are without it.
    missing = sorted(name for name in found["missing_keys"] if "pooler" not in name.split("."))
    if missing:
        raise InputError(
            f"{directory} lacks {len(missing)} weights of {type(model).__name__}, which would be drawn at random: "
            f"{', '.join(missing[:3])}{', ...' if len(missing) > 3 else ''}"
        )
    if tokenizer is None:
        return model.eval(), None
    text = texts.read("emma").body[:_CHARACTERS]
    ids = tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
    return model.eval(), torch.tensor(ids)


def _automatic(config: Any) -> Any:
    """The class of transformers that loads a model of this kind."""
    kinds = type(config)
    if getattr(config, "is_encoder_decoder", False):
        return transformers.AutoModelForSeq2SeqLM
    named = " ".join(getattr(config, "architectures", None) or ())
    causal = transformers.AutoModelForCausalLM._model_mapping
    if kinds in causal and ("CausalLM" in named or "LMHead" in named or "ForConditional" in named or not named):
        return transformers.AutoModelForCausalLM
    if kinds in transformers.AutoModelForMaskedLM._model_mapping and "MaskedLM" in named:
        return transformers.AutoModelForMaskedLM
    return transformers.AutoModel


def _fitting(directory: Path) -> Path:
    directory = checked_directory(directory)
    needed = int(_SHARE * sum(file.stat().st_size for file in weight_files(directory)))
    free = _free_memory()
    if free is not None and needed > free:
        raise Unavailable(
            f"{directory} needs about {needed / 2**30:.1f} GiB of memory, and {free / 2**30:.1f} are free"
        )
    return directory


@contextmanager
def _loading(directory: Path) -> Iterator[None]:
    """Without progress bars, and what goes wrong as an `InputError`."""
    bars = transformers.utils.logging.is_progress_bar_enabled()
    transformers.utils.logging.disable_progress_bar()
    try:
        yield
    except (OSError, ValueError, RuntimeError, ImportError, KeyError, StrictDataclassError) as error:
        line = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{directory} cannot be loaded by transformers: {line}") from error
    finally:
        if bars:
            transformers.utils.logging.enable_progress_bar()


def _free_memory() -> int | None:
    """What a process can still take [byte], or None where the operating system does not say.

    Pages that hold a copy of a file are given back when they are wanted, so they are free too: Linux counts them in
    `MemAvailable`. The number of free pages leaves them out, and falls to nothing on a machine that reads files.
    """
    if _MEMORY.exists():
        return _available(_MEMORY.read_text(encoding="ascii"))
    return None


def _available(text: str) -> int | None:
    found = re.search(r"^MemAvailable:\s+(\d+) kB$", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else None
