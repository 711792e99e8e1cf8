"""Tokenizers from GGUF metadata: against llama.cpp's own ids, and tokenizers built by hand."""

import json

import pytest
from tokenizers import Regex, Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from transformers import AutoTokenizer

from ordinate.errors import Unavailable
from ordinate.files.gguf import read_gguf
from ordinate.models import find
from ordinate.transformers.convert import converted
from ordinate.transformers.gguf_tokenizer import read_tokenizer

# What llama.cpp's server (xllamacpp 2026.10) answers for SmolLM2-135M-Instruct, special tokens parsed.
LLAMA_CPP = {
    "In 1815, Emma was  21\n\n42 pages; don't stop.": [
        *(788, 216, 33, 40, 33, 37, 28, 20391, 436, 256, 34, 33, 1116, 36, 34, 5158, 43, 1326, 982, 2853, 30)
    ],
    "a  12 x": [81, 256, 33, 34, 1792],
    "x² ½ Ⅻ ٣٤ 日本語 🙂🙂é": [
        *(104, 19133, 216, 16738, 216, 173, 223, 121, 216, 164, 113, 164, 114, 17097, 241, 115, 40993),
        *(179, 120, 248, 47526, 10813, 38887, 2756),
    ],
    "<|im_start|>user\nhi<|im_end|>\n <|endoftext|><repo_name>  7\t\t8": [
        *(1, 4093, 198, 6004, 2, 3805, 0, 3, 256, 39, 1656, 40)
    ],
    "\r\n\r\n  9 I'LL we've   tail  ": [18682, 256, 41, 339, 23, 16421, 392, 3543, 256, 5193, 256],
}
TEXT = "the  12 one\n\n34 tone's <|im_start|>the <|im_end|> x²  \t99 日本 🙂"


def test_smollm2_ids_are_llama_cpp_s():
    try:
        model = find("smollm2")
    except Unavailable as error:
        pytest.skip(str(error))
    content = read_tokenizer(read_gguf(model.path).metadata, name="smollm2")
    tokenizer = Tokenizer.from_str(json.dumps(content))
    for text, ids in LLAMA_CPP.items():
        assert tokenizer.encode(text).ids == ids
        assert tokenizer.decode(ids, skip_special_tokens=False) == text


def by_hand(tiny, pre):
    """The tokenizer that the file describes, built by the library's own classes."""
    vocabulary = {token: number for number, token in enumerate(tiny.tokens())}
    tokenizer = Tokenizer(BPE(vocab=vocabulary, merges=tiny.merges, ignore_merges=pre == "llama-bpe"))
    if pre == "llama-bpe":
        pattern = (
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
            r"|\s*[\r\n]+|\s+(?!\S)|\s+"
        )
        steps = [
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    else:
        steps = [pre_tokenizers.ByteLevel(add_prefix_space=False)]
        if pre == "smollm":
            steps.insert(0, pre_tokenizers.Digits(individual_digits=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(tiny.tokens()[:3])
    return tokenizer


@pytest.mark.parametrize("pre", ["gpt-2", "smollm", "llama-bpe"])
def test_ids_are_those_of_a_tokenizer_built_by_hand(tmp_path, tiny, pre):
    settings = {"tokenizer__ggml__pre": pre}
    file = tiny.write_gguf(tmp_path / "tiny.gguf", tiny.model(), **settings)
    tokenizer = AutoTokenizer.from_pretrained(converted(file, cache=tmp_path), local_files_only=True)
    ids = tokenizer(TEXT)["input_ids"]
    assert ids == by_hand(tiny, pre).encode(TEXT).ids
    assert tokenizer.decode(ids) == TEXT
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id) == (1, 2, 2)
    assert tokenizer.unk_token_id == 0
    assert tokenizer.model_max_length == 256
    spoken = tokenizer.apply_chat_template([{"role": "user", "content": "hi"}], tokenize=False)
    assert spoken == "<|im_start|>hi<|im_end|>"


def test_digits_stand_alone_and_space_before_them_stays_whole(tmp_path, tiny):
    file = tiny.write_gguf(tmp_path / "tiny.gguf", tiny.model())
    tokenizer = AutoTokenizer.from_pretrained(converted(file, cache=tmp_path), local_files_only=True)
    assert tokenizer.tokenize("  12") == ["ĠĠ", "1", "2"]


def test_a_file_that_begins_texts_with_a_token_does_so(tmp_path, tiny):
    file = tiny.write_gguf(tmp_path / "tiny.gguf", tiny.model(), tokenizer__ggml__add_bos_token=True)
    tokenizer = AutoTokenizer.from_pretrained(converted(file, cache=tmp_path), local_files_only=True)
    assert tokenizer("the")["input_ids"][0] == 1
    assert tokenizer("the", "one")["input_ids"].count(1) == 2
    assert tokenizer("the", add_special_tokens=False)["input_ids"] == tokenizer("the")["input_ids"][1:]


def test_tokens_that_users_defined_are_whole_and_not_special(tmp_path, tiny):
    types = [3] * 3 + [1] * (len(tiny.tokens()) - 3)
    types[tiny.tokens().index("on")] = 4
    file = tiny.write_gguf(tmp_path / "tiny.gguf", tiny.model(), tokenizer__ggml__token_type=types)
    tokenizer = AutoTokenizer.from_pretrained(converted(file, cache=tmp_path), local_files_only=True)
    on = tiny.tokens().index("on")
    assert on in tokenizer("zzonzz")["input_ids"]
    assert tokenizer.decode([on, 1], skip_special_tokens=True) == "on"


def test_an_end_of_turn_ends_generation_too(tmp_path, tiny):
    file = tiny.write_gguf(tmp_path / "tiny.gguf", tiny.model(), tokenizer__ggml__eot_token_id=0)
    directory = converted(file, cache=tmp_path)
    assert json.loads((directory / "generation_config.json").read_text())["eos_token_id"] == [2, 0]
