"""A model that decodes with a cache computes what one pass computes, whatever the chunks, in each regime."""

import numpy as np
import pytest
import torch
from reference_caches import WINDOW, group
from torch import nn

from ordinate.caches import Cache, Dense, Frozen, Paged, PerRow, Recompute, Ring
from ordinate.ops import attend
from ordinate.registry import lookup, names
from ordinate.schemes.alibi import Alibi
from ordinate.schemes.base import Bias
from ordinate.schemes.none import NoPosition
from ordinate.schemes.t5 import T5
from ordinate.spec import LayerGroup

LENGTHS = (29, 18)
"""Tokens of the two sequences of a batch: both cross the border, at different steps."""
CHUNKS = (1, 2, 3, 7, 29)
METHODS = ("dynamic_ntk", "longrope")


class Layer(nn.Module):
    def __init__(self, heads, kv_heads, dim):
        super().__init__()
        width = heads * dim
        self.shape = (heads, kv_heads, dim)
        self.norms = nn.ModuleList(nn.RMSNorm(width) for _ in range(2))
        self.qkv = nn.Linear(width, (heads + 2 * kv_heads) * dim, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.SiLU(), nn.Linear(2 * width, width))

    def forward(self, x, attention):
        heads, kv_heads, dim = self.shape
        q, k, v = (
            part.unflatten(-1, (-1, dim))
            for part in self.qkv(self.norms[0](x)).split([heads * dim, kv_heads * dim, kv_heads * dim], -1)
        )
        x = x + self.out(attention(q, k, v).flatten(-2))
        return x + self.mlp(self.norms[1](x))


class Transformer(nn.Module):
    """A causal language model; attention is whoever's it is given."""

    def __init__(self, layers, dim, heads=4, kv_heads=2, vocabulary=50):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, heads * dim)
        self.layers = nn.ModuleList(Layer(heads, kv_heads, dim) for _ in range(layers))
        self.norm = nn.RMSNorm(heads * dim)

    def forward(self, ids, attentions):
        x = self.embed(ids)
        for layer, attention in zip(self.layers, attentions, strict=True):
            x = layer(x, attention)
        return self.norm(x) @ self.embed.weight.T


def model(layers, dim=16):
    torch.manual_seed(layers)
    made = Transformer(layers, dim)
    with torch.no_grad():
        for weight in made.parameters():
            if weight.ndim == 2:
                weight.normal_(0, 0.7 * weight.shape[1] ** -0.5 if weight is not made.embed.weight else 0.5)
    return made.requires_grad_(False)


def ids():
    generator = torch.Generator().manual_seed(5)
    return [torch.randint(0, 50, (length,), generator=generator) for length in LENGTHS]


def row_by_row(of, length_of_row):
    """Attention in float64: the query at m and all keys before it turned by a length that depends on m."""

    def turn(x, positions, length):
        angles = torch.from_numpy(of.rope.angles(np.asarray(positions), of.frequencies(length)))[:, None]
        size = of.attention_factor(length)
        first, second = x.chunk(2, -1)
        cos, sin = angles.cos() * size, angles.sin() * size
        return torch.cat([first * cos - second * sin, first * sin + second * cos], -1)

    def attention(q, k, v):
        out = []
        for m in range(q.shape[1]):
            length = length_of_row(m)
            keys = turn(k[0, : m + 1], range(m + 1), length).repeat_interleave(2, 1)
            query = turn(q[0, m : m + 1], [m], length)[0]
            logits = torch.einsum("hd,khd->hk", query, keys) / q.shape[-1] ** 0.5
            out.append(torch.einsum("hk,khd->hd", logits.softmax(-1), v[0, : m + 1].repeat_interleave(2, 1)))
        return torch.stack(out)[None]

    return attention


def reference(made, of, length_of_row):
    """Logits of each sequence by itself, in float64."""
    wide = model(len(made.layers)).double()
    return [wide(tokens[None], [row_by_row(of, length_of_row)] * len(wide.layers))[0] for tokens in ids()]


def through(cache, positions):
    def attention(q, k, v):
        cache.append(k, v, positions)
        return cache.attend(q)

    return attention


def decoded(made, caches, chunk):
    """Logits of each sequence of a batch, left-padded, some tokens at a time."""
    longest = max(LENGTHS)
    padded, at = torch.zeros(2, longest, dtype=torch.int64), torch.full((2, longest), -1)
    for row, tokens in enumerate(ids()):
        padded[row, longest - len(tokens) :] = tokens
        at[row, longest - len(tokens) :] = torch.arange(len(tokens))
    parts = []
    for start in range(0, longest, chunk):
        part = slice(start, start + chunk)
        parts.append(made(padded[:, part], [through(cache, at[:, part]) for cache in caches]))
    return [torch.cat(parts, 1)[row, longest - length :] for row, length in enumerate(LENGTHS)]


def agree(got, wanted):
    for one, other in zip(got, wanted, strict=True):
        assert (one - other).abs().max() <= 1e-4


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("layers", [1, 2, 6])
def test_per_row_decoding_equals_the_row_wise_pass_for_every_chunking(layers, method):
    per_row_decoding(layers, method, CHUNKS)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("layers", [3, 4, 5])
def test_per_row_decoding_equals_the_row_wise_pass_for_the_depths_between(layers, method):
    per_row_decoding(layers, method, CHUNKS)


