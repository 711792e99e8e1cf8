"""In how many bytes keys and values are kept: plain floats, this package's blocks, llama.cpp's, engines' fp8."""

from dataclasses import dataclass

from ordinate.errors import InputError, got, positive_integer
from ordinate.registry import suggestion

_SCALES = {"float32": 4, "bfloat16": 2}


@dataclass(frozen=True)
class Format:
    """A way to keep the numbers of a head.

    Args:
        name: as it is asked for
        bits: of a number
        block: numbers that share what stands beside them; 0 where nothing does
        beside: what stands beside a block, [byte]
        whole: a head must be a whole number of blocks; else the last block is shorter
        about: where its layout is from
    """

    name: str
    bits: int
    block: int = 0
    beside: int = 0
    whole: bool = False
    about: str = ""

    def bytes_per_head(self, dim: int) -> int:
        """What one head of one token takes.

        ceil(dim * bits / 8) + ceil(dim / block) * beside

        Args:
            dim: channels of the head

        Returns:
            [byte]

        Raises:
            InputError: the format has whole blocks alone, and the head is not of whole blocks

        >>> kv_format("int8").bytes_per_head(128), kv_format("q4_0").bytes_per_head(128)
        (144, 72)
        """
        dim = positive_integer("dim", dim)
        if self.whole and dim % self.block:
            raise InputError(f"{self.name} needs heads of a multiple of {self.block} channels, got {dim}")
        return -(-dim * self.bits // 8) + (-(-dim // self.block) * self.beside if self.block else 0)


_OWN = "ordinate.caches, storage {}"
_LLAMA_CPP = "llama.cpp's {}"
_PLAIN = {
    name: Format(name, bits, about="a float a number")
    for name, bits in (("float32", 32), ("float16", 16), ("bfloat16", 16))
}
_FP8 = {
    name: Format(name, 8, about="a byte a number, one scale for a tensor, as in vLLM and SGLang")
    for name in ("fp8_e4m3", "fp8_e5m2")
}
# Of a block of 32 numbers: a scale of 2 bytes, for some a minimum of 2 bytes, for some a fifth bit of each number.
_GGML = {
    "q8_0": (8, 2),
    "q5_1": (4, 8),
    "q5_0": (4, 6),
    "q4_1": (4, 4),
    "q4_0": (4, 2),
    "iq4_nl": (4, 2),
}
_BLOCKS = {"fp8": 8, "int8": 8, "int4": 4}
_ALIASES = {
    "fp32": "float32",
    "f32": "float32",
    "fp16": "float16",
    "f16": "float16",
    "half": "float16",
    "bf16": "bfloat16",
}


def formats() -> list[str]:
    """The names of the formats.

    >>> formats()[:4]
    ['float32', 'float16', 'bfloat16', 'fp8']
    """
    return [*_PLAIN, *_BLOCKS, *_FP8, *_GGML]


def kv_format(name: str) -> Format:
    """The format with this name.

    fp8, int8 and int4 are those of `ordinate.caches`: a scale for each block of 32 numbers, in float32. Another block
    and the scales' type follow after colons, "int8:64:bfloat16".

    Raises:
        InputError: no format has this name, or it takes no such settings
    """
    word, *settings = str(name).split(":")
    word = _ALIASES.get(word, word)
    if word in _BLOCKS:
        return _own(word, settings, name)
    if settings:
        raise InputError(f"a KV format with settings must be one of {', '.join(_BLOCKS)}, got {got(name)}")
    if word in _PLAIN:
        return _PLAIN[word]
    if word in _FP8:
        return _FP8[word]
    if word in _GGML:
        bits, beside = _GGML[word]
        return Format(word, bits, 32, beside, True, _LLAMA_CPP.format(word.upper()))
    raise InputError(f"unknown KV format {got(name)}{suggestion(word, formats())}")


def _own(word: str, settings: list[str], name: str) -> Format:
    if len(settings) > 2:
        raise InputError(f"{word} takes a block and a type of scales, got {got(name)}")
    block = 32
    if settings:
        if not settings[0].isdecimal():
            raise InputError(f"the block of {word} must be an integer >= 1, got {got(settings[0])}")
        block = positive_integer(f"the block of {word}", int(settings[0][:12]))
    scales = settings[1] if len(settings) == 2 else "float32"
    if scales not in _SCALES:
        raise InputError(f"the scales of {word} must be one of {', '.join(_SCALES)}, got {got(scales)}")
    full = word if not settings else f"{word}:{block}:{scales}"
    return Format(full, _BLOCKS[word], block, _SCALES[scales], False, _OWN.format(word))


def pair_of(text: str) -> tuple[Format, Format]:
    """The formats of keys and of values, from one name or from two with a slash between.

    >>> [found.name for found in pair_of("q8_0/q4_0")]
    ['q8_0', 'q4_0']
    """
    keys, slash, values = text.partition("/")
    return kv_format(keys), kv_format(values if slash else keys)
