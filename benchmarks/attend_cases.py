"""`attend` against the other ways to a bias in PyTorch, and on two threads."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention as sdpa

from ordinate.bench.attend import MEASURE, PROMPTS, REACH, TOLERANCE, described, off, prompt, terms
from ordinate.bench.case import Case, Figure, speed
from ordinate.bench.rotate import kernels
from ordinate.ops import attend

TERMS = ("alibi", "t5")
THREADS = ("two threads", "one thread")
WIDTH = 1280
"""Of the matrices of torch's product: it takes about as long as the prompt."""


def flex(tokens: int, dtype: str) -> Case:
    """FlexAttention through torch.compile with the same bias, its block mask made before."""
    q, k, v, every = _given(tokens, dtype)
    turned = [x.transpose(1, 2).contiguous() for x in (q, k, v)]
    slopes, table = every["alibi"]["slopes"], every["t5"]["by_distance"]

    def alibi(score: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:  # noqa: ARG001
        return score - slopes[head] * (query - key)

    def t5(score: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:  # noqa: ARG001
        return score + table[head, (key - query).clamp(-REACH, REACH) + REACH]

    causal = create_block_mask(lambda b, h, query, key: query >= key, None, None, tokens, tokens, device="cpu")  # noqa: ARG005
    quick = torch.compile(flex_attention, dynamic=False)
    contenders, figures, difference = _ours(q, k, v, every)
    for name, bias in (("none", None), ("alibi", alibi), ("t5", t5)):
        contenders[f"flex_attention, {name}"] = run = lambda b=bias: quick(*turned, score_mod=b, block_mask=causal)
        run()
        figures.append(speed(f"ordinate, {name}", f"flex_attention, {name}", None if bias is None else 3.0))
    return _case("FlexAttention", tokens, dtype, contenders, figures, difference)


def masks(tokens: int, dtype: str) -> Case:
    """SDPA with the bias as a mask: given, and built anew each time."""
    q, k, v, every = _given(tokens, dtype)
    turned = [x.transpose(1, 2).contiguous() for x in (q, k, v)]
    slopes, table = every["alibi"]["slopes"], every["t5"]["by_distance"]
    places = torch.arange(tokens)

    def built(name: str) -> Tensor:
        away = places - places[:, None]
        by_distance = name == "t5"
        bias = table[:, away.clamp(-REACH, REACH) + REACH] if by_distance else slopes[:, None, None] * away
        return bias.masked_fill_(away > 0, -torch.inf).to(q.dtype)[None]

    contenders, figures, difference = _ours(q, k, v, every)
    for name in TERMS:
        mask = built(name)
        contenders |= {
            f"sdpa, {name} mask given": lambda m=mask: sdpa(turned[0], turned[1], turned[2], attn_mask=m),
            f"sdpa, {name} mask built": lambda n=name: sdpa(turned[0], turned[1], turned[2], attn_mask=built(n)),
        }
        figures += [
            speed(f"ordinate, {name}", f"sdpa, {name} mask given"),
            speed(f"ordinate, {name}", f"sdpa, {name} mask built", 2.5),
        ]
    return _case("SDPA with a mask", tokens, dtype, contenders, figures, difference)


def two_threads(tokens: int, dtype: str) -> Case:
    """The same prompt on one thread and on two; beside it torch's matrix product, which tells what a core gives."""
    q, k, v, every = _given(tokens, dtype)
    rope = every["rope"]
    square, product = torch.randn(2, WIDTH, WIDTH, dtype=q.dtype), torch.empty(WIDTH, WIDTH, dtype=q.dtype)
    contenders: dict[str, Callable[[], object]] = {}
    for count in THREADS:
        contenders[f"ordinate, {count}"] = lambda: attend(q, k, v, causal=True, **rope)
        contenders[f"torch.mm, {count}"] = lambda: torch.mm(*square, out=product)
    figures = [
        speed("ordinate, two threads", "ordinate, one thread", 1.8),
        speed("torch.mm, two threads", "torch.mm, one thread"),
    ]
    return Case(
        f"attend on two threads, causal prompt with rope: {described(tokens, dtype)}",
        contenders,
        figures,
        off(q, k, v, **rope),
        MEASURE,
        TOLERANCE[dtype],
        {"ordinate, two threads": 2, "torch.mm, two threads": 2},
    )


def _given(tokens: int, dtype: str) -> tuple[Tensor, Tensor, Tensor, dict[str, dict[str, Any]]]:
    kernels()
    return *prompt(tokens, dtype), terms(tokens, *PROMPTS[tokens])


def _ours(
    q: Tensor, k: Tensor, v: Tensor, every: dict[str, dict[str, Any]]
) -> tuple[dict[str, Callable[[], Any]], list[Figure], float]:
    contenders: dict[str, Callable[[], Any]] = {
        f"ordinate, {name}": lambda term=every[name]: attend(q, k, v, causal=True, **term) for name in ("none", *TERMS)
    }
    return contenders, [], max(off(q, k, v, **every[name]) for name in TERMS)


def _case(
    rival: str,
    tokens: int,
    dtype: str,
    contenders: dict[str, Callable[[], Any]],
    figures: list[Figure],
    difference: float,
) -> Case:
    """The rivals must give the same as `attend`: otherwise they were given something else."""
    for name, run in contenders.items():
        theirs = run()
        if name.startswith("ordinate"):
            continue
        ours = contenders[f"ordinate, {name.split(', ')[1].split(' ')[0]}"]()
        apart = float((theirs.transpose(1, 2).double() - ours.double()).abs().max())
        # A mask is rounded to the dtype, and a logit of -128 with it.
        if apart > {"float32": 1e-4, "bfloat16": 0.25}[dtype]:
            raise AssertionError(f"{name} computes something else: {apart:.3g} from ordinate's")
    title = f"attend against {rival}, causal prompt: {described(tokens, dtype)}"
    return Case(title, contenders, figures, difference, MEASURE, TOLERANCE[dtype])
