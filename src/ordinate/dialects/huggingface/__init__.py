"""Hugging Face's spelling: `config.json` as transformers 4 and 5 write it."""

from ordinate.dialects.huggingface.architectures import Architecture, architecture, model_types
from ordinate.dialects.huggingface.reader import read

__all__ = ["Architecture", "architecture", "model_types", "read"]
