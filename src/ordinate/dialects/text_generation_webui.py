"""text-generation-webui's dialect: alpha_value, compress_pos_emb and rope_freq_base."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from ordinate.dialects._departures import Departures, rotating
from ordinate.dialects._own_words import OwnWords, laid_over
from ordinate.dialects.base import Interpretation
from ordinate.errors import InputError, at_least, positive
from ordinate.scaling.linear import Linear
from ordinate.spec import Spec, Window

WORDS = frozenset({"alpha_value", "compress_pos_emb", "n_ctx", "rope_freq_base"})


class TextGenerationWebui(OwnWords):
    """text-generation-webui, as it starts llama.cpp and ExLlama.

    base = rope_freq_base where it is above 0, else 10000 * alpha_value ^ (64 / 63), whatever the model's base and
    head: the exponent is that of 128 channels. `compress_pos_emb` divides positions. The base and the divisor are
    whole numbers.

    Source: oobabooga/text-generation-webui, modules/RoPE.py and modules/shared.py; versions since 2025 leave
    position to the model's files and have none of these words.
    """

    name: ClassVar[str] = "text_generation_webui"
    title: ClassVar[str] = "text-generation-webui"
    version: ClassVar[str] = "21058c37, before the words were taken out in 2025"
    source: ClassVar[str] = "oobabooga/text-generation-webui: modules/RoPE.py, modules/shared.py"
    files_alone: ClassVar[bool] = True

    def depart(self, departures: Departures, spec: Spec, capacity: int | None) -> None:
        del spec, capacity
        departures.fold_base()
        stretch = departures.group.stretch
        if not isinstance(stretch, Linear):
            departures.drop_stretch()
        else:
            departures.stretch("factor", "takes whole numbers", factor=float(max(1, round(stretch.factor))))
        base = float(max(1, round(departures.rope.base)))
        departures.to("rope_theta", "takes whole numbers", encoding=replace(departures.rope, base=base))

    def interpret(self, spec: Spec, capacity: int | None = None) -> Interpretation:
        """The model as its files have it: the words are laid over it by `read`, and where none is given, nothing is."""
        del capacity
        return Interpretation(spec)

    def say(self, spec: Spec) -> dict[str, Any]:
        first = next(rotating(spec))
        said: dict[str, Any] = {"rope_freq_base": int(first.rope.base)}
        if isinstance(first.stretch, Linear):
            said["compress_pos_emb"] = int(first.stretch.factor)
        if spec.window.declared is not None:
            said["n_ctx"] = spec.window.declared
        return said

    def text(self, settings: Mapping[str, Any]) -> str:
        return " ".join(f"--{key} {value}" for key, value in settings.items())

    def read(self, settings: Mapping[str, Any], model: Spec) -> Spec:
        keys = self.words(settings, WORDS)
        base, alpha = keys.number("rope_freq_base"), keys.number("alpha_value")
        if not base or base <= 0:
            alpha = 1.0 if alpha is None else at_least(keys.label("alpha_value"), alpha, 0)
            try:
                base = positive(keys.label("alpha_value"), 10000.0 * alpha ** (64 / 63))
            except OverflowError:
                raise InputError(f"{keys.label('alpha_value')} is too large: its base leaves float64") from None
        factor = keys.number("compress_pos_emb")
        linear = None
        if factor not in (None, 1):
            linear = Linear(at_least(keys.label("compress_pos_emb"), factor, 1))
        length = keys.integer("n_ctx") or model.window.declared
        return laid_over(model, base, linear, Window(model.window.trained, length))
