"""Which method `--method auto` takes, and why."""

import math

from ordinate.scaling.yarn import Yarn
from ordinate.spec import LayerGroup

# SmolLM2-135M, 384 tokens of text after a jump to the end of the stretched window: 3.72, 3.79 and 3.86 nats at 2, 4
# and 8 times the length, against 3.50, 3.55 and 3.62 without the jump and 3.48 for the model as it was.
_MEASURED = 8


def choose(group: LayerGroup, *, trained: int, to: int) -> tuple[str, str]:
    """Choose a method for a target, and say why in one sentence.

    A model that is stretched already keeps its method, because it was trained under those frequencies. Else YaRN,
    which keeps pairs that turn often as they are; but where the trained length is so short that no pair turns often,
    NTK, and where a single pair turns, linear, because nothing is left to choose.

    Args:
        group: the layers that are to reach further
        trained: the length that the model was trained at, before any scaling, [token]
        to: the target, [token]

    Returns:
        the method's name, and the reason

    >>> from ordinate.schemes.rope import Rope
    >>> choose(LayerGroup("full_attention", Rope(head_dim=64)), trained=4096, to=8192)[0]
    'yarn'
    """
    factor = to / trained
    if group.scaling is not None:
        return group.scaling, f"the model is stretched by {group.scaling} already"
    if len(group.rope.plain()) == 1:
        return "linear", "a single pair of channels turns, and every other method needs several"
    turns = trained * group.rope.plain()[0] / (2 * math.pi)
    kept_from = Yarn.beta_fast
    if turns < kept_from:
        return (
            "ntk",
            f"the fastest pair turns {turns:.1f} times in {trained} tokens, and YaRN keeps only pairs that turn "
            f"{kept_from:g} times or more; NTK keeps the fastest pair whatever the length",
        )
    reason = "YaRN keeps the pairs that turn often within the trained length, and divides only those that do not"
    if factor <= _MEASURED:
        return "yarn", f"{reason}; {factor:g} times the length is within what was seen to hold without training"
    return "yarn", f"{reason}; {factor:g} times the length is more than was seen to hold without training: train on"
