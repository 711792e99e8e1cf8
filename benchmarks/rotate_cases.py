"""`rotate` against the limit of memory and against Hugging Face's eager rotation.

Shapes: p128 is a prompt of 4096 tokens with 32 and 8 heads of 128 channels, p64 four of 2048 with 9 and 3 heads of 64,
d1 one token of decoding with 32 and 8 heads of 128.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

from ordinate.ops import backends, rotate, rotate_
from ordinate.ops.rotate.arguments import Pairing
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup

SHAPES = {"p128": (1, 4096, 32, 8, 128), "p64": (4, 2048, 9, 3, 64), "d1": (1, 1, 32, 8, 128)}
TESTS = ("tests/ops/test_rotate.py", "tests/ops/test_rotate_cpu.py")

Contenders = dict[str, Callable[[], object]]
Row = tuple[str, tuple[str, ...], Contenders, float, str]
"""What a `Case` is made of."""


def inputs(shape: str, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """q, k, cos, sin and positions of one of `SHAPES`."""
    batch, tokens, heads, kv_heads, dim = SHAPES[shape]
    generator = torch.Generator().manual_seed(0)
    q, k = (torch.randn(batch, tokens, n, dim, generator=generator).to(dtype) for n in (heads, kv_heads))
    first = 4000 if tokens == 1 else 0
    cos, sin = LayerGroup("full_attention", Rope(dim)).table(range(first + tokens))
    return q, k, torch.from_numpy(cos), torch.from_numpy(sin), torch.arange(first, first + tokens)


def transformers_rotates(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, positions: Tensor) -> Callable[[], object]:
    """Hugging Face's function on its own layout, with tables of the dtype as its modules return them."""
    wide_cos, wide_sin = (torch.cat((t[positions],) * 2, -1).to(q.dtype)[None] for t in (cos, sin))
    q, k = q.transpose(1, 2), k.transpose(1, 2)
    return lambda: apply_rotary_pos_emb(q, k, wide_cos, wide_sin)


def prefill(shape: str, dtype: torch.dtype, pairing: Pairing, rival: str) -> Row:
    """q and k of a prompt, rotated in place, against memory's limit or transformers (each leaves other caches)."""
    module = backends.compiled
    if module is None:
        raise RuntimeError("the compiled kernels are not part of this installation: there is nothing to time")
    q, k, cos, sin, positions = inputs(shape, dtype)
    exact, _ = rotate(q.double(), None, cos, sin, positions, pairing)
    difference = float((rotate(q, None, cos, sin, positions, pairing)[0].double() - exact).abs().max())
    contenders: Contenders = {"ordinate": lambda: rotate_(q, k, cos, sin, positions, pairing)}
    if rival == "transformers":
        contenders["transformers"] = transformers_rotates(q.clone(), k.clone(), cos, sin, positions)
    else:
        contenders["limit"] = lambda: module.touch(q, k)
        contenders["limit, fetched ahead"] = lambda: module.touch(q, k, ahead=True)
    name = f"rotate in place {shape} {str(dtype).removeprefix('torch.')} {pairing}"
    return name, TESTS, contenders, difference, "largest difference of a channel from float64 arithmetic"


def decode(calls: int = 200) -> Row:
    """Calls for one token in bfloat16, from Python, without gradients."""
    q, k, cos, sin, positions = inputs("d1", torch.bfloat16)
    theirs = transformers_rotates(q.clone(), k.clone(), cos, sin, positions)

    def repeated(call: Callable[[], object]) -> Callable[[], None]:
        def run() -> None:
            with torch.no_grad():
                for _ in range(calls):
                    call()

        return run

    exact, _ = rotate(q.double(), None, cos, sin, positions)
    difference = float((rotate(q, None, cos, sin, positions)[0].double() - exact).abs().max())
    contenders: Contenders = {
        "ordinate": repeated(lambda: rotate_(q, k, cos, sin, positions)),
        "transformers": repeated(theirs),
        "one torch operation": repeated(lambda: q.mul_(1.0)),
    }
    name = f"{calls} calls of rotate in place for one token, d1 bfloat16"
    return name, TESTS, contenders, difference, "largest difference of a channel from float64 arithmetic"
