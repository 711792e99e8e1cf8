"""A GGUF file in llama.cpp's own server, which runs in a process of its own on loopback."""

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from ordinate import models, read
from ordinate.audit.server.client import Limits
from ordinate.errors import InputError, Unavailable, got, positive, positive_integer
from ordinate.files.gguf import read_gguf
from ordinate.transformers.convert import Report, sha256
from ordinate.validate.backends.server import Server
from ordinate.validate.tokenizers import HuggingFaceTokenizer

_PROGRAM = Path(__file__).with_name("llama_cpp_server.py")
_ENDING = 10.0  # [s]
_LINE = 200
# llama.cpp gives each request a window of a multiple of this.
_STEP = 256


class LlamaCpp(Server):
    """llama.cpp (the package `xllamacpp`) with a model of its own, started here and ended with this backend.

    It is ended by its own process id, and ends by itself when this process dies.

    Args:
        source: a GGUF file, or a name of `ordinate.models`
        limit: what prompt and answer may take together, [token]; what the file declares where not given; memory for
            so many is taken at once for each request that is served at a time
        concurrency: requests served at a time
        threads: of the server; the cores that this process may use where not given
        batch: tokens that it reads at a time
        limits: of one request
        patience: until the model is loaded, [s]
        progress: told how far the file is hashed

    Raises:
        InputError: no GGUF file, or a number that cannot be used
        Unavailable: `xllamacpp` is not installed, or the server ends, or is not ready in time
    """

    name = "llama_cpp"

    def __init__(
        self,
        source: str | Path,
        *,
        limit: int | None = None,
        concurrency: int = 1,
        threads: int | None = None,
        batch: int = 512,
        limits: Limits | None = None,
        patience: float = 300.0,
        progress: Report | None = None,
    ) -> None:
        if find_spec("xllamacpp") is None:
            raise Unavailable("this needs xllamacpp, not installed here: run `pip install xllamacpp`")
        path = _file(source)
        gguf = read_gguf(path)
        declared = read(path).window.declared
        window = positive_integer("limit", limit or declared or 4096)
        self._started = Started(
            {
                "model": str(path),
                "window": -(-window // _STEP) * _STEP,
                "parallel": positive_integer("concurrency", concurrency),
                "threads": positive_integer("threads", _cores() if threads is None else threads),
                "batch": positive_integer("batch", batch),
                "template": None,
            },
            positive("patience", patience),
        )
        name = source if isinstance(source, str) and source in models.names() else path.stem
        try:
            tokenizer = HuggingFaceTokenizer.read(path)
            super().__init__(
                f"{self._started.address}/v1",
                name,
                tokenizer,
                limit=window,
                concurrency=concurrency,
                limits=limits or Limits(wait=3600.0),
            )
            self._weights = sha256(gguf, progress)
        except BaseException:
            self.close()
            raise

    @property
    def identity(self) -> Mapping[str, str]:
        own = {"engine": f"llama.cpp (xllamacpp {version('xllamacpp')})", "weights": self._weights}
        return {**super().identity, **own}

    @property
    def process(self) -> int:
        """The server's process id."""
        return self._started.process.pid

    def close(self) -> None:
        """Close the connections, and end the server."""
        if getattr(self, "_open", False):
            super().close()
        self._started.end()


class Started:
    """The server's process.

    Args:
        settings: of the program
        patience: until it is ready, [s]

    Raises:
        Unavailable: it ends before, or is not ready in time
    """

    def __init__(self, settings: Mapping[str, Any], patience: float) -> None:
        # What it complains of is read only where it ends; a pipe that nobody empties would stop it.
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed at the end
        self.process = subprocess.Popen(  # noqa: S603 - this interpreter and a file of this package
            # -P: the folder of the program is not searched for modules.
            [sys.executable, "-P", str(_PROGRAM), json.dumps(dict(settings))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
        )
        self.address = ""
        listening = threading.Thread(target=self._listen, daemon=True)
        listening.start()
        listening.join(patience)
        if not self.address:
            ended, late = self.process.poll(), listening.is_alive()
            why = self._last_line()
            self.end()
            if late:
                raise Unavailable(f"llama.cpp was not ready with {settings['model']} within {patience:g} s{why}")
            raise Unavailable(f"llama.cpp cannot serve {settings['model']}: it ended with {ended}{why}")

    def _listen(self) -> None:
        """The first line that is an address."""
        assert self.process.stdout is not None  # noqa: S101 - a pipe was asked for
        for line in self.process.stdout:
            said = line.decode("utf-8", "replace").strip()
            if said.startswith("http://127.0.0.1:"):
                self.address = said
                return
        self.process.wait()

    def end(self) -> None:
        """End it: by the end of its input, and where that is not enough, by a signal to this very process."""
        if self.process.poll() is None:
            assert self.process.stdin is not None  # noqa: S101 - a pipe was asked for
            self.process.stdin.close()
            try:
                self.process.wait(_ENDING)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self._said):
            if pipe is not None:
                pipe.close()

    def _last_line(self) -> str:
        self._said.seek(0)
        lines = self._said.read().decode("utf-8", "replace").split("\n")
        said = [line.strip() for line in lines if line.strip()]
        return f": {said[-1][:_LINE]}" if said else ""


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _file(source: str | Path) -> Path:
    """The GGUF file."""
    path = Path(source)
    if isinstance(source, str) and not path.exists():
        path = models.find(source).path
    if path.suffix != ".gguf" or not path.is_file():
        raise InputError(f"llama.cpp needs a GGUF file, got {got(str(source))}")
    return path
