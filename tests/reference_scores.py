"""The attention logits of any scheme, from its public methods and float64 arithmetic of our own."""

import numpy as np
from reference_attention import rotate, turning_channels

import ordinate

SCHEMES = {name: ordinate.scheme(name).example() for name in ordinate.schemes()}


def of_kind(*kinds):
    """The examples of some kinds, by name."""
    return {name: scheme for name, scheme in SCHEMES.items() if scheme.kind in kinds}


def room(scheme):
    """How many positions the laws may use of a scheme: all that a learned table has, else plenty."""
    return getattr(scheme, "limit", 2**15)


def learned(scheme, seed=0):
    """Learned numbers none of which is at its start, where it may be 0; None where nothing is learned."""
    moved = np.random.default_rng(seed)
    return {name: value + moved.uniform(0.05, 0.3, value.shape) for name, value in scheme.initial(seed).items()} or None


def along_axes(scheme, row):
    """Positions in the shape that a scheme takes: its other axes have the same numbers, moved round."""
    axes = getattr(scheme, "axes", None)
    return np.array(row) if axes is None else np.stack([np.roll(row, axis) for axis in range(axes)])


def turned(scheme, q, k, positions):
    """q and k, [tokens, head_dim], as a rotary scheme turns and scales them."""
    channels, angles = turning_channels(scheme), scheme.angles(positions)
    query, key = scheme.magnitudes(positions) or (1.0, 1.0)
    return rotate(q, angles, channels, query), rotate(k, angles, channels, key)


def scores(scheme, tokens, positions, seed=0, values=None):
    """Logits of one layer with random W_q and W_k: [heads, query, key].

    Args:
        scheme: an example of any kind
        tokens: [tokens, 16], what attends
        positions: as the scheme takes them, one a token
        seed: of W_q and W_k
        values: the learned numbers
    """
    generator = np.random.default_rng(seed)
    if scheme.kind == "additive":
        embedded = scheme.apply(tokens @ generator.standard_normal((16, scheme.dim)), positions, values)
        width = embedded.shape[-1]
        weights = generator.standard_normal((2, width, 8)) / width**0.5
        q, k = embedded @ weights[0], embedded @ weights[1]
        return (q @ k.T)[None] / 8**0.5
    heads, head_dim = getattr(scheme, "heads", 1), getattr(scheme, "head_dim", 8)
    weights = generator.standard_normal((2, 16, heads, head_dim)) / 4
    q, k = (np.einsum("tc,chd->thd", tokens, weight) for weight in weights)
    if scheme.kind == "rotary":
        q, k = (part[:, None] for part in turned(scheme, q[:, 0], k[:, 0], positions))
    logits = np.einsum("qhd,khd->hqk", q, k) / head_dim**0.5
    if scheme.kind != "bias":
        return logits
    content = {"q": q, "k": k} if scheme.needs == "content" else {}
    return logits + scheme.bias(positions, positions, learned=values, **content)
