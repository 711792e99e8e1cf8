"""llama.cpp's spelling and semantics as one dialect: flags where they say it all, else keys for a GGUF copy."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ordinate.dialects.base import Dialect, Interpretation, Loss, Written
from ordinate.dialects.llama_cpp import flags, words
from ordinate.dialects.llama_cpp.semantics import interpret, main_group
from ordinate.errors import InputError, got
from ordinate.registry import suggestion
from ordinate.spec import Spec

COPY = "ordinate translate FILE.gguf --to gguf --from MODEL --out COPY.gguf"
"""How a GGUF file gets the settings of a model or its config.json."""


class LlamaCpp(Dialect):
    """llama.cpp: command line flags, and `rope.*` keys and factor tensors of GGUF files."""

    name = "llama_cpp"
    title = "llama.cpp"
    version = "ggml 0.25.3"

    def write(self, spec: Spec) -> Written:
        """Flags where they lose nothing, or no more than keys would; else keys, which need a copy of the file.

        `Written.settings` has flags without their dashes, and keys without the architecture's prefix.
        """
        said = flags.to_flags(spec)
        losses = self._lost(spec)
        steps: tuple[str, ...] = ()
        if losses or not flags.sayable(spec):
            try:
                found = words.to_words(spec)
            except InputError as error:
                found, reason = None, str(error)
            else:
                reason = ""
            held = None if found is None else {**found.keys, **{k: v.tolist() for k, v in found.tensors.items()}}
            lost = None if held is None else interpret(words.as_read(spec, held)).losses
            if held is not None and lost is not None and (not flags.sayable(spec) or len(lost) < len(losses)):
                context = {key: value for key, value in said.items() if key == flags.CONTEXT}
                steps = (_held_step(spec, list(held)),)
                return Written({**context, **held}, flags.to_text(context), lost, steps)
            if not flags.sayable(spec):
                steps = (f"neither flags nor a GGUF file can hold this: {reason}",)
        if flags.sayable(spec) and said.get(flags.TYPE) in ("linear", "yarn"):
            steps = ("the GGUF file must hold no factor tensor (rope_freqs.weight): llama.cpp would scale twice",)
        return Written(said, flags.to_text(said), losses, steps)

    def read(self, settings: Mapping[str, Any], model: Spec) -> Spec:
        """Lay flags, or the keys and tensors of a GGUF copy, or both, over a model."""
        if not isinstance(settings, Mapping):
            raise InputError(f"llama.cpp: settings must be an object, got {got(settings)}")
        known = (*flags.FLAGS, *words.KEYS, *words.TENSORS)
        for key in settings:
            if key not in known:
                raise InputError(f"llama.cpp has no setting {got(key)}{suggestion(key, known)}")
        return flags.from_flags(settings, words.from_words(settings, model))

    def interpret(self, spec: Spec, capacity: int | None = None) -> Interpretation:
        return interpret(spec, capacity)

    def _lost(self, spec: Spec) -> tuple[Loss, ...]:
        """What is lost of a spec that is said by flags where they have words: what they cannot say is not heeded."""
        main = main_group(spec)
        sources = dict(spec.sources)
        if main is not None and flags.sayable(spec):
            sources[f"{main}.scaling"] = "--rope-scaling"
        return interpret(replace(spec, sources=sources)).losses


def _held_step(spec: Spec, names: list[str]) -> str:
    """How a user comes by a GGUF file that holds what flags cannot say."""
    what = ", ".join(names)
    if words.held_by_file(spec):
        return f"flags cannot say this and need not: the GGUF file holds it already ({what})"
    if spec.container != "gguf" and not interpret(spec).losses:
        return (
            f"flags cannot say this and need not: convert_hf_to_gguf.py writes {what}; another file gets it by {COPY}"
        )
    return f"flags cannot say this, the GGUF file must hold it: {what}; write one by {COPY}"
