"""What every engine's dialect offers: its spelling in both directions, and what it computes."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ordinate.spec import LayerGroup, Spec


@dataclass(frozen=True)
class Loss:
    """One setting of a model that an engine drops, replaces or cannot say.

    Args:
        setting: the setting, in the words of Hugging Face v5 where it has one ("attention_factor")
        what: what the engine does in its place, in a sentence with numbers
        source: where that can be seen: repository and path, or a public report
        group: the layer group that it concerns, or None for all
    """

    setting: str
    what: str
    source: str
    group: str | None = None


@dataclass(frozen=True)
class Interpretation:
    """What an engine computes when it is given a model.

    Args:
        spec: the frequencies and magnitudes it runs with
        losses: in what that is not what the model's files say
    """

    spec: Spec
    losses: tuple[Loss, ...] = ()


@dataclass(frozen=True)
class Written:
    """A model's positional settings in an engine's words.

    Args:
        settings: the words and their values, as `Dialect.read` takes them
        text: what a user pastes: flags, JSON or the lines of a file
        losses: what of the model could not be said, or is said and not heeded
        steps: what else a user has to do, such as converting weights, one line each
    """

    settings: Mapping[str, Any]
    text: str
    losses: tuple[Loss, ...] = ()
    steps: tuple[str, ...] = ()


class Dialect(ABC):
    """An engine's spelling and semantics, as of a version.

    The law of every dialect: `interpret(read(write(spec).settings, spec)).spec` has the tables of `spec`, or
    `write(spec).losses` says what they lack.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    """What people call the engine."""
    version: ClassVar[str]
    """What was read or run: a version or the date of a commit."""
    files_alone: ClassVar[bool] = False
    """Whether `interpret` is of the model's own file alone, where `write` gives flags that replace what it says."""

    @abstractmethod
    def write(self, spec: Spec) -> Written:
        """Spell what a spec says.

        Raises:
            InputError: the engine has no words at all for this scheme
        """

    @abstractmethod
    def read(self, settings: Mapping[str, Any], model: Spec) -> Spec:
        """What settings in the engine's words say, laid over a model of which they give only a part.

        Args:
            settings: as in `Written.settings`
            model: whose heads, layers, pairing and name count where the words do not say them

        Raises:
            InputError: an unknown word, or a value that is missing or out of range
        """

    def read_configuration(self, config: Mapping[str, Any], model: Spec) -> Spec:
        """What a model's own config.json says to this engine, where that is not what it says to all.

        Args:
            config: the whole file
            model: as `ordinate.read` has it

        Returns:
            the model itself, unless the engine takes something from the file that a spec does not keep

        Raises:
            InputError: the engine cannot read it
        """
        del config
        return model

    @abstractmethod
    def interpret(self, spec: Spec, capacity: int | None = None) -> Interpretation:
        """What the engine computes for a model whose files say `spec`.

        Args:
            spec: what the model's files say
            capacity: tokens that the engine is started for; where not given, what it takes by itself, [token]

        Raises:
            InputError: the engine refuses or cannot run this scheme
        """

    def capacity(self, settings: Mapping[str, Any]) -> int | None:
        """For how many tokens the engine is started by settings in its words; None where they do not say, [token]."""
        del settings

    def started_for(self, spec: Spec, capacity: int | None = None) -> int | None:
        """For how many tokens `interpret` takes the engine to be started; None where nothing tells, [token].

        Args:
            spec: what the model's files say
            capacity: as given to `interpret`
        """
        return spec.window.declared if capacity is None else capacity


def over_groups(spec: Spec, change: Callable[[LayerGroup], tuple[LayerGroup, list[Loss]]]) -> Interpretation:
    """Apply an engine's way with one layer group to all.

    Args:
        spec: what the model's files say
        change: from a group to the group as the engine runs it, and what that loses; `Loss.group` is filled in
    """
    groups, losses = {}, []
    for name, group in spec.groups.items():
        groups[name], found = change(group)
        losses += [replace(loss, group=name if len(spec.groups) > 1 else None) for loss in found]
    return Interpretation(replace(spec, groups=groups), tuple(losses))
