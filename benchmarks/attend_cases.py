"""`attend` against scaled_dot_product_attention without any positional term, and against one read of a cache.

Prefill is causal over S tokens: 32 heads of 64 channels at 1024, 16 of 128 at 2048, 8 of 64 at 4096, 4 of 128 at
8192. Decoding is one token of 32 heads over a cache of 8 key heads of 128 channels.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention as sdpa

from ordinate.ops import attend, backends
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup

PROMPTS = {1024: (32, 64), 2048: (16, 128), 4096: (8, 64), 8192: (4, 128)}
TESTS = ("tests/ops/test_attend.py", "tests/ops/test_attend_cpu.py")
REACH = 128

Row = tuple[str, tuple[str, ...], dict[str, Callable[[], object]], float, str]
"""What a `Case` is made of."""


def terms(tokens: int, heads: int, dim: int) -> dict[str, dict[str, Any]]:
    """Every positional term that is timed, as arguments of `attend`."""
    cos, sin = (torch.from_numpy(x) for x in LayerGroup("full_attention", Rope(dim)).table(range(tokens)))
    slopes = 2.0 ** -(8 * torch.arange(1, heads + 1) / heads)
    table = torch.randn(heads, 2 * REACH + 1, generator=torch.Generator().manual_seed(1))
    rope, t5 = {"cos": cos, "sin": sin}, {"by_distance": table, "reach": REACH}
    return {"none": {}, "rope": rope, "alibi": {"slopes": slopes}, "t5": t5, "rope and t5": rope | t5}


def drawn(*shape: int, dtype: torch.dtype, seed: int = 0) -> Tensor:
    """Normal numbers."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def off(q: Tensor, k: Tensor, v: Tensor) -> float:
    """The largest difference of an output from float64, over the first 256 tokens."""
    q, k, v = (x[:, :256] for x in (q, k, v))
    exact = attend(q.double(), k.double(), v.double(), causal=True)
    return float((attend(q, k, v, causal=True).double() - exact).abs().max())


def prefill(tokens: int, dtype: torch.dtype) -> Row:
    """A causal prompt, with each term."""
    heads, dim = PROMPTS[tokens]
    q, k, v = (drawn(1, tokens, heads, dim, dtype=dtype, seed=i) for i in range(3))
    q2, k2, v2 = (x.transpose(1, 2).contiguous() for x in (q, k, v))
    contenders: dict[str, Callable[[], object]] = {
        f"ordinate, {name}": lambda term=term: attend(q, k, v, causal=True, **term)
        for name, term in terms(tokens, heads, dim).items()
    }
    contenders["sdpa, no term"] = lambda: sdpa(q2, k2, v2, is_causal=True)
    name = f"attend, causal prompt of {tokens}, {heads} heads of {dim}, {str(dtype).removeprefix('torch.')}"
    return name, TESTS, contenders, off(q, k, v), "largest difference from float64"


def backward(tokens: int, dtype: torch.dtype) -> Row:
    """The gradient of a causal prompt, without a term and with a learned table."""
    heads, dim = PROMPTS[tokens]
    leaves = [drawn(1, tokens, heads, dim, dtype=dtype, seed=i).requires_grad_() for i in range(3)]
    theirs = [x.detach().transpose(1, 2).contiguous().requires_grad_() for x in leaves]
    upstream = drawn(1, tokens, heads, dim, dtype=dtype, seed=3)
    table = drawn(heads, 2 * REACH + 1, dtype=torch.float32, seed=4).requires_grad_()
    plain = attend(*leaves, causal=True)
    learned = attend(*leaves, causal=True, by_distance=table, reach=REACH)
    sdpas = sdpa(theirs[0], theirs[1], theirs[2], is_causal=True)
    turned = upstream.transpose(1, 2).contiguous()
    contenders: dict[str, Callable[[], Any]] = {
        "ordinate, no term": lambda: torch.autograd.grad(plain, leaves, upstream, retain_graph=True),
        "ordinate, learned t5": lambda: torch.autograd.grad(learned, [*leaves, table], upstream, retain_graph=True),
        "sdpa, no term": lambda: torch.autograd.grad(sdpas, theirs, turned, retain_graph=True),
    }
    ours, right = contenders["ordinate, no term"](), contenders["sdpa, no term"]()
    difference = max(float((a - b.transpose(1, 2)).abs().max()) for a, b in zip(ours, right, strict=True))
    name = (
        f"attend, gradient of a causal prompt of {tokens}, {heads} heads of {dim}, {str(dtype).removeprefix('torch.')}"
    )
    return name, TESTS, contenders, difference, "largest difference of a gradient from sdpa's"


def decode(keys: int, dtype: torch.dtype) -> Row:
    """One token over a cache, rotated or not, against one read of the cache."""
    module = backends.compiled
    if module is None:
        raise RuntimeError("the compiled kernels are not part of this installation: there is nothing to time")
    q, k, v = (drawn(1, n, h, 128, dtype=dtype, seed=i) for i, (n, h) in enumerate(((1, 32), (keys, 8), (keys, 8))))
    every = terms(keys, 32, 128)
    inter: dict[str, Any] = every["rope"] | {"pairing": "interleaved"}
    contenders: dict[str, Callable[[], object]] = {
        "ordinate, rotated keys": lambda: attend(q, k, v, causal=True),
        "ordinate, un-rotated keys": lambda: attend(q, k, v, causal=True, **every["rope"]),
        "ordinate, un-rotated keys, interleaved": lambda: attend(q, k, v, causal=True, **inter),
        "ordinate, alibi": lambda: attend(q, k, v, causal=True, **every["alibi"]),
        "one read of the cache": lambda: (module.read(k), module.read(v)),
    }
    name = f"attend, one token over {keys} keys, 32 heads on 8 of 128, {str(dtype).removeprefix('torch.')}"
    return name, TESTS, contenders, off(q, k[:, :1], v[:, :1]), "largest difference from float64, over one key"
