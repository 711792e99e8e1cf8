"""A model that is to be measured: where it lies, what it does with position, how far it reaches."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ordinate import models
from ordinate.dialects import read
from ordinate.errors import InputError
from ordinate.fingerprint import fingerprint
from ordinate.prove.plan import Plan
from ordinate.prove.reading import labelled
from ordinate.prove.result import ModelFacts, Role
from ordinate.spec import Spec
from ordinate.transformers.convert import Report, converted


@dataclass(frozen=True)
class Candidate:
    """One of the two models.

    Args:
        role: which
        source: as it was given
        directory: where its weights are in Hugging Face's form
        spec: what it does with position
        window: how far its files say that it reaches, [token]
    """

    role: Role
    source: str | Path
    directory: Path
    spec: Spec
    window: int

    def check(self, plan: Plan) -> None:
        """Refuse what would fail, or silently be something else, only after minutes.

        Raises:
            InputError: learned positions, which end at the window, or a sliding window shorter than the long text
        """
        for group in self.spec.groups.values():
            if group.scheme == "learned":
                raise InputError(f"the {self.role} model must not have learned positions, got {self.spec.name}")
            if group.sliding_window is not None and group.sliding_window < plan.length:
                raise InputError(
                    f"the {self.role} model must keep all {plan.length} tokens, since passkeys are asked for after "
                    f"less and less of the text, got a sliding window of {group.sliding_window} tokens"
                )

    def facts(self, model: Any) -> ModelFacts:
        """What a proof says of the model."""
        named = str(self.source) in models.names() and not Path(self.source).exists()
        return ModelFacts(
            name=str(self.source) if named else Path(self.source).resolve().name,
            architecture=self.spec.architecture,
            scheme={name: group.scheme for name, group in self.spec.groups.items()},
            scaling={name: group.scaling for name, group in self.spec.groups.items()},
            window=self.window,
            trained=self.spec.window.trained,
            parameters=sum(parameter.numel() for parameter in model.parameters()),
            fingerprint=fingerprint(self.spec),
        )


def find(role: Role, source: str | Path, progress: Report | None = None) -> Candidate:
    """Find a model, convert it where that is needed, and read what it does with position.

    Raises:
        InputError: no such model, no weights, or no word on how long its window is
        Unavailable: a named model's package is not installed
    """
    directory = converted(source, progress=labelled(progress, role))
    spec = read(directory)
    window = spec.window.declared or spec.window.trained
    if window is None:
        raise InputError(f"the {role} model's files must say how long its window is, got no such key ({spec.name})")
    return Candidate(role, source, directory, spec, window)
