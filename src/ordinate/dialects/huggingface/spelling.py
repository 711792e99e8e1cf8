"""A rotary scheme and its scaling as `rope_parameters`, the spelling of transformers v5."""

from typing import Any

from ordinate.errors import InputError
from ordinate.scaling.abf import Abf
from ordinate.scaling.base import Scaling, ntk_base
from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.linear import Linear
from ordinate.scaling.llama3 import Llama3
from ordinate.scaling.longrope import LongRope
from ordinate.scaling.ntk import Ntk
from ordinate.scaling.proportional import Proportional
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.axial import Axial
from ordinate.schemes.base import Rotary
from ordinate.schemes.multimodal import Multimodal
from ordinate.schemes.rope import Rope


def rope_parameters(rope: Rotary, scaling: Scaling | None) -> dict[str, Any]:
    """Spell a scheme and its scaling; the base is always restated, because v5 forgets it otherwise.

    Args:
        rope: the trained scheme
        scaling: the method with its numbers, or None

    Returns:
        `rope_type`, `rope_theta` and the method's own keys. NTK-aware scaling and a larger base have no type in v5:
        they are the default type with another `rope_theta`. Dynamic NTK's window is not among the keys: it is the
        configuration's `max_position_embeddings`.

    Raises:
        InputError: something that v5 has no spelling for, whatever the architecture

    >>> from ordinate.schemes.rope import Rope
    >>> rope_parameters(Rope(head_dim=4), Linear(2.0))
    {'rope_type': 'linear', 'rope_theta': 10000.0, 'factor': 2.0}
    """
    if not isinstance(rope, Rope) or rope.part != "first" or rope.direction != 1:
        raise InputError(f"rope_parameters can only spell RoPE on the first channels of a head, got {rope}")
    rope_type, base, keys = spell_scaling(rope, scaling)
    return {"rope_type": rope_type, "rope_theta": base, **keys, **partial(rope, rope.head_dim)}


def settings(rope: Rotary, scaling: Scaling | None, head_dim: int, *, share: bool = True) -> dict[str, Any]:
    """Spell what a layer group's settings say, where its architecture says the rest (part, direction, axes).

    Args:
        rope: the trained scheme
        scaling: the method with its numbers, or None
        head_dim: channels of a head as the configuration has it
        share: whether the turning share of the head is said here, and not by widths of its own as in MLA

    Raises:
        InputError: something that v5 has no spelling for
    """
    if isinstance(rope, Rope) and rope.part == "proportional":
        if not isinstance(scaling, Proportional | Abf | Ntk | None):
            raise InputError(f"rope_parameters cannot say {scaling} of a head whose turning part is proportional")
        _, base, _ = spell_scaling(rope, None if isinstance(scaling, Proportional) else scaling)
        keys = {"factor": float(scaling.factor)} if isinstance(scaling, Proportional) else {}
        return {"rope_type": "proportional", "rope_theta": base, **keys, **partial(rope, head_dim, always=True)}
    rope_type, base, keys = spell_scaling(rope, scaling)
    if isinstance(rope, Axial):
        return {"rope_type": "axial" if rope_type == "default" else rope_type, "rope_theta": base, **keys}
    spelled: dict[str, Any] = {"rope_type": rope_type, "rope_theta": base, **keys}
    if share:
        spelled |= partial(rope, head_dim)
    if isinstance(rope, Multimodal):
        sections = rope.sections
        spelled["mrope_section"] = list((*sections[1:], sections[0]) if rope.layout == "time-last" else sections)
        if rope.layout == "interleaved":
            spelled["mrope_interleaved"] = True
    return spelled


def partial(rope: Rotary, head_dim: int, *, always: bool = False) -> dict[str, float]:
    """`partial_rotary_factor`, such that its product with the head's width is rounded to the right channels."""
    if rope.rotary_dim == head_dim and not always:
        return {}
    share = rope.rotary_dim / head_dim
    return {"partial_rotary_factor": share if int(head_dim * share) == rope.rotary_dim else share * (1 + 2**-50)}


def spell_scaling(rope: Rotary, scaling: Scaling | None) -> tuple[str, float, dict[str, Any]]:
    """The rope type, the base, and the method's own keys.

    Raises:
        InputError: a method that no type stands for
    """
    base = float(rope.base)
    match scaling:
        case None:
            return "default", base, {}
        case Abf():
            return "default", float(scaling.base), {}
        case Ntk():
            return "default", ntk_base(rope.base, rope.spectrum_dim, scaling.factor), {}
        case Linear():
            # vLLM takes a factor for one only where it is a float.
            return "linear", base, {"factor": float(scaling.factor)}
        case DynamicNtk():
            # By ratio is by offset with a factor of 1, which then has no part in it.
            return "dynamic", base, {"factor": float(scaling.factor) if scaling.form == "offset" else 1.0}
        case Llama3():
            keys = ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")
            return "llama3", base, {key: getattr(scaling, key) for key in keys}
        case Yarn(ramp="index"):
            keys = ("factor", "original_max_position_embeddings", "beta_fast", "beta_slow", "truncate")
            spelled = {key: getattr(scaling, key) for key in keys}
            optional = {
                "attention_factor": scaling.magnitude_factor,
                "mscale": scaling.mscale,
                "mscale_all_dim": scaling.mscale_all_dim,
            }
            return "yarn", base, spelled | {key: value for key, value in optional.items() if value is not None}
        case LongRope():
            spelled = {
                "short_factor": list(scaling.short_factor),
                "long_factor": list(scaling.long_factor),
                "factor": scaling.factor,
                "original_max_position_embeddings": scaling.original_max_position_embeddings,
                # Given or computed: readers differ in how they compute it.
                "attention_factor": scaling.attention_factor(),
            }
            return "longrope", base, spelled
        case _:
            raise InputError(f"rope_parameters has no spelling for {scaling}")
