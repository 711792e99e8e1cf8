"""`rotate` where more is needed than the package: two threads, gradients, and operations of a compiled graph."""

from collections.abc import Callable

import torch
from torch import Tensor

from ordinate.bench.case import Case, extra, share
from ordinate.bench.rotate import MEASURE, TOLERANCE, inputs, kernels, off, repeated
from ordinate.ops import rotate, rotate_

FEWER, MORE = 8, 16
"""Operations of the two graphs that are compared."""


def two_threads(dtype: str) -> Case:
    """q and k of a prompt in place on two threads, against the memory limit of two threads."""
    module, given = kernels(), inputs("p128", dtype)
    q, k, cos, sin, positions = given
    contenders: dict[str, Callable[[], object]] = {
        "ordinate": lambda: rotate_(q, k, cos, sin, positions),
        "the memory limit": lambda: module.touch(q, k),
        "the memory limit, fetched ahead": lambda: module.touch(q, k, ahead=True),
    }
    return Case(
        f"rotate in place on two threads, p128, {dtype}, half",
        contenders,
        [share("ordinate", "the memory limit", "the memory limit, fetched ahead", at_most=1.2)],
        off(given),
        MEASURE,
        TOLERANCE[dtype],
        dict.fromkeys(contenders, 2),
    )


def out_of_place(shape: str, dtype: str) -> Case:
    """Into new memory with a gradient recorded, and the gradient, against the memory limit in place."""
    module, given = kernels(), inputs(shape, dtype)
    q, k, cos, sin, positions = given
    leaves = [x.clone().requires_grad_() for x in (q, k)]
    upstream = [torch.randn_like(x) for x in (q, k)]
    made = rotate(leaves[0], leaves[1], cos, sin, positions)
    contenders: dict[str, Callable[[], object]] = {
        "ordinate, forward": lambda: rotate(leaves[0], leaves[1], cos, sin, positions),
        "ordinate, backward": lambda: torch.autograd.grad(made, leaves, upstream, retain_graph=True),
        "the memory limit": lambda: module.touch(q, k),
        "the memory limit, fetched ahead": lambda: module.touch(q, k, ahead=True),
    }
    limits = ("the memory limit", "the memory limit, fetched ahead")
    return Case(
        f"rotate out of place, {shape}, {dtype}, half",
        contenders,
        [share(f"ordinate, {way}", *limits, at_most=1.9) for way in ("forward", "backward")],
        off(given),
        MEASURE,
        TOLERANCE[dtype],
    )


def graph(calls: int = 100) -> Case:
    """Calls of compiled functions that rotate one token many times, d1 in bfloat16."""
    kernels()
    given = inputs("d1", "bfloat16")

    def compiled(operations: int, in_place: bool) -> Callable[[], object]:
        function = rotate_ if in_place else rotate

        def rotated(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, positions: Tensor) -> object:
            for _ in range(operations):
                q, k = function(q, k, cos, sin, positions)
            return q, k

        run = torch.compile(rotated, fullgraph=True, dynamic=True)
        arguments = [x.clone() for x in given]
        with torch.no_grad():
            run(*arguments)
        return repeated(lambda: run(*arguments), calls)

    contenders = {
        f"{operations} operations{way}": compiled(operations, bool(way))
        for way in ("", " in place")
        for operations in (FEWER, MORE)
    }
    figures = [
        extra(f"{MORE} operations{way}", f"{FEWER} operations{way}", (MORE - FEWER) * calls, at_most=6.0)
        for way in ("", " in place")
    ]
    name = f"rotate in a compiled graph, d1, bfloat16, {calls} calls"
    return Case(name, contenders, figures, off(given), MEASURE, TOLERANCE["bfloat16"])
