"""`attend` against scaled_dot_product_attention without any positional term, and against one read of a cache.

Prefill is causal over S tokens: 8 heads of 64 channels at 1024, 4 of 128 at 2048, 2 of 64 at 4096, 1 of 128 at 8192.
Decoding is one token of 32 heads over a cache of 8 key heads of 128 channels.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention as sdpa

from ordinate.bench.case import Case, Figure, share
from ordinate.bench.rotate import kernels
from ordinate.ops import attend
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup

PROMPTS = {1024: (8, 64), 2048: (4, 128), 4096: (2, 64), 8192: (1, 128)}
REACH = 128
TOLERANCE = {"float32": 2e-6, "bfloat16": 2e-2}
"""Of averages of normal numbers; float64 is computed from the same numbers."""
MEASURE = "largest difference of an output from float64"


def terms(tokens: int, heads: int, dim: int) -> dict[str, dict[str, Any]]:
    """Every positional term that is timed, as arguments of `attend`."""
    cos, sin = (torch.from_numpy(x) for x in LayerGroup("full_attention", Rope(dim)).table(range(tokens)))
    slopes = 2.0 ** -(8 * torch.arange(1, heads + 1) / heads)
    table = torch.randn(heads, 2 * REACH + 1, generator=torch.Generator().manual_seed(1))
    rope, t5 = {"cos": cos, "sin": sin}, {"by_distance": table, "reach": REACH}
    return {"none": {}, "rope": rope, "alibi": {"slopes": slopes}, "t5": t5, "rope and t5": rope | t5}


def drawn(*shape: int, dtype: str, seed: int = 0) -> Tensor:
    """Normal numbers."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(getattr(torch, dtype))


def prompt(tokens: int, dtype: str) -> tuple[Tensor, Tensor, Tensor]:
    """q, k and v of a prompt of one of `PROMPTS`."""
    heads, dim = PROMPTS[tokens]
    q, k, v = (drawn(1, tokens, heads, dim, dtype=dtype, seed=seed) for seed in range(3))
    return q, k, v


def described(tokens: int, dtype: str) -> str:
    """A prompt in words."""
    heads, dim = PROMPTS[tokens]
    return f"{tokens} tokens, {heads} head{'s' if heads > 1 else ''} of {dim}, {dtype}"


def off(q: Tensor, k: Tensor, v: Tensor, **options: Any) -> float:
    """How far an output is from float64, over the first 256 tokens."""
    q, k, v = (x[:, :256] for x in (q, k, v))
    wide = {name: x.double() if name in ("slopes", "by_distance") else x for name, x in options.items()}
    exact = attend(q.double(), k.double(), v.double(), causal=True, **wide)
    return float((attend(q, k, v, causal=True, **options).double() - exact).abs().max())


def prefill(tokens: int, dtype: str) -> Case:
    """A causal prompt, with each term."""
    kernels()
    q, k, v = prompt(tokens, dtype)
    every = terms(tokens, *PROMPTS[tokens])
    turned = [x.transpose(1, 2).contiguous() for x in (q, k, v)]
    contenders: dict[str, Callable[[], object]] = {
        f"ordinate, {name}": lambda term=term: attend(q, k, v, causal=True, **term) for name, term in every.items()
    }
    contenders["sdpa without bias"] = lambda: sdpa(turned[0], turned[1], turned[2], is_causal=True)
    bar = 0.75 if tokens <= 4096 else 0.85
    figures = [share(f"ordinate, {name}", "sdpa without bias", at_most=bar) for name in every]
    figures += [share(f"ordinate, {name}", "ordinate, none", at_most=1.04) for name in every if name != "none"]
    difference = max(off(q, k, v, **term) for term in every.values())
    return Case(
        f"attend, causal prompt: {described(tokens, dtype)}", contenders, figures, difference, MEASURE, TOLERANCE[dtype]
    )


