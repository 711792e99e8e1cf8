"""Models loaded by plain transformers, with Ordinate's rotary embedding put in."""

from pathlib import Path
from typing import Any

import torch
import transformers

from ordinate.errors import InputError
from ordinate.transformers import attention as own_attention
from ordinate.transformers.acceleration import rotary_module, rotating_groups
from ordinate.transformers.convert import checked_directory
from ordinate.transformers.rotary import replacement


def load(
    directory: str | Path,
    *,
    float32_angles: bool = False,
    dtype: torch.dtype | None = None,
    attention: str | None = None,
) -> tuple[Any, Any]:
    """Load a model and its tokenizer, and let Ordinate compute the model's cos and sin.

    The model is transformers' own; its rotary module is replaced by one that computes angles in float64. Nothing
    but this model is changed. Nothing is downloaded, unpickled or run from the directory.

    Args:
        directory: a Hugging Face directory with safetensors weights, as `converted` returns
        float32_angles: compute angles in float32 as transformers does, to the bit, errors included
        dtype: of the weights; the one that config.json states where not given
        attention: transformers' name of an implementation, or "ordinate", `ordinate.ops.attend`; transformers' own
            choice where not given

    Returns:
        the model, in evaluation mode, and its tokenizer

    Raises:
        InputError: no weights, a model that transformers cannot load, or one whose rotary module is not where
            Llama's and its kin's is, or computes something else
    """
    directory = checked_directory(Path(directory))
    groups = rotating_groups(directory)
    if attention == own_attention.NAME:
        own_attention.register()
    options = {"local_files_only": True, "trust_remote_code": False}
    bars = transformers.utils.logging.is_progress_bar_enabled()
    transformers.utils.logging.disable_progress_bar()
    try:
        model = transformers.AutoModelForCausalLM.from_pretrained(
            directory,
            use_safetensors=True,
            dtype="auto" if dtype is None else dtype,
            **options,
            **({} if attention is None else {"attn_implementation": attention}),
        )
        tokenizer = transformers.AutoTokenizer.from_pretrained(directory, **options)
    except (OSError, ValueError) as error:
        raise InputError(f"{directory} cannot be loaded by transformers: {str(error).splitlines()[0]}") from error
    finally:
        if bars:
            transformers.utils.logging.enable_progress_bar()
    if groups:
        own = rotary_module(model)
        model.get_decoder().rotary_emb = replacement(own, groups, float32_angles=float32_angles)
    return model.eval(), tokenizer
