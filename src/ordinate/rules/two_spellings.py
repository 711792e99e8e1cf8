"""Both spellings of the rotary settings at once."""

import json
from collections.abc import Iterator, Mapping
from typing import ClassVar

from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class TwoSpellings(Rule):
    name = "two_spellings"
    explanation = "`rope_parameters` and `rope_scaling` stand side by side with different contents."
    why = "transformers 5 reads `rope_scaling` where it is set, older engines one or the other: two models in one file."
    remedy = "Keep one of them, with all settings in it."
    reports = ("NVIDIA/TensorRT-Model-Connect#399", "NVIDIA-NeMo/Megatron-Bridge#3077", "sgl-project/sglang#14745")
    example: ClassVar = {
        "model_type": "llama",
        "rope_scaling": {"rope_type": "linear", "factor": 2.0},
        "rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 10000.0},
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        new, old = (subject.config.get(key) for key in ("rope_parameters", "rope_scaling"))
        if subject.kind != "huggingface" or not isinstance(new, Mapping) or not isinstance(old, Mapping):
            return
        both = new.keys() & old.keys()
        differing = sorted(key for key in both if new[key] != old[key])
        if not new or not old or (not differing and new.keys() == old.keys()):
            return
        said = [f"{key} {str(new[key])[:30]} and {str(old[key])[:30]}" for key in differing]
        said += [f"{key} in one alone" for key in sorted(new.keys() ^ old.keys())]
        together = json.dumps({**old, **new}, default=str)
        yield self.finding(
            subject,
            f"{subject.prefix}rope_parameters",
            f"rope_parameters and rope_scaling differ: {'; '.join(said[:4])}",
            f'"rope_parameters": {together[:200]}, without rope_scaling',
            severity="error" if differing else "warning",
            differing=differing[:8],
        )
