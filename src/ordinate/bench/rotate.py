"""`rotate` against the limit of memory, and against transformers where it is installed.

Shapes: p128 is a prompt of 4096 tokens with 32 and 8 heads of 128 channels, p64 four of 2048 with 9 and 3 heads of 64,
d1 and d32 one token of 1 and 32 sequences with 32 and 8 heads of 128.
"""

from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

import torch
from torch import Tensor

from ordinate.bench.case import Case, call, share, speed
from ordinate.errors import Unavailable
from ordinate.extras import need
from ordinate.ops import backends, rotate, rotate_
from ordinate.ops.rotate.arguments import Pairing
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup

SHAPES = {
    "p128": (1, 4096, 32, 8, 128),
    "p64": (4, 2048, 9, 3, 64),
    "d1": (1, 1, 32, 8, 128),
    "d32": (32, 1, 32, 8, 128),
}
TOLERANCE = {"float32": 2e-6, "bfloat16": 2.5e-2, "float16": 4e-3}
"""One rounding of numbers below 8."""
MEASURE = "largest difference of a channel from float64 arithmetic"
BARS = {("p128", "float32"): 1.12, ("p128", "bfloat16"): 1.35, ("p128", "float16"): 1.35, ("p64", "bfloat16"): 1.5}


class Inputs(NamedTuple):
    """What `rotate` is given."""

    q: Tensor
    k: Tensor
    cos: Tensor
    sin: Tensor
    positions: Tensor


def kernels() -> ModuleType:
    """The compiled module: without it there is nothing to time.

    Raises:
        Unavailable: it is not here
    """
    if backends.compiled is None:
        raise Unavailable(backends.NOT_COMPILED)
    return backends.compiled


def inputs(shape: str, dtype: str) -> Inputs:
    """q, k, cos, sin and positions of one of `SHAPES`."""
    batch, tokens, heads, kv_heads, dim = SHAPES[shape]
    generator = torch.Generator().manual_seed(0)
    drawn = (torch.randn(batch, tokens, n, dim, generator=generator) for n in (heads, kv_heads))
    q, k = (x.to(getattr(torch, dtype)) for x in drawn)
    first = 4000 if tokens == 1 else 0
    cos, sin = LayerGroup("full_attention", Rope(dim)).table(range(first + tokens))
    return Inputs(q, k, torch.from_numpy(cos), torch.from_numpy(sin), torch.arange(first, first + tokens))


def off(given: Inputs, pairing: Pairing = "half") -> float:
    """How far a rotated q is from float64 arithmetic."""
    q, _, cos, sin, positions = given
    exact, _ = rotate(q.double(), None, cos, sin, positions, pairing)
    return float((rotate(q, None, cos, sin, positions, pairing)[0].double() - exact).abs().max())


def transformers_arguments(given: Inputs) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """q, k and tables as the models of transformers have them: heads outside of tokens, tables of the dtype."""
    q, k, cos, sin, positions = given
    wide_cos, wide_sin = (torch.cat((table[positions],) * 2, -1).to(q.dtype)[None] for table in (cos, sin))
    return q.clone().transpose(1, 2), k.clone().transpose(1, 2), wide_cos, wide_sin


def limit(shape: str, dtype: str, pairing: Pairing) -> Case:
    """q and k of a prompt in place, against reading and writing their memory."""
    module, given = kernels(), inputs(shape, dtype)
    q, k, cos, sin, positions = given
    return Case(
        f"rotate in place, {shape}, {dtype}, {pairing}",
        {
            "ordinate": lambda: rotate_(q, k, cos, sin, positions, pairing),
            "the memory limit": lambda: module.touch(q, k),
            "the memory limit, fetched ahead": lambda: module.touch(q, k, ahead=True),
        },
        [share("ordinate", "the memory limit", "the memory limit, fetched ahead", at_most=BARS.get((shape, dtype)))],
        off(given, pairing),
        MEASURE,
        TOLERANCE[dtype],
    )


def against_transformers(shape: str, dtype: str, compiled: bool = False) -> Case:
    """q and k of a prompt in place, against the function of transformers, eager and through torch.compile."""
    need("bench", "transformers")
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    given = inputs(shape, dtype)
    q, k, cos, sin, positions = given
    theirs = transformers_arguments(given)
    contenders: dict[str, Callable[[], object]] = {
        "ordinate": lambda: rotate_(q, k, cos, sin, positions),
        "transformers": lambda: apply_rotary_pos_emb(*theirs),
    }
    figures = [speed("ordinate", "transformers", at_least=9.0)]
    if compiled:
        quick = torch.compile(apply_rotary_pos_emb, dynamic=False)
        quick(*theirs)
        contenders["transformers, compiled"] = lambda: quick(*theirs)
        figures.append(speed("ordinate", "transformers, compiled", at_least=4.5))
    return Case(f"rotate in place, {shape}, {dtype}, half", contenders, figures, off(given), MEASURE, TOLERANCE[dtype])


def decode(shape: str, calls: int = 200) -> Case:
    """Calls for one token in bfloat16, from Python, without gradients."""
    need("bench", "transformers")
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    given = inputs(shape, "bfloat16")
    q, k, cos, sin, positions = given
    theirs = transformers_arguments(given)
    one = shape == "d1"
    return Case(
        f"rotate in place, {shape}, bfloat16, {calls} calls",
        {
            "ordinate": repeated(lambda: rotate_(q, k, cos, sin, positions), calls),
            "transformers": repeated(lambda: apply_rotary_pos_emb(*theirs), calls),
        },
        [
            speed("ordinate", "transformers", at_least=14.0 if one else None),
            call("ordinate", calls, at_most=4.0 if one else None),
        ],
        off(given),
        MEASURE,
        TOLERANCE["bfloat16"],
    )


def repeated(run: Callable[[], object], calls: int) -> Callable[[], None]:
    """Many calls as one, without gradients: the clock is too coarse for one."""

    @torch.no_grad()
    def run_often() -> None:
        for _ in range(calls):
            run()

    return run_often
