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
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.base import Rotary
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
        InputError: something that v5 has no spelling for

    >>> from ordinate.schemes.rope import Rope
    >>> rope_parameters(Rope(head_dim=4), Linear(2.0))
    {'rope_type': 'linear', 'rope_theta': 10000.0, 'factor': 2.0}
    """
    if not isinstance(rope, Rope) or rope.part != "first" or rope.direction != 1:
        raise InputError(f"rope_parameters can only spell RoPE on the first channels of a head, got {rope}")
    rope_type, base, keys = _spell(rope, scaling)
    parameters = {"rope_type": rope_type, "rope_theta": base, **keys}
    if rope.rotary_dim != rope.head_dim:
        parameters["partial_rotary_factor"] = rope.rotary_dim / rope.head_dim
    return parameters


def _spell(rope: Rope, scaling: Scaling | None) -> tuple[str, float, dict[str, Any]]:
    match scaling:
        case None:
            return "default", rope.base, {}
        case Abf():
            return "default", scaling.base, {}
        case Ntk():
            return "default", ntk_base(rope.base, rope.rotary_dim, scaling.factor), {}
        case Linear():
            return "linear", rope.base, {"factor": scaling.factor}
        case DynamicNtk(form="offset"):
            return "dynamic", rope.base, {"factor": scaling.factor}
        case Llama3():
            keys = ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")
            return "llama3", rope.base, {key: getattr(scaling, key) for key in keys}
        case Yarn(ramp="index"):
            keys = ("factor", "original_max_position_embeddings", "beta_fast", "beta_slow", "truncate")
            spelled = {key: getattr(scaling, key) for key in keys}
            optional = {
                "attention_factor": scaling.magnitude_factor,
                "mscale": scaling.mscale,
                "mscale_all_dim": scaling.mscale_all_dim,
            }
            return "yarn", rope.base, spelled | {key: value for key, value in optional.items() if value is not None}
        case LongRope():
            spelled = {
                "short_factor": list(scaling.short_factor),
                "long_factor": list(scaling.long_factor),
                "factor": scaling.factor,
                "original_max_position_embeddings": scaling.original_max_position_embeddings,
                # Given or computed: readers differ in how they compute it.
                "attention_factor": scaling.attention_factor(),
            }
            return "longrope", rope.base, spelled
        case _:
            raise InputError(f"rope_parameters has no spelling for {scaling}")
