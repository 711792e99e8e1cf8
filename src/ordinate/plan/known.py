"""Architectures whose cache is known: what is in no list is refused."""

from importlib.resources import files

import msgspec


class _Known(msgspec.Struct, frozen=True):
    source: str
    decoders: tuple[str, ...]
    remote: tuple[str, ...]
    encoders: tuple[str, ...]
    gguf: tuple[str, ...]


def _read() -> _Known:
    return msgspec.json.decode((files("ordinate.plan") / "known.json").read_bytes(), type=_Known)


def decoders() -> tuple[str, ...]:
    """Model types whose layers with attention keep keys and values of their heads, or MLA's latent, and no more."""
    found = _read()
    return (*found.decoders, *found.remote)


def encoders() -> tuple[str, ...]:
    """Model types that generate nothing, unless `is_decoder` says otherwise."""
    return _read().encoders


def gguf_decoders() -> tuple[str, ...]:
    """The same for the architectures of GGUF files."""
    return _read().gguf
