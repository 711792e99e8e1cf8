"""What is to answer, as it is written down in a run, and opened again from there."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ordinate.validate.backends import Backend

Report = Callable[[str, float, float], None]


@dataclass(frozen=True)
class Opening:
    """What answers; no key is in it, only where to read one.

    Args:
        backend: "transformers", "llama_cpp", "server", or "simulated:" and a reader; None: by what else is given
        source: a model's directory, file or name
        url: of a server's API
        model: its name at the server
        tokenizer: a directory, file or name with a server's or a simulated reader's tokenizer; "bytes"
        dtype, device: of a local model
        limit: what prompt and answer may take together where nothing declares it, [token]
        concurrency: requests in flight at a server
        wait: for one reply of a server, [s]
        threads: of a local model
        key_file, key_variable: where a server's key is read
    """

    backend: str | None = None
    source: str | None = None
    url: str | None = None
    model: str | None = None
    tokenizer: str | None = None
    dtype: str | None = None
    device: str | None = None
    limit: int | None = None
    concurrency: int | None = None
    wait: float | None = None
    threads: int | None = None
    key_file: str | None = None
    key_variable: str | None = None

    @property
    def kind(self) -> str:
        """Which backend is meant; it may be unknown."""
        return (self.backend or ("transformers" if self.url is None else "server")).partition(":")[0]

    @property
    def named(self) -> str:
        """What is opened, in a word or two, for names of folders."""
        return self.model or self.source or self.backend or "model"

    def to_dict(self) -> dict[str, Any]:
        """What is given."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def opened(opening: Opening, progress: Report | None = None) -> "Backend":
    """Open what answers, as `open_backend` does.

    Raises:
        InputError: options that do not go together, or an unknown backend or reader
        Unavailable: what it needs is not installed, or not here
    """
    from ordinate.validate.backends import open_backend

    return open_backend(**opening.to_dict(), progress=progress)
