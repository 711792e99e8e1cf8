"""Which backend is meant by what is given."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ordinate.errors import InputError, one_of, positive, positive_integer
from ordinate.validate.backends.base import Backend
from ordinate.validate.tokenizers import ByteTokenizer, HuggingFaceTokenizer, Tokenizer

KINDS = ("transformers", "llama_cpp", "server", "simulated")
"""What `open_backend` opens."""

_TAKES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "transformers": (("source",), ("dtype", "device", "limit", "threads")),
    "llama_cpp": (("source",), ("limit", "concurrency", "wait", "threads")),
    "server": (("url", "model", "tokenizer"), ("limit", "concurrency", "wait", "key_file", "key_variable")),
    "simulated": ((), ("tokenizer", "limit", "concurrency")),
}
"""What each must be given, and what it may be."""

_MEANT = {"source": "a model", "model": "model, its name there", "tokenizer": "tokenizer, the model's"}


def open_backend(
    source: str | Path | None = None,
    *,
    backend: str | None = None,
    url: str | None = None,
    model: str | None = None,
    tokenizer: str | Path | None = None,
    dtype: str | None = None,
    device: str | None = None,
    limit: int | None = None,
    concurrency: int | None = None,
    wait: float | None = None,
    threads: int | None = None,
    key_file: str | Path | None = None,
    key_variable: str | None = None,
    progress: Any = None,
) -> Backend:
    """Open what answers: a server where a URL is given, else a model of transformers, or llama.cpp where it is named.

    Args:
        source: of a local model: a Hugging Face directory, a GGUF file or a name of `ordinate.models`
        backend: one of `KINDS`; by what else is given where not. "simulated:" is followed by a reader, as in
            "simulated:window=3000"
        url: of a server's API
        model: its name at the server
        tokenizer: a directory, file or name with a server's or a reader's tokenizer, or "bytes"
        dtype, device: of a model of transformers
        limit: what prompt and answer may take together, [token]; as declared where not given
        concurrency: requests in flight at most
        wait: for one reply of a server, [s]
        threads: of llama.cpp, or of torch, which are the whole process's; theirs where not given
        key_file, key_variable: a file, or the name of an environment variable, that holds a server's key
        progress: told how far the model is converted and hashed

    Returns:
        the backend, which `close` or the end of a `with` block closes

    Raises:
        InputError: too little or too much is given
        Unavailable: what it needs is not installed, or not here
    """
    wanted, _, reader = (backend or ("transformers" if url is None else "server")).partition(":")
    kind = one_of("backend", wanted, KINDS)
    if reader and kind != "simulated":
        raise InputError(f"only the backend 'simulated' is followed by a reader, got {backend!r}")
    given = {
        "source": source,
        "url": url,
        "model": model,
        "tokenizer": tokenizer,
        "dtype": dtype,
        "device": device,
        "limit": limit,
        "concurrency": concurrency,
        "wait": wait,
        "threads": threads,
        "key_file": key_file,
        "key_variable": key_variable,
    }
    given = {name: value for name, value in given.items() if value is not None}
    needed, optional = _TAKES[kind]
    for name in given:
        if name not in (*needed, *optional):
            raise InputError(f"the backend {kind!r} takes no {name}")
    for name in needed:
        if name not in given:
            raise InputError(f"the backend {kind!r} needs {_MEANT.get(name, name)}: none is given")
    if kind == "simulated":
        return _simulated(reader, **given)
    if kind == "server":
        return _server(**given)
    return (_llama_cpp if kind == "llama_cpp" else _transformers)(progress=progress, **given)


def read_tokenizer(source: str | Path) -> Tokenizer:
    """A tokenizer: of a directory, a file or a model's name, or "bytes".

    Raises:
        InputError: there is none
        Unavailable: `tokenizers`, or a named model's package, is not installed
    """
    from ordinate import models

    if Path(source).exists():
        return HuggingFaceTokenizer.read(source)
    if source == "bytes":
        return ByteTokenizer()
    return HuggingFaceTokenizer.read(models.find(str(source)).path)


def _simulated(reader: str, *, tokenizer: str | Path = "bytes", **settings: Any) -> Backend:
    from ordinate.validate.backends.simulated import Simulated
    from ordinate.validate.readers.naming import named

    return Simulated(named(reader), read_tokenizer(tokenizer), **settings)


def _server(
    *,
    url: str,
    model: str,
    tokenizer: str | Path,
    wait: float | None = None,
    key_file: str | Path | None = None,
    key_variable: str | None = None,
    **settings: Any,
) -> Backend:
    from ordinate.audit.server import Limits
    from ordinate.audit.server.keys import given_key
    from ordinate.validate.backends.server import Server

    key = given_key(None if key_file is None else Path(key_file), key_variable)
    limits = None if wait is None else Limits(wait=positive("wait", wait))
    return Server(url, model, read_tokenizer(tokenizer), key=key, limits=limits, **settings)


def _llama_cpp(*, source: str | Path, progress: Any, wait: float | None = None, **settings: Any) -> Backend:
    from ordinate.audit.server import Limits
    from ordinate.validate.backends.llama_cpp import LlamaCpp

    limits = None if wait is None else Limits(wait=positive("wait", wait))
    return LlamaCpp(source, limits=limits, progress=progress, **settings)


def _transformers(*, source: str | Path, progress: Any, threads: int | None = None, **settings: Any) -> Backend:
    from ordinate.extras import need

    need("transformers", "torch", "transformers", "safetensors", "tokenizers")
    import torch

    from ordinate.validate.backends.transformers import Transformers

    if threads is not None:
        torch.set_num_threads(positive_integer("threads", threads))
    return Transformers.load(source, progress=progress, **settings)
