"""llama.cpp's dialect: GGUF metadata and factor tensors, command line flags, and what is computed from both."""

from ordinate.dialects.llama_cpp.dialect import LlamaCpp
from ordinate.dialects.llama_cpp.reader import read

__all__ = ["LlamaCpp", "read"]
