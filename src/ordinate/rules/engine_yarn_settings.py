"""YaRN settings that llama.cpp does not read."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from ordinate.rules._engines import LLAMA_CPP
from ordinate.rules._numbers import furthest, shown
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule
from ordinate.scaling.yarn import Yarn

READ = ("grok", "mistral3", "ministral3")
DEFAULTS = {"beta_fast": 32.0, "beta_slow": 1.0}


class EngineYarnSettings(Rule):
    name = "engine_yarn_settings"
    engines = LLAMA_CPP
    explanation = "llama.cpp reads `beta_fast`, `beta_slow` and `mscale` for few architectures, and takes defaults."
    why = "Conversion writes them into the file, and the loader of most architectures leaves them there."
    remedy = "Pass --yarn-beta-fast and --yarn-beta-slow to llama.cpp; Ollama and KoboldCpp have no such option."
    reports = ("ggml-org/llama.cpp, src/models/grok.cpp and mistral3.cpp", "ggml-org/llama.cpp#4097")
    example: ClassVar = {
        "model_type": "llama",
        "max_position_embeddings": 8192,
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": 4.0,
            "original_max_position_embeddings": 2048,
            "rope_theta": 10000.0,
            "beta_fast": 16.0,
        },
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.scaled("yarn") if subject.model_type not in READ else ():
            group = subject.group(settings)
            for key, default in DEFAULTS.items():
                value = settings.number(key)
                if (
                    value is None
                    or value == default
                    or value <= 0
                    or group is None
                    or not isinstance(group.stretch, Yarn)
                ):
                    continue
                betas = {"beta_fast": group.stretch.beta_fast, "beta_slow": group.stretch.beta_slow, key: default}
                if betas["beta_fast"] <= betas["beta_slow"]:
                    continue
                right = group.stretch.frequencies(group.rope)
                where = "" if subject.engine == "llama_cpp" else f" of llama.cpp itself: {subject.engine} has no option"
                pair, worst = furthest(replace(group.stretch, **betas).frequencies(group.rope), right)
                yield self.finding(
                    subject,
                    settings.key(key),
                    f"{key} is {shown(value)}, and {subject.engine} runs {shown(default)}: pair {pair} turns "
                    f"{worst:.0%} off",
                    f"--yarn-{key.replace('_', '-')} {shown(value)}{where}",
                    pair=pair,
                    relative=worst,
                )
