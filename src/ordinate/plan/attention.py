"""From a spec to what its attention layers keep."""

from ordinate.errors import InputError
from ordinate.plan.layers import Cached
from ordinate.spec import Heads, LayerGroup, Spec


def attention_layers(spec: Spec) -> list[Cached]:
    """What the layers of each group keep, by the shape of their heads.

    Raises:
        InputError: the spec does not say which layers a group has, or the shape of their heads
    """
    found = []
    for group in spec.groups.values():
        if group.layers == ():
            continue
        if group.heads is None:
            raise InputError(f"{spec.name}: the shape of the heads of {group.layer_type} is not in the files")
        found.append(_kept(group, group.heads, layers_of(spec, group)))
    return found


def layers_of(spec: Spec, group: LayerGroup) -> tuple[int, ...]:
    """The numbers of a group's layers.

    Raises:
        InputError: the spec does not say
    """
    if group.layers is not None:
        return group.layers
    if len(spec.groups) > 1 or spec.layers is None:
        raise InputError(f"{spec.name}: which layers are {group.layer_type}, or how many, is not in the files")
    return tuple(range(spec.layers))


def _kept(group: LayerGroup, heads: Heads, layers: tuple[int, ...]) -> Cached:
    chunked = group.layer_type.startswith("chunked")
    if heads.latent_dim is None:
        return Cached(
            group.layer_type,
            "attention",
            layers,
            heads.key_value,
            heads.head_dim,
            heads.value_dim,
            group.sliding_window,
            query_heads=heads.query,
            chunked=chunked,
        )
    rotary = heads.rotary_key_dim or 0
    return Cached(
        group.layer_type,
        "latent",
        layers,
        1,
        rotary,
        heads.latent_dim,
        group.sliding_window,
        query_heads=heads.query,
        chunked=chunked,
    )