def backward(tokens: int, dtype: str) -> Case:
    """The gradient of a causal prompt, without a term and with a learned table."""
    kernels()
    leaves = [x.requires_grad_() for x in prompt(tokens, dtype)]
    heads, dim = PROMPTS[tokens]
    theirs = [x.detach().transpose(1, 2).contiguous().requires_grad_() for x in leaves]
    upstream = drawn(1, tokens, heads, dim, dtype=dtype, seed=3)
    table = drawn(heads, 2 * REACH + 1, dtype="float32", seed=4).requires_grad_()
    plain = attend(*leaves, causal=True)
    learned = attend(*leaves, causal=True, by_distance=table, reach=REACH)
    sdpas = sdpa(theirs[0], theirs[1], theirs[2], is_causal=True)
    turned = upstream.transpose(1, 2).contiguous()
    contenders: dict[str, Callable[[], Any]] = {
        "ordinate, none": lambda: torch.autograd.grad(plain, leaves, upstream, retain_graph=True),
        "ordinate, learned t5": lambda: torch.autograd.grad(learned, [*leaves, table], upstream, retain_graph=True),
        "sdpa without bias": lambda: torch.autograd.grad(sdpas, theirs, turned, retain_graph=True),
    }
    wide = [x.detach().float().requires_grad_() for x in theirs]
    right = torch.autograd.grad(sdpa(wide[0], wide[1], wide[2], is_causal=True), wide, turned.float())
    ours = contenders["ordinate, none"]()
    difference = max(float((a - b.transpose(1, 2)).abs().max()) for a, b in zip(ours, right, strict=True))
    largest = max(float(x.abs().max()) for x in right)
    figures: list[Figure] = [
        share("ordinate, none", "sdpa without bias", at_most=1.0),
        share("ordinate, learned t5", "sdpa without bias", at_most=1.15),
    ]
    return Case(
        f"attend, gradient of a causal prompt: {described(tokens, dtype)}",
        contenders,
        figures,
        difference / largest,
        "largest difference of a gradient from sdpa's in float32, of the largest gradient",
        {"float32": 1e-5, "bfloat16": 1e-2}[dtype],
    )


def decode(keys: int, dtype: str) -> Case:
    """One token over a cache, rotated or not, against one read of the cache."""
    module = kernels()
    sizes = ((1, 32), (keys, 8), (keys, 8))
    q, k, v = (drawn(1, n, heads, 128, dtype=dtype, seed=seed) for seed, (n, heads) in enumerate(sizes))
    every = terms(keys, 32, 128)
    interleaved: dict[str, Any] = every["rope"] | {"pairing": "interleaved"}
    contenders: dict[str, Callable[[], object]] = {
        "ordinate, rotated keys": lambda: attend(q, k, v, causal=True),
        "ordinate, un-rotated keys": lambda: attend(q, k, v, causal=True, **every["rope"]),
        "ordinate, un-rotated keys, interleaved": lambda: attend(q, k, v, causal=True, **interleaved),
        "ordinate, alibi": lambda: attend(q, k, v, causal=True, **every["alibi"]),
        "one read of the cache": lambda: (module.read(k), module.read(v)),
        "one read of the cache, fetched ahead": lambda: (module.read(k, ahead=True), module.read(v, ahead=True)),
    }
    read = ("one read of the cache", "one read of the cache, fetched ahead")
    figures = [
        share("ordinate, rotated keys", *read, at_most=1.4),
        share("ordinate, un-rotated keys", "ordinate, rotated keys", at_most=1.25),
        share("ordinate, un-rotated keys, interleaved", "ordinate, rotated keys", at_most=1.25),
        share("ordinate, alibi", *read),
    ]
    exact = attend(q.double(), k.double(), v.double(), causal=True)
    difference = float((attend(q, k, v, causal=True).double() - exact).abs().max())
    return Case(
        f"attend, one token over {keys} keys, 32 heads on 8 of 128, {dtype}",
        contenders,
        figures,
        difference,
        MEASURE,
        TOLERANCE[dtype],
    )
