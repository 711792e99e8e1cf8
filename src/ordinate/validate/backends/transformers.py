"""A model of transformers in this process: token ids in, greedy answers and log-probabilities out."""

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import torch
import transformers

from ordinate.dialects import read
from ordinate.errors import InputError, Unavailable, got, positive_integer
from ordinate.schemes.learned import LearnedPositions
from ordinate.transformers.attention import NAME as OWN_ATTENTION
from ordinate.transformers.caching import Caching, depends_on_length, use_cache
from ordinate.transformers.convert import Report, convert
from ordinate.transformers.loading import load
from ordinate.validate.backends.base import Backend, Losses, Refusal, Reply
from ordinate.validate.backends.passes import Passes
from ordinate.validate.backends.stopping import stopped
from ordinate.validate.backends.weights import hash_model
from ordinate.validate.builder import Prompt
from ordinate.validate.tokenizers import HuggingFaceTokenizer, Tokenizer, continuation

Precision = Literal["float32", "bfloat16", "float16"]


class Transformers(Backend):
    """Answers with a loaded causal language model, one prompt at a time.

    A prompt is read in chunks, and logits are made for its last token alone. Where a scaling depends on the length,
    Ordinate's cache keeps what is answered independent of the chunks.

    Args:
        model: of transformers, as `ordinate.transformers.load` returns it
        tokenizer: its own
        identity: of the model: its name, the hash of its weights
        chunk: tokens read at a time
        regime: by which length each token is turned where a scaling depends on it: "per_row", "recompute", or "frozen"
            at the declared window (`ordinate.transformers.use_cache`)
        limit: what prompt and answer may take together, [token]; the declared window where not given

    Raises:
        InputError: a chunk or regime that cannot be used, or as for `use_cache`
    """

    name = "transformers"
    offers = frozenset({"answer", "choices", "losses"})

    def __init__(
        self,
        model: Any,
        tokenizer: Tokenizer,
        *,
        identity: Mapping[str, str],
        chunk: int = 1024,
        regime: str = "per_row",
        limit: int | None = None,
    ) -> None:
        self.model: Any = model
        self._tokenizer = tokenizer
        self.chunk = positive_integer("chunk", chunk)
        spec = read(model.config.to_dict())
        declared = spec.window.declared
        self._limit = declared if limit is None else positive_integer("limit", limit)
        encodings = [group.encoding for group in spec.groups.values()]
        tables = [encoding.limit for encoding in encodings if isinstance(encoding, LearnedPositions)]
        self._table = min(tables, default=None)
        self._caching: Caching | None = None
        if any(depends_on_length(group) for group in spec.groups.values()):
            self._caching = use_cache(model, regime, declared if regime == "frozen" else None)
        self._passes = Passes(model, self.chunk, self._caching)
        self._own = dict(identity)
        self._regime = regime if self._caching else ""
        self._attention = str(model.config._attn_implementation)

    @classmethod
    def load(
        cls,
        source: str | Path,
        *,
        dtype: Precision | None = None,
        device: str = "cpu",
        attention: str | None = None,
        chunk: int = 1024,
        regime: str = "per_row",
        limit: int | None = None,
        progress: Report | None = None,
    ) -> "Transformers":
        """Load a model, its positions computed by Ordinate.

        Args:
            source: a Hugging Face directory, a GGUF file (converted once and kept) or a name of `ordinate.models`
            dtype: of weights and computation; as the files have it where not given
            device: as torch names it
            attention: transformers' name of an implementation; where not given Ordinate's own on a CPU, which is the
                quickest there, and transformers' choice elsewhere
            chunk, regime, limit: as for the class
            progress: told how far conversion and hashing are

        Raises:
            InputError: as for `ordinate.transformers.convert` and `load`, or an unknown dtype or device
            Unavailable: a named model's package is not installed, or there is no such device
        """
        types = {None: None, "float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
        if dtype not in types:
            raise InputError(f"dtype must be float32, bfloat16 or float16, got {got(dtype)}")
        place = _device(device)
        found = convert(source, progress=progress)
        if attention is None and place.type == "cpu":
            attention = OWN_ATTENTION
        model, _ = load(found.directory, dtype=types[dtype], attention=attention)
        tokenizer = HuggingFaceTokenizer.read(found.directory)
        identity = {"model": found.name, "weights": found.sha256 or hash_model(found.directory, progress)}
        return cls(model.to(place), tokenizer, identity=identity, chunk=chunk, regime=regime, limit=limit)

    @cached_property
    def _identity(self) -> dict[str, str]:
        return {
            **self._own,
            "engine": f"transformers {transformers.__version__}",
            "dtype": str(self.model.dtype).removeprefix("torch."),
            "device": self.model.device.type,
            "attention": self._attention,
            "positions": f"ordinate, {self._regime}" if self._regime else "ordinate",
            "template": hashlib.sha256((self._tokenizer.chat_template or "").encode()).hexdigest(),
        }

    @property
    def identity(self) -> Mapping[str, str]:
        return self._identity

    @property
    def tokenizer(self) -> Tokenizer:
        return self._tokenizer

    @property
    def limit(self) -> int | None:
        return self._limit

    @torch.inference_mode()
    def answer(self, prompt: Prompt, tokens: int, *, stop: Sequence[str] = ()) -> Reply:
        """The greedy response; a learned table's end refuses what lies beyond it, and so does nothing else.

        Raises:
            Refusal: the model has no positions for so many tokens
            Unavailable: memory does not suffice, or logits are not numbers
        """
        began, first = time.monotonic(), None
        ids = prompt.ids
        self._check_table(len(ids) + tokens)
        said: list[int] = []
        text, finish = "", "length"
        with self._memory(len(ids) + tokens):
            cache = self._passes.read(ids[:-1])
            token = ids[-1]
            for _ in range(tokens):
                token = int(self._passes.logits([token], cache)[-1].argmax())
                first = time.monotonic() - began if first is None else first
                if token in self._ends:
                    finish = "stop"
                    break
                said.append(token)
                text, ended = stopped(self._text(said), stop)
                if ended:
                    finish = "stop"
                    break
        return Reply(text, finish, len(said), len(ids), 0, first, time.monotonic() - began)

    @torch.inference_mode()
    def choices(self, prompt: Prompt, options: Sequence[str]) -> tuple[float, ...]:
        """The prompt is read once, each option behind it.

        Raises:
            InputError: an option without tokens
            Refusal, Unavailable: as for `answer`
        """
        rows = [continuation(self._tokenizer, option) for option in options]
        if not all(rows):
            raise InputError(f"options must hold at least one token each, got {got(list(options))}")
        ids, held = prompt.ids, len(prompt.ids) - 1
        self._check_table(len(ids) + max(map(len, rows)))
        found = []
        with self._memory(len(ids) + max(map(len, rows))):
            cache = self._passes.read(ids[:-1])
            for row in rows:
                nats, _ = self._passes.scored((ids[-1], *row), cache)
                found.append(-float(nats.sum()))
                if row is not rows[-1]:
                    cache = self._passes.cropped(cache, held, ids[:-1])
        return tuple(found)

    @torch.inference_mode()
    def losses(self, ids: Sequence[int], last: int) -> Losses:
        """Logits are made for these tokens alone.

        Raises:
            InputError: not between 1 and one less than the tokens
            Refusal, Unavailable: as for `answer`
        """
        if not 1 <= last < len(ids):
            raise InputError(f"last must be between 1 and {len(ids) - 1}, got {got(last)}")
        self._check_table(len(ids))
        with self._memory(len(ids)):
            cache = self._passes.read(ids[: -last - 1])
            nats, top1 = self._passes.scored(tuple(ids[-last - 1 :]), cache)
        return Losses(nats.cpu().numpy(), top1.cpu().numpy())

    def close(self) -> None:
        """Undo what was changed in the model, and let go of it."""
        if self._caching is not None:
            self._caching.undo()
            self._caching = None
        _ = self._identity  # what it was stays known
        self.model = None
        self._passes = Passes(None, self.chunk, None)

    @cached_property
    def _ends(self) -> frozenset[int]:
        """The ids that end an answer."""
        found: set[int] = set()
        for settings in (getattr(self.model, "generation_config", None), self.model.config):
            ends = getattr(settings, "eos_token_id", None)
            found.update([ends] if isinstance(ends, int) else ends or ())
        return frozenset(found)

    def _text(self, said: Sequence[int]) -> str:
        return self._tokenizer.decode([number for number in said if number not in self._tokenizer.specials])

    def _check_table(self, tokens: int) -> None:
        if self._table is not None and tokens > self._table:
            raise Refusal(0, f"the model has positions for {self._table} tokens, got {tokens} with the answer's")

    @contextmanager
    def _memory(self, tokens: int) -> Iterator[None]:
        """What torch says where memory ends, as `Unavailable`."""
        if self.model is None:
            raise Unavailable("this backend is closed")
        try:
            yield
        except torch.OutOfMemoryError as error:
            raise Unavailable(f"{tokens} tokens do not fit into the memory of {self.model.device}") from error
        except RuntimeError as error:
            if "not enough memory" not in str(error) and "can't allocate memory" not in str(error):
                raise
            raise Unavailable(f"{tokens} tokens do not fit into this machine's memory") from error


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise InputError(f"device must be one of torch's, such as cpu or cuda, got {got(name)}") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise Unavailable(f"device {name!r} is not here: torch finds no graphics card that it can use")
    return device
