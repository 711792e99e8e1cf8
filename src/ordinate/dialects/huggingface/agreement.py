"""What is left of a spec in what was written and read back."""

from collections.abc import Iterator
from dataclasses import replace

from ordinate.dialects._tables import table_changes
from ordinate.dialects.base import Loss
from ordinate.schemes.base import Rotary
from ordinate.spec import LayerGroup, Spec


def disagreements(spec: Spec, found: Spec, source: str) -> list[Loss]:
    """The losses from one spec to another: tables at every length that matters, layers, heads, windows, scales.

    Args:
        spec: what was to be said
        found: what was read back
        source: of the losses

    Returns:
        nothing where both run alike; names, notes of reading and the pairing of channels do not count
    """
    losses = []
    lengths = (spec.window.trained, spec.window.declared)
    for name, group in spec.groups.items():
        other = found.groups.get(name) or next((g for g in found.groups.values() if g.layers == group.layers), None)
        several = name if len(spec.groups) > 1 else None
        if other is None:
            if group.layers != ():
                losses.append(Loss("layer_types", f"the layers of group {name!r} cannot be told apart", source, name))
            continue
        losses += [replace(loss, group=several) for loss in _group(group, other, lengths, source)]
    if spec.layers != found.layers and spec.layers is not None:
        losses.append(Loss("num_hidden_layers", f"{spec.layers} layers become {found.layers}", source))
    if spec.window.declared != found.window.declared:
        losses.append(
            Loss("max_position_embeddings", f"{spec.window.declared} tokens become {found.window.declared}", source)
        )
    return losses


def _group(ours: LayerGroup, theirs: LayerGroup, lengths: tuple[int | None, ...], source: str) -> Iterator[Loss]:
    if isinstance(ours.encoding, Rotary) and isinstance(theirs.encoding, Rotary):
        yield from _rotation(ours, theirs, lengths, source)
    elif type(ours.encoding) is not type(theirs.encoding) or ours.encoding != theirs.encoding:
        yield Loss("position_embedding_type", f"{ours.encoding} becomes {theirs.encoding}", source)
    for key, word in (
        ("heads", "num_attention_heads"),
        ("sliding_window", "sliding_window"),
        ("softmax_scale", "softmax_scale"),
        ("temperature", "llama_4_scaling_beta"),
    ):
        left, right = getattr(ours, key), getattr(theirs, key)
        if key == "softmax_scale" and left is not None and right is not None and abs(left - right) <= 1e-9 * left:
            continue
        if left != right and not (key == "heads" and left is None):
            yield Loss(word, f"{left} becomes {right}", source)


def _rotation(ours: LayerGroup, theirs: LayerGroup, lengths: tuple[int | None, ...], source: str) -> Iterator[Loss]:
    for field in ("name", "part", "direction", "axes", "layout", "sections", "rotary_dim"):
        left, right = getattr(ours.encoding, field, None), getattr(theirs.encoding, field, None)
        if left != right:
            yield Loss(
                "partial_rotary_factor" if field in ("part", "rotary_dim") else "mrope_section",
                f"{field} {left} becomes {right}",
                source,
            )
    changes = table_changes(ours, theirs, lengths)
    if changes:
        what = f"{ours.scaling or 'plain'} frequencies cannot be said: {'; '.join(changes)}"
        yield Loss("rope_parameters", what, source)
