"""What is timed: for each case the product and its rival on the same input, and the tests that must pass first."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from ordinate import models
from ordinate.files.dequantise import read_tensor
from ordinate.files.gguf import read_gguf
from ordinate.ops.rotate.arguments import Pairing
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup

PAIRINGS: tuple[Pairing, ...] = ("half", "interleaved")


@dataclass(frozen=True)
class Case:
    """One comparison.

    Args:
        name: what is done
        tests: paths that pytest must pass before a time counts
        contenders: callables by name, the product's first
        difference: the largest difference between their results, computed once; what it is of is in `measure`
        measure: what `difference` is
    """

    name: str
    tests: tuple[str, ...]
    contenders: dict[str, Callable[[], object]]
    difference: float
    measure: str


def dequantise() -> Case:
    """All tensors of the embedded model, from file to float32."""
    import gguf

    path = models.find("smollm2").path
    ours = read_gguf(path)
    theirs = gguf.GGUFReader(path)

    def ordinate_reads() -> list[np.ndarray]:
        return [read_tensor(ours, name) for name in ours.tensors]

    def gguf_reads() -> list[np.ndarray]:
        return [gguf.dequantize(t.data, t.tensor_type).reshape(t.shape[::-1].tolist()) for t in theirs.tensors]

    difference = max(float(np.abs(a - b).max()) for a, b in zip(ordinate_reads(), gguf_reads(), strict=True))
    return Case(
        "dequantise SmolLM2-135M Q4_1, 272 tensors",
        ("tests/files/test_dequantise.py",),
        {"ordinate": ordinate_reads, "gguf": gguf_reads},
        difference,
        "largest absolute difference of a weight",
    )


def table() -> Case:
    """cos and sin of 16,384 positions for SmolLM2's head, computed anew."""
    import torch
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    positions = np.arange(16384)
    group = LayerGroup("full_attention", Rope(head_dim=64, base=100000.0))
    rope = {"rope_type": "default", "rope_theta": 100000.0}
    config = LlamaConfig(head_dim=64, hidden_size=576, num_attention_heads=9, rope_parameters=rope)
    module, x, ids = LlamaRotaryEmbedding(config), torch.zeros(1), torch.from_numpy(positions)[None]

    def transformers_makes() -> object:
        return module(x, ids)

    exact = np.cos(group.rope.angles(positions))
    ours = float(np.abs(group.table(positions)[0].astype(np.float64) - exact).max())
    theirs = float(np.abs(module(x, ids)[0][0, :, :32].double().numpy() - exact).max())
    return Case(
        "cos and sin of 16,384 positions, 32 pairs (ordinate: float64 angles; transformers: float32)",
        ("tests/test_precision.py",),
        {"ordinate": lambda: group.table(positions), "transformers": transformers_makes},
        theirs,
        f"transformers' largest error of a cos, against float64; ordinate's is {ours:.2g}",
    )


def rotate_prefill(shape: str, dtype: str, pairing: Pairing, rival: str) -> Case:
    """q and k of a prompt, rotated in place."""
    import torch
    from rotate_cases import prefill

    return Case(*prefill(shape, getattr(torch, dtype), pairing, rival))


def rotate_decode() -> Case:
    """Calls of `rotate` for one token."""
    from rotate_cases import decode

    return Case(*decode())


def attend(kind: str, tokens: int, dtype: str) -> Case:
    """A prompt, its gradient, or one token over a cache."""
    import attend_cases
    import torch

    return Case(*getattr(attend_cases, kind)(tokens, getattr(torch, dtype)))


CASES: dict[str, Callable[[], Case]] = {"dequantise": dequantise, "table": table, "rotate_d1": rotate_decode}
for _shape, _dtypes in (("p128", ("float32", "bfloat16", "float16")), ("p64", ("bfloat16",))):
    for _dtype in _dtypes:
        for _pairing in PAIRINGS:
            CASES[f"rotate_{_shape}_{_dtype}_{_pairing}"] = partial(rotate_prefill, _shape, _dtype, _pairing, "limit")
        CASES[f"rotate_{_shape}_{_dtype}_transformers"] = partial(
            rotate_prefill, _shape, _dtype, "half", "transformers"
        )
for _dtype in ("float32", "bfloat16"):
    for _kind, _sizes in (("prefill", (1024, 2048, 4096, 8192)), ("backward", (1024, 2048)), ("decode", (4096, 32768))):
        for _size in _sizes:
            CASES[f"attend_{_kind}_{_size}_{_dtype}"] = partial(attend, _kind, _size, _dtype)
