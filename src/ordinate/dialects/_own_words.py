"""An engine that is told about position in words of its own, and computes what they can say."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from ordinate.dialects._departures import Departures, rotating
from ordinate.dialects._params import Params
from ordinate.dialects.base import Dialect, Interpretation, Loss, Written, over_groups
from ordinate.errors import InputError
from ordinate.scaling.base import Scaling
from ordinate.schemes.multimodal import Multimodal
from ordinate.schemes.none import NoPosition
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup, Spec, Window


class OwnWords(Dialect):
    """A dialect whose words are not Hugging Face's.

    What the engine makes of a model is one function, `depart`: `write` spells its result, `interpret` returns it.
    """

    source: ClassVar[str]
    """Repository and path of what was read, for losses."""
    one_rope: ClassVar[bool] = True
    """One base and one scaling hold for all layers."""
    every_layer: ClassVar[bool] = False
    """Every layer turns: there are no layers without position."""
    pairing: ClassVar[str | None] = None
    """How the engine pairs the channels of its files, where that does not depend on the model."""

    @abstractmethod
    def depart(self, departures: Departures, spec: Spec, capacity: int | None) -> None:
        """Change a rotating group into what the engine's words can say of it."""

    @abstractmethod
    def say(self, spec: Spec) -> dict[str, Any]:
        """The words for a spec that `depart` has been through."""

    @abstractmethod
    def text(self, settings: Mapping[str, Any]) -> str:
        """What a user pastes."""

    def held(self, spec: Spec, capacity: int | None = None) -> Interpretation:
        """The part of a spec that the engine's words can say."""
        if next(rotating(spec), None) is None:
            schemes = ", ".join(dict.fromkeys(group.scheme for group in spec.groups.values()))
            raise InputError(f"{self.title} has words for rotary position of text alone, and {spec.name} has {schemes}")

        def change(group: LayerGroup) -> tuple[LayerGroup, list[Loss]]:
            departures = Departures(group, spec.window, title=self.title, source=self.source)
            if isinstance(group.encoding, (Rope, Multimodal)):
                self.depart(departures, spec, capacity)
            else:
                self.depart_without_rope(departures, spec)
            return departures.group, departures.losses

        found = over_groups(spec, change)
        if not self.one_rope:
            return found
        first = next(rotating(found.spec))

        def follow(group: LayerGroup) -> tuple[LayerGroup, list[Loss]]:
            if not isinstance(group.encoding, (Rope, Multimodal)) or self.fixed(group, spec):
                return group, []
            departures = Departures(group, spec.window, title=self.title, source=self.source)
            departures.to(
                "rope_parameters",
                f"has one base and one scaling for all layers, those of {first.layer_type}",
                encoding=replace(group.encoding, base=first.rope.base),
                stretch=first.stretch if fits(first.stretch, group) else None,
            )
            turned = isinstance(spec.groups[group.layer_type].encoding, NoPosition)
            return departures.group, [] if turned else departures.losses

        same = over_groups(found.spec, follow)
        return Interpretation(same.spec, found.losses + same.losses)

    def depart_without_rope(self, departures: Departures, spec: Spec) -> None:
        """Change a group that does not rotate; it stays as it is where the engine has such layers."""
        if self.every_layer:
            self.turn(departures, spec)

    def turn(self, departures: Departures, spec: Spec) -> None:
        """Turn a group without position like the others."""
        if isinstance(departures.group.encoding, NoPosition):
            departures.drop_temperature()
            departures.to("no_rope_layers", "turns every layer", encoding=next(rotating(spec)).encoding)
            self.depart(departures, spec, None)

    def fixed(self, group: LayerGroup, spec: Spec) -> bool:
        """Whether the engine has a rope of its own for these layers of this model, right for them."""
        del group, spec
        return False

    def interpret(self, spec: Spec, capacity: int | None = None) -> Interpretation:
        return self.held(spec, capacity)

    def write(self, spec: Spec) -> Written:
        found = self.held(spec)
        settings = self.say(found.spec)
        return Written(settings, self.text(settings), found.losses + self.more_losses(spec), self.steps(spec))

    def more_losses(self, spec: Spec) -> tuple[Loss, ...]:
        """Losses that are not a layer group's."""
        del spec
        return ()

    def steps(self, spec: Spec) -> tuple[str, ...]:
        """What else a user has to do."""
        pairings = {group.pairing for group in rotating(spec)}
        if self.pairing == "interleaved" and pairings & {"half"}:
            return (
                "rewrite the q and k weights from half to interleaved pairs: "
                "ordinate convert IN OUT --pairing interleaved",
            )
        if self.pairing == "half" and pairings & {"interleaved", "interleaved-in-half-out"}:
            return (
                "rewrite the q and k weights from interleaved to half pairs: ordinate convert IN OUT --pairing half",
            )
        return ()

    def words(self, settings: Mapping[str, Any], known: frozenset[str]) -> Params:
        """Typed access to settings, all of whose words must be known."""
        if not isinstance(settings, Mapping):
            raise InputError(f"{self.title}: settings must be an object, got {type(settings).__name__}")
        inner = Params({self.name: settings}, self.title).inner(self.name, known)
        assert inner is not None  # noqa: S101 - the key is there
        return inner


def fits(stretch: Scaling | None, group: LayerGroup) -> bool:
    """Whether a scaling method has as many divisors as the group has pairs, where it has a list of them."""
    divisors = getattr(stretch, "long_factor", None)
    return divisors is None or len(divisors) == group.rope.pairs


def laid_over(model: Spec, base: float, stretch: Scaling | None, window: Window) -> Spec:
    """A model with one base and one scaling for every group that turns."""
    groups = {
        name: replace(group, encoding=replace(group.encoding, base=base), stretch=stretch)
        if isinstance(group.encoding, (Rope, Multimodal))
        else group
        for name, group in model.groups.items()
    }
    return replace(model, groups=groups, window=window)
