"""A GGUF file's tokenizer as tokenizer.json and tokenizer_config.json: byte-level BPE."""

from collections.abc import Mapping
from typing import Any

from ordinate.errors import InputError, got
from ordinate.files.gguf_values import GgufArray

# llama.cpp's types of token.
_CONTROL, _USER_DEFINED = 3, 4

_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
_BYTES_ONLY = _BYTE_LEVEL | {"use_regex": False}
_LLAMA_3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def _in_turn(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": list(steps)}


PRE_TOKENIZERS: dict[str, dict[str, Any]] = {
    "gpt-2": _BYTE_LEVEL,
    # Every digit stands alone. transformers' own GGUF loader does not know this name and splits as for GPT-2, so
    # that it joins the last of several spaces or newlines to the number after them, as this model never saw them.
    "smollm": _in_turn({"type": "Digits", "individual_digits": True}, _BYTE_LEVEL),
    "llama-bpe": _in_turn(
        {"type": "Split", "pattern": {"Regex": _LLAMA_3}, "behavior": "Isolated", "invert": False}, _BYTES_ONLY
    ),
}
"""How text is cut before merging, by GGUF's `tokenizer.ggml.pre`."""


def read_tokenizer(metadata: Mapping[str, Any], *, name: str) -> dict[str, Any]:
    """The content of tokenizer.json for a GGUF file.

    Args:
        metadata: of the GGUF file
        name: what the messages call the file

    Raises:
        InputError: another kind of tokenizer, an unknown way to cut text, or lists that do not fit each other

    Source: the keys: the GGUF specification; the cuts: llama.cpp, src/llama-vocab.cpp, and the tokenizers that the
    models' makers published.
    """
    kind, pre = metadata.get("tokenizer.ggml.model"), metadata.get("tokenizer.ggml.pre")
    if kind != "gpt2":
        raise InputError(f"{name}: tokenizer.ggml.model must be 'gpt2' (byte-level BPE), got {got(kind)}")
    if pre not in PRE_TOKENIZERS:
        raise InputError(
            f"{name}: tokenizer.ggml.pre must be one of {', '.join(PRE_TOKENIZERS)} to be converted, got {got(pre)}"
        )
    tokens = strings(metadata, "tokenizer.ggml.tokens", name)
    vocabulary = {token: number for number, token in enumerate(tokens)}
    if len(vocabulary) != len(tokens):
        raise InputError(f"{name}: tokenizer.ggml.tokens has {len(tokens) - len(vocabulary)} tokens that stand twice")
    first = _first_token(metadata, tokens, pre, name)
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": _added_tokens(metadata, tokens, name),
        "normalizer": None,
        "pre_tokenizer": PRE_TOKENIZERS[pre],
        "post_processor": _BYTE_LEVEL if first is None else _template(*first),
        "decoder": _BYTE_LEVEL,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": pre == "llama-bpe",
            "vocab": vocabulary,
            "merges": _merges(metadata, vocabulary, name),
        },
    }


def read_tokenizer_config(metadata: Mapping[str, Any], length: int, *, name: str) -> dict[str, Any]:
    """The content of tokenizer_config.json for a GGUF file.

    Args:
        metadata: of the GGUF file
        length: the longest text that the model takes, [token]
        name: what the messages call the file
    """
    tokens = strings(metadata, "tokenizer.ggml.tokens", name)
    special = {}
    for word, key in (("bos", "bos"), ("eos", "eos"), ("pad", "padding"), ("unk", "unknown")):
        number = metadata.get(f"tokenizer.ggml.{key}_token_id")
        if number is not None:
            special[f"{word}_token"] = _token(tokens, number, f"tokenizer.ggml.{key}_token_id", name)
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": length,
        "clean_up_tokenization_spaces": False,
        **special,
    }


def strings(metadata: Mapping[str, Any], key: str, name: str) -> list[str]:
    """A list of strings from the metadata, or an `InputError` that says what is there instead."""
    values = metadata.get(key)
    if not isinstance(values, GgufArray) or values.kind != "string":
        raise InputError(f"{name}: {key} must be a list of strings, got {got(values)}")
    return values.load()


def _added_tokens(metadata: Mapping[str, Any], tokens: list[str], name: str) -> list[dict[str, Any]]:
    """Tokens that are cut out of the text before all else: control tokens, and those that a user defined."""
    types = metadata.get("tokenizer.ggml.token_type")
    if not isinstance(types, GgufArray) or len(types) != len(tokens):
        raise InputError(f"{name}: tokenizer.ggml.token_type must have one entry for each of {len(tokens)} tokens")
    added = []
    for number, kind in enumerate(types):
        if kind in (_CONTROL, _USER_DEFINED):
            flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
            added.append({"id": number, "content": tokens[number], **flags, "special": kind == _CONTROL})
    return added


def _merges(metadata: Mapping[str, Any], vocabulary: Mapping[str, int], name: str) -> list[list[str]]:
    merges = [merge.split(" ") for merge in strings(metadata, "tokenizer.ggml.merges", name)]
    for merge in merges:
        if len(merge) != 2 or not all(part in vocabulary for part in (*merge, "".join(merge))):
            raise InputError(f"{name}: tokenizer.ggml.merges must join two tokens, got {got(' '.join(merge))}")
    return merges


def _first_token(metadata: Mapping[str, Any], tokens: list[str], pre: str, name: str) -> tuple[str, int] | None:
    """The token that begins every text, and its id; llama.cpp adds one to a Llama 3 that does not say."""
    if metadata.get("tokenizer.ggml.add_eos_token", False):
        raise InputError(f"{name}: tokenizer.ggml.add_eos_token is not supported, because nothing could be continued")
    if not metadata.get("tokenizer.ggml.add_bos_token", pre == "llama-bpe"):
        return None
    token = _token(tokens, metadata.get("tokenizer.ggml.bos_token_id"), "tokenizer.ggml.bos_token_id", name)
    return token, tokens.index(token)


def _token(tokens: list[str], number: Any, key: str, name: str) -> str:
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(tokens):
        raise InputError(f"{name}: {key} must be a token id below {len(tokens)}, got {got(number)}")
    return tokens[number]


def _template(token: str, number: int) -> dict[str, Any]:
    def piece(kind: str, name: str, sequence: int) -> dict[str, Any]:
        return {kind: {"id": name, "type_id": sequence}}

    return {
        "type": "TemplateProcessing",
        "single": [piece("SpecialToken", token, 0), piece("Sequence", "A", 0)],
        "pair": [
            piece("SpecialToken", token, 0),
            piece("Sequence", "A", 0),
            piece("SpecialToken", token, 1),
            piece("Sequence", "B", 1),
        ],
        "special_tokens": {token: {"id": token, "ids": [number], "tokens": [token]}},
    }