def per_row_decoding(layers, method, chunks):
    of, made = group("rope", method), model(layers)
    wanted = reference(made, of, lambda m: m + 1)
    for number, chunk in enumerate(chunks):
        kept = ("unrotated", "rotated")[number % 2]
        layout = (Dense(), Paged(40, 4))[(number + layers) % 2]
        agree(decoded(made, [Cache(of, 2, keys=kept, layout=layout) for _ in made.layers], chunk), wanted)


@pytest.mark.parametrize("kept", ["unrotated", "rotated"])
@pytest.mark.parametrize("method", METHODS)
def test_frozen_decoding_equals_one_pass_at_that_length(method, kept):
    of, made = group("rope", method), model(3)
    wanted = reference(made, of, lambda _: 40)
    for chunk in CHUNKS:
        agree(decoded(made, [Cache(of, 2, keys=kept, regime=Frozen(40)) for _ in made.layers], chunk), wanted)


@pytest.mark.parametrize("method", METHODS)
def test_recomputing_where_it_is_due_equals_a_pass_over_all_that_there_is(method):
    of, made = group("rope", method), model(3)
    tokens = ids()[0][None]
    caches = [Cache(of, regime=Recompute()) for _ in made.layers]
    done = 0
    for end in range(1, WINDOW + 5):
        if caches[0].recompute_due(end - done):
            for cache in caches:
                cache.clear()
            done = 0
        logits = made(tokens[:, done:end], [through(cache, None) for cache in caches])
        done = end
        wide = model(3).double()
        wanted = wide(tokens[:, :end], [row_by_row(of, lambda _, end=end: end)] * 3)
        assert (logits[:, -1] - wanted[:, -1]).abs().max() <= 1e-4


@pytest.mark.parametrize("method", METHODS)
def test_the_regimes_differ_by_far_more_than_rounding(method):
    of, made = group("rope", method), model(2)
    per_row, frozen = (reference(made, of, length_of_row) for length_of_row in (lambda m: m + 1, lambda _: 40))
    got = decoded(made, [Cache(of, 2, regime=PerRow()) for _ in made.layers], 3)
    assert (got[0] - frozen[0]).abs().max() > 1e-2
    assert (got[0] - per_row[0]).abs().max() < 1e-4


BIASES = {"alibi": Alibi(heads=4), "t5": T5(heads=4), "none": NoPosition()}


@pytest.mark.parametrize("scheme", BIASES)
def test_biases_decode_as_they_attend_whole(scheme):
    of, made = LayerGroup("full_attention", BIASES[scheme]), model(3)
    learned = None
    if scheme == "t5":
        learned = {name: torch.from_numpy(value).float() for name, value in BIASES[scheme].initial(1).items()}

    def run(caches, chunk):
        tokens, parts = ids()[0][None], []

        def attention(cache):
            def attend(q, k, v):
                cache.append(k, v)
                return cache.attend(q, learned=learned)

            return attend

        for start in range(0, LENGTHS[0], chunk):
            parts.append(made(tokens[:, start : start + chunk], [attention(cache) for cache in caches]))
        return torch.cat(parts, 1)

    def whole(q, k, v):
        n = np.arange(q.shape[1])
        logits = torch.einsum("bqhd,bkhd->bhqk", q, k.repeat_interleave(2, 2)) / q.shape[-1] ** 0.5
        if scheme != "none":
            given = None if learned is None else {name: value.numpy() for name, value in learned.items()}
            logits = logits + torch.from_numpy(BIASES[scheme].bias(n, n, learned=given)).float()
        logits = logits.masked_fill(torch.from_numpy(n[:, None] < n), -torch.inf)
        return torch.einsum("bhqk,bkhd->bqhd", logits.softmax(-1), v.repeat_interleave(2, 2))

    wanted = made(ids()[0][None], [whole] * 3)
    for chunk in CHUNKS:
        layout = Paged(10, 4) if chunk == 2 else Dense()
        got = run([Cache(of, layout=layout) for _ in made.layers], chunk)
        assert (got - wanted).abs().max() <= 1e-4


SCHEMES = [lookup("ordinate.schemes", name, "scheme").example() for name in names("ordinate.schemes")]


@pytest.mark.parametrize("scheme", [scheme for scheme in SCHEMES if isinstance(scheme, Bias)], ids=lambda s: s.name)
def test_every_bias_decodes_as_it_attends_whole(scheme):
    torch.manual_seed(0)
    dim = getattr(scheme, "head_dim", None) or getattr(scheme, "dim", None) or 8
    q, k, v = (torch.randn(1, 9, scheme.heads, dim) for _ in range(3))
    learned = {key: torch.from_numpy(value).float() for key, value in scheme.initial(2).items()} or None
    wanted = attend(q, k, v, causal=True, scheme=scheme, learned=learned)
    for layout in (Dense(), Paged(5, 2)):
        cache, parts = Cache(scheme, layout=layout), []
        for start in range(0, 9, 2):
            part = slice(start, start + 2)
            cache.append(k[:, part], v[:, part])
            parts.append(cache.attend(q[:, part], learned=learned))
        assert (torch.cat(parts, 1) - wanted).abs().max() < 1e-5


@pytest.mark.parametrize("kept", ["unrotated", "rotated"])
def test_a_sliding_window_in_a_ring_equals_one_over_all_keys(kept):
    of, made = group("rope", sliding_window=5), model(2)
    wanted = decoded(made, [Cache(of, 2, keys=kept) for _ in made.layers], 29)
    for chunk in CHUNKS:
        agree(decoded(made, [Cache(of, 2, keys=kept, layout=Ring()) for _ in made.layers], chunk), wanted)
