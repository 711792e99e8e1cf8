"""`rotate`: q and k turned by their positions."""

from typing import Any

from ordinate.ops.backends import compiled
from ordinate.ops.rotate.arguments import Angles, Norms, Pairing, Part, Turn, is_traced
from ordinate.ops.rotate.cache import rotate_into_cache_
from ordinate.ops.rotate.dispatch import checked, may_be_short, serving
from ordinate.ops.rotate.memory import check_writable

__all__ = ["rotate", "rotate_", "rotate_into_cache_"]


def rotate(
    q: Any,
    k: Any,
    cos: Any = None,
    sin: Any = None,
    positions: Any = None,
    pairing: Pairing = "half",
    *,
    part: Part = "first",
    inverse: bool = False,
    cu_seqlens: Any = None,
    frequencies: Any = None,
    magnitude: float = 1.0,
    axis_of_pair: Any = None,
    q_norm: Any = None,
    k_norm: Any = None,
    norm_eps: float = 1e-6,
    backend: str = "auto",
) -> tuple[Any, Any]:
    """Rotate each channel pair of q and k by the angle of its token's position.

    out[first]  = x[first] * cos[positions] - x[second] * sin[positions]
    out[second] = x[first] * sin[positions] + x[second] * cos[positions]

    float32, bfloat16 and float16 are computed in float32, each product and sum rounded, and rounded once more to
    their dtype: compiled kernels and PyTorch give the same bits. float64, and all of NumPy where there are no kernels,
    is computed in float64. Gradients flow to q, k, cos, sin, frequencies, q_norm and k_norm.

    With `axis_of_pair` a token has a position on each of several axes (the rows and columns of an image, M-RoPE's
    time, height and width), and pair i turns by positions[axis_of_pair[i]]. With `q_norm` or `k_norm` each head is
    normalised before it turns, x / sqrt(mean(x^2) + norm_eps) * weight, over all its channels.

    Args:
        q, k: [batch, tokens, heads, dim] or [tokens, heads, dim], any strides, heads and dim of their own;
            either may be None. float16, bfloat16 (torch), float32 or float64
        cos, sin: [table, pairs], float32, magnitude included, as `LayerGroup.table` makes them; None with frequencies
        positions: rows of the table, [tokens] or [batch, tokens], int32 or int64; None for 0 to tokens - 1
        pairing: "half" pairs channel i with i + pairs, "interleaved" 2i with 2i + 1, "interleaved-in-half-out"
            reads the latter and writes the former (DeepSeek in Hugging Face)
        part: which channels turn, the "first" or "last" 2 * pairs; "proportional" asserts that the table
            has a pair for every two channels, those of frequency 0 included
        inverse: turn by the negative angle, and undo the move of channels of "interleaved-in-half-out". A magnitude
            multiplies again: this is the transpose, and the inverse where the magnitude is 1
        cu_seqlens: [sequences + 1], int32 or int64: where each of the packed sequences of a q or k
            [tokens, heads, dim] begins, and their end; each then counts its own positions from 0
        frequencies: [pairs], float64, [rad/token], in place of a table: angles are computed in float64 as they are
            needed, cos and sin rounded to float32; positions are then any within 2^53 of 0
        magnitude: multiplies cos and sin of frequencies
        axis_of_pair: [pairs], int32 or int64: which axis of positions turns each pair, as the schemes `Axial` and
            `Multimodal` say; positions are then [axes, tokens] or [axes, batch, tokens]
        q_norm, k_norm: [dim], of any floating type: the weight of an RMS norm of q, of k (Qwen3). Gemma's multiplies
            by 1 + weight: give that sum
        norm_eps: added to the mean of squares
        backend: "auto", or a name in `ordinate.ops.backends`

    Returns:
        q and k rotated, in new memory, None for None. Channels that do not turn keep their bits, unless normalised.

    Raises:
        InputError: a shape, dtype or device that does not fit, or a position outside the table
        Unavailable: the backend asked for is not here

    Source: Su et al. 2021, arXiv:2104.09864, equation 34.
    Differs from the paper: the paper pairs neighbours; "half" is the same model with channels renamed. A norm and
    the rotation after it are rounded together, once; transformers' Qwen3 in half precision rounds what is normalised,
    its product with the weight, and each product and sum of the rotation.

    >>> import numpy as np
    >>> q = np.array([[[1.0, 0.0]]])
    >>> cos, sin = np.array([[0.0]], np.float32), np.array([[1.0]], np.float32)
    >>> rotate(q, None, cos, sin)[0]
    array([[[0., 1.]]])
    """
    if compiled is not None and frequencies is None and cu_seqlens is None and magnitude == 1.0 and may_be_short():
        given = (q, k, cos, sin, positions, pairing, part, inverse, backend)
        if axis_of_pair is None and q_norm is None and k_norm is None and norm_eps == 1e-6:
            made = compiled.rotate_to_new(*given)
        else:
            made = compiled.rotate_to_new_with(*given, axis_of_pair, q_norm, k_norm, norm_eps)
        if made is not None:
            return made
    turn, norms = Turn(pairing, part, inverse), Norms(q_norm, k_norm, norm_eps)
    angles = Angles(cos, sin, positions, frequencies, magnitude, axis_of_pair)
    angles = checked(q, k, angles, turn, norms, cu_seqlens)
    if is_traced():
        from ordinate.ops.rotate.graphs import rotate_traced

        return rotate_traced(q, k, angles, turn, norms, backend)
    return serving((q, k), angles, norms, backend).rotate_both(q, k, angles, turn, norms)


def rotate_(
    q: Any,
    k: Any,
    cos: Any = None,
    sin: Any = None,
    positions: Any = None,
    pairing: Pairing = "half",
    *,
    part: Part = "first",
    inverse: bool = False,
    cu_seqlens: Any = None,
    frequencies: Any = None,
    magnitude: float = 1.0,
    axis_of_pair: Any = None,
    q_norm: Any = None,
    k_norm: Any = None,
    norm_eps: float = 1e-6,
    backend: str = "auto",
) -> tuple[Any, Any]:
    """`rotate`, written into q and k: views of other memory are written through, nothing else is touched.

    Args:
        q, k: as for `rotate`; their elements must not share memory, with each other or among themselves
        cos, sin, positions, pairing, part, inverse, cu_seqlens, frequencies, magnitude, axis_of_pair, q_norm, k_norm,
            norm_eps, backend: as for `rotate`

    Returns:
        q and k themselves

    Raises:
        InputError: as for `rotate`, or memory that cannot be written; then nothing has been
        Unavailable: the backend asked for is not here
    """
    if compiled is not None and frequencies is None and cu_seqlens is None and magnitude == 1.0 and may_be_short():
        given = (q, k, cos, sin, positions, pairing, part, inverse, backend)
        if axis_of_pair is None and q_norm is None and k_norm is None and norm_eps == 1e-6:
            done = compiled.rotate_in_place(*given)
        else:
            done = compiled.rotate_in_place_with(*given, axis_of_pair, q_norm, k_norm, norm_eps)
        if done:
            return q, k
    turn, norms = Turn(pairing, part, inverse), Norms(q_norm, k_norm, norm_eps)
    angles = Angles(cos, sin, positions, frequencies, magnitude, axis_of_pair)
    angles = checked(q, k, angles, turn, norms, cu_seqlens)
    if is_traced():
        from ordinate.ops.rotate.graphs import rotate_traced_

        rotate_traced_(q, k, angles, turn, norms, backend)
        return q, k
    implementation = serving((q, k), angles, norms, backend)
    check_writable(q, k)
    implementation.rotate_both_(q, k, angles, turn, norms)
    return q, k
