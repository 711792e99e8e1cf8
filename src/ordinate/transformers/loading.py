"""Models loaded by plain transformers, with Ordinate's rotary embedding put in."""

from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn

from ordinate.dialects import read
from ordinate.errors import InputError
from ordinate.schemes.base import Rotary
from ordinate.transformers import attention as past_attention
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
        attention: transformers' name of an implementation, or "ordinate_past", which reads long texts in chunks
            faster on a CPU; transformers' own choice where not given

    Returns:
        the model, in evaluation mode, and its tokenizer

    Raises:
        InputError: no weights, a model that transformers cannot load, or one whose rotary module is not where
            Llama's and its kin's is, or computes something else
    """
    directory = checked_directory(Path(directory))
    spec = read(directory)
    rotating = {name: group for name, group in spec.groups.items() if isinstance(group.encoding, Rotary)}
    # A model may have no layer of a kind that its family has.
    groups = {name: group for name, group in rotating.items() if group.layers != ()}
    if attention == past_attention.NAME:
        past_attention.register()
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
        decoder = model.get_decoder()
        own = getattr(decoder, "rotary_emb", None)
        if not isinstance(own, nn.Module):
            raise InputError(f"{type(model).__name__} has no rotary module at {type(decoder).__name__}.rotary_emb")
        decoder.rotary_emb = replacement(own, groups, float32_angles=float32_angles)
    return model.eval(), tokenizer
