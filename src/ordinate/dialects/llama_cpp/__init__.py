"""llama.cpp's dialect: GGUF metadata and factor tensors."""

from ordinate.dialects.llama_cpp.reader import read

__all__ = ["read"]
