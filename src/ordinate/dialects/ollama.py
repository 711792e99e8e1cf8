"""Ollama's dialect: one parameter for the context; base and scaling are the GGUF file's."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ordinate.dialects import llama_cpp
from ordinate.dialects.base import Dialect, Interpretation, Loss, Written
from ordinate.dialects.llama_cpp import words
from ordinate.dialects.llama_cpp.dialect import COPY
from ordinate.errors import InputError, got, positive_integer
from ordinate.registry import suggestion
from ordinate.spec import Spec

CONTEXT = "num_ctx"
# What older clients could set beside it; newer ones answer "unknown parameter".
REMOVED = ("rope_frequency_base", "rope_frequency_scale")
# Ollama's own choice below 24 GiB of graphics memory; 32768 up to 48 GiB and 262144 beyond.
DEFAULT_CONTEXT = 4096
_SERVER = "ollama/ollama, llm/server.go"


class Ollama(Dialect):
    """Ollama: lines of a Modelfile. The model is run by llama.cpp's server, which is told the context alone."""

    name = "ollama"
    title = "Ollama"
    version = "commit fb30760 (2026-08-21), with llama.cpp b10488"

    def write(self, spec: Spec) -> Written:
        """`FROM` a GGUF file that holds the base and scaling, and `PARAMETER num_ctx`.

        `Written.settings` has `num_ctx` and, without the architecture's prefix, the keys that the file must hold.
        """
        settings: dict[str, Any] = {}
        if spec.window.declared is not None:
            settings[CONTEXT] = spec.window.declared
        held, steps = self._held(spec)
        settings |= held
        given = {key: value for key, value in settings.items() if key == CONTEXT}
        said = words.as_read(self.read(given, spec), held)
        losses = self.interpret(said).losses
        context = f"\nPARAMETER {CONTEXT} {settings[CONTEXT]}" if CONTEXT in settings else ""
        # A file that holds everything already is named by its user, a copy by the step that writes it.
        file = "FILE.gguf" if words.held_by_file(spec) else "copy.gguf"
        return Written(settings, f"FROM ./{file}{context}", losses, steps)

    def read(self, settings: Mapping[str, Any], model: Spec) -> Spec:
        """Lay `num_ctx`, and the keys and tensors of a GGUF copy, over a model."""
        if not isinstance(settings, Mapping):
            raise InputError(f"Ollama: settings must be an object, got {got(settings)}")
        known = (CONTEXT, *words.KEYS, *words.TENSORS)
        for key in settings:
            if key in REMOVED:
                raise InputError(f"Ollama has {key} no more: base and scaling are the GGUF file's alone")
            if key not in known:
                raise InputError(f"Ollama has no parameter {got(key)} for position{suggestion(key, known)}")
        found = words.from_words({key: value for key, value in settings.items() if key != CONTEXT}, model)
        if CONTEXT not in settings:
            return found
        length = positive_integer(CONTEXT, settings[CONTEXT])
        sources = {**found.sources, "window.declared": f"PARAMETER {CONTEXT}"}
        file = settings.get(words.CONTEXT, model.window.declared)
        # A longer one than the file promises is cut.
        declared = length if file is None else min(length, positive_integer(words.CONTEXT, file))
        return replace(found, window=replace(found.window, declared=declared), sources=sources)

    def interpret(self, spec: Spec, capacity: int | None = None) -> Interpretation:
        """What llama.cpp's server computes, which Ollama starts with `-c` num_ctx and no other flag on position.

        A context beyond the file's `context_length` is cut to it. Without `num_ctx` it is chosen by the memory of the
        graphics card, 4096 tokens at least. `--context-shift` is always on: see `llama_cpp.growth_by_shifts`.

        Source: ollama/ollama, llm/server.go, llm/llama_server.go. Until 2026 an engine of its own took the same keys
        (ml/nn/rope/options.go).
        """
        found = llama_cpp.LlamaCpp().interpret(spec, self.started_for(spec, capacity))
        return Interpretation(found.spec, tuple(_named(loss) for loss in found.losses))

    def started_for(self, spec: Spec, capacity: int | None = None) -> int | None:
        """`num_ctx`, no more than the file's; Ollama's own choice where it is absent."""
        declared = spec.window.declared
        if capacity is None:
            given = spec.sources.get("window.declared", "").startswith(f"PARAMETER {CONTEXT}")
            capacity = declared if given else DEFAULT_CONTEXT
        if declared is None or capacity is None:
            return capacity
        return min(positive_integer("capacity", capacity), declared)

    def _held(self, spec: Spec) -> tuple[dict[str, Any], tuple[str, ...]]:
        """What the GGUF file has to hold, and how a user comes by such a file."""
        try:
            found = words.to_words(spec)
        except InputError as error:
            return {}, (f"no GGUF file can hold this: {error}",)
        held = {**found.keys, **{name: values.tolist() for name, values in found.tensors.items()}}
        if words.held_by_file(spec):
            return held, ("put the GGUF file's own name behind FROM: it holds base and scaling already",)
        return held, (f"the GGUF file must hold {', '.join(held)}; write one by {COPY}",)


def _named(loss: Loss) -> Loss:
    """A loss of llama.cpp's as one of Ollama's, which runs it."""
    return replace(loss, source=f"{loss.source}; {_SERVER}")
