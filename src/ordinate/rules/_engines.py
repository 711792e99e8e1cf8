"""The engines that `check` is asked about: those with traps of their own, and all that settings are translated for."""

from collections.abc import Collection

from ordinate import registry
from ordinate.errors import InputError

LLAMA_CPP = ("llama_cpp", "ollama", "koboldcpp")
"""llama.cpp, and what runs a GGUF file with it: its traps are theirs."""
SAME = {"huggingface": "transformers"}
"""Other names of an engine that rules know."""
_DIALECTS = "ordinate.dialects"


def engine_names(ruled: Collection[str]) -> list[str]:
    """Every name that is accepted: the engines that some rule is about, and the dialects, in alphabetical order."""
    return sorted({*ruled, *registry.names(_DIALECTS)})


def find_engine(name: str, ruled: Collection[str]) -> str:
    """The engine of a name, as rules have it.

    Args:
        name: in any case
        ruled: the engines that some rule is about

    Raises:
        InputError: there is none; the message suggests the nearest
    """
    names = engine_names(ruled)
    found = name.strip().lower()
    if found not in names:
        raise InputError(f"unknown engine {name!r}{registry.suggestion(found, names)}")
    return SAME.get(found, found)
