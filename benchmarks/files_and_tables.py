"""Reading quantised weights against the gguf package, and making tables of cos and sin against transformers."""

import numpy as np

from ordinate import models
from ordinate.bench.case import Case, speed
from ordinate.files.dequantise import read_tensor
from ordinate.files.gguf import read_gguf
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup

BLOCKS = ("blk.0.", "blk.1.")


def dequantise() -> Case:
    """The tensors of two blocks of the embedded model, from file to float32."""
    import gguf

    path = models.find("smollm2").path
    ours, theirs = read_gguf(path), gguf.GGUFReader(path)
    names = [name for name in ours.tensors if name.startswith(BLOCKS)]
    found = {t.name: t for t in theirs.tensors}
    wanted = [found[name] for name in names]

    def ordinate_reads() -> list[np.ndarray]:
        return [read_tensor(ours, name) for name in names]

    def gguf_reads() -> list[np.ndarray]:
        return [gguf.dequantize(t.data, t.tensor_type).reshape(t.shape[::-1].tolist()) for t in wanted]

    difference = max(float(np.abs(a - b).max()) for a, b in zip(ordinate_reads(), gguf_reads(), strict=True))
    return Case(
        f"dequantise {len(names)} tensors of SmolLM2-135M, Q4_1",
        {"ordinate": ordinate_reads, "gguf": gguf_reads},
        [speed("ordinate", "gguf")],
        difference,
        "largest difference of a weight from gguf's",
        1e-6,
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
    exact = np.cos(group.rope.angles(positions))
    ours = float(np.abs(group.table(positions)[0].astype(np.float64) - exact).max())
    theirs = float(np.abs(module(x, ids)[0][0, :, :32].double().numpy() - exact).max())
    return Case(
        "cos and sin of 16,384 positions, 32 pairs (ordinate: float64 angles; transformers: float32)",
        {"ordinate": lambda: group.table(positions), "transformers": lambda: module(x, ids)},
        [speed("ordinate", "transformers")],
        ours,
        f"largest error of a cos, against float64 (transformers': {theirs:.2g})",
        6e-8,
    )
