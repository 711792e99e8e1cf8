"""A tiny transformer in NumPy, float64, with rotary positions and a cache of keys, over printable characters."""

from dataclasses import dataclass, field

import numpy as np

ALPHABET = "\n" + "".join(map(chr, range(32, 127)))
HEADS, HEAD_DIM, LAYERS = 2, 16, 2
WIDTH = HEADS * HEAD_DIM


@dataclass
class Cache:
    """The tokens that were read, and the keys and values of each layer."""

    ids: list[int] = field(default_factory=list)
    keys: list[np.ndarray] = field(default_factory=lambda: [np.zeros((0, HEADS, HEAD_DIM)) for _ in range(LAYERS)])
    values: list[np.ndarray] = field(default_factory=lambda: [np.zeros((0, HEADS, HEAD_DIM)) for _ in range(LAYERS)])

    def cropped(self, length: int) -> "Cache":
        keys = [each[:length] for each in self.keys]
        return Cache(self.ids[:length], keys, [each[:length] for each in self.values])


def encode(text: str) -> list[int]:
    return [max(ALPHABET.find(character), 0) for character in text]


def decode(ids: list[int]) -> str:
    return "".join(ALPHABET[number] for number in ids)


class Model:
    """Random weights, the same for a seed; `read` gives the logits behind the last token."""

    def __init__(self, seed: int = 0) -> None:
        draw = np.random.default_rng(seed)
        scale = 1 / np.sqrt(WIDTH)
        self.embedding = draw.normal(size=(len(ALPHABET), WIDTH))
        self.weights = draw.normal(size=(LAYERS, 6, WIDTH, WIDTH)) * scale
        self.out = draw.normal(size=(WIDTH, len(ALPHABET))) * 2 * scale
        self.frequencies = 0.6 ** np.arange(HEAD_DIM // 2)

    def turn(self, heads: np.ndarray, positions: np.ndarray) -> np.ndarray:
        angles = positions[:, None, None] * self.frequencies
        first, second = np.split(heads, 2, axis=-1)
        cos, sin = np.cos(angles), np.sin(angles)
        return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1)

    def read(self, ids: list[int], cache: Cache, start: int) -> np.ndarray:
        """Read tokens at positions start, start + 1, ... after what the cache holds, and append them to it."""
        hidden = self.embedding[ids]
        positions = np.arange(start, start + len(ids))
        past = len(cache.ids)
        seen = np.arange(past + len(ids)) <= (past + np.arange(len(ids)))[:, None]
        for layer, (wq, wk, wv, wo, up, down) in enumerate(self.weights):
            normed = hidden / np.sqrt((hidden**2).mean(-1, keepdims=True))
            query, key, value = (
                (normed @ w).reshape(len(ids), HEADS, HEAD_DIM) * size for w, size in ((wq, 1.5), (wk, 1.5), (wv, 1))
            )
            cache.keys[layer] = np.concatenate([cache.keys[layer], self.turn(key, positions)])
            cache.values[layer] = np.concatenate([cache.values[layer], value])
            turned = self.turn(query, positions).swapaxes(0, 1) / np.sqrt(HEAD_DIM)
            weights = turned @ cache.keys[layer].transpose(1, 2, 0)
            # The logits are small: nothing overflows.
            weights = np.exp(weights, out=weights) * seen
            mixed = (weights @ cache.values[layer].swapaxes(0, 1)) / weights.sum(-1, keepdims=True)
            mixed = mixed.swapaxes(0, 1).reshape(len(ids), WIDTH)
            hidden = hidden + 2 * mixed @ wo
            hidden = hidden + np.maximum(hidden @ up, 0) @ down * 0.5
        cache.ids = [*cache.ids, *ids]
        normed = hidden[-1] / np.sqrt((hidden[-1] ** 2).mean())
        return normed @ self.out
