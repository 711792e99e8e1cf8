"""Rotation and attention in float64, written from the papers: what the package's schemes are held to."""

import numpy as np


def turning_channels(scheme):
    """The two channels of each pair of a rotary scheme: [pairs] each."""
    part, index = getattr(scheme, "part", "first"), np.arange(scheme.pairs)
    start = scheme.head_dim - scheme.rotary_dim if part == "last" else 0
    if scheme.pairing == "interleaved":
        return start + 2 * index, start + 2 * index + 1
    return start + index, start + index + scheme.pairs


def rotate(vectors, angles, channels, magnitude=1.0):
    """Turn the pairs of `vectors`, [..., tokens, head_dim], by `angles`, [tokens, pairs], and scale them."""
    first, second = channels
    real, imaginary = vectors[..., first], vectors[..., second]
    turned = np.array(vectors, dtype=np.float64)
    turned[..., first] = magnitude * (real * np.cos(angles) - imaginary * np.sin(angles))
    turned[..., second] = magnitude * (real * np.sin(angles) + imaginary * np.cos(angles))
    return turned


def attend(logits, values, causal=False):
    """Softmax over the keys of `logits`, [..., query, key], times `values`, [..., key, width]."""
    if causal:
        logits = np.where(np.tri(*logits.shape[-2:], dtype=bool), logits, -np.inf)
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ values
