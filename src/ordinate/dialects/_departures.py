"""On the way to what an engine computes: step by step, with a loss for each step that changes something."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ordinate.dialects._tables import ROUNDING, table_changes
from ordinate.dialects.base import Loss
from ordinate.errors import InputError
from ordinate.scaling.abf import Abf
from ordinate.scaling.base import ntk_base
from ordinate.scaling.ntk import Ntk
from ordinate.schemes.base import Rotary
from ordinate.schemes.multimodal import Multimodal
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup, Spec, Window


class Departures:
    """A layer group on its way to what an engine computes.

    Args:
        group: the group as the model's files have it; afterwards as the engine has it
        window: at whose lengths tables are compared
        title: the engine, as sentences call it
        source: where it can be seen, for losses whose step names no other
    """

    def __init__(self, group: LayerGroup, window: Window, *, title: str, source: str) -> None:
        self.group = group
        self.window = window
        self.title = title
        self.source = source
        self.losses: list[Loss] = []

    @property
    def rope(self) -> Any:
        """The group's rotary scheme, whose fields a step replaces."""
        return self.group.encoding

    def to(self, setting: str, why: str, *, source: str | None = None, **fields: Any) -> None:
        """Replace fields of the group; it is a loss of `setting` where that changes what is computed.

        Args:
            setting: in Hugging Face's words
            why: what the engine does, after its name, such as "has no `truncate`"
            source: repository and path
            fields: new values of the group's fields
        """
        after = replace(self.group, **fields)
        lengths = (self.window.trained, self.window.declared)
        self.losses += departure(self.group, after, setting, f"{self.title} {why}", source or self.source, lengths)
        self.group = after

    def stretch(self, setting: str, why: str, *, source: str | None = None, **fields: Any) -> None:
        """`to` for fields of the scaling method."""
        method: Any = self.group.stretch
        self.to(setting, why, source=source, stretch=replace(method, **fields))

    def drop_stretch(self) -> None:
        """Leave the scaling method out, as an engine that has no words for it."""
        if self.group.stretch is not None:
            self.to("rope_type", f"has no words for {self.group.scaling} scaling", stretch=None)

    def drop_temperature(self) -> None:
        """Leave the query temperature out."""
        if self.group.temperature is not None:
            setting = "llama_4_scaling_beta" if self.group.temperature.form == "ministral3" else "attn_scale"
            self.to(setting, "has no words for a query temperature on these layers", temperature=None)

    def fold_base(self) -> None:
        """Say a scaling that is only another base by the base: nothing changes."""
        method = self.group.stretch
        if isinstance(method, Abf):
            self.group = replace(self.group, encoding=replace(self.rope, base=method.base), stretch=None)
        elif isinstance(method, Ntk):
            base = ntk_base(self.rope.base, self.rope.spectrum_dim, method.factor)
            self.group = replace(self.group, encoding=replace(self.rope, base=base), stretch=None)

    def one_position(self) -> None:
        """Turn by one position a token, in RoPE's direction."""
        if isinstance(self.rope, Multimodal):
            plain = Rope(self.rope.head_dim, self.rope.rotary_dim, self.rope.base, self.rope.pairing)
            self.to("mrope_section", "has one position a token", encoding=plain)
        if not isinstance(self.rope, Rope):
            raise InputError(f"{self.title} turns by one position a token and cannot run {self.group.scheme}")
        self.to("direction", "turns in the usual direction", encoding=replace(self.rope, direction=1))

    def whole_head(self) -> None:
        """Turn all channels of a head."""
        if self.rope.rotary_dim < self.rope.head_dim:
            whole = Rope(self.rope.head_dim, base=self.rope.base, pairing=self.rope.pairing)
            self.to("partial_rotary_factor", "turns the whole head", encoding=whole)

    def leading_channels(self) -> None:
        """Turn the first channels of the head, where the frequencies of the whole head were dealt out to a part."""
        if getattr(self.rope, "part", "first") == "proportional":
            self.to(
                "partial_rotary_factor",
                "turns the first channels by frequencies of their own",
                encoding=replace(self.rope, part="first"),
            )


def rotating(spec: Spec) -> Iterator[LayerGroup]:
    """The groups that turn by one position or several a token, the one for full attention first."""
    found = [group for group in spec.groups.values() if isinstance(group.encoding, (Rope, Multimodal))]
    yield from sorted(found, key=lambda group: group.layer_type != "full_attention")


def departure(
    before: LayerGroup,
    after: LayerGroup,
    setting: str,
    what: str,
    source: str,
    lengths: Sequence[int | None] = (),
) -> list[Loss]:
    """The loss where a group computes something else than before, with numbers; nothing where it does not.

    Args:
        before: the group as the files say it
        after: as the engine runs it
        setting: whose loss it is, in Hugging Face's words
        what: the engine does, in a sentence without its full stop
        source: of the claim: repository and path
        lengths: where to look besides construction and the lengths of the scaling, [token]
    """
    change = _effect(before, after, lengths)
    return [] if change is None else [Loss(setting, f"{what}: {change}", source)]


def _effect(before: LayerGroup, after: LayerGroup, lengths: Sequence[int | None]) -> str | None:
    """What changes from one group to another, in words with numbers; None where nothing does."""
    changes = []
    if isinstance(before.encoding, Rotary) and isinstance(after.encoding, Rotary):
        changes += table_changes(before, after, lengths)
        if type(before.encoding) is not type(after.encoding):
            changes.append(f"{before.scheme} becomes {after.scheme}")
        if getattr(before.encoding, "direction", 1) != getattr(after.encoding, "direction", 1):
            changes.append("every angle has the other sign")
    elif before.scheme != after.scheme:
        changes.append(f"{before.scheme} becomes {after.scheme}")
    scales = _softmax_scale(before), _softmax_scale(after)
    if None not in scales and abs(scales[0] - scales[1]) > ROUNDING * abs(scales[0]):
        changes.append(f"the softmax scale {scales[0]:.6g} becomes {scales[1]:.6g}")
    if before.temperature != after.temperature:
        changes.append(f"{before.temperature} becomes {after.temperature}")
    return "; ".join(changes) or None


def whole(value: float) -> float | int:
    """A number as an integer where it is one, as people write it."""
    return int(value) if float(value).is_integer() and abs(value) < 2**53 else float(value)


def _softmax_scale(group: LayerGroup) -> Any:
    """What multiplies q k, or None where neither it nor the head is known."""
    if group.softmax_scale is not None:
        return group.softmax_scale
    if group.heads is not None:
        return group.heads.head_dim**-0.5
    return getattr(group.encoding, "head_dim", 0) ** -0.5 if isinstance(group.encoding, Rotary) else None
