"""Hugging Face's spelling: `config.json` as transformers 4 and 5 write it."""

from ordinate.dialects.huggingface.architectures import Architecture, architecture, model_types
from ordinate.dialects.huggingface.engine import HuggingFace
from ordinate.dialects.huggingface.reader import language_keys, read
from ordinate.dialects.huggingface.spelling import rope_parameters
from ordinate.dialects.huggingface.writer import write

__all__ = [
    "Architecture",
    "HuggingFace",
    "architecture",
    "language_keys",
    "model_types",
    "read",
    "rope_parameters",
    "write",
]
