"""Tokenizers as the builder needs them: the bytes themselves, and Hugging Face's `tokenizer.json` or a GGUF's."""

from ordinate.validate.tokenizers.base import Tokenizer, continuation
from ordinate.validate.tokenizers.bytes import ByteTokenizer
from ordinate.validate.tokenizers.huggingface import HuggingFaceTokenizer

__all__ = ["ByteTokenizer", "HuggingFaceTokenizer", "Tokenizer", "continuation"]
