"""A scaling method without a setting that it needs."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from ordinate.rules._settings import Settings
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule

NEEDED = {
    "linear": ("factor",),
    "dynamic": ("factor",),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor"),
    "longrope": ("short_factor", "long_factor"),
    "yarn": ("factor",),
}
USUAL = {"factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}


class MissingSetting(Rule):
    name = "missing_setting"
    severity = "error"
    explanation = "The scaling method lacks a setting that it cannot do without."
    why = "Each engine puts its own default there, or fails when the model is loaded."
    remedy = "Write the setting; the values are those that the model was trained with."
    reports = ("hiyouga/LlamaFactory#4984", "hiyouga/LlamaFactory#8101", "NVIDIA-NeMo/Automodel#2652")
    example: ClassVar = {"model_type": "llama", "rope_scaling": {"rope_type": "llama3", "factor": 8.0}}

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.settings:
            for key in NEEDED.get(settings.type, ()):
                alpha = settings.type == "dynamic" and settings.values.get("alpha") is not None
                if key in settings.values or alpha:
                    continue
                null = key in _null(subject, settings)
                if null and settings.type == "yarn":
                    continue
                usual = f'"{key}": {USUAL[key]}, say' if key in USUAL else f"a list of divisors, one a pair, as {key}"
                yield self.finding(
                    subject,
                    settings.key(key),
                    f"{settings.key(key)} is missing, and rope_type {settings.type!r} needs it",
                    usual,
                    missing=key,
                )


def _null(subject: Subject, settings: Settings) -> set[str]:
    """The settings that are there and null."""
    given = subject.config.get(settings.where.rpartition(".")[2])
    return {key for key, value in given.items() if value is None} if isinstance(given, Mapping) else set()
