"""One model as several engines read it: the frequency of each pair in each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ordinate.describe.words import counted, figures
from ordinate.dialects import configuration
from ordinate.errors import InputError
from ordinate.plots import _canvas, _sources
from ordinate.plots.base import Facts, word
from ordinate.schemes.base import Rotary
from ordinate.spec import LayerGroup, Spec
from ordinate.translate.engines import engine
from ordinate.translate.engines import engines as every

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FACTS = Facts("one model's frequencies as several engines compute them", "a model that rotates")

SAME = 1e-6


@dataclass(frozen=True, eq=False)
class Reading:
    """What some engines compute alike.

    Args:
        names: of the engines
        share: frequency of each pair, of that in the model's files, [pairs], [1]
        magnitude: what multiplies cos and sin, [1]
    """

    names: tuple[str, ...]
    share: np.ndarray
    magnitude: float


def engines(
    spec: Spec,
    names: Sequence[str] | None = None,
    *,
    config: Mapping[str, Any] | None = None,
    length: int | None = None,
    group: str | None = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw how fast each engine turns each pair, as a share of what the model's files say.

    Engines that compute the same share a line.

    Args:
        spec: what the files say
        names: engines; all where not given
        config: the model's own config.json, of which some engines take what a spec does not keep
        length: tokens seen so far, [token]; that declared where not given
        group: these layers; the only ones that rotate where not given
        ax: where to draw; a new figure where not given

    Raises:
        InputError: nothing rotates, an unknown engine, or no engine can run the model
    """
    layers = _sources.layers(spec, group, Rotary)
    length = spec.window.declared if length is None else length
    wanted = every() if names is None else list(dict.fromkeys(names))
    readings, refused = _read(spec, layers, wanted, config, length)
    if not readings:
        raise InputError(f"no engine can run {spec.name}: {'; '.join(f'{n}: {why}' for n, why in refused.items())}")
    ax = _canvas.axes(ax, height=3.8)
    values = np.concatenate([reading.share for reading in readings])
    own = layers.attention_factor(length)
    for index, reading in enumerate(readings):
        every_tenth = (index, max(len(reading.share) // 10, 1))
        style = _canvas.look(index, marker=True, linewidth=1.3, markevery=every_tenth)
        ax.plot(np.arange(len(reading.share)), reading.share, label=_label(reading, own), **style)
    if np.ptp(values) < SAME:
        ax.set_ylim(0.9, 1.1)
    elif np.nanmin(values) > 0 and np.nanmax(values) / np.nanmin(values) > 20:
        ax.set_yscale("log")
        _canvas.thousands(ax.yaxis)
    _canvas.grid(ax)
    ax.set_xlabel("pair")
    ax.set_ylabel("frequency, of the files' [1]")
    _canvas.legend(
        ax, loc="upper center", bbox_to_anchor=(0.5, -0.18), frameon=False, fontsize="small", title="computed alike by"
    )
    where = "" if length is None else f" at {counted(length, 'token')}"
    return _canvas.finished(
        ax, f"{word(spec.name)} as engines read it{where}", _words(readings, refused, own, len(wanted))
    )


def _read(
    spec: Spec, layers: LayerGroup, names: Sequence[str], config: Mapping[str, Any] | None, length: int | None
) -> tuple[list[Reading], dict[str, str]]:
    alike: list[Reading] = []
    refused: dict[str, str] = {}
    truth = layers.frequencies(length)
    for name in names:
        dialect = engine(name)
        try:
            read = spec if config is None else dialect.read_configuration(config, spec)
            found = _same_layers(dialect.interpret(read).spec, layers)
        except InputError as error:
            refused[name] = str(error)
            continue
        if found is None or len(found.frequencies(length)) != len(truth):
            refused[name] = "it turns another number of pairs"
            continue
        used = found.frequencies(length)
        share = np.divide(used, truth, out=np.where(used == 0, 1.0, np.inf), where=truth != 0)
        made = Reading((name,), share, found.attention_factor(length))
        for index, other in enumerate(alike):
            if np.allclose(other.share, share, rtol=SAME, atol=0) and abs(other.magnitude / made.magnitude - 1) <= SAME:
                alike[index] = Reading((*other.names, name), other.share, other.magnitude)
                break
        else:
            alike.append(made)
    own = layers.attention_factor(length)
    return sorted(alike, key=lambda reading: not _right(reading, own)), refused


def _same_layers(spec: Spec, layers: LayerGroup) -> LayerGroup | None:
    """The group that an engine makes of these layers: of the same name, the same layers, or its only one."""
    found = spec.groups.get(layers.layer_type)
    if found is None:
        found = next((g for g in spec.groups.values() if g.layers == layers.layers), None)
    if found is None and len(spec.groups) == 1:
        found = spec.group
    return found if found is not None and isinstance(found.encoding, Rotary) else None


def _label(reading: Reading, own: float) -> str:
    shown = ", ".join(reading.names)
    if len(reading.names) > 6:
        shown = ", ".join(reading.names[:6]) + f" and {len(reading.names) - 6} more"
    return shown if abs(reading.magnitude / own - 1) <= SAME else f"{shown}; magnitude {figures(reading.magnitude)}"


def _words(readings: Sequence[Reading], refused: Mapping[str, str], own: float, asked: int) -> str:
    right = [n for r in readings if _right(r, own) for n in r.names]
    text = (
        f"Of {counted(asked, 'engine')} {len(right)} {'computes' if len(right) == 1 else 'compute'} what the files say"
    )
    text += f" ({', '.join(right)})." if right else "."
    for reading in readings:
        if not _right(reading, own):
            verb = "compute" if len(reading.names) > 1 else "computes"
            text += f" {', '.join(reading.names)} {verb} something else: {_departure(reading, own)}."
    if refused:
        text += f" Refused or not able to run it: {', '.join(refused)}."
    return text


def _departure(reading: Reading, own: float) -> str:
    parts = []
    apart = np.abs(np.log(np.maximum(reading.share, 1e-300)))
    if apart.max() > SAME:
        parts.append(f"pair {int(apart.argmax())} at {figures(reading.share[apart.argmax()], 3)} of its frequency")
    if abs(reading.magnitude / own - 1) > SAME:
        parts.append(f"magnitude {figures(reading.magnitude)} for {figures(own)}")
    return ", ".join(parts)


def _right(reading: Reading, own: float) -> bool:
    return bool(np.allclose(reading.share, 1, rtol=SAME, atol=0)) and abs(reading.magnitude / own - 1) <= SAME


def from_sources(
    sources: Sequence[str],
    *,
    engines: Sequence[str] | None = None,
    length: int | None = None,
    group: str | None = None,
    ax: "Axes | None" = None,
) -> "Figure":
    spec = _sources.model(sources[0])
    return _draw(spec, engines, config=configuration(sources[0]), length=length, group=group, ax=ax)


_draw = engines
