"""KoboldCpp's dialect: --ropeconfig, and the base it chooses by itself."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from ordinate.dialects._departures import Departures, rotating, whole
from ordinate.dialects._own_words import OwnWords, laid_over
from ordinate.dialects.base import Interpretation, Loss, over_groups
from ordinate.dialects.llama_cpp import LlamaCpp
from ordinate.errors import InputError, finite, got, positive
from ordinate.scaling.abf import Abf
from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.linear import Linear
from ordinate.scaling.llama3 import Llama3
from ordinate.scaling.longrope import LongRope
from ordinate.scaling.proportional import Proportional
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.base import Rotary
from ordinate.spec import LayerGroup, Spec, Window

WORDS = frozenset({"contextsize", "ropeconfig"})
# The only trained bases that are changed without being asked for.
AUTOMATIC = (10000.0, 500000.0)
SHORTEST = 2048
# What no option says: the file has it, and llama.cpp's own code runs it.
OF_THE_FILE = (DynamicNtk, LongRope, Proportional, Yarn)


class KoboldCpp(OwnWords):
    """KoboldCpp, over a GGUF file that it runs with its own llama.cpp.

    `--ropeconfig scale base` multiplies positions by `scale` (1 / factor) and replaces the base. Without it, and
    where the file has base 10,000 or 500,000 and no scaling, a `--contextsize` n above the trained length L (and
    above 2048) chooses

        base' = base ** (ln(n / 2 pi) / ln(L / 2 pi))

    for all layers, without a word in the output but a line of the log. Not covered: Solar, whose lengths count
    eightfold.

    Source: LostRuins/koboldcpp, gpttype_adapter.cpp, `CalcGradientAIRopeFreqBase` and `gpttype_load_model`.
    """

    name: ClassVar[str] = "koboldcpp"
    title: ClassVar[str] = "KoboldCpp"
    version: ClassVar[str] = "0027a478, 2025"
    source: ClassVar[str] = "LostRuins/koboldcpp: gpttype_adapter.cpp"
    files_alone: ClassVar[bool] = True

    def depart(self, departures: Departures, spec: Spec, capacity: int | None) -> None:
        del spec, capacity
        departures.fold_base()
        if not isinstance(departures.group.stretch, Linear):
            departures.drop_stretch()

    def interpret(self, spec: Spec, capacity: int | None = None) -> Interpretation:
        """The model as llama.cpp runs its file, with the base that is chosen where nothing else is said."""
        if any(isinstance(group.stretch, OF_THE_FILE) for group in spec.groups.values()):
            return LlamaCpp().interpret(spec, capacity)
        length = capacity or spec.window.declared

        def change(group: LayerGroup) -> tuple[LayerGroup, list[Loss]]:
            # Llama 3's divisors are a tensor of the file, which does not count as a scaling here.
            llama3 = isinstance(group.stretch, Llama3)
            trained = spec.window.declared if llama3 else spec.window.trained
            departures = Departures(group, Window(trained, length), title=self.title, source=self.source)
            if not isinstance(group.encoding, Rotary) or trained is None or length is None:
                return group, []
            base = automatic_base(group.rope.base, trained, length)
            if base == group.rope.base or not (llama3 or group.stretch is None):
                return group, []
            why = f"raises the base for a context of {length} tokens from {group.rope.base:g} to {base:.6g}"
            if llama3:
                departures.to("rope_theta", why, encoding=replace(departures.rope, base=base))
            else:
                departures.to("rope_theta", why, stretch=Abf(base))
            return departures.group, departures.losses

        return over_groups(spec, change)

    def say(self, spec: Spec) -> dict[str, Any]:
        first = next(rotating(spec))
        scale = 1 / first.stretch.factor if isinstance(first.stretch, Linear) else 1.0
        said: dict[str, Any] = {"ropeconfig": [whole(scale), whole(first.rope.base)]}
        if spec.window.declared is not None:
            said["contextsize"] = spec.window.declared
        return said

    def text(self, settings: Mapping[str, Any]) -> str:
        scale, base = settings["ropeconfig"]
        length = f" --contextsize {settings['contextsize']}" if "contextsize" in settings else ""
        return f"--ropeconfig {scale} {base}{length}"

    def read(self, settings: Mapping[str, Any], model: Spec) -> Spec:
        keys = self.words(settings, WORDS)
        length = keys.integer("contextsize") or model.window.declared
        window = Window(model.window.trained, length)
        pair = keys.values.get("ropeconfig")
        if pair is None:
            return replace(model, window=window)
        if not isinstance(pair, (list, tuple)) or len(pair) not in (1, 2):
            raise InputError(f"{keys.label('ropeconfig')} must be a scale, or a scale and a base, got {got(pair)}")
        scale = positive(keys.label("ropeconfig"), finite(keys.label("ropeconfig"), pair[0]))
        base = positive(keys.label("ropeconfig"), pair[1]) if len(pair) == 2 else 10000.0
        if scale > 1 or 1 / scale == math.inf:
            raise InputError(f"{keys.label('ropeconfig')} must have a scale of at most 1, got {scale:g}")
        # A base that is said is a scaling, which keeps another from being chosen.
        stretch = Abf(base) if scale == 1 else Linear(1 / scale)
        return laid_over(model, base, stretch, window)


def automatic_base(base: float, trained: int, length: int) -> float:
    """The base that KoboldCpp takes for a context of `length` tokens where the file has no scaling.

    >>> automatic_base(10000.0, 4096, 4096)
    10000.0
    >>> round(automatic_base(10000.0, 4096, 8192))
    26784
    """
    if base not in AUTOMATIC or length <= max(trained, SHORTEST) or trained <= 2 * math.pi:
        return base
    return base ** (math.log(length / (2 * math.pi)) / math.log(trained / (2 * math.pi)))
