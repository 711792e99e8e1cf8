"""What attention makes and drops in one layer, beyond its result: nothing, a mask of biases, or all scores."""

from ordinate.schemes.base import Bias
from ordinate.spec import Spec

_SCORE_BYTES = 4
"""Softmax is computed in float32."""


def dense_bias_bytes(spec: Spec, queries: int, context: int, tensor: int, value_bytes: int) -> int:
    """What a mask with the bias of every head and pair takes, which `ordinate.ops.attend` does not make.

    heads / ranks * queries * context * value_bytes; 0 where no layer adds a bias

    Args:
        spec: of the model
        queries: tokens computed at once, [token]
        context: keys, [token]
        tensor: ranks that share the heads
        value_bytes: of one entry, [byte]
    """
    heads = [_heads(spec, group.encoding) for group in spec.groups.values() if isinstance(group.encoding, Bias)]
    return -(-max(heads, default=0) // tensor) * queries * context * value_bytes


def scratch_bytes(
    spec: Spec, attention: str, queries: int, context: int, batch: int, tensor: int, value_bytes: int
) -> int:
    """What attention takes in one layer beyond its result.

    attend: 0; dense: the mask of biases; eager: the mask, and 4 * batch * heads / ranks * queries * context of scores

    Args:
        spec: of the model
        attention: "attend", "dense" or "eager"
        queries, context, tensor, value_bytes: as for `dense_bias_bytes`
        batch: sequences

    Returns:
        [byte]
    """
    if attention == "attend":
        return 0
    mask = dense_bias_bytes(spec, queries, context, tensor, value_bytes)
    if attention == "dense":
        return mask
    heads = max((group.heads.query for group in spec.groups.values() if group.heads is not None), default=0)
    return mask + _SCORE_BYTES * batch * -(-heads // tensor) * queries * context


def _heads(spec: Spec, bias: Bias) -> int:
    own = getattr(bias, "heads", None)
    if own is not None:
        return own
    return max((group.heads.query for group in spec.groups.values() if group.heads is not None), default=0)
