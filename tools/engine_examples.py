"""One example of each setting that engines may or may not hold: what docs/engines.md is made from."""

from dataclasses import replace
from typing import Any

from ordinate.scaling.abf import Abf
from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.linear import Linear
from ordinate.scaling.llama3 import Llama3
from ordinate.scaling.longrope import LongRope
from ordinate.scaling.ntk import Ntk
from ordinate.scaling.proportional import Proportional
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.alibi import Alibi
from ordinate.schemes.learned import LearnedPositions
from ordinate.schemes.multimodal import Multimodal
from ordinate.schemes.rope import Rope
from ordinate.spec import Heads, LayerGroup, Spec, Window

INTRODUCTION = """What each engine's words can hold, tried with one example of each setting: a model is written in the
engine's words, read back as the engine reads them, and its tables compared with the source's.

"yes": every frequency and magnitude is the same. "yes, by steps": so, after a step that `ordinate translate` names,
such as rewriting weights, a GGUF file, or an edit of config.json. "no": something of the setting is lost; what, how
much and where that was seen stands below. "no words": the engine has nothing to say it by. A window that cannot be said
is listed below and counts as no loss here. Engines that take such models from their own files hold more than their
words say.

The examples are of one architecture each, most of Llama's. llama.cpp and Ollama load factor tensors, which hold
Llama 3's scaling and YaRN that is not rounded, only for some architectures (not for Qwen), so that the table's example
is not every model's: [llama.cpp, GGUF files and Ollama](llama_cpp.md).
"""
YARN = Yarn(4.0, 4096)


def example(encoding: Any = None, stretch: Any = None, architecture: str = "llama", **fields: Any) -> Spec:
    """A model of 4 layers and heads of 64 channels, trained for 4096 tokens and stretched to 16,384."""
    rotates = encoding is None or hasattr(encoding, "rotary_dim")
    group = LayerGroup(
        "full_attention",
        encoding or Rope(64),
        stretch,
        "half" if rotates else None,
        tuple(range(4)),
        Heads(32, 8, 64, 64),
    )
    group = replace(group, **fields)
    declared = 16384 if stretch is not None and not isinstance(stretch, Abf) else 4096
    return Spec("example", architecture, "huggingface", {group.layer_type: group}, Window(4096, declared), layers=4)


def two_kinds(stretch: Any) -> Spec:
    """As Gemma 3: full attention beside layers with a window, which have another base and no scaling."""
    spec = example(Rope(64, base=1e6), stretch, "gemma3_text")
    full = replace(spec.group, layers=(1, 3))
    heads = Heads(32, 8, 64, 64)
    local = LayerGroup("sliding_attention", Rope(64), None, "half", (0, 2), heads, sliding_window=512)
    return replace(spec, groups={"full_attention": full, "sliding_attention": local})


UNSHARED = Heads(32, 32, 64, 64)
GEMMA4 = {"heads": Heads(8, 4, 512, 512), "softmax_scale": 1.0}
EXAMPLES: dict[str, Spec] = {
    "plain": example(),
    "abf": example(stretch=Abf(5e5)),
    "ntk": example(stretch=Ntk(4.0)),
    "linear": example(stretch=Linear(4.0)),
    "dynamic_ntk": example(stretch=DynamicNtk(4.0, 4096)),
    "yarn": example(stretch=YARN),
    "yarn, truncate false": example(stretch=replace(YARN, truncate=False)),
    "yarn, attention_factor": example(stretch=replace(YARN, magnitude_factor=1.3)),
    "yarn, mscale": example(stretch=replace(YARN, mscale=0.707, mscale_all_dim=1.0)),
    "yarn, beta_fast": example(stretch=replace(YARN, beta_fast=16.0)),
    "llama3 as in Llama 3.1": example(stretch=Llama3(8.0, 8192)),
    "llama3, other numbers": example(stretch=Llama3(32.0, 4096, 1.0, 2.0)),
    "longrope": example(
        stretch=LongRope((1.0,) * 32, tuple(1 + i / 8 for i in range(32)), 4.0, 4096), architecture="phi3"
    ),
    "proportional": example(Rope(512, 128, 1e6, part="proportional"), Proportional(4.0), "gemma4_text", **GEMMA4),
    "part of the head": example(Rope(64, 32), None, "phi"),
    "multimodal": example(Multimodal(64, (8, 12, 12)), None, "qwen2_vl_text"),
    "two bases": two_kinds(None),
    "two scalings": two_kinds(Linear(4.0)),
    "alibi": example(Alibi(heads=32), None, "bloom", heads=UNSHARED),
    "learned": example(LearnedPositions(64, 4096), None, "gpt2", heads=UNSHARED),
}
